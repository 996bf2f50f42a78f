// SPDX-License-Identifier: Apache-2.0
#include "api_runtime/session_open.h"

#include <algorithm>
#include <iterator>

#include "kernels/isa_name.h"
#include "runtime/measure.h"

namespace weir::api {
namespace {

Result<SessionChoice> read_choice(const weir_session_options& options) {
  SessionChoice choice;
  choice.cache_folder = text(options.cache_folder);
  choice.use_cache = !options.no_cache;
  choice.trace = object(options.trace);
  choice.verify_constants = options.verify_constants;
  if (options.cache_bytes < 0) {
    return fail(StatusCode::kInvalidArgument,
                "Session options bound the program cache to ({}) bytes, and 0 (the default) is the least.",
                options.cache_bytes);
  }
  choice.cache_bytes = options.cache_bytes;
  if (options.dim_count < 0 || options.shape_count < 0 ||
      (options.dim_count > 0 && options.dims == nullptr) ||
      (options.shape_count > 0 && options.shapes == nullptr)) {
    return fail(StatusCode::kInvalidArgument,
                "Session options count ({}) dimensions and ({}) shapes and give none.", options.dim_count,
                options.shape_count);
  }
  for (int32_t i = 0; i < options.dim_count; ++i) {
    const weir_dim_choice& dim = options.dims[i];
    if (dim.name == nullptr || dim.min < 0 || dim.max < dim.min) {
      return fail(StatusCode::kInvalidArgument,
                  "Dimension '{}' is chosen from ({}) to ({}), and a choice has a name and 0 ≤ min ≤ max.",
                  text(dim.name), dim.min, dim.max);
    }
    choice.dims.emplace_back(dim.name, Range{dim.min, dim.max});
  }
  for (int32_t i = 0; i < options.shape_count; ++i) {
    const weir_shape_choice& shape = options.shapes[i];
    if (shape.input == nullptr || shape.rank < 0 || shape.rank > kMaxRank ||
        (shape.rank > 0 && shape.dims == nullptr)) {
      return fail(
          StatusCode::kInvalidArgument,
          "The shape of input '{}' is chosen with rank ({}), and a choice has a name, dimensions and a "
          "rank from (0) to ({}).",
          text(shape.input), shape.rank, kMaxRank);
    }
    std::vector<std::optional<Range>> ranges;
    for (int32_t axis = 0; axis < shape.rank; ++axis) {
      const int64_t extent = shape.dims[axis];
      ranges.push_back(extent < 0 ? std::nullopt : std::optional(Range{extent, extent}));
    }
    choice.shapes.emplace_back(shape.input, std::move(ranges));
  }
  if (options.state_count < 0 || (options.state_count > 0 && options.states == nullptr)) {
    return fail(StatusCode::kInvalidArgument, "Session options count ({}) states and give none.",
                options.state_count);
  }
  for (int32_t i = 0; i < options.state_count; ++i) {
    const weir_state_choice& state = options.states[i];
    if (state.input == nullptr || state.output == nullptr) {
      return fail(StatusCode::kInvalidArgument,
                  "State ({}) is input '{}' fed from output '{}', and both have a name.", i,
                  text(state.input), text(state.output));
    }
    choice.states.emplace_back(state.input, state.output);
  }
  if (options.constant_count < 0 || (options.constant_count > 0 && options.constants == nullptr)) {
    return fail(StatusCode::kInvalidArgument, "Session options count ({}) constants and give none.",
                options.constant_count);
  }
  for (int32_t i = 0; i < options.constant_count; ++i) {
    const weir_constant& constant = options.constants[i];
    if (constant.name == nullptr || constant.tensor == nullptr) {
      return fail(StatusCode::kInvalidArgument, "Constant ({}) is given without a name or a tensor.", i);
    }
    WEIR_ASSIGN(const TensorView tensor, read_tensor(*constant.tensor), "while reading constant '{}'",
                constant.name);
    choice.constants.push_back({constant.name, tensor});
  }
  return choice;
}

weir_session::Port port_of(const Program& program, const std::string& name, int32_t position) {
  const ProgramTensor& tensor = program.tensors[static_cast<size_t>(position)];
  weir_session::Port port;
  port.name = name;
  port.type = tensor.element_type;
  for (const int32_t axis : tensor.shape) {
    const DimTableEntry& entry = program.dims[static_cast<size_t>(axis)];
    port.shape.push_back(entry.op == DimOp::kConstant ? entry.value : -1);
  }
  return port;
}

std::vector<weir_session::Port> ports_of(const Program& program, std::span<const ProgramPort> from) {
  std::vector<weir_session::Port> ports;
  for (const ProgramPort& port : from) {
    ports.push_back(port_of(program, port.name, port.tensor));
  }
  return ports;
}

void add_notices(weir_session& session, bool cache_wanted) {
  const Program& program = session.session->program();
  for (const ProgramNotice& notice : program.notices) {
    int64_t bytes = -1;
    if (notice.bytes >= 0) {
      const DimTableEntry& entry = program.dims[static_cast<size_t>(notice.bytes)];
      bytes = entry.op == DimOp::kConstant ? entry.value : -1;
    }
    session.notices.push_back(
        {notice.kind == NoticeKind::kCost ? WEIR_COST : WEIR_INFO, notice.what, notice.reason, bytes});
  }
  for (const NoticeReport& notice : session.session->load_notices()) {
    session.notices.push_back(
        {notice.kind == NoticeKind::kCost ? WEIR_COST : WEIR_INFO, notice.what, notice.reason, notice.bytes});
  }
  if (session.compiled) {
    session.notices.push_back({WEIR_INFO, "compiled", "the program was compiled now", -1});
  }
  if (cache_wanted && !session.cache_note.empty()) {
    session.notices.push_back({WEIR_INFO, "not cached", session.cache_note, -1});
  }
}

Result<void> check_strict(const weir_session& session, weir_strictness strict) {
  std::string listed;
  int count = 0;
  for (const weir_session::Notice& notice : session.notices) {
    if (strict == WEIR_STRICT_ALL || (strict == WEIR_STRICT_COSTS && notice.kind == WEIR_COST)) {
      listed += fmt::format("\n  {}: {}", notice.what, notice.reason);
      ++count;
    }
  }
  if (count > 0) {
    return fail(StatusCode::kFailedPrecondition, "Strict mode refuses ({}) listed differences:{}", count,
                listed);
  }
  return {};
}

Result<Ref<weir_session>> open(const weir_runtime& runtime, Ref<Device> device, const char* path,
                               const weir_session_options& options, ProgramOpener open_program) {
  const int64_t begin = steady_now_ns();
  if (options.strict < WEIR_STRICT_NONE || options.strict > WEIR_STRICT_ALL) {
    return fail(StatusCode::kInvalidArgument, "Strictness ({}) is not one of (0 to {}).", options.strict,
                int{WEIR_STRICT_ALL});
  }
  const int32_t most = device->info().limits.participants;
  if (options.participants < 0 || options.participants > most) {
    return fail(
        StatusCode::kInvalidArgument,
        "A session is asked for ({}) participants, and device '{}' takes (1 to {}), or 0 for its own.",
        options.participants, device->info().name, most);
  }
  WEIR_ASSIGN(const Isa isa, isa_named(text(options.isa)));
  WEIR_ASSIGN(SessionChoice choice, read_choice(options));
  choice.operators = runtime.operators();
  WEIR_ASSIGN(OpenedProgram opened, open_program(path, choice));
  SessionOptions session_options;
  session_options.isa = isa;
  session_options.participants = options.participants;
  session_options.name = text(options.name);
  session_options.verify_constants = options.verify_constants;
  session_options.trace = choice.trace;
  session_options.constants = choice.constants;
  session_options.operators = choice.operators;
  Ref<weir_session> session = make_ref<weir_session>();
  WEIR_ASSIGN(session->session,
              Session::create(std::move(opened.loaded), std::move(device), session_options));
  session->path = path;
  session->isa = to_string(isa);
  session->cache_note = choice.use_cache ? opened.cache_note : "";
  session->compiled = opened.compiled;
  session->strict = options.strict != WEIR_STRICT_NONE;
  session->import_ns = opened.import_ns;
  session->compile_ns = opened.compile_ns;
  session->inputs = ports_of(session->session->program(), session->session->program().inputs);
  session->outputs = ports_of(session->session->program(), session->session->program().outputs);
  for (const ProgramState& state : session->session->program().states) {
    session->states.push_back({port_of(session->session->program(), state.name, state.before), state.output});
  }
  add_notices(*session, choice.use_cache);
  std::ranges::move(opened.notices, std::back_inserter(session->notices));
  WEIR_TRY(check_strict(*session, options.strict));
  session->load_ns = steady_now_ns() - begin;
  return session;
}

}  // namespace

weir_status* open_session(weir_runtime* runtime, weir_device* device, const char* path,
                          const weir_session_options* options, ProgramOpener open_program,
                          weir_session** session) try {
  if (runtime == nullptr || device == nullptr || path == nullptr || session == nullptr) {
    return null_argument("weir_session_open");
  }
  if (weir_status* unset = unset_size("weir_session_open", options)) {
    return unset;
  }
  Result<Ref<weir_session>> opened =
      open(*runtime, Ref<Device>(object(device)), path, read_struct(options), open_program);
  if (!opened) {
    opened.error().add_context(fmt::format("while opening '{}'", path));
    return failed(opened);
  }
  *session = opened->detach();
  return nullptr;
} catch (...) {
  return caught("weir_session_open");
}

}  // namespace weir::api
