// SPDX-License-Identifier: Apache-2.0
//
// Operators that are put together from several of Weir's: normalisations over groups, reductions of
// functions, LogSoftmax, Tile.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

Result<ValueId> emit_unary(NodeLowering& node, ScalarOp op, ValueId x, std::string_view part) {
  TileProgram program({node.type_of(x).element_type});
  program.append(op, {0});
  return node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {x}, part);
}

Result<ValueId> emit_binary(NodeLowering& node, ScalarOp op, ValueId a, ValueId b, std::string_view part) {
  const ElementType type = node.type_of(a).element_type;
  TileProgram program({type, type});
  program.append(op, {0, 1});
  return node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {a, b}, part);
}

Result<ValueId> emit_square(NodeLowering& node, ValueId x) {
  TileProgram program({node.type_of(x).element_type});
  program.append(ScalarOp::kMul, {0, 0});
  return node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {x}, "square");
}

Result<ValueId> emit_reduce(NodeLowering& node, ReduceKind kind, ValueId x, std::vector<int64_t> axes,
                            bool keep_dims, std::string_view part) {
  return node.emit(Op::kReduce, ReduceAttributes{kind, std::move(axes), keep_dims}, {x}, part);
}

// x, and 0 in place of infinities and NaN: infinity less infinity is no number.
Result<ValueId> emit_finite(NodeLowering& node, ValueId x) {
  const ElementType type = node.type_of(x).element_type;
  TileProgram program({type});
  const int magnitude = program.append(ScalarOp::kAbs, {0});
  const int infinity = program.immediate(std::numeric_limits<double>::infinity(), type);
  const int finite = program.append(ScalarOp::kLess, {magnitude, infinity});
  program.append(ScalarOp::kWhere, {finite, 0, program.immediate(0, type)});
  return node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {x}, "finite");
}

std::vector<int64_t> axes_from(int64_t first, int64_t rank) {
  std::vector<int64_t> axes(static_cast<size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// d / √(mean(d²) + epsilon) over `axes`, where d is x, or x less its mean.
Result<ValueId> emit_normalised(NodeLowering& node, ValueId x, const std::vector<int64_t>& axes,
                                double epsilon, bool centred) {
  ValueId d = x;
  if (centred) {
    WEIR_ASSIGN(const ValueId mean, emit_reduce(node, ReduceKind::kMean, x, axes, true, "mean"));
    WEIR_ASSIGN(d, emit_binary(node, ScalarOp::kSub, x, mean, "centred"));
  }
  WEIR_ASSIGN(const ValueId square, emit_square(node, d));
  WEIR_ASSIGN(const ValueId variance, emit_reduce(node, ReduceKind::kMean, square, axes, true, "variance"));
  const ElementType type = node.type_of(x).element_type;
  TileProgram program({type, type});
  const int sum = program.append(ScalarOp::kAdd, {1, program.immediate(epsilon, type)});
  program.append(ScalarOp::kDiv, {0, program.append(ScalarOp::kSqrt, {sum})});
  return node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {d, variance}, "normalised");
}

// x · scale + bias, both of shape `shape`; the bias may be absent.
Result<void> give_scaled(NodeLowering& node, ValueId x, ValueId scale, ValueId bias, const Dims& shape) {
  const ElementType type = node.type_of(x).element_type;
  std::vector<ValueId> operands = {x};
  WEIR_ASSIGN(operands.emplace_back(), node.emit_reshape(scale, shape, "scale"));
  TileProgram program(std::vector<ElementType>(bias == kNoValue ? 2 : 3, type));
  const int scaled = program.append(ScalarOp::kMul, {0, 1});
  if (bias != kNoValue) {
    WEIR_ASSIGN(operands.emplace_back(), node.emit_reshape(bias, shape, "bias"));
    program.append(ScalarOp::kAdd, {scaled, 2});
  }
  WEIR_ASSIGN(const ValueId y,
              node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, std::move(operands)));
  node.set_output(0, y);
  return {};
}

// x of rank 3 or more, and a scale and a bias of one number a channel.
Result<Dims> channel_shape(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(3, 3));
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kAll));
  WEIR_TRY(node.require_floating_point(0));
  if (node.rank(0) < 3) {
    return node.wrong("Input (0) has type ({}), and takes rank 3 or more.", node.type(0).to_string());
  }
  for (size_t i = 1; i < 3; ++i) {
    if (node.rank(i) != 1 || proves_equal(node.shape(i)[0], node.shape(0)[1]) == false) {
      return node.wrong("Input ({}) has type ({}), and takes ({}) channels.", i, node.type(i).to_string(),
                        node.shape(0)[1].to_string());
    }
  }
  Dims shape(static_cast<size_t>(node.rank(0)) - 1, 1);
  shape[0] = node.shape(0)[1];
  return shape;
}

