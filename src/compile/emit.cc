// SPDX-License-Identifier: Apache-2.0
#include "compile/emit.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/checked.h"
#include "compile/declare_states.h"
#include "compile/sample.h"
#include "runtime/concrete.h"
#include "shape/dim_size.h"

namespace weir {
namespace {

class Emitter {
 public:
  Emitter(std::shared_ptr<const Graph> graph, const Lowered& lowered, const CompileOptions& options)
      : lowered_(lowered),
        options_(options),
        storage_of_(lowered.storages.size(), -1),
        kernels_read_(lowered.storages.size(), false),
        tensor_of_(lowered.views.size(), -1),
        packed_tensor_of_(lowered.views.size(), -1) {
    compiled_.graph = std::move(graph);
  }

  Result<Compiled> run() {
    const Graph& graph = *compiled_.graph;
    program_.name = graph.name;
    program_.target = "x86-64";
    program_.metadata = graph.metadata;
    for (const auto& symbol : graph.symbols.symbols()) {
      program_.symbols.push_back({symbol->name, symbol->range, program_source(graph, *symbol)});
    }
    program_.states.resize(graph.states.size());
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const PortPlace place = input_place(graph, static_cast<int32_t>(i));
      add_port(place, graph.value(graph.inputs()[i]).name, input_view(place));
    }
    for (const LoweredStep& step : lowered_.prepare_steps) {
      program_.prepare_steps.push_back(add_step(step));
    }
    for (const LoweredStep& step : lowered_.steps) {
      program_.steps.push_back(add_step(step));
    }
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      add_port(output_place(graph, static_cast<int32_t>(i)), graph.outputs()[i].name, lowered_.outputs[i]);
    }
    for (const Constraint& constraint : graph.constraints) {
      program_.constraints.push_back({constraint.kind, add_dim(constraint.a, "Condition", constraint.what),
                                      add_dim(constraint.b, "Condition", constraint.what), constraint.what});
    }
    for (const Lowered::Notice& notice : lowered_.notices) {
      program_.notices.push_back(
          {notice.kind, notice.what, notice.reason, add_dim(notice.bytes, "Value", notice.what)});
    }
    lay_out_constants();
    list_constants();
    program_.constant_bytes = constant_bytes_;
    program_.dims.assign(table_.entries().begin(), table_.entries().end());
    WEIR_TRY(check_dims());
    const TraceSpan span(options_.trace, "place");
    WEIR_TRY(place(), "while placing the tensors of '{}'", program_.name);
    compiled_.program = std::move(program_);
    return std::move(compiled_);
  }

 private:
  int32_t input_view(const PortPlace& place) const {
    for (size_t i = 0; i < lowered_.views.size(); ++i) {
      const LoweredStorage& storage = lowered_.storages[static_cast<size_t>(lowered_.views[i].storage)];
      if (storage.kind == place.kind && storage.index == place.index) {
        return static_cast<int32_t>(i);  // the first view of such a storage is the input itself
      }
    }
    return -1;
  }

  // The position of a dimension of a value, a step, … by the name of it.
  int32_t add_dim(const Dim& dim, std::string_view kind, std::string_view name) {
    if (size_of(dim) > kMaxTableExpression && !too_large_) {
      too_large_ = Status{
          StatusCode::kResourceExhausted,
          fmt::format("{} '{}' takes an expression of ({}) operations over dimensions, and ({}) is the "
                      "most that a program holds.",
                      kind, name, size_of(dim), kMaxTableExpression)};
    }
    return table_.add(dim);
  }

  // Whoever opens the program makes expressions of its dimensions again, within limits: what does not stay
  // within them is no program.
  Result<void> check_dims() const {
    if (too_large_) {
      return std::unexpected(*too_large_);
    }
    WEIR_TRY(to_dims(table_.entries(), compiled_.graph->symbols), "while checking the dimensions of '{}'",
             program_.name);
    return {};
  }

