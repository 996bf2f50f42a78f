// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/engine.h"

#include <algorithm>
#include <cstring>

#include "api_runtime/handles.h"
#include "hal/cpu/cpu_device.h"
#include "kernels/isa_name.h"
#include "runtime/measure.h"
#include "tools/weir/commands/tensor_input.h"

namespace weir::cli {
namespace {

// A status of the C interface as an error.
Result<void> taken(weir_status* status, const std::string& path) {
  if (status == nullptr) {
    return {};
  }
  std::string text = weir_status_text(status);
  const auto code = static_cast<StatusCode>(weir_status_code(status));
  weir_status_free(status);
  Status own(code, std::move(text));
  own.add_context(fmt::format("while loading operators '{}'", path));
  return std::unexpected(std::move(own));
}

}  // namespace

Result<std::shared_ptr<const CustomOperators>> load_operators(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    return nullptr;
  }
  // What a library registers with; it runs nothing, so one thread is enough.
  weir_runtime_options options = WEIR_INIT(weir_runtime_options);
  options.threads = 1;
  weir_runtime* created = nullptr;
  WEIR_TRY(taken(weir_runtime_create(&options, &created), paths.front()));
  const Ref<weir_runtime> runtime = Ref<weir_runtime>::adopt(created);
  for (const std::string& path : paths) {
    WEIR_TRY(taken(weir_runtime_load_operators(runtime.get(), path.c_str()), path));
  }
  return runtime->operators();
}

Result<ModelOptions> model_options(const EngineOptions& options) {
  ModelOptions model;
  WEIR_ASSIGN(model.operators, load_operators(options.runner.operators));
  for (const DimArgument& dim : options.shapes.dims) {
    model.import.dims.emplace_back(dim.symbol, dim.range);
  }
  for (const ShapeArgument& shape : options.shapes.shapes) {
    std::vector<std::optional<Range>> ranges;
    for (int64_t extent : shape.shape) {
      ranges.push_back(extent < 0 ? std::nullopt : std::optional(Range{extent, extent}));
    }
    model.import.shapes.emplace_back(shape.input, std::move(ranges));
  }
  for (const StateArgument& state : options.shapes.states) {
    model.compile.states.push_back({state.input, state.output});
  }
  model.compile.prefer_memory = options.shapes.prefer_memory;
  model.batch_of_one = options.batch_of_one;
  model.compile.materialize_steps = options.materialize_steps;
  model.compile.reference_only = options.runner.reference;
  model.use_cache = !options.runner.no_cache;
  for (const InputArgument& constant : options.runner.constants) {
    model.import.swappable.push_back(constant.input);
  }
  model.cache_bytes = options.runner.cache_limit;
  model.verify_cached = options.runner.verify_constants;
  return model;
}

Result<Ref<Device>> open_device(const RunnerOptions& runner) {
  CpuDeviceOptions options;
  options.threads = runner.threads;
  WEIR_ASSIGN(const Isa isa, isa_named(runner.isa));
  options.isa = to_string(isa);
  options.memory_limit = runner.memory_limit;
  for (const std::string& toggle : runner.toggles) {
    if (toggle == "validation") {
      options.toggles.validation = true;
    } else if (toggle == "simulate_discrete") {
      options.toggles.simulate_discrete = true;
    } else {
      return fail(StatusCode::kInvalidArgument, "Toggle '{}' is not one of (validation, simulate_discrete).",
                  toggle);
    }
  }
  ThreadPoolOptions pool;
  pool.threads = runner.threads;
  WEIR_ASSIGN(options.pool, ThreadPool::create(pool));
  return create_cpu_device(options);
}

Result<Ref<Session>> make_session(LoadedProgram program, Ref<Device> device, const RunnerOptions& runner,
                                  Tracer* trace) {
  SessionOptions session;
  WEIR_ASSIGN(session.isa, isa_named(runner.isa));
  session.trace = trace;
  WEIR_ASSIGN(session.operators, load_operators(runner.operators));
  session.reference_only = runner.reference;
  session.verify_constants = runner.verify_constants;
  std::vector<Array> constants;
  constants.reserve(runner.constants.size());  // views point into it
  for (const InputArgument& constant : runner.constants) {
    WEIR_ASSIGN(Array array, read_npy(constant.path), "while reading constant '{}'", constant.input);
    const Array& kept = constants.emplace_back(std::move(array));
    session.constants.push_back(
        {constant.input, TensorSpec::dense(kept.type, kept.shape)
                             .at(const_cast<std::byte*>(kept.data.data()))});  // only read
  }
  return Session::create(std::move(program), std::move(device), session);
}

Result<void> check_program_options(const std::string& path, const ShapeOptions& options) {
  if (options.prefer_memory) {
    return fail(StatusCode::kInvalidArgument,
                "Program '{}' is compiled already, and --prefer is for compiling; compile the model again "
                "with --prefer "
                "memory.",
                path);
  }
  if (!options.states.empty()) {
    return fail(
        StatusCode::kInvalidArgument,
        "Program '{}' is compiled already, and its states cannot be chosen any more; compile the model again "
        "with --state {}={}.",
        path, options.states.front().input, options.states.front().output);
  }
  return {};
}

