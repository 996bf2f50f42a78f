// SPDX-License-Identifier: Apache-2.0
#include "runtime/session.h"

#include <algorithm>
#include <map>
#include <thread>

#include "base/out_of_memory.h"
#include "base/start_thread.h"
#include "program/heap_bytes.h"
#include "runtime/check_steps.h"
#include "runtime/custom_steps.h"

namespace weir {
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
  WEIR_ASSIGN(
      session->metadata_,
      account.charge(MemoryCategory::kHost, heap_bytes(session->program()), session->label("program")),
      "while loading program '{}'", session->name_);
  WEIR_ASSIGN(session->block_,
              HostBlock::allocate(*session->device_, host_bytes<Tables>(session->program()),
                                  session->label("tables")),
              "while loading program '{}'", session->name_);
  session->tables_.place(session->block_, session->program());
  session->operators_ = options.operators;
  WEIR_ASSIGN(session->queue_, session->device_->create_queue({.label = session->name_}));
  std::vector<Packing> packings;
  {
    const TraceSpan part(options.trace, "choose kernels");
    WEIR_TRY(session->choose_kernels(options, packings), "while loading program '{}'", session->name_);
  }
  const TraceSpan part(options.trace, "constants");
  WEIR_ASSIGN(const std::vector<Replacement> replaced, session->replacements(options.constants),
              "while loading program '{}'", session->name_);
  session->lay_out_constants(replaced);
  WEIR_TRY(session->load_constants(packings, replaced), "while loading the constants of '{}'",
           session->name_);
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

std::string Session::label(std::string_view what) const {
  return fmt::format("{} of {}", what, name_);
}

Result<const Implementation*> Session::choose(const Step& step, const SessionOptions& options) const {
  if (step.op == Op::kCustom) {
    WEIR_ASSIGN(const Implementation* custom, custom_implementation_of(step, operators_.get()),
                "while loading step '{}'", step.name);
    return custom;
  }
  for (const std::string& name : step.implementations) {
    const Implementation* candidate = find_implementation(name);
    if (candidate != nullptr && candidate->isa <= options.isa &&
        (candidate->reference || !options.reference_only)) {
      return candidate;
    }
  }
  if (options.reference_only) {
    return fail(StatusCode::kFailedPrecondition,
                "Step '{}' has no reference implementation on its list (first: {}); compile the model again "
                "with --portable, or run the model itself with --reference.",
                step.name, step.implementations.front());
  }
  return fail(StatusCode::kUnimplemented,
              "Step '{}' runs on none of its implementations here (first: {}; instruction set: {}); "
              "compile the "
              "model again with this build.",
              step.name, step.implementations.front(), to_string(options.isa));
}

Result<void> Session::choose_kernels(const SessionOptions& options, std::vector<Packing>& packings) {
  WEIR_ASSIGN(const StepChecker checker, StepChecker::create(program(), operators_.get()));
  std::vector<char> packed(program().storages.size(), 0);
  const auto choose_all = [&](std::span<const Step> steps, std::span<StepKernel> kernels) -> Result<void> {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      WEIR_ASSIGN(const Implementation* found, choose(step, options));
      WEIR_ASSIGN(std::vector<PackRequest> packs, checker.check(step, *found), "while checking step '{}'",
                  step.name);
      // All that are named, since the plan takes the largest workspace among them.
      for (const std::string& name : step.implementations) {
        const Implementation* other = find_implementation(name);
        if (other != nullptr && other != found) {
          WEIR_TRY(checker.check(step, *other), "while checking step '{}'", step.name);
        }
      }
      kernels[i].implementation = found;
      kernels[i].packed = !packs.empty();
      for (PackRequest& pack : packs) {
        const int32_t storage = std::ranges::find(step.packed, pack.input, &PackedOperand::input)->storage;
        if (program().storages[static_cast<size_t>(storage)].kind == StorageKind::kPacked &&
            packed[static_cast<size_t>(storage)]++ == 0) {
          packings.push_back({storage, step.inputs[static_cast<size_t>(pack.input)], std::move(pack)});
        }
      }
    }
    return {};
  };
  WEIR_TRY(choose_all(program().prepare_steps, tables_.prepare_kernels));
  WEIR_TRY(choose_all(program().steps, tables_.kernels));

  std::vector<CpuKernelEntry> entries;
  for (const HostArray<StepKernel>* list : {&tables_.prepare_kernels, &tables_.kernels}) {
    for (const StepKernel& kernel : *list) {
      if (std::ranges::find(entries, kernel.implementation->name, &CpuKernelEntry::name) == entries.end()) {
        entries.push_back({.name = kernel.implementation->name,
                           .function = kernel.implementation->kernel,
                           .user = custom_user(*kernel.implementation, operators_.get())});
      }
    }
  }
  if (entries.empty()) {
    return {};
  }
  WEIR_ASSIGN(library_, device_->create_library(
                            {.label = name_, .cpu = entries, .keep_alive = keep_operators(operators_)}));
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
      return fail(
          StatusCode::kUnimplemented,
          "Dimension '{}' of program '{}' is element ({}) of input '{}', and only the shapes of inputs give "
          "dimensions their values here; compile the model with a number for it.",
          program.symbols[s].name, name_, source.index,
          program.inputs[static_cast<size_t>(source.input)].name);
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
