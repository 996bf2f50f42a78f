// SPDX-License-Identifier: Apache-2.0
//
// Matrix products and recurrent layers.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

Result<void> convert_matmul(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  WEIR_TRY(node.require_floating_point(0));
  const bool row = node.rank(0) == 1;     // a vector on the left is a matrix of one row
  const bool column = node.rank(1) == 1;  // on the right, of one column
  if (node.rank(0) == 0 || node.rank(1) == 0) {
    return node.wrong("MatMul takes no scalars, and has ({}) and ({}).", node.type(0).to_string(),
                      node.type(1).to_string());
  }
  WEIR_ASSIGN(ValueId a, node.value(0));
  WEIR_ASSIGN(ValueId b, node.value(1));
  if (row) {
    WEIR_ASSIGN(a, node.emit_reshape(a, {1, node.shape(0)[0]}, "row"));
  }
  if (column) {
    WEIR_ASSIGN(b, node.emit_reshape(b, {node.shape(1)[0], 1}, "column"));
  }
  WEIR_ASSIGN(ValueId y, node.emit(Op::kMatMul, MatMulAttributes{}, {a, b}));
  if (row || column) {
    Dims shape = node.type_of(y).shape;
    if (column) {
      shape.pop_back();
    }
    if (row) {
      shape.erase(shape.end() - (column ? 1 : 2));
    }
    WEIR_ASSIGN(y, node.emit_reshape(y, std::move(shape), "vector"));
  }
  node.set_output(0, y);
  return {};
}

// alpha · a · b + beta · c
Result<void> convert_gemm(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 3));
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kAll));
  WEIR_TRY(node.require_floating_point(0));
  if (node.rank(0) != 2 || node.rank(1) != 2) {
    return node.wrong("Gemm takes matrices, and has ({}) and ({}).", node.type(0).to_string(),
                      node.type(1).to_string());
  }
  WEIR_ASSIGN(const int64_t transpose_a, node.integer("transA", 0));
  WEIR_ASSIGN(const int64_t transpose_b, node.integer("transB", 0));
  WEIR_ASSIGN(const double alpha, node.finite("alpha", 1));
  WEIR_ASSIGN(const double beta, node.finite("beta", 1));
  WEIR_ASSIGN(ValueId a, node.value(0));
  WEIR_ASSIGN(ValueId b, node.value(1));
  if (transpose_a != 0) {
    WEIR_ASSIGN(a, node.emit_transpose(a, {1, 0}, "a"));
  }
  if (transpose_b != 0) {
    WEIR_ASSIGN(b, node.emit_transpose(b, {1, 0}, "b"));
  }
  const bool has_c = node.has(2) && beta != 0;
  const Dim columns = node.type_of(b).shape[1];
  const bool is_bias = has_c && alpha == 1 && beta == 1 && node.rank(2) >= 1 && node.rank(2) <= 2 &&
                       node.shape(2).back() == columns &&
                       (node.rank(2) == 1 || node.shape(2)[0].is_constant(1));
  if (is_bias) {
    WEIR_ASSIGN(ValueId bias, node.value(2));
    WEIR_ASSIGN(bias, node.emit_reshape(bias, {columns}, "bias"));
    WEIR_ASSIGN(const ValueId y, node.emit(Op::kMatMul, MatMulAttributes{}, {a, b, bias}));
    node.set_output(0, y);
    return {};
  }
  WEIR_ASSIGN(ValueId y, node.emit(Op::kMatMul, MatMulAttributes{}, {a, b}));
  if (has_c) {
    WEIR_TRY(node.require_broadcast(2, node.type_of(y).shape));
  }
  if (alpha == 1 && !has_c) {
    node.set_output(0, y);
    return {};
  }
  const ElementType type = node.element_type(0);
  std::vector<ValueId> values = {y};
  TileProgram program(std::vector<ElementType>(has_c ? 2 : 1, type));
  int result = 0;
  if (alpha != 1) {
    result = program.append(ScalarOp::kMul, {0, program.immediate(alpha, type)});
  }
  if (has_c) {
    WEIR_ASSIGN(values.emplace_back(), node.value(2));
    int added = 1;
    if (beta != 1) {
      added = program.append(ScalarOp::kMul, {1, program.immediate(beta, type)});
    }
    program.append(ScalarOp::kAdd, {result, added});
  }
  WEIR_ASSIGN(
      y, node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, std::move(values), "add"));
  node.set_output(0, y);
  return {};
}

