// SPDX-License-Identifier: Apache-2.0
#include "runtime/concrete.h"

#include <algorithm>

#include "base/checked.h"
#include "op/check_shapes.h"

namespace weir {
namespace {

// A program's own placement leaves the room that a custom operator asked for when it was compiled, and none
// where a step had no workspace; −1: placed for each shape.
Result<void> check_workspace(const Step& step, int64_t needed, int64_t room) {
  if (room >= 0 && needed > room) {
    return fail(
        StatusCode::kFailedPrecondition,
        "Step '{}' needs a workspace of ({}) bytes, and the program was compiled for ({}); an operator's "
        "version changes when its needs do. Compile the model again.",
        step.name, needed, room);
  }
  return {};
}

// No kernel takes a negative one. LayoutRule::kAny lets pass what only numbers decide.
Result<void> check_strides(const TensorSpec& operand) {
  for (int axis = 0; axis < operand.rank; ++axis) {
    if (operand.strides[static_cast<size_t>(axis)] < 0 && operand.shape[static_cast<size_t>(axis)] > 1) {
      return fail(StatusCode::kDataLoss, "Axis ({}) of an operand has the stride ({}), and (0) is the least.",
                  axis, operand.strides[static_cast<size_t>(axis)]);
    }
  }
  return {};
}

// Of each storage; −1 where it is a workspace, which plan_shape() measures. verify_shape() found that they
// fit.
std::vector<int64_t> storage_bytes(const Program& program, const ShapeValues& values) {
  std::vector<int64_t> bytes;
  bytes.reserve(program.storages.size());
  for (const Storage& storage : program.storages) {
    bytes.push_back(storage.bytes < 0 ? -1 : values[storage.bytes]);
  }
  return bytes;
}

}  // namespace

Result<ShapeValues> evaluate_shapes(const Program& program, std::span<const int64_t> symbols) {
  ShapeValues values;
  values.symbols.assign(symbols.begin(), symbols.end());
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const ProgramSymbol& symbol = program.symbols[i];
    if (symbols[i] < symbol.range.min || symbols[i] > symbol.range.max) {
      return fail(StatusCode::kOutOfRange, "Dimension '{}' is ({}), and the program takes ({}) to ({}).",
                  symbol.name, symbols[i], symbol.range.min, symbol.range.max);
    }
  }
  values.numbers.resize(program.dims.size());
  WEIR_TRY(evaluate(program.dims, symbols, values.numbers), "while evaluating the shapes of program '{}'",
           program.name);
  for (const ProgramConstraint& constraint : program.constraints) {
    const int64_t a = values[constraint.a];
    const int64_t b = values[constraint.b];
    if (!holds(constraint.kind, a, b)) {
      return fail(StatusCode::kInvalidArgument, "The shapes do not fit: {} (({}) and ({})).", constraint.what,
                  a, b);
    }
  }
  WEIR_TRY(verify_shape(program, values.numbers));
  values.dims.assign(values.numbers.begin(), values.numbers.end());
  return values;
}

TensorSpec concrete_tensor(const Program&, const ProgramTensor& tensor, const ShapeValues& values) {
  TensorSpec spec;
  spec.type = tensor.element_type;
  spec.rank = static_cast<int32_t>(tensor.shape.size());
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    spec.shape[i] = values[tensor.shape[i]];
    spec.strides[i] = values[tensor.strides[i]];
  }
  return spec;
}

Result<ConcreteStep> concrete_step(const Program& program, const Step& step, const ShapeValues& values,
                                   const CustomOperators* operators) {
  ConcreteStep concrete;
  WEIR_ASSIGN(concrete.attributes, read_attributes(step.op, step.attributes, values.dims),
              "while preparing step '{}'", step.name);
  const auto spec = [&](int32_t tensor) {
    return tensor < 0 ? absent_operand()
                      : concrete_tensor(program, program.tensors[static_cast<size_t>(tensor)], values);
  };
  for (int32_t input : step.inputs) {
    concrete.inputs.push_back(spec(input));
  }
  for (int32_t output : step.outputs) {
    concrete.outputs.push_back(spec(output));
  }
  for (const std::vector<TensorSpec>* operands : {&concrete.inputs, &concrete.outputs}) {
    for (const TensorSpec& operand : *operands) {
      WEIR_TRY(check_strides(operand), "while preparing step '{}'", step.name);
    }
  }
  WEIR_TRY(check_shapes(concrete.op(step.op)), "while preparing step '{}'", step.name);
  if (step.op == Op::kCustom) {
    auto& custom = std::get<CustomAttributes>(concrete.attributes);
    WEIR_ASSIGN(custom.definition, resolve(operators, custom), "while preparing step '{}'", step.name);
    WEIR_ASSIGN(CustomPrepared prepared, custom.definition->prepare(concrete.op(step.op), step.name));
    custom.prepared = std::make_shared<const CustomPrepared>(prepared);
  }
  return concrete;
}

Result<std::vector<ConcreteStep>> concrete_steps(const Program& program, std::span<const Step> steps,
                                                 const ShapeValues& values,
                                                 const CustomOperators* operators) {
  std::vector<ConcreteStep> concrete;
  concrete.reserve(steps.size());
  for (const Step& step : steps) {
    WEIR_ASSIGN(concrete.emplace_back(), concrete_step(program, step, values, operators));
  }
  return concrete;
}

