// SPDX-License-Identifier: Apache-2.0
//
// Elementwise operators: each becomes a tile program. What is known of shapes is computed on the spot.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "import/onnx/converters.h"
#include "import/onnx/operands.h"

namespace weir::onnx_import {
namespace {

bool is_shape_type(ElementType type) {
  return type == ElementType::kInt64 || type == ElementType::kInt32 || type == ElementType::kBool;
}

// Whether elements of these operands are to be computed here: shape arithmetic, not constants of the network.
bool is_shape_arithmetic(NodeLowering& node, std::initializer_list<size_t> operands) {
  bool derived = false;
  for (size_t i : operands) {
    if (node.known(i) == nullptr) {
      return false;
    }
    derived = derived || node.derived(i) || is_shape_type(node.element_type(i));
  }
  return derived;
}

// Applies `function` to each element; false where one can't be said.
template <typename Function>
bool set_mapped(NodeLowering& node, ElementType type, const Known& a, Function function) {
  Known result{a.shape, {}};
  for (const Scalar& element : a.elements) {
    std::optional<Scalar> value = function(element);
    if (!value) {
      return false;
    }
    result.elements.push_back(*std::move(value));
  }
  node.set_known(0, type, std::move(result));
  return true;
}

enum class Takes : uint8_t { kAny, kNumbers, kFloating, kBool };

struct NamedScalarOp {
  std::string_view name;
  ScalarOp op;
  Takes takes;
};

constexpr std::array<NamedScalarOp, 26> kScalarOps = {{
    {"Add", ScalarOp::kAdd, Takes::kNumbers},
    {"And", ScalarOp::kAnd, Takes::kBool},
    {"Abs", ScalarOp::kAbs, Takes::kNumbers},
    {"Ceil", ScalarOp::kCeil, Takes::kFloating},
    {"Div", ScalarOp::kDiv, Takes::kNumbers},
    {"Equal", ScalarOp::kEqual, Takes::kAny},
    {"Erf", ScalarOp::kErf, Takes::kFloating},
    {"Exp", ScalarOp::kExp, Takes::kFloating},
    {"Floor", ScalarOp::kFloor, Takes::kFloating},
    {"Greater", ScalarOp::kGreater, Takes::kNumbers},
    {"GreaterOrEqual", ScalarOp::kGreaterOrEqual, Takes::kNumbers},
    {"HardSwish", ScalarOp::kHardSwish, Takes::kFloating},
    {"Less", ScalarOp::kLess, Takes::kNumbers},
    {"LessOrEqual", ScalarOp::kLessOrEqual, Takes::kNumbers},
    {"Log", ScalarOp::kLog, Takes::kFloating},
    {"Mul", ScalarOp::kMul, Takes::kNumbers},
    {"Neg", ScalarOp::kNeg, Takes::kNumbers},
    {"Not", ScalarOp::kNot, Takes::kBool},
    {"Or", ScalarOp::kOr, Takes::kBool},
    {"Reciprocal", ScalarOp::kReciprocal, Takes::kFloating},
    {"Relu", ScalarOp::kRelu, Takes::kNumbers},
    {"Round", ScalarOp::kRound, Takes::kFloating},
    {"Sigmoid", ScalarOp::kSigmoid, Takes::kFloating},
    {"Sqrt", ScalarOp::kSqrt, Takes::kFloating},
    {"Sub", ScalarOp::kSub, Takes::kNumbers},
    {"Tanh", ScalarOp::kTanh, Takes::kFloating},
}};

// Of one that the table of converters names.
const NamedScalarOp& scalar_op(const NodeLowering& node) {
  return *std::ranges::find(kScalarOps, node.proto().op_type(), &NamedScalarOp::name);
}

Result<void> require_types(const NodeLowering& node, Takes takes) {
  for (size_t i = 0; i < node.input_count(); ++i) {
    switch (takes) {
      case Takes::kAny:
        break;
      case Takes::kNumbers:
        WEIR_TRY(node.require_numbers(i));
        break;
      case Takes::kFloating:
        WEIR_TRY(node.require_floating_point(i));
        break;
      case Takes::kBool:
        WEIR_TRY(node.require_bool(i));
        break;
    }
  }
  return {};
}

Result<void> convert_unary(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  const std::string_view op = node.proto().op_type();
  const ElementType type = node.element_type(0);
  const NamedScalarOp& scalar = scalar_op(node);
  WEIR_TRY(require_types(node, scalar.takes));
  if (is_shape_arithmetic(node, {0}) && set_mapped(node, type, *node.known(0), [&](const Scalar& element) {
        return evaluate_unary(op, type, element);
      })) {
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  Operands operands{TileProgram({type}), {x}, {0}};
  operands.program.append(scalar.op, {0});
  return emit_program(node, std::move(operands));
}

Result<void> convert_binary(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  const std::string_view op = node.proto().op_type();
  const auto [name, scalar, takes] = scalar_op(node);
  WEIR_TRY(require_types(node, takes));
  if (is_shape_arithmetic(node, {0, 1})) {
    if (std::optional<Known> result =
            evaluate_binary(op, node.element_type(0), *node.known(0), *node.known(1))) {
      const bool gives_bool = scalar == ScalarOp::kAnd || scalar == ScalarOp::kOr ||
                              (scalar >= ScalarOp::kEqual && scalar <= ScalarOp::kGreaterOrEqual);
      node.set_known(0, gives_bool ? ElementType::kBool : node.element_type(0), *std::move(result));
      return {};
    }
  }
  WEIR_ASSIGN(Operands operands, gather_operands(node, kBoth));
  operands.program.append(scalar, {operands.numbers[0], operands.numbers[1]});
  return emit_program(node, std::move(operands));
}

Result<void> convert_xor(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  WEIR_TRY(require_types(node, Takes::kBool));
  WEIR_ASSIGN(Operands operands, gather_operands(node, kBoth));
  const int same = operands.program.append(ScalarOp::kEqual, {operands.numbers[0], operands.numbers[1]});
  operands.program.append(ScalarOp::kNot, {same});
  return emit_program(node, std::move(operands));
}

// Only on shapes, and on floating-point data with fmod's sign left out.
Result<void> convert_mod(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  WEIR_ASSIGN(const int64_t fmod, node.integer("fmod", 0));
  const bool integers = is_shape_type(node.element_type(0));
  if (integers && is_shape_arithmetic(node, {0, 1})) {
    const Known& a = *node.known(0);
    const Known& b = *node.known(1);
    const auto negative = [](const Scalar& element) { return element.numerator.range().min < 0; };
    // The sign of fmod's result is the dividend's; of mod's, the divisor's.
    if (fmod == 0 ||
        (std::ranges::none_of(a.elements, negative) && std::ranges::none_of(b.elements, negative))) {
      if (std::optional<Known> result = evaluate_binary("Mod", node.element_type(0), a, b)) {
        node.set_known(0, node.element_type(0), *std::move(result));
        return {};
      }
    }
  }
  return node.unsupported(
      "Mod takes integers that follow from shapes and constants, and has ({}) and ({}), fmod ({}).",
      node.type(0).to_string(), node.type(1).to_string(), fmod);
}

Result<void> convert_pow(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  WEIR_TRY(require_types(node, Takes::kNumbers));
  const ElementType type = node.element_type(0);
  const std::optional<double> exponent = node.scalar(1);
  if (is_shape_arithmetic(node, {0, 1}) && node.element_type(1) == type && is_floating_point(type)) {
    if (std::optional<Known> result = evaluate_binary("Pow", type, *node.known(0), *node.known(1))) {
      node.set_known(0, type, *std::move(result));
      return {};
    }
  }
  const bool roots = exponent == 0.5 && is_floating_point(type);
  if (exponent && node.rank(1) <= node.rank(0) && (*exponent == 2 || *exponent == 3 || roots)) {
    WEIR_ASSIGN(const ValueId x, node.value(0));
    Operands operands{TileProgram({type}), {x}, {0}};
    if (*exponent == 0.5) {
      operands.program.append(ScalarOp::kSqrt, {0});
    } else {
      const int square = operands.program.append(ScalarOp::kMul, {0, 0});
      if (*exponent == 3) {
        operands.program.append(ScalarOp::kMul, {square, 0});
      }
    }
    return emit_program(node, std::move(operands));
  }
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_ASSIGN(Operands operands, gather_operands(node, kBoth));
  TileProgram& program = operands.program;
  int base = operands.numbers[0];
  int power = operands.numbers[1];
  // A whole number to a power that may be none is computed as a real one, and cut.
  const bool cuts = !is_floating_point(type) && is_floating_point(node.element_type(1));
  const ElementType computed = cuts ? ElementType::kFloat64 : type;
  if (cuts) {
    base = program.append_cast(base, computed);
  }
  if (node.element_type(1) != computed) {
    power = program.append_cast(power, computed);
  }
  const int result = program.append(ScalarOp::kPow, {base, power});
  if (cuts) {
    program.append_cast(result, type);
  }
  return emit_program(node, std::move(operands));
}

// Max, Min, Sum and Mean of any number of operands.
Result<void> convert_variadic(NodeLowering& node) {
  const std::string& op = node.proto().op_type();
  const size_t count = node.input_count();
  WEIR_TRY(node.require_inputs(std::max<size_t>(count, 1), SIZE_MAX));
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i) {
    all[i] = i;
  }
  WEIR_TRY(node.require_same_type(all));
  WEIR_TRY(node.require_numbers(0));
  const ElementType type = node.element_type(0);
  if (count == 1) {
    node.alias_input(0, 0);
    return {};
  }
  if (count == 2 && (op == "Max" || op == "Min") && is_shape_arithmetic(node, {0, 1})) {
    if (std::optional<Known> result = evaluate_binary(op, type, *node.known(0), *node.known(1))) {
      node.set_known(0, type, *std::move(result));
      return {};
    }
  }
  const ScalarOp scalar = op == "Max" ? ScalarOp::kMax : op == "Min" ? ScalarOp::kMin : ScalarOp::kAdd;
  // As many operands a step as a program takes; further steps begin with the result so far.
  constexpr size_t kOperands = kMaxTileInputs - 1;
  std::optional<ValueId> result;
  for (size_t begin = 0; begin < count; begin += kOperands) {
    const std::span<const size_t> group = std::span(all).subspan(begin, std::min(kOperands, count - begin));
    std::vector<ValueId> values;
    if (result) {
      values.push_back(*result);
    }
    for (size_t i : group) {
      WEIR_ASSIGN(values.emplace_back(), node.value(i));
    }
    TileProgram program(std::vector<ElementType>(values.size(), type));
    int joined = 0;
    for (int i = 1; i < static_cast<int>(values.size()); ++i) {
      joined = program.append(scalar, {joined, i});
    }
    if (op == "Mean" && begin + kOperands >= count) {
      const int divisor = program.immediate(static_cast<double>(count), type);
      program.append(ScalarOp::kDiv, {joined, divisor});
    }
    const bool last = begin + kOperands >= count;
    WEIR_ASSIGN(result, node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)},
                                  std::move(values), last ? "" : fmt::format("{}", begin / kOperands)));
  }
  node.set_output(0, *result);
  return {};
}

