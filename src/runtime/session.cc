// SPDX-License-Identifier: Apache-2.0
#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

#include "base/checked.h"
#include "base/out_of_memory.h"
#include "base/start_thread.h"
#include "program/heap_bytes.h"
#include "runtime/check_steps.h"

namespace weir {
namespace {

constexpr int64_t kStagingBytes = int64_t{1} << 20;

// Keeps the program's bytes alive as long as a buffer that lies in them.
struct ProgramBytes final : RefCounted {
  explicit ProgramBytes(std::shared_ptr<const void> bytes) : owner(std::move(bytes)) {}
  std::shared_ptr<const void> owner;
};

// Reads every page once, so that no inference is the first to. Of a mapped file the system may take pages
// away again.
void touch_pages(std::span<const std::byte> bytes, int64_t page_bytes) {
  const volatile std::byte* data = bytes.data();
  for (size_t offset = 0; offset < bytes.size(); offset += static_cast<size_t>(page_bytes)) {
    (void)data[offset];
  }
}

}  // namespace

Result<Ref<Session>> Session::create(LoadedProgram loaded, Ref<Device> device,
                                     const SessionOptions& options) {
  const TraceSpan span(options.trace, "load session");
  if (options.verify_constants) {
    const TraceSpan part(options.trace, "verify constants");
    WEIR_TRY(verify_constants(loaded));
  }
  Ref<Session> session = Ref<Session>::adopt(new Session(std::move(loaded), std::move(device)));
  session->name_ = options.name.empty() ? session->program().name : options.name;
  session->participants_ =
      options.participants > 0 ? options.participants : session->device_->info().participants;
  MemoryAccount& account = session->device_->memory();
  WEIR_ASSIGN(session->metadata_,
              account.charge(MemoryCategory::kHost, heap_bytes(session->program()), session->name_),
              "while loading program '{}'", session->name_);
  WEIR_ASSIGN(session->block_,
              HostBlock::allocate(*session->device_, host_bytes<Tables>(session->program()), session->name_),
              "while loading program '{}'", session->name_);
  session->tables_.place(session->block_, session->program());
  WEIR_ASSIGN(session->queue_, session->device_->create_queue({.label = session->name_}));
  {
    const TraceSpan part(options.trace, "choose kernels");
    WEIR_TRY(session->choose_kernels(options.isa), "while loading program '{}'", session->name_);
  }
  const TraceSpan part(options.trace, "constants");
  WEIR_TRY(session->load_constants(), "while loading the constants of '{}'", session->name_);
  return session;
}

Session::~Session() {
  if (queue_ && queue_->is_own_thread()) {
    // The queue's end waits for its lanes, so another thread sees to it. Where none can be had, it has no
    // end.
    Queue* queue = queue_.detach();
    if (auto end =
            with_memory_guard([&] { return start_thread("weir-end", [queue] { queue->release(); }); })) {
      end->detach();
    }
  }
}

Result<void> Session::choose_kernels(Isa isa) {
  WEIR_ASSIGN(const StepChecker checker, StepChecker::create(program()));
  const auto choose = [&](std::span<const Step> steps, std::span<StepKernel> kernels) -> Result<void> {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const Implementation* found = nullptr;
      for (const std::string& name : step.implementations) {
        const Implementation* candidate = find_implementation(name);
        if (candidate != nullptr && candidate->isa <= isa) {
          found = candidate;
          break;
        }
      }
      if (found == nullptr) {
        return fail(StatusCode::kUnimplemented,
                    "Step '{}' runs on none of its implementations here (first: {}; instruction set: {}); "
                    "compile the "
                    "model again with this build.",
                    step.name, step.implementations.front(), to_string(isa));
      }
      WEIR_TRY(checker.check(step, *found), "while checking step '{}'", step.name);
      kernels[i].implementation = found;
    }
    return {};
  };
  WEIR_TRY(choose(program().prepare_steps, tables_.prepare_kernels));
  WEIR_TRY(choose(program().steps, tables_.kernels));

  std::vector<CpuKernelEntry> entries;
  for (const HostArray<StepKernel>* list : {&tables_.prepare_kernels, &tables_.kernels}) {
    for (const StepKernel& kernel : *list) {
      if (std::ranges::find(entries, kernel.implementation->name, &CpuKernelEntry::name) == entries.end()) {
        entries.push_back({.name = kernel.implementation->name, .function = kernel.implementation->kernel});
      }
    }
  }
  if (entries.empty()) {
    return {};
  }
  WEIR_ASSIGN(library_, device_->create_library({.label = name_, .cpu = entries}));
  std::map<std::string_view, Ref<Kernel>> made;
  for (HostArray<StepKernel>* list : {&tables_.prepare_kernels, &tables_.kernels}) {
    for (StepKernel& kernel : *list) {
      Ref<Kernel>& shared = made[kernel.implementation->name];
      if (!shared) {
        WEIR_ASSIGN(shared, library_->kernel(kernel.implementation->name));
      }
      kernel.kernel = shared;
    }
  }
  return {};
}

