// SPDX-License-Identifier: Apache-2.0
#include "kernels/run_reference.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "base/float_environment.h"
#include "kernels/implementation.h"
#include "tensor/strided_copy.h"

namespace weir {
namespace {

struct AlignedDelete {
  void operator()(std::byte* bytes) const { ::operator delete(bytes, std::align_val_t{64}); }
};
using AlignedBytes = std::unique_ptr<std::byte, AlignedDelete>;

AlignedBytes allocate(int64_t bytes) {
  return AlignedBytes(static_cast<std::byte*>(
      ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{64}, std::nothrow)));
}

TensorType type_of(const TensorSpec& spec) {
  TensorType type;
  type.element_type = spec.type;
  for (int i = 0; i < spec.rank; ++i) {
    type.shape.emplace_back(spec.shape[i]);
    type.strides.emplace_back(spec.strides[i]);
  }
  return type;
}

bool matches(const TensorView& view, const TensorSpec& spec) {
  if (spec.rank < 0) {
    return view.data == nullptr;
  }
  if (view.type != spec.type || view.rank != spec.rank) {
    return false;
  }
  for (int i = 0; i < spec.rank; ++i) {
    if (view.shape[i] != spec.shape[i] || view.strides[i] != spec.strides[i]) {
      return false;
    }
  }
  return view.data != nullptr || spec.element_count() == 0;
}

Result<void> check_views(Op op, std::string_view kind, std::span<const TensorSpec> specs,
                         std::span<const TensorView> views) {
  if (specs.size() != views.size()) {
    return fail(StatusCode::kInvalidArgument, "{} has ({}) {}s, and ({}) views of them are given.",
                to_string(op), specs.size(), kind, views.size());
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!matches(views[i], specs[i])) {
      return fail(StatusCode::kInvalidArgument, "The view of {} ({}) of {} is {}, and its spec is {}.", kind,
                  i, to_string(op), views[i].data == nullptr ? "absent" : spec_of(views[i]).to_string(),
                  specs[i].rank < 0 ? "absent" : specs[i].to_string());
    }
  }
  return {};
}

// OpDesc points at its types.
struct Described {
  std::vector<TensorType> types;
  OpDesc desc;
};

Described describe(const ConcreteOp& op) {
  Described result;
  result.types.reserve(op.inputs.size() + op.outputs.size());
  const auto add = [&](std::span<const TensorSpec> specs, std::vector<const TensorType*>& target) {
    for (const TensorSpec& spec : specs) {
      target.push_back(spec.rank < 0 ? nullptr : &result.types.emplace_back(type_of(spec)));
    }
  };
  result.desc.op = op.op;
  result.desc.attributes = op.attributes;
  add(op.inputs, result.desc.inputs);
  add(op.outputs, result.desc.outputs);
  result.desc.constant.assign(op.inputs.size(), false);
  return result;
}

// The operand whose elements a kernel takes for indices.
int index_operand(Op op) {
  return op == Op::kLstm ? 4 : 1;
}

}  // namespace

const Implementation* find_reference(Op op) {
  for (const Implementation* implementation : implementations()) {
    if (implementation->op == op && implementation->reference) {
      return implementation;
    }
  }
  return nullptr;
}

Result<void> run_reference(const ConcreteOp& op, std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  const Implementation* implementation = find_reference(op.op);
  if (implementation == nullptr) {
    return fail(StatusCode::kUnimplemented, "{} has no reference implementation.", to_string(op.op));
  }
  WEIR_TRY(check_views(op.op, "input", op.inputs, inputs));
  WEIR_TRY(check_views(op.op, "output", op.outputs, outputs));
  const Described described = describe(op);
  if (const Support support = implementation->supported(described.desc); !support.ok()) {
    return fail(StatusCode::kUnimplemented, "The reference implementation of {} does not run it: {}.",
                to_string(op.op), support.reason);
  }
  const Plan plan = implementation->plan != nullptr ? implementation->plan(op) : Plan{};
  const AlignedBytes constants = allocate(kMaxKernelConstants);
  const AlignedBytes workspace = allocate(plan.workspace_bytes);
  const AlignedBytes scratch = allocate(plan.scratch_bytes);
  if (constants == nullptr || workspace == nullptr || scratch == nullptr) {
    return fail(
        StatusCode::kResourceExhausted,
        "There is no memory for the workspace ({}), scratch ({}) and constants ({}) in bytes that the "
        "reference implementation of {} needs.",
        plan.workspace_bytes, plan.scratch_bytes, kMaxKernelConstants, to_string(op.op));
  }
  const Extent extent = implementation->extent(op, std::span(constants.get(), kMaxKernelConstants));

  std::vector<std::byte*> bindings;
  for (const TensorView& view : inputs) {
    bindings.push_back(view.data);
  }
  for (const TensorView& view : outputs) {
    bindings.push_back(view.data);
  }
  if (plan.workspace_bytes > 0) {
    bindings.push_back(workspace.get());
  }
  StatusRecord status;
  CpuInvocation invocation;
  invocation.bindings = bindings;
  invocation.constants = constants.get();
  invocation.scratch = scratch.get();
  invocation.tile_end = extent.tiles;
  invocation.status = &status;
  {
    const FloatEnvironment environment;
    implementation->kernel(invocation);
  }
  if (status.state.load(std::memory_order_acquire) != 0) {
    return fail(StatusCode::kOutOfRange,
                "Operand ({}) of {} holds the index ({}), and the axis that it indexes has ({}) positions.",
                index_operand(op.op), to_string(op.op), status.operands[0], status.operands[1]);
  }
  return {};
}

}  // namespace weir