Result<Engine> open_engine(const EngineOptions& options, Ref<Device> device) {
  const int64_t begin = steady_now_ns();
  Engine engine;
  engine.device = std::move(device);
  if (!engine.device) {
    const TraceSpan span(options.trace.get(), "open device");
    WEIR_ASSIGN(engine.device, open_device(options.runner));
  }
  WEIR_ASSIGN(engine.is_program, is_program_file(options.model));
  EngineOptions choice = options;
  if (engine.is_program) {
    WEIR_TRY(check_program_options(options.model, options.shapes));
    choice.shapes.shapes.clear();  // for requests, not for the compiler
    choice.shapes.dims.clear();
  }
  WEIR_ASSIGN(ModelOptions model_choice, model_options(choice));
  model_choice.trace = options.trace.get();
  WEIR_ASSIGN(Model model, open_model(options.model, model_choice));
  engine.compiled = model.compiled;
  engine.cache_note = model.cache_note;
  engine.notices = std::move(model.notices);
  engine.import_ns = model.import_ns;
  engine.compile_ns = model.compile_ns;
  WEIR_ASSIGN(engine.session,
              make_session(std::move(model.loaded), engine.device, options.runner, options.trace.get()));
  engine.load_ns = steady_now_ns() - begin;
  return engine;
}

Ref<Tracer> make_trace(const std::string& path) {
  return path.empty() ? Ref<Tracer>() : Tracer::create();
}

Result<void> write_trace(const Ref<Tracer>& trace, const std::string& path, Result<void> result) {
  if (trace) {
    const Result<void> written = trace->write(path);
    if (!result || !written) {
      return result ? written : result;
    }
    fmt::print(
        stderr, "Trace '{}': {} events{}. It opens in ui.perfetto.dev.\n", path, trace->kept(),
        trace->dropped() > 0 ? fmt::format(", and ({}) older ones were dropped", trace->dropped()) : "");
  }
  return result;
}

std::string describe(const Device& device, const RunnerOptions& runner) {
  const std::string isa = runner.isa.empty() ? std::string(to_string(detect_isa())) : runner.isa;
  const int32_t threads = device.info().participants;
  return fmt::format("{}, {}, {} thread{}", device.info().name, isa, threads, threads == 1 ? "" : "s");
}

std::vector<int64_t> declared_shape(const Program& program, const ProgramPort& port) {
  std::vector<int64_t> shape;
  for (int32_t position : program.tensors[static_cast<size_t>(port.tensor)].shape) {
    const DimTableEntry& entry = program.dims[static_cast<size_t>(position)];
    shape.push_back(entry.op == DimOp::kConstant ? entry.value : -1);
  }
  return shape;
}

PlanReport::Ledger lines_of(const Ledger& ledger) {
  return {ledger.constants, ledger.activations, ledger.workspace, ledger.scratch,
          ledger.io,        ledger.state,       ledger.host,      ledger.total()};
}

Result<std::vector<Dim>> readable_dims(const Program& program) {
  return to_dims(program.dims, symbol_table(program));
}

Result<RequestShape> request_shape(const Program& program, bool is_program, const ShapeOptions& options) {
  WEIR_ASSIGN(const std::vector<Dim> dims, readable_dims(program));
  std::vector<NamedType> inputs;
  for (const ProgramPort& port : program.inputs) {
    const ProgramTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    NamedType& input = inputs.emplace_back(NamedType{port.name, {tensor.element_type, {}, {}}});
    for (const int32_t position : tensor.shape) {
      input.type.shape.push_back(dims[static_cast<size_t>(position)]);
    }
  }
  RequestShape shape(std::move(inputs), symbol_table(program));
  if (is_program) {
    WEIR_TRY(shape.take_options(options.shapes, options.dims), "while choosing a shape for program '{}'",
             program.name);
  }
  return shape;
}

Result<void> fill_inputs(Request& request, const Program& program) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    WEIR_ASSIGN(const TensorView view, request.input(static_cast<int32_t>(i)));
    const std::vector<int64_t> shape(view.shape.begin(), view.shape.begin() + view.rank);
    WEIR_ASSIGN(const Array array, random_array(view.type, shape, 1 + i));
    copy_in(array, view);
  }
  return {};
}

void copy_in(const Array& array, const TensorView& view) {
  std::memcpy(view.data, array.data.data(), array.data.size());
}

Result<Array> copy_out(const TensorView& view) {
  WEIR_ASSIGN(Array array,
              make_array(view.type, std::span(view.shape).first(static_cast<size_t>(view.rank))));
  std::memcpy(array.data.data(), view.data, array.data.size());
  return array;
}

}  // namespace weir::cli