Result<void> Session::load_constants() {
  const std::span<const std::byte> bytes = loaded_.constants;
  if (bytes.empty()) {
    return {};
  }
  const auto size = static_cast<int64_t>(bytes.size());
  const ImportVerdict verdict = device_->import_verdict(bytes.data(), size);
  if (verdict != ImportVerdict::kUsable) {
    constants_note_ = fmt::format("copied to the device: {}", to_string(verdict));
    return stage_constants();
  }
  ImportDescriptor import;
  import.pointer = bytes.data();
  import.size = size;
  import.read_only = true;
  import.usage = BufferUsage::kReadOnly;
  import.counted = true;
  import.category = MemoryCategory::kConstants;
  import.label = name_;
  import.keep_alive = make_ref<ProgramBytes>(loaded_.owner);
  WEIR_ASSIGN(constants_, device_->import_buffer(import));
  touch_pages(bytes, device_->info().page_bytes);
  constants_note_ = "used where the program is mapped";
  return {};
}

// Through a small Shared buffer, a piece at a time, into Private memory.
Result<void> Session::stage_constants() {
  const std::span<const std::byte> bytes = loaded_.constants;
  const auto size = static_cast<int64_t>(bytes.size());
  WEIR_ASSIGN(constants_, device_->create_buffer({.size = size,
                                                  .mode = StorageMode::kPrivate,
                                                  .usage = BufferUsage::kReadOnly | BufferUsage::kCopyTarget,
                                                  .category = MemoryCategory::kConstants,
                                                  .label = name_}));
  WEIR_ASSIGN(Ref<Buffer> staging, device_->create_buffer({.size = std::min(size, kStagingBytes),
                                                           .usage = BufferUsage::kCopySource,
                                                           .category = MemoryCategory::kOther,
                                                           .label = "staging"}));
  WEIR_ASSIGN(const std::span<std::byte> window, staging->contents());
  for (int64_t offset = 0; offset < size; offset += kStagingBytes) {
    const int64_t piece = std::min(kStagingBytes, size - offset);
    std::memcpy(window.data(), bytes.data() + offset, static_cast<size_t>(piece));
    WEIR_ASSIGN(Ref<CommandBuffer> commands, device_->create_command_buffer({.label = "staging"}));
    commands->encoder().copy(at(*staging, 0, piece), at(*constants_, offset, piece));
    WEIR_TRY(commands->seal());
    WEIR_TRY(queue_->submit({.command_buffer = commands.get()}));
    WEIR_TRY(commands->wait());
  }
  queue_->wait_idle();  // it has let go of the last piece's buffers
  return {};
}

int32_t Session::find_input(std::string_view name) const {
  const auto found = std::ranges::find(program().inputs, name, &ProgramPort::name);
  return found == program().inputs.end() ? -1 : static_cast<int32_t>(found - program().inputs.begin());
}

int32_t Session::find_output(std::string_view name) const {
  const auto found = std::ranges::find(program().outputs, name, &ProgramPort::name);
  return found == program().outputs.end() ? -1 : static_cast<int32_t>(found - program().outputs.begin());
}

Result<std::vector<int64_t>> Session::symbols_of(std::span<const std::vector<int64_t>> shapes) const {
  const Program& program = loaded_.program;
  if (shapes.size() != program.inputs.size()) {
    return fail(StatusCode::kInvalidArgument,
                "Program '{}' takes ({}) inputs, and shapes for ({}) are given.", name_,
                program.inputs.size(), shapes.size());
  }
  const auto input_tensor = [&](size_t input) -> const ProgramTensor& {
    return program.tensors[static_cast<size_t>(program.inputs[input].tensor)];
  };
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].size() != input_tensor(i).shape.size()) {
      return fail(StatusCode::kInvalidArgument, "Input '{}' has rank ({}), and program '{}' takes rank ({}).",
                  program.inputs[i].name, shapes[i].size(), name_, input_tensor(i).shape.size());
    }
  }
  std::vector<int64_t> symbols(program.symbols.size(), 0);
  for (size_t s = 0; s < symbols.size(); ++s) {
    const SymbolSource& source = program.symbols[s].source;
    if (source.kind != SymbolSource::Kind::kDimension) {
      return fail(StatusCode::kUnimplemented,
                  "Dimension '{}' is an element of input '{}', and no value is given for it.",
                  program.symbols[s].name, program.inputs[static_cast<size_t>(source.input)].name);
    }
    symbols[s] = shapes[static_cast<size_t>(source.input)][static_cast<size_t>(source.index)];
  }
  WEIR_ASSIGN(const ShapeValues values, evaluate_shapes(program, symbols));
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t axis = 0; axis < shapes[i].size(); ++axis) {
      const int64_t wanted = values[input_tensor(i).shape[axis]];
      if (shapes[i][axis] != wanted) {
        return fail(StatusCode::kInvalidArgument,
                    "Dimension ({}) of input '{}' is ({}), and program '{}' takes ({}).", axis,
                    program.inputs[i].name, shapes[i][axis], name_, wanted);
      }
    }
  }
  return symbols;
}

}  // namespace weir
