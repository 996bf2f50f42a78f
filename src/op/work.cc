// SPDX-License-Identifier: Apache-2.0
#include "op/work.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int64_t kMost = INT64_MAX;

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

int64_t elements(const TensorSpec& spec, int first_axis = 0) {
  int64_t count = 1;
  for (int i = first_axis; i < spec.rank; ++i) {
    count = times(count, spec.shape[static_cast<size_t>(i)]);
  }
  return count;
}

int64_t extent(const TensorSpec& spec, int axis) {
  return spec.shape[static_cast<size_t>(axis)];
}

// Operations an element of the result.
int64_t operations(const TileProgram& program) {
  return std::ranges::count_if(program.instructions(), [](const TileInstruction& instruction) {
    return instruction.op != ScalarOp::kImmediate && instruction.op != ScalarOp::kCast;
  });
}

// Bias and epilogue of a convolution or a matrix product, an element of the result.
int64_t finish(const ConcreteOp& op) {
  const Epilogue* epilogue = epilogue_of(*op.attributes);
  return (op.has_input(2) ? 1 : 0) + (epilogue == nullptr ? 0 : operations(*epilogue));
}

// Every element of the output is the sum of (channels of a group × kernel) products. N·M·spatial of the
// output × 2·C/group·kernel; the weights' axes 1 … are just those.
int64_t conv_flops(const ConcreteOp& op) {
  return times(elements(op.outputs[0]), plus(times(2, elements(op.inputs[1], 1)), finish(op)));
}

// Every element of the input goes into (channels of a group × kernel) sums.
int64_t conv_transpose_flops(const ConcreteOp& op) {
  return plus(times(elements(op.inputs[0]), times(2, elements(op.inputs[1], 1))),
              times(elements(op.outputs[0]), finish(op)));
}

int64_t matmul_flops(const ConcreteOp& op) {
  const int64_t depth = extent(op.inputs[0], op.inputs[0].rank - 1);
  return times(elements(op.outputs[0]), plus(times(2, depth), finish(op)));
}

// An entry of one direction at one time: products with x and h for four gates; their sum, the bias, and
// σ, σ, σ, tanh; c = f·c + i·g; h = o·tanh(c).
int64_t lstm_flops(const ConcreteOp& op) {
  const TensorSpec& x = op.inputs[0];
  const int64_t directions = extent(op.inputs[1], 0);
  const int64_t hidden = op.get<LstmAttributes>().hidden_size;
  const int64_t products = times(8, plus(extent(x, 2), hidden));
  const int64_t rest = 4 + (op.has_input(3) ? 4 : 0) + 4 + 3 + 2;
  return times(times(times(extent(x, 0), extent(x, 1)), times(directions, hidden)), plus(products, rest));
}

int64_t pool_flops(const ConcreteOp& op) {
  int64_t taps = 1;
  for (int64_t size : op.get<PoolAttributes>().kernel) {
    taps = times(taps, size);
  }
  return times(elements(op.outputs[0]), taps);
}

// One an element of the input; the mean divides too.
int64_t reduce_flops(const ConcreteOp& op) {
  const int64_t divisions =
      op.get<ReduceAttributes>().kind == ReduceKind::kMean ? elements(op.outputs[0]) : 0;
  return plus(elements(op.inputs[0]), divisions);
}

// A product and a sum for each tap: 2 or 4 of them on each axis whose extent changes.
int64_t resize_flops(const ConcreteOp& op) {
  const auto& resize = op.get<ResizeAttributes>();
  if (resize.mode == ResizeMode::kNearest) {
    return 0;
  }
  int64_t taps = 1;
  for (int i = 0; i < op.outputs[0].rank; ++i) {
    if (extent(op.inputs[0], i) != extent(op.outputs[0], i)) {
      taps *= resize.mode == ResizeMode::kLinear ? 2 : 4;
    }
  }
  return taps == 1 ? 0 : times(elements(op.outputs[0]), 2 * taps);
}

}  // namespace

int64_t flops_of(const ConcreteOp& op) {
  switch (op.op) {
    case Op::kElementwise:
      return times(elements(op.outputs[0]), operations(op.get<ElementwiseAttributes>().program));
    case Op::kConv:
      return conv_flops(op);
    case Op::kConvTranspose:
      return conv_transpose_flops(op);
    case Op::kMatMul:
      return matmul_flops(op);
    case Op::kLstm:
      return lstm_flops(op);
    case Op::kMaxPool:
    case Op::kAveragePool:
      return pool_flops(op);
    case Op::kReduce:
      return reduce_flops(op);
    case Op::kSoftmax:  // greatest, difference, exponential, sum, quotient
      return times(elements(op.outputs[0]), 5);
    case Op::kLayerNormalization:  // sum; difference, square, sum; product; scale and bias
      return times(elements(op.outputs[0]), op.has_input(2) ? 7 : 6);
    case Op::kResize:
      return resize_flops(op);
    case Op::kPad:
    case Op::kGather:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kConcat:
    case Op::kExpand:
    case Op::kCopy:
    case Op::kFill:
    case Op::kRange:
    case Op::kDimTensor:
    case Op::kCustom:
      return 0;
  }
  return 0;
}

int64_t distinct_bytes(const TensorSpec& spec) {
  if (spec.rank < 0) {
    return 0;
  }
  int64_t count = 1;
  for (int i = 0; i < spec.rank; ++i) {
    const int64_t size = extent(spec, i);
    if (size == 0) {
      return 0;
    }
    count = spec.strides[static_cast<size_t>(i)] == 0 ? count : times(count, size);
  }
  return times(count, bit_width(spec.type)) / 8;
}

int64_t bytes_read_of(const ConcreteOp& op, size_t input) {
  const int64_t whole = distinct_bytes(op.inputs[input]);
  const bool picks = (op.op == Op::kGather || op.op == Op::kSlice) && input == 0;
  return picks ? std::min(whole, distinct_bytes(op.outputs[0])) : whole;
}

Work work_of(const ConcreteOp& op) {
  Work work{.flops = flops_of(op)};
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    work.bytes_read = plus(work.bytes_read, op.has_input(i) ? bytes_read_of(op, i) : 0);
  }
  for (const TensorSpec& output : op.outputs) {
    work.bytes_written = plus(work.bytes_written, distinct_bytes(output));
  }
  return work;
}

}  // namespace weir