Result<void> convert_clip(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 3));
  WEIR_TRY(node.require_numbers(0));
  const ElementType type = node.element_type(0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::array<std::optional<double>, 2> bounds = {-kInfinity, kInfinity};
  if (node.version() < 11) {
    WEIR_TRY(node.require_floating_point(0));
    WEIR_ASSIGN(bounds[0], node.real("min", static_cast<double>(std::numeric_limits<float>::lowest())));
    WEIR_ASSIGN(bounds[1], node.real("max", static_cast<double>(std::numeric_limits<float>::max())));
  } else {
    constexpr std::array<size_t, 3> kAll = {0, 1, 2};
    WEIR_TRY(node.require_same_type(kAll));
    for (size_t i = 1; i < 3; ++i) {
      if (node.has(i)) {
        bounds[i - 1] = node.scalar(i);
      }
    }
  }
  constexpr std::array<std::string_view, 2> kBounds = {"lower bound", "upper bound"};
  for (size_t i = 0; i < 2; ++i) {
    if (bounds[i] && std::isnan(*bounds[i])) {
      return node.wrong("The {} is ({}), and takes a number.", kBounds[i], *bounds[i]);
    }
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  Operands operands{TileProgram({type}), {x}, {0}};
  if (is_floating_point(type) && bounds[0] && bounds[1]) {
    operands.program.append(ScalarOp::kClip, {0}, *bounds[0], *bounds[1]);
    return emit_program(node, std::move(operands));
  }
  std::vector<size_t> indices = {0};
  std::vector<ScalarOp> ops;
  for (size_t i = 1; i < 3; ++i) {
    if (node.has(i)) {
      if (node.type(i).rank() != 0 && node.type(i).element_count() != Dim(1)) {
        return node.wrong("Input ({}), the {}, has type ({}), and takes a scalar.", i, kBounds[i - 1],
                          node.type(i).to_string());
      }
      indices.push_back(i);
      ops.push_back(i == 1 ? ScalarOp::kMax : ScalarOp::kMin);
    }
  }
  WEIR_ASSIGN(operands, gather_operands(node, indices));
  int clipped = operands.numbers[0];
  for (size_t k = 0; k < ops.size(); ++k) {
    clipped = operands.program.append(ops[k], {clipped, operands.numbers[k + 1]});
  }
  if (ops.empty()) {
    node.alias_input(0, 0);
    return {};
  }
  return emit_program(node, std::move(operands));
}

Result<void> convert_cast_to(NodeLowering& node, ElementType to) {
  const ElementType from = node.element_type(0);
  if (from == to) {
    node.alias_input(0, 0);
    return {};
  }
  if (is_shape_arithmetic(node, {0}) && set_mapped(node, to, *node.known(0), [&](const Scalar& element) {
        return evaluate_cast(from, to, element);
      })) {
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  Operands operands{TileProgram({from}), {x}, {0}};
  operands.program.append_cast(0, to);
  return emit_program(node, std::move(operands));
}

Result<void> convert_cast(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_TRY(node.require_attribute("to"));
  WEIR_ASSIGN(const int64_t to, node.integer("to", 0, 0, INT32_MAX));
  const std::optional<ElementType> type = element_type_of(static_cast<int32_t>(to));
  if (!type) {
    return node.unsupported("Cast gives type ({}), and numbers and bool are supported.",
                            onnx_type_name(static_cast<int32_t>(to)));
  }
  return convert_cast_to(node, *type);
}

Result<void> convert_cast_like(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  return convert_cast_to(node, node.element_type(1));
}

Result<void> convert_where(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(3, 3));
  constexpr std::array<size_t, 2> kBranches = {1, 2};
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kBranches));
  WEIR_TRY(node.require_bool(0));
  const bool computed =
      !is_floating_point(node.element_type(1)) || has_known_arithmetic(node.element_type(1));
  if (computed && is_shape_arithmetic(node, {0, 1, 2})) {
    if (std::optional<Known> result = evaluate_where(*node.known(0), *node.known(1), *node.known(2))) {
      node.set_known(0, node.element_type(1), *std::move(result));
      return {};
    }
  }
  WEIR_ASSIGN(Operands operands, gather_operands(node, kAll));
  operands.program.append(ScalarOp::kWhere, {operands.numbers[0], operands.numbers[1], operands.numbers[2]});
  return emit_program(node, std::move(operands));
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Abs", 6, convert_unary},
    {"", "Add", 7, convert_binary},
    {"", "And", 7, convert_binary},
    {"", "Cast", 6, convert_cast},
    {"", "CastLike", 15, convert_cast_like},
    {"", "Ceil", 6, convert_unary},
    {"", "Clip", 6, convert_clip},
    {"", "Div", 7, convert_binary},
    {"", "Equal", 7, convert_binary},
    {"", "Erf", 9, convert_unary},
    {"", "Exp", 6, convert_unary},
    {"", "Floor", 6, convert_unary},
    {"", "Greater", 7, convert_binary},
    {"", "GreaterOrEqual", 12, convert_binary},
    {"", "HardSwish", 14, convert_unary},
    {"", "Less", 7, convert_binary},
    {"", "LessOrEqual", 12, convert_binary},
    {"", "Log", 6, convert_unary},
    {"", "Max", 6, convert_variadic},
    {"", "Mean", 6, convert_variadic},
    {"", "Min", 6, convert_variadic},
    {"", "Mod", 10, convert_mod},
    {"", "Mul", 7, convert_binary},
    {"", "Neg", 6, convert_unary},
    {"", "Not", 1, convert_unary},
    {"", "Or", 7, convert_binary},
    {"", "Pow", 7, convert_pow},
    {"", "Reciprocal", 6, convert_unary},
    {"", "Relu", 6, convert_unary},
    {"", "Round", 11, convert_unary},
    {"", "Sigmoid", 6, convert_unary},
    {"", "Sqrt", 6, convert_unary},
    {"", "Sub", 7, convert_binary},
    {"", "Sum", 6, convert_variadic},
    {"", "Tanh", 6, convert_unary},
    {"", "Where", 9, convert_where},
    {"", "Xor", 7, convert_xor},
});

}  // namespace

std::span<const Converter> elementwise_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
