// SPDX-License-Identifier: Apache-2.0
//
// Activations that are more than one scalar operation or have parameters: each becomes a tile program.
#include <array>
#include <cmath>
#include <numbers>

#include "import/onnx/converters.h"
#include "import/onnx/operands.h"

namespace weir::onnx_import {
namespace {

Result<Operands> one_floating_operand(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_TRY(node.require_floating_point(0));
  WEIR_ASSIGN(const ValueId x, node.value(0));
  return Operands{TileProgram({node.element_type(0)}), {x}, {0}};
}

Result<void> convert_leaky_relu(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  WEIR_ASSIGN(const double alpha, node.finite("alpha", 0.01F));
  operands.program.append(ScalarOp::kLeakyRelu, {0}, alpha);
  return emit_program(node, std::move(operands));
}

Result<void> convert_hard_sigmoid(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  WEIR_ASSIGN(const double alpha, node.finite("alpha", 0.2F));
  WEIR_ASSIGN(const double beta, node.finite("beta", 0.5));
  operands.program.append(ScalarOp::kHardSigmoid, {0}, alpha, beta);
  return emit_program(node, std::move(operands));
}

// x · sigmoid(alpha · x)
Result<void> convert_swish(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  WEIR_ASSIGN(const double alpha, node.finite("alpha", 1));
  TileProgram& program = operands.program;
  if (alpha == 1) {
    program.append(ScalarOp::kSilu, {0});
  } else {
    const int scaled = program.append(ScalarOp::kMul, {0, program.immediate(alpha, node.element_type(0))});
    program.append(ScalarOp::kMul, {0, program.append(ScalarOp::kSigmoid, {scaled})});
  }
  return emit_program(node, std::move(operands));
}

Result<void> convert_gelu(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  WEIR_ASSIGN(const std::string approximate, node.text("approximate", "none"));
  TileProgram& program = operands.program;
  const ElementType type = node.element_type(0);
  if (approximate == "none") {
    program.append(ScalarOp::kGelu, {0});
  } else if (approximate == "tanh") {
    // x/2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
    const int square = program.append(ScalarOp::kMul, {0, 0});
    const int cube = program.append(ScalarOp::kMul, {square, 0});
    const int bent = program.append(ScalarOp::kMul, {cube, program.immediate(0.044715, type)});
    const int sum = program.append(ScalarOp::kAdd, {0, bent});
    const double factor = std::sqrt(2 * std::numbers::inv_pi);
    const int scaled = program.append(ScalarOp::kMul, {sum, program.immediate(factor, type)});
    const int tanh = program.append(ScalarOp::kTanh, {scaled});
    const int gate = program.append(ScalarOp::kAdd, {tanh, program.immediate(1, type)});
    const int half = program.append(ScalarOp::kMul, {0, program.immediate(0.5, type)});
    program.append(ScalarOp::kMul, {half, gate});
  } else {
    return node.unsupported("Attribute 'approximate' is ({}), and (none) and (tanh) are supported.",
                            approximate);
  }
  return emit_program(node, std::move(operands));
}

// max(x, 0) + log(1 + e^−|x|), which does not overflow.
int append_softplus(TileProgram& program, ElementType type) {
  const int negative = program.append(ScalarOp::kNeg, {program.append(ScalarOp::kAbs, {0})});
  const int exponential = program.append(ScalarOp::kExp, {negative});
  const int sum = program.append(ScalarOp::kAdd, {exponential, program.immediate(1, type)});
  const int logarithm = program.append(ScalarOp::kLog, {sum});
  return program.append(ScalarOp::kAdd, {program.append(ScalarOp::kRelu, {0}), logarithm});
}

Result<void> convert_softplus(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  append_softplus(operands.program, node.element_type(0));
  return emit_program(node, std::move(operands));
}

Result<void> convert_mish(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  const int softplus = append_softplus(operands.program, node.element_type(0));
  operands.program.append(ScalarOp::kMul, {0, operands.program.append(ScalarOp::kTanh, {softplus})});
  return emit_program(node, std::move(operands));
}

// x < 0 ? alpha · (e^x − 1) : x
Result<void> convert_elu(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  WEIR_ASSIGN(const double alpha, node.finite("alpha", 1));
  TileProgram& program = operands.program;
  const ElementType type = node.element_type(0);
  const int zero = program.immediate(0, type);
  const int shrunk =
      program.append(ScalarOp::kMin, {0, zero});  // no overflow in the branch that is not taken
  const int grown =
      program.append(ScalarOp::kSub, {program.append(ScalarOp::kExp, {shrunk}), program.immediate(1, type)});
  const int scaled = program.append(ScalarOp::kMul, {grown, program.immediate(alpha, type)});
  program.append(ScalarOp::kWhere, {program.append(ScalarOp::kLess, {0, zero}), scaled, 0});
  return emit_program(node, std::move(operands));
}

// x < 0 ? slope · x : x
Result<void> convert_prelu(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  WEIR_TRY(node.require_same_type(kBoth));
  WEIR_TRY(node.require_floating_point(0));
  WEIR_TRY(node.require_broadcast(1, node.shape(0)));
  WEIR_ASSIGN(Operands operands, gather_operands(node, kBoth));
  TileProgram& program = operands.program;
  const int x = operands.numbers[0];
  const int scaled = program.append(ScalarOp::kMul, {operands.numbers[1], x});
  const int below = program.append(ScalarOp::kLess, {x, program.immediate(0, node.element_type(0))});
  program.append(ScalarOp::kWhere, {below, scaled, x});
  return emit_program(node, std::move(operands));
}

// x / (1 + |x|)
Result<void> convert_softsign(NodeLowering& node) {
  WEIR_ASSIGN(Operands operands, one_floating_operand(node));
  TileProgram& program = operands.program;
  const int sum = program.append(
      ScalarOp::kAdd, {program.append(ScalarOp::kAbs, {0}), program.immediate(1, node.element_type(0))});
  program.append(ScalarOp::kDiv, {0, sum});
  return emit_program(node, std::move(operands));
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Elu", 6, convert_elu},
    {"", "Gelu", 20, convert_gelu},
    {"com.microsoft", "Gelu", 1, convert_gelu},
    {"", "HardSigmoid", 6, convert_hard_sigmoid},
    {"", "LeakyRelu", 6, convert_leaky_relu},
    {"", "Mish", 18, convert_mish},
    {"", "PRelu", 7, convert_prelu},
    {"", "Softplus", 1, convert_softplus},
    {"", "Softsign", 1, convert_softsign},
    {"", "Swish", 24, convert_swish},
});

}  // namespace

std::span<const Converter> activation_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