  void add_port(const PortPlace& place, const std::string& name, int32_t view) {
    const int32_t tensor = add_tensor(view);
    if (place.kind == StorageKind::kInput) {
      program_.inputs.push_back({name, tensor});
    } else if (place.kind == StorageKind::kOutput) {
      program_.outputs.push_back({name, tensor});
    } else {
      ProgramState& state = program_.states[static_cast<size_t>(place.index / 2)];
      (place.index % 2 == 0 ? state.name : state.output) = name;
      (place.index % 2 == 0 ? state.before : state.after) = tensor;
    }
  }

  int32_t add_storage(int32_t index, std::string_view owner) {
    int32_t& known = storage_of_[static_cast<size_t>(index)];
    if (known >= 0) {
      return known;
    }
    const LoweredStorage& source = lowered_.storages[static_cast<size_t>(index)];
    Storage storage;
    storage.kind = source.kind;
    storage.bytes = add_dim(source.bytes, "Value", owner);
    storage.first_step = std::max(source.first_step, 0);
    storage.last_step = std::max(source.last_step, 0);
    storage.index = source.index;
    storage.pack_id = source.pack_id;
    known = static_cast<int32_t>(program_.storages.size());
    if (source.kind == StorageKind::kConstant) {
      constants_.push_back(index);
    }
    program_.storages.push_back(std::move(storage));
    return known;
  }

  // Constants lie in the file in the order of their first use; those that sessions only pack from come last,
  // so that their pages need not stay in memory.
  void lay_out_constants() {
    std::ranges::stable_partition(constants_,
                                  [&](int32_t index) { return kernels_read_[static_cast<size_t>(index)]; });
    for (const int32_t index : constants_) {
      const int32_t storage = storage_of_[static_cast<size_t>(index)];
      program_.storages[static_cast<size_t>(storage)].offset = constant_bytes_;
      add_block(lowered_.storages[static_cast<size_t>(index)], storage);
    }
  }

  // What became of the model's constants.
  void list_constants() {
    std::map<ValueId, int32_t> plain;  // storages that the program has
    std::vector<ValueId> packed;
    for (size_t i = 0; i < lowered_.storages.size(); ++i) {
      const LoweredStorage& storage = lowered_.storages[i];
      if (storage.kind == StorageKind::kConstant && storage_of_[i] >= 0) {
        if (storage.pack_source >= 0) {
          packed.push_back(storage.constant);
        } else {
          plain[storage.constant] = static_cast<int32_t>(i);
        }
      }
    }
    for (const LoweredConstant& constant : lowered_.constants) {
      ProgramConstant listed{constant.name, constant.fate, -1};
      if (constant.fate == ConstantFate::kPlain) {
        if (std::ranges::find(packed, constant.value) != packed.end()) {
          listed.fate = ConstantFate::kPackedOnly;
        } else if (const auto found = plain.find(constant.value); found != plain.end()) {
          const auto whole = std::ranges::find(lowered_.views, found->second, &LoweredView::storage);
          listed.tensor = add_tensor(static_cast<int32_t>(whole - lowered_.views.begin()));
        } else {
          listed.fate = ConstantFate::kUnused;
        }
      }
      program_.constants.push_back(std::move(listed));
    }
  }

  void add_block(const LoweredStorage& source, int32_t storage) {
    ConstantBlock block;
    block.offset = constant_bytes_;
    block.bytes = source.bytes.constant();
    block.storage = storage;
    constant_bytes_ += align_up(block.bytes, kStorageAlignment);
    const Graph* graph = compiled_.graph.get();
    const ValueId constant = source.constant;
    if (source.pack_source < 0) {
      block.write = [graph, constant](std::span<std::byte> target) -> Result<void> {
        std::ranges::copy(graph->value(constant).constant->bytes(), target.begin());
        return {};
      };
    } else {
      const LoweredView& view = lowered_.views[static_cast<size_t>(source.pack_source)];
      TensorSpec spec = concrete_spec_of(view);
      const int64_t offset = view.offset.constant() * (bit_width(view.type) / 8);
      block.write = [graph, constant, spec, offset,
                     write = source.pack.write](std::span<std::byte> target) -> Result<void> {
        const std::span<const std::byte> bytes = graph->value(constant).constant->bytes();
        std::vector<std::byte> aligned;  // a model file's payload may lie at an odd address
        const std::byte* data = bytes.data();
        if (reinterpret_cast<uintptr_t>(data) % alignof(int64_t) != 0) {
          aligned.assign(bytes.begin(), bytes.end());
          data = aligned.data();
        }
        write(spec.at(const_cast<std::byte*>(data) + offset), target.data());
        return {};
      };
    }
    compiled_.blocks.push_back(std::move(block));
  }