bool has_work(const Step& step, const ConcreteStep& concrete) {
  return step.op == Op::kCustom || std::ranges::any_of(concrete.outputs, [](const TensorSpec& output) {
           return output.rank >= 0 && output.element_count() > 0;
         });
}

Plan step_needs(const Step& step, const ConcreteOp& op) {
  if (op.op == Op::kCustom) {
    const CustomPrepared& prepared = *op.get<CustomAttributes>().prepared;
    return {prepared.workspace_room(), prepared.plan.scratch_bytes};
  }
  Plan largest;
  for (const std::string& name : step.implementations) {
    const Implementation* implementation = find_implementation(name);
    if (implementation == nullptr || implementation->plan == nullptr) {
      continue;
    }
    const Plan plan = implementation->plan(op);
    largest.workspace_bytes = std::max(largest.workspace_bytes, plan.workspace_bytes);
    largest.scratch_bytes = std::max(largest.scratch_bytes, plan.scratch_bytes);
  }
  return largest;
}

Result<ShapePlan> plan_shape(const Program& program, const ShapeValues& values,
                             std::span<const ConcreteStep> prepare_steps,
                             std::span<const ConcreteStep> steps) {
  ShapePlan plan;
  plan.storage_bytes = storage_bytes(program, values);
  const auto measure = [&](std::span<const Step> program_steps,
                           std::span<const ConcreteStep> concrete) -> Result<void> {
    for (size_t i = 0; i < program_steps.size(); ++i) {
      if (!has_work(program_steps[i], concrete[i])) {
        if (program_steps[i].workspace >= 0) {
          int64_t& bytes = plan.storage_bytes[static_cast<size_t>(program_steps[i].workspace)];
          bytes = std::max<int64_t>(bytes, 0);
        }
        continue;
      }
      const Plan needs = step_needs(program_steps[i], concrete[i].op(program_steps[i].op));
      plan.scratch_bytes = std::max(plan.scratch_bytes, align_up(needs.scratch_bytes, kStorageAlignment));
      const int32_t workspace = program_steps[i].workspace;
      const int64_t room = workspace < 0 ? 0
                           : program_steps[i].op == Op::kCustom
                               ? plan.storage_bytes[static_cast<size_t>(workspace)]
                               : -1;
      WEIR_TRY(check_workspace(program_steps[i], needs.workspace_bytes, room));
      if (workspace >= 0) {
        int64_t& bytes = plan.storage_bytes[static_cast<size_t>(workspace)];
        bytes = std::max(bytes, needs.workspace_bytes);
      }
    }
    return {};
  };
  WEIR_TRY(measure(program.prepare_steps, prepare_steps));
  WEIR_TRY(measure(program.steps, steps));

  std::vector<Block> blocks(program.storages.size());
  std::vector<Block> activations;
  plan.storage_offset.assign(program.storages.size(), -1);
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    if (storage.kind == StorageKind::kPrepared) {
      plan.storage_offset[i] = plan.prepared_bytes;
      WEIR_ASSIGN(plan.prepared_bytes,
                  checked_add(plan.prepared_bytes, align_up(plan.storage_bytes[i], kStorageAlignment)),
                  "while adding up the prepared constants of '{}'", program.name);
    } else if (storage.kind == StorageKind::kActivation || storage.kind == StorageKind::kWorkspace) {
      blocks[i] = {plan.storage_bytes[i], storage.first_step, storage.last_step};
      plan.storage_offset[i] = storage.offset;
      if (storage.kind == StorageKind::kActivation) {
        activations.push_back(blocks[i]);
      }
    }
  }
  plan.activation_bytes = lower_bound(activations);
  if (program.is_static() && program.arena_bytes >= 0) {
    plan.arena_bytes = program.arena_bytes;
    return plan;
  }
  std::vector<Block> ordered;
  std::vector<int32_t> order(program.placement_order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int32_t>(i);
    ordered.push_back(blocks[static_cast<size_t>(program.placement_order[i])]);
  }
  std::vector<int64_t> offsets(ordered.size());
  PlacementScratch scratch;
  plan.arena_bytes = place_in_order(ordered, order, offsets, scratch);
  const int64_t bound = lower_bound(ordered);
  if (plan.arena_bytes == INT64_MAX) {
    return fail(StatusCode::kOutOfRange,
                "The tensors of program '{}' have more bytes together than 64 bits count.", program.name);
  }
  if (plan.arena_bytes > bound + bound / 100) {
    // The order that suited the compiler's sample leaves a gap here: a short search closes most of it.
    PlacementOptions options;
    options.search_tries = 16;
    Placement better = place(ordered, options);
    if (better.peak < plan.arena_bytes) {
      plan.arena_bytes = better.peak;
      offsets = std::move(better.offsets);
    }
  }
  for (size_t i = 0; i < offsets.size(); ++i) {
    plan.storage_offset[static_cast<size_t>(program.placement_order[i])] = offsets[i];
  }
  return plan;
}

}  // namespace weir
