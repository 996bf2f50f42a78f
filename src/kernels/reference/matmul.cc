// SPDX-License-Identifier: Apache-2.0
//
// MatMul with broadcast leading axes and an epilogue.
#include "kernels/reference/reference.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir {
namespace reference {
namespace {

struct MatMulConstants {
  TensorSpec a;  // strides of y's rank: those of the leading axes, then of M and K
  TensorSpec b;  // the same, then of K and N
  TensorSpec bias;
  TensorSpec y;
  EpilogueConstants epilogue;
  int32_t inputs = 0;
  int64_t depth = 0;  // K
};

Support supported(const OpDesc& desc) {
  const TensorType* a = input(desc, 0);
  const TensorType* b = input(desc, 1);
  const TensorType* bias = input(desc, 2);
  const TensorType* y = output(desc, 0);
  if (a == nullptr || b == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  if (a->rank() < 2 || b->rank() < 2 || y->rank() < a->rank() || y->rank() < b->rank()) {
    return {"an operand has a rank below 2 or above the output's"};
  }
  const ElementType type = a->element_type;
  const bool known = is_reference_float(type) || (is_reference_integer(type) && bit_width(type) >= 32);
  if (!known || b->element_type != type ||
      (bias != nullptr && (bias->element_type != type || bias->rank() != 1))) {
    return {"the operands are not of one floating-point, 32 or 64-bit integer type"};
  }
  return can_run_epilogue(desc, type);
}

// `matrix` with its leading axes broadcast to the output's.
TensorSpec broadcast_leading(const TensorSpec& matrix, const TensorSpec& y) {
  TensorSpec result = broadcast_to(matrix, y);
  for (int i = 1; i <= 2; ++i) {
    result.strides[y.rank - i] = matrix.strides[matrix.rank - i];
  }
  return result;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  MatMulConstants constants;
  constants.y = op.outputs[0];
  constants.a = broadcast_leading(op.inputs[0], constants.y);
  constants.b = broadcast_leading(op.inputs[1], constants.y);
  constants.bias = op.has_input(2) ? op.inputs[2] : absent_operand();
  constants.epilogue = epilogue_constants(op);
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  constants.depth = op.inputs[0].shape[op.inputs[0].rank - 1];
  return record(constants, chunks(constants.y.element_count()), target);
}

void run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<MatMulConstants>();
  std::byte* const target = invocation.bindings[static_cast<size_t>(c.inputs)];
  const int row = c.y.rank - 2;
  const int column = c.y.rank - 1;
  with_number(c.a.type, [&]<typename T>() {
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;  // integers wrap
    for_each_output(invocation, c.y, [&](const Index& index) {
      Index at = index;
      at[column] = 0;
      const T* a = reinterpret_cast<const T*>(invocation.bindings[0]) + offset_of(at, c.a.strides, c.y.rank);
      at = index;
      at[row] = 0;
      const T* b = reinterpret_cast<const T*>(invocation.bindings[1]) + offset_of(at, c.b.strides, c.y.rank);
      Sum sum = 0;
      for (int64_t k = 0; k < c.depth; ++k) {
        sum += static_cast<Sum>(a[k * c.a.strides[column]]) * static_cast<Sum>(b[k * c.b.strides[row]]);
      }
      if (c.bias.rank >= 0) {
        // A bias of one element is repeated.
        const int64_t element = c.bias.shape[0] == 1 ? 0 : index[column] * c.bias.strides[0];
        sum += static_cast<Sum>(reinterpret_cast<const T*>(invocation.bindings[2])[element]);
      }
      Scalar value;
      if constexpr (std::is_integral_v<T>) {
        value.integer = static_cast<int64_t>(sum);
      } else {
        value.real = sum;
      }
      finish(invocation, c.epilogue, c.a.type, value, index, c.y, target);
    });
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceMatMul = {
    .name = "reference.matmul",
    .op = Op::kMatMul,
    .reference = true,
    .supported = reference::supported,
    .in_place = reference::epilogue_in_place,
    .extent = reference::extent,
    .kernel = reference::run,
};

}  // namespace weir