  static TensorSpec concrete_spec_of(const LoweredView& view) {
    TensorSpec spec;
    spec.type = view.type;
    spec.rank = static_cast<int32_t>(view.shape.size());
    for (size_t i = 0; i < view.shape.size(); ++i) {
      spec.shape[i] = view.shape[i].constant();
      spec.strides[i] = view.strides[i].constant();
    }
    return spec;
  }

  int32_t add_tensor(int32_t index, bool packed = false) {
    int32_t& known = (packed ? packed_tensor_of_ : tensor_of_)[static_cast<size_t>(index)];
    if (known >= 0) {
      return known;
    }
    const LoweredView& view = lowered_.views[static_cast<size_t>(index)];
    ProgramTensor tensor;
    tensor.name = view.name;
    tensor.element_type = view.type;
    for (size_t i = 0; i < view.shape.size(); ++i) {
      tensor.shape.push_back(add_dim(view.shape[i], "Value", view.name));
      tensor.strides.push_back(add_dim(view.strides[i], "Value", view.name));
    }
    tensor.offset = add_dim(view.offset, "Value", view.name);
    tensor.storage = packed ? -1 : add_storage(view.storage, view.name);
    known = static_cast<int32_t>(program_.tensors.size());
    program_.tensors.push_back(std::move(tensor));
    return known;
  }

  Step add_step(const LoweredStep& source) {
    Step step;
    step.name = source.name;
    step.origin = source.origin;
    step.op = source.op;
    step.attributes = write_attributes(source.attributes,
                                       [&](const Dim& dim) { return add_dim(dim, "Step", source.name); });
    for (size_t i = 0; i < source.inputs.size(); ++i) {
      const auto packed = std::ranges::find(source.packed, static_cast<int32_t>(i), &PackedOperand::input);
      const bool is_packed = packed != source.packed.end();
      const bool holds_packed =
          is_packed && lowered_.storages[static_cast<size_t>(packed->storage)].kind == StorageKind::kConstant;
      step.inputs.push_back(source.inputs[i] < 0 ? -1 : add_tensor(source.inputs[i], holds_packed));
      if (is_packed) {
        step.packed.push_back({packed->input, add_storage(packed->storage, source.name)});
        kernels_read_[static_cast<size_t>(packed->storage)] = true;
      } else if (source.inputs[i] >= 0) {
        kernels_read_[static_cast<size_t>(lowered_.views[static_cast<size_t>(source.inputs[i])].storage)] =
            true;
      }
    }
    for (int32_t output : source.outputs) {
      step.outputs.push_back(output < 0 ? -1 : add_tensor(output));
    }
    for (const Implementation* implementation : source.selection.accepted) {
      step.implementations.emplace_back(implementation->name);
    }
    step.refused = source.selection.refused;
    step.reference = source.selection.first().reference;
    return step;
  }

  // A shape at which every step can be measured.
  struct Sample {
    ShapeValues values;
    std::vector<ConcreteStep> prepare_steps;
    std::vector<ConcreteStep> steps;
  };

  Result<Sample> sample_at(std::span<const int64_t> symbols) const {
    Sample sample;
    WEIR_ASSIGN(sample.values, evaluate_shapes(program_, symbols));
    const CustomOperators* operators = options_.operators.get();
    WEIR_ASSIGN(sample.prepare_steps,
                concrete_steps(program_, program_.prepare_steps, sample.values, operators));
    WEIR_ASSIGN(sample.steps, concrete_steps(program_, program_.steps, sample.values, operators));
    return sample;
  }

