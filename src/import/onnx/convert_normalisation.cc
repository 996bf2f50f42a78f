// SPDX-License-Identifier: Apache-2.0
//
// Normalisations, Softmax and reductions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

struct NamedReduceKind {
  std::string_view name;
  ReduceKind kind;
};

constexpr std::array<NamedReduceKind, 4> kReduceKinds = {{{"ReduceMean", ReduceKind::kMean},
                                                          {"ReduceSum", ReduceKind::kSum},
                                                          {"ReduceMax", ReduceKind::kMax},
                                                          {"ReduceMin", ReduceKind::kMin}}};

Result<void> convert_reduce(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 2));
  WEIR_ASSIGN(Reduction reduction, read_reduction(node));
  ReduceAttributes attributes;
  for (const NamedReduceKind& entry : kReduceKinds) {
    if (entry.name == node.proto().op_type()) {
      attributes.kind = entry.kind;
    }
  }
  if (reduction.axes.empty()) {
    node.alias_input(0, 0);
    return {};
  }
  if (attributes.kind == ReduceKind::kSum || attributes.kind == ReduceKind::kMean) {
    WEIR_TRY(node.require_numbers(0));
  }
  attributes.axes = std::move(reduction.axes);
  attributes.keep_dims = reduction.keep_dims;
  WEIR_ASSIGN(ValueId x, node.value(0));
  // The greatest of bools is their disjunction, the least their conjunction: of 0 and 1.
  const bool is_bool = node.element_type(0) == ElementType::kBool;
  if (is_bool) {
    TileProgram widen({ElementType::kBool});
    widen.append_cast(0, ElementType::kUint8);
    WEIR_ASSIGN(x, node.emit(Op::kElementwise, ElementwiseAttributes{std::move(widen)}, {x}, "widen"));
  }
  WEIR_ASSIGN(ValueId y, node.emit(Op::kReduce, std::move(attributes), {x}, is_bool ? "reduce" : ""));
  if (is_bool) {
    TileProgram narrow({ElementType::kUint8});
    narrow.append_cast(0, ElementType::kBool);
    WEIR_ASSIGN(y, node.emit(Op::kElementwise, ElementwiseAttributes{std::move(narrow)}, {y}));
  }
  node.set_output(0, y);
  return {};
}

// The number of elements of a shape; data is not multiplied.
Result<void> convert_reduce_product(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 2));
  WEIR_ASSIGN(const Reduction reduction, read_reduction(node));
  const Known* elements = node.known(0);
  if (elements == nullptr || node.rank(0) != 1 || reduction.axes.size() != 1 ||
      is_floating_point(node.element_type(0))) {
    return node.unsupported(
        "ReduceProd takes all of a list of integers that follows from shapes and constants, and has ({}).",
        node.type(0).to_string());
  }
  Dim total = 1;
  for (const Scalar& element : elements->elements) {
    total *= element.numerator;
  }
  Known result;
  if (reduction.keep_dims) {
    result.shape = {1};
  }
  result.elements.push_back(Scalar::of(std::move(total)));
  node.set_known(0, node.element_type(0), std::move(result));
  return {};
}

Result<void> convert_softmax(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_TRY(node.require_floating_point(0));
  WEIR_ASSIGN(const int64_t declared, node.integer("axis", node.version() < 13 ? 1 : -1));
  const int64_t rank = node.rank(0);
  WEIR_ASSIGN(int64_t axis, node.normal_axis(declared, rank));
  WEIR_ASSIGN(ValueId x, node.value(0));
  const Dims shape = node.shape(0);
  // Before version 13 the axes from `axis` on count as one.
  const bool coerced = node.version() < 13 && axis != rank - 1;
  if (coerced) {
    const std::span<const Dim> dims(shape);
    WEIR_ASSIGN(x, node.emit_reshape(x,
                                     {product(dims.first(static_cast<size_t>(axis))),
                                      product(dims.subspan(static_cast<size_t>(axis)))},
                                     "flatten"));
    axis = 1;
  }
  WEIR_ASSIGN(ValueId y, node.emit(Op::kSoftmax, SoftmaxAttributes{axis}, {x}));
  if (coerced) {
    WEIR_ASSIGN(y, node.emit_reshape(y, shape, "restore"));
  }
  node.set_output(0, y);
  return {};
}

Result<void> convert_layer_normalization(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 3));
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kAll));
  WEIR_TRY(node.require_floating_point(0));
  LayerNormalizationAttributes attributes;
  WEIR_ASSIGN(const int64_t axis, node.integer("axis", -1));
  WEIR_ASSIGN(attributes.axis, node.normal_axis(axis, node.rank(0)));
  WEIR_ASSIGN(attributes.epsilon, node.finite("epsilon", 1e-5F));
  WEIR_TRY(require_stash_float32(node));
  std::vector<ValueId> operands;
  for (size_t i = 0; i < (node.has(2) ? 3U : 2U); ++i) {
    WEIR_ASSIGN(operands.emplace_back(), node.value(i));
  }
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kLayerNormalization, attributes, std::move(operands)));
  node.set_output(0, y);
  return {};
}

// The parameters of a batch normalisation as one factor and one summand a channel, computed in double
// precision; `shape` makes them broadcast along the other axes. They are float32 constants.
struct Affine {
  ValueId factor = kNoValue;
  ValueId summand = kNoValue;
};