Result<void> check_lstm_activations(NodeLowering& node, int64_t directions) {
  const onnx::AttributeProto* activations = node.attribute("activations");
  if (activations == nullptr || activations->strings_size() == 0) {
    return {};
  }
  constexpr std::array<std::string_view, 3> kSupported = {"sigmoid", "tanh", "tanh"};
  bool same = activations->strings_size() == 3 * directions;
  for (int i = 0; same && i < activations->strings_size(); ++i) {
    std::string name = activations->strings(i);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c; });
    same = name == kSupported[static_cast<size_t>(i % 3)];
  }
  if (!same) {
    return node.unsupported(
        "LSTM has activations ({}), and (Sigmoid, Tanh, Tanh) for each of ({}) directions are supported.",
        fmt::join(activations->strings(), ", "), directions);
  }
  return {};
}

Result<void> convert_lstm(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(3, 8));
  constexpr std::array<size_t, 7> kFloating = {0, 1, 2, 3, 5, 6, 7};
  WEIR_TRY(node.require_same_type(kFloating));
  WEIR_TRY(node.require_floating_point(0));
  if (node.has(7)) {
    return node.unsupported("LSTM has peephole weights (input 7, {}), and those without are supported.",
                            node.type(7).to_string());
  }
  if (node.attribute("clip") != nullptr) {
    WEIR_ASSIGN(const double clip, node.real("clip", 0));
    return node.unsupported("LSTM has attribute 'clip' ({}), and those without are supported.", clip);
  }
  WEIR_ASSIGN(const int64_t input_forget, node.integer("input_forget", 0));
  if (input_forget != 0) {
    return node.unsupported("Attribute 'input_forget' is ({}), and (0) is supported.", input_forget);
  }
  if (node.has(4) && node.element_type(4) != ElementType::kInt32) {
    return node.wrong("Input (4), the lengths, has type ({}), and takes int32.", node.type(4).to_string());
  }
  if (node.rank(0) != 3 || node.rank(1) != 3 || node.rank(2) != 3) {
    return node.wrong("LSTM takes tensors of rank 3, and has ({}), ({}) and ({}).", node.type(0).to_string(),
                      node.type(1).to_string(), node.type(2).to_string());
  }
  LstmAttributes attributes;
  WEIR_ASSIGN(const std::string direction, node.text("direction", "forward"));
  if (direction == "reverse") {
    attributes.direction = LstmDirection::kReverse;
  } else if (direction == "bidirectional") {
    attributes.direction = LstmDirection::kBidirectional;
  } else if (direction != "forward") {
    return node.wrong("Attribute 'direction' is ({}), and takes forward, reverse or bidirectional.",
                      direction);
  }
  WEIR_TRY(check_lstm_activations(node, direction == "bidirectional" ? 2 : 1));
  WEIR_ASSIGN(attributes.hidden_size,
              node.integer("hidden_size", node.shape(2)[2].as_constant().value_or(0)));
  WEIR_ASSIGN(const int64_t layout, node.integer("layout", 0, 0, 1));
  std::vector<ValueId> operands;
  for (size_t i = 0; i < 7; ++i) {
    operands.push_back(kNoValue);
    if (!node.has(i)) {
      continue;
    }
    WEIR_ASSIGN(operands[i], node.value(i));
    // Layout 1 has the batch first in sequences and states.
    const bool batch_first = layout == 1 && (i == 0 || i >= 5);
    if (batch_first) {
      if (node.rank(i) != 3) {
        return node.wrong("Input ({}) has type ({}), and takes rank 3.", i, node.type(i).to_string());
      }
      WEIR_ASSIGN(operands[i], node.emit_transpose(operands[i], {1, 0, 2}, fmt::format("input{}", i)));
    }
  }
  while (operands.back() == kNoValue) {
    operands.pop_back();
  }
  WEIR_ASSIGN(std::vector<ValueId> results, node.emit_all(Op::kLstm, attributes, std::move(operands)));
  for (size_t i = 0; i < 3; ++i) {
    if (layout == 1 && node.wants(i)) {
      std::vector<int64_t> permutation =
          i == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2};
      WEIR_ASSIGN(results[i],
                  node.emit_transpose(results[i], std::move(permutation), fmt::format("output{}", i)));
    }
    node.set_output(i, results[i]);
  }
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Gemm", 7, convert_gemm},
    {"", "LSTM", 7, convert_lstm},
    {"", "MatMul", 1, convert_matmul},
});

}  // namespace

std::span<const Converter> product_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