Result<void> convert_instance_normalization(NodeLowering& node) {
  WEIR_ASSIGN(const Dims shape, channel_shape(node));
  WEIR_ASSIGN(const double epsilon, node.finite("epsilon", 1e-5F));
  WEIR_ASSIGN(ValueId x, node.value(0));
  WEIR_ASSIGN(x, emit_normalised(node, x, axes_from(2, node.rank(0)), epsilon, true));
  WEIR_ASSIGN(const ValueId scale, node.value(1));
  WEIR_ASSIGN(const ValueId bias, node.value(2));
  return give_scaled(node, x, scale, bias, shape);
}

Result<void> convert_group_normalization(NodeLowering& node) {
  WEIR_ASSIGN(const Dims shape, channel_shape(node));
  WEIR_TRY(require_stash_float32(node));
  WEIR_ASSIGN(const double epsilon, node.finite("epsilon", 1e-5F));
  WEIR_TRY(node.require_attribute("num_groups"));
  WEIR_ASSIGN(const int64_t groups, node.integer("num_groups", 1, 1, INT32_MAX));
  const Dims& x_shape = node.shape(0);
  if (x_shape[1].is_constant() && x_shape[1].constant() % groups != 0) {
    return node.wrong("Input (0) has ({}) channels, which attribute 'num_groups' ({}) does not divide.",
                      x_shape[1].constant(), groups);
  }
  WEIR_ASSIGN(ValueId x, node.value(0));
  const Dim rest = exact_div(x_shape[1], groups) * product(std::span(x_shape).subspan(2));
  WEIR_ASSIGN(x, node.emit_reshape(x, {x_shape[0], groups, rest}, "groups"));
  WEIR_ASSIGN(x, emit_normalised(node, x, {2}, epsilon, true));
  WEIR_ASSIGN(x, node.emit_reshape(x, x_shape, "restore"));
  WEIR_ASSIGN(const ValueId scale, node.value(1));
  WEIR_ASSIGN(const ValueId bias, node.value(2));
  return give_scaled(node, x, scale, bias, shape);
}

Result<void> convert_rms_normalization(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  WEIR_TRY(node.require_floating_point(0));
  WEIR_TRY(require_stash_float32(node));
  WEIR_ASSIGN(const double epsilon, node.finite("epsilon", 1e-5F));
  WEIR_ASSIGN(const int64_t declared, node.integer("axis", -1));
  WEIR_ASSIGN(const int64_t axis, node.normal_axis(declared, node.rank(0)));
  WEIR_TRY(node.require_broadcast(1, Dims(node.shape(0).begin() + axis, node.shape(0).end())));
  WEIR_ASSIGN(ValueId x, node.value(0));
  WEIR_ASSIGN(x, emit_normalised(node, x, axes_from(axis, node.rank(0)), epsilon, false));
  WEIR_ASSIGN(const ValueId scale, node.value(1));
  return give_scaled(node, x, scale, kNoValue, node.shape(1));
}

// x − max − log(Σ e^(x − max))
Result<void> convert_log_softmax(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_TRY(node.require_floating_point(0));
  WEIR_ASSIGN(const int64_t declared, node.integer("axis", node.version() < 13 ? 1 : -1));
  WEIR_ASSIGN(const int64_t axis, node.normal_axis(declared, node.rank(0)));
  // Before version 13 the axes from `axis` on count as one.
  const std::vector<int64_t> axes =
      node.version() < 13 ? axes_from(axis, node.rank(0)) : std::vector<int64_t>{axis};
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId greatest, emit_reduce(node, ReduceKind::kMax, x, axes, true, "max"));
  WEIR_ASSIGN(const ValueId shifted, emit_binary(node, ScalarOp::kSub, x, greatest, "shifted"));
  WEIR_ASSIGN(const ValueId exponential, emit_unary(node, ScalarOp::kExp, shifted, "exp"));
  WEIR_ASSIGN(const ValueId sum, emit_reduce(node, ReduceKind::kSum, exponential, axes, true, "sum"));
  WEIR_ASSIGN(const ValueId logarithm, emit_unary(node, ScalarOp::kLog, sum, "log"));
  WEIR_ASSIGN(const ValueId y, emit_binary(node, ScalarOp::kSub, shifted, logarithm, ""));
  node.set_output(0, y);
  return {};
}