  // A static program's only shape, or one of a dynamic program's that it admits: the guess, with as few
  // changes as its constraints ask for, or larger ones. The error is the guess's.
  Result<Sample> sample() const {
    if (program_.is_static()) {
      return sample_at({});
    }
    std::vector<int64_t> symbols = sample_symbols(compiled_.graph->symbols, options_.typical);
    Result<Sample> found = sample_at(symbols);
    if (found || !options_.typical.empty()) {
      return found;
    }
    const std::vector<bool> decided = meet_constraints(program_, symbols);
    for (const bool raises_decided : {false, true}) {
      for (int64_t least = 1; least <= 256; least *= 2) {
        std::vector<int64_t> larger = symbols;
        for (size_t i = 0; i < larger.size(); ++i) {
          if (raises_decided || !decided[i]) {
            const Range range = program_.symbols[i].range;
            larger[i] = std::clamp(std::max(larger[i], least), range.min, range.max);
          }
        }
        if (Result<Sample> other = sample_at(larger)) {
          return other;
        }
      }
    }
    return found;
  }

  // Gives every step that may need one a workspace, and places what lies in the arena: for good in a static
  // program, at a sample of its shapes for the order in a dynamic one.
  Result<void> place() {
    WEIR_ASSIGN(const Sample at, sample());
    for (size_t i = 0; i < program_.steps.size(); ++i) {
      Step& step = program_.steps[i];
      // A custom operator's workspace may be nothing at the sample and something at another shape.
      const bool may_grow = step.op == Op::kCustom && !program_.is_static();
      if (may_grow || step_needs(step, at.steps[i].op(step.op)).workspace_bytes > 0) {
        Storage workspace;
        workspace.kind = StorageKind::kWorkspace;
        workspace.first_step = workspace.last_step = static_cast<int32_t>(i);
        step.workspace = static_cast<int32_t>(program_.storages.size());
        program_.storages.push_back(workspace);
      }
    }
    std::vector<int32_t> placed;
    for (size_t i = 0; i < program_.storages.size(); ++i) {
      const StorageKind kind = program_.storages[i].kind;
      if (kind == StorageKind::kActivation || kind == StorageKind::kWorkspace) {
        placed.push_back(static_cast<int32_t>(i));
      }
    }
    program_.placement_order = placed;
    WEIR_ASSIGN(const ShapePlan plan, plan_shape(program_, at.values, at.prepare_steps, at.steps));
    std::vector<Block> blocks;
    for (int32_t index : placed) {
      const Storage& storage = program_.storages[static_cast<size_t>(index)];
      blocks.push_back(
          {plan.storage_bytes[static_cast<size_t>(index)], storage.first_step, storage.last_step});
    }
    const Placement best = weir::place(blocks);
    for (size_t i = 0; i < best.order.size(); ++i) {
      program_.placement_order[i] = placed[static_cast<size_t>(best.order[i])];
    }
    if (!program_.is_static()) {
      return {};
    }
    for (size_t i = 0; i < placed.size(); ++i) {
      Storage& storage = program_.storages[static_cast<size_t>(placed[i])];
      storage.offset = best.offsets[i];
      if (storage.kind == StorageKind::kWorkspace) {
        storage.bytes = static_cast<int32_t>(program_.dims.size());
        DimTableEntry entry;
        entry.value = blocks[i].bytes;
        program_.dims.push_back(entry);
      }
    }
    program_.arena_bytes = best.peak;
    program_.activation_bytes = plan.activation_bytes;
    return {};
  }

  const Lowered& lowered_;
  const CompileOptions& options_;
  Compiled compiled_;
  Program program_;
  DimTable table_;
  std::optional<Status> too_large_;  // of the first dimension that no program holds
  int64_t constant_bytes_ = 0;
  std::vector<int32_t> constants_;  // lowered storages, in the order of their first use
  std::vector<int32_t> storage_of_;
  std::vector<bool> kernels_read_;  // by lowered storage: as it is, not only to pack from
  std::vector<int32_t> tensor_of_;
  std::vector<int32_t> packed_tensor_of_;
};

}  // namespace

Result<Compiled> emit(std::shared_ptr<const Graph> graph, const Lowered& lowered,
                      const CompileOptions& options) {
  return Emitter(std::move(graph), lowered, options).run();
}

}  // namespace weir