Result<Affine> fold_parameters(NodeLowering& node, double epsilon, const Dims& shape, int64_t channels) {
  Graph& graph = node.lowering().graph();
  std::array<const std::byte*, 4> data{};  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    data[i] = node.constant(i + 1).data();
  }
  std::array<std::byte*, 2> targets{};
  std::array<Constant, 2> constants;
  for (size_t i = 0; i < 2; ++i) {
    WEIR_ASSIGN(constants[i], Constant::allocate(channels * 4, targets[i]));
  }
  for (int64_t c = 0; c < channels; ++c) {
    std::array<double, 4> parameter{};
    for (size_t i = 0; i < 4; ++i) {
      float value;
      std::memcpy(&value, data[i] + c * 4, 4);
      parameter[i] = static_cast<double>(value);
    }
    const auto [scale, bias, mean, variance] = parameter;
    const double factor = scale / std::sqrt(variance + epsilon);
    const std::array<float, 2> folded = {static_cast<float>(factor),
                                         static_cast<float>(bias - mean * factor)};
    for (size_t i = 0; i < 2; ++i) {
      std::memcpy(targets[i] + c * 4, &folded[i], 4);
    }
  }
  const TensorType type{ElementType::kFloat32, shape, {}};
  return Affine{graph.add_constant(node.name() + "/factor", type, constants[0]),
                graph.add_constant(node.name() + "/summand", type, constants[1])};
}

Result<void> convert_batch_normalization(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(5, 5));
  WEIR_TRY(node.require_floating_point(0));
  constexpr std::array<size_t, 5> kAll = {0, 1, 2, 3, 4};
  WEIR_TRY(node.require_same_type(kAll));
  WEIR_ASSIGN(const double epsilon, node.finite("epsilon", 1e-5F));
  WEIR_ASSIGN(const int64_t training, node.integer("training_mode", 0));
  WEIR_ASSIGN(const int64_t spatial, node.integer("spatial", 1));
  if (training != 0 || spatial != 1) {
    return node.unsupported(
        "BatchNormalization has training_mode ({}) and spatial ({}), and (0) and (1) are supported.",
        training, spatial);
  }
  if (node.rank(0) < 2) {
    return node.wrong("Input (0) has type ({}), and takes rank 2 or more.", node.type(0).to_string());
  }
  const Dim channels = node.shape(0)[1];
  bool constant = channels.is_constant() && node.element_type(0) == ElementType::kFloat32;
  for (size_t i = 1; i < 5; ++i) {
    if (node.rank(i) != 1 || proves_equal(node.shape(i)[0], channels) == false) {
      return node.wrong("Input ({}) has type ({}), and takes ({}) channels.", i, node.type(i).to_string(),
                        channels.to_string());
    }
    constant = constant && node.is_constant(i) && node.shape(i)[0] == channels;
  }
  Dims shape(static_cast<size_t>(node.rank(0)) - 1, 1);
  shape[0] = channels;
  WEIR_ASSIGN(const ValueId x, node.value(0));
  const ElementType type = node.element_type(0);
  std::vector<ValueId> values = {x};
  TileProgram program;
  if (constant) {
    WEIR_ASSIGN(const Affine affine, fold_parameters(node, epsilon, shape, channels.constant()));
    values.insert(values.end(), {affine.factor, affine.summand});
    program = TileProgram({type, type, type});
    program.append(ScalarOp::kAdd, {program.append(ScalarOp::kMul, {0, 1}), 2});
  } else {
    for (size_t i = 1; i < 5; ++i) {
      WEIR_ASSIGN(const ValueId parameter, node.value(i));
      WEIR_ASSIGN(values.emplace_back(), node.emit_reshape(parameter, shape, fmt::format("parameter{}", i)));
    }
    program = TileProgram(std::vector<ElementType>(5, type));
    const int variance = program.append(ScalarOp::kAdd, {4, program.immediate(epsilon, type)});
    const int factor = program.append(ScalarOp::kDiv, {1, program.append(ScalarOp::kSqrt, {variance})});
    const int centred = program.append(ScalarOp::kSub, {0, 3});
    program.append(ScalarOp::kAdd, {program.append(ScalarOp::kMul, {centred, factor}), 2});
  }
  WEIR_ASSIGN(const ValueId y,
              node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, std::move(values)));
  node.set_output(0, y);
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "BatchNormalization", 7, convert_batch_normalization},
    {"", "LayerNormalization", 17, convert_layer_normalization},
    {"", "ReduceMax", 1, convert_reduce},
    {"", "ReduceMean", 1, convert_reduce},
    {"", "ReduceMin", 1, convert_reduce},
    {"", "ReduceProd", 1, convert_reduce_product},
    {"", "ReduceSum", 1, convert_reduce},
    {"", "Softmax", 1, convert_softmax},
});

}  // namespace

Result<void> require_stash_float32(NodeLowering& node) {
  WEIR_ASSIGN(const int64_t stash_type, node.integer("stash_type", 1));
  if (stash_type != 1) {
    return node.unsupported("Attribute 'stash_type' is ({}), and (1), float32, is supported.", stash_type);
  }
  return {};
}

Result<Reduction> read_reduction(NodeLowering& node) {
  Reduction reduction;
  WEIR_ASSIGN(const int64_t keep_dims, node.integer("keepdims", 1));
  WEIR_ASSIGN(const int64_t noop, node.integer("noop_with_empty_axes", 0));
  reduction.keep_dims = keep_dims != 0;
  std::vector<int64_t> axes;
  if (node.has(1)) {
    WEIR_ASSIGN(axes, node.integers(1, "axes"));
  } else {
    WEIR_ASSIGN(std::optional<std::vector<int64_t>> declared, node.integers("axes"));
    axes = std::move(declared).value_or(std::vector<int64_t>());
  }
  if (axes.empty() && noop == 0) {
    axes.resize(static_cast<size_t>(node.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  WEIR_ASSIGN(reduction.axes, node.normal_axes(axes, node.rank(0)));
  return reduction;
}

std::span<const Converter> normalisation_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