// Σ|x|, √Σx², Σx², log Σx, log Σe^x.
Result<void> convert_reduce_function(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 2));
  WEIR_TRY(node.require_floating_point(0));
  const std::string& op = node.proto().op_type();
  WEIR_ASSIGN(Reduction reduction, read_reduction(node));
  const bool keep = reduction.keep_dims;
  WEIR_ASSIGN(ValueId x, node.value(0));
  std::optional<ValueId> greatest;
  if (op == "ReduceL1") {
    WEIR_ASSIGN(x, emit_unary(node, ScalarOp::kAbs, x, "abs"));
  } else if (op == "ReduceL2" || op == "ReduceSumSquare") {
    WEIR_ASSIGN(x, emit_square(node, x));
  } else if (op == "ReduceLogSumExp" && !reduction.axes.empty()) {
    WEIR_ASSIGN(ValueId kept, emit_reduce(node, ReduceKind::kMax, x, reduction.axes, true, "max"));
    WEIR_ASSIGN(kept, emit_finite(node, kept));
    WEIR_ASSIGN(x, emit_binary(node, ScalarOp::kSub, x, kept, "shifted"));
    WEIR_ASSIGN(x, emit_unary(node, ScalarOp::kExp, x, "exp"));
    greatest = kept;
  }
  if (!reduction.axes.empty()) {
    WEIR_ASSIGN(x, emit_reduce(node, ReduceKind::kSum, x, reduction.axes, keep, "sum"));
  }
  if (op == "ReduceL2") {
    WEIR_ASSIGN(x, emit_unary(node, ScalarOp::kSqrt, x, "sqrt"));
  } else if (op == "ReduceLogSum" || greatest) {
    WEIR_ASSIGN(x, emit_unary(node, ScalarOp::kLog, x, "log"));
  }
  if (greatest) {
    WEIR_ASSIGN(const ValueId shift, node.emit_reshape(*greatest, node.type_of(x).shape, "shift"));
    WEIR_ASSIGN(x, emit_binary(node, ScalarOp::kAdd, x, shift, ""));
  }
  node.set_output(0, x);
  return {};
}

// Each repeated axis gets an axis of repetitions before it: [2, 3] twice and once is [1→2, 2, 3].
Result<void> convert_tile(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  WEIR_ASSIGN(const Dims repeats, node.dims(1, "repeats"));
  const Dims& shape = node.shape(0);
  if (repeats.size() != shape.size()) {
    return node.wrong("Tile has ({}) repeats, and its input has type ({}).", repeats.size(),
                      node.type(0).to_string());
  }
  Dims split;
  Dims expanded;
  Dims tiled;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (repeats[i].is_constant() && repeats[i].constant() < 0) {
      return node.wrong("Tile has a repeat ({}), and (0) is the least.", repeats[i].constant());
    }
    if (!repeats[i].is_constant(1)) {
      split.emplace_back(1);
      expanded.push_back(repeats[i]);
    }
    split.push_back(shape[i]);
    expanded.push_back(shape[i]);
    tiled.push_back(repeats[i] * shape[i]);
  }
  if (split.size() == shape.size()) {
    node.alias_input(0, 0);
    return {};
  }
  if (split.size() > static_cast<size_t>(kMaxRank)) {
    return node.unsupported(
        "Tile repeats ({}) axes of a tensor of type ({}), and ({}) axes and repeats together are the most.",
        split.size() - shape.size(), node.type(0).to_string(), kMaxRank);
  }
  const ElementType type = node.element_type(0);
  WEIR_ASSIGN(ValueId x, node.value(0));
  WEIR_ASSIGN(x, node.emit_reshape(x, std::move(split), "split"));
  WEIR_ASSIGN(x, node.emit_as(Op::kExpand, NoAttributes{}, {x}, {type, std::move(expanded), {}}, "repeat"));
  WEIR_ASSIGN(x, node.emit_reshape(x, std::move(tiled)));
  node.set_output(0, x);
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "GroupNormalization", 21, convert_group_normalization},
    {"", "InstanceNormalization", 6, convert_instance_normalization},
    {"", "LogSoftmax", 1, convert_log_softmax},
    {"", "RMSNormalization", 23, convert_rms_normalization},
    {"", "ReduceL1", 1, convert_reduce_function},
    {"", "ReduceL2", 1, convert_reduce_function},
    {"", "ReduceLogSum", 1, convert_reduce_function},
    {"", "ReduceLogSumExp", 1, convert_reduce_function},
    {"", "ReduceSumSquare", 1, convert_reduce_function},
    {"", "Tile", 6, convert_tile},
});

}  // namespace

std::span<const Converter> composed_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
