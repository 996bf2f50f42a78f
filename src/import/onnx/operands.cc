// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/operands.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace weir::onnx_import {
namespace {

bool is_exact_immediate(ElementType type, double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return !std::isnan(value) && (is_floating_point(type) || std::abs(value) < kExact);
}

}  // namespace

Result<Operands> gather_operands(NodeLowering& node, std::span<const size_t> indices) {
  int64_t tensor_rank = -1;
  std::vector<std::optional<double>> scalars;
  for (size_t i : indices) {
    std::optional<double> scalar = node.scalar(i);
    if (scalar && !is_exact_immediate(node.element_type(i), *scalar)) {
      scalar.reset();
    }
    if (!scalar) {
      tensor_rank = std::max(tensor_rank, node.rank(i));
    }
    scalars.push_back(scalar);
  }
  Operands operands;
  std::vector<ElementType> types;
  std::vector<int> inputs(indices.size(), -1);
  for (size_t k = 0; k < indices.size(); ++k) {
    // An immediate has no rank to give to the result.
    if (scalars[k] && node.rank(indices[k]) <= tensor_rank) {
      continue;
    }
    WEIR_ASSIGN(const ValueId value, node.value(indices[k]));
    const auto known = std::ranges::find(operands.values, value);
    inputs[k] = static_cast<int>(known - operands.values.begin());
    if (known == operands.values.end()) {
      operands.values.push_back(value);
      types.push_back(node.element_type(indices[k]));
    }
  }
  operands.program = TileProgram(std::move(types));
  for (size_t k = 0; k < indices.size(); ++k) {
    operands.numbers.push_back(
        inputs[k] >= 0 ? inputs[k] : operands.program.immediate(*scalars[k], node.element_type(indices[k])));
  }
  return operands;
}

Result<void> emit_program(NodeLowering& node, Operands operands) {
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kElementwise, ElementwiseAttributes{std::move(operands.program)},
                                         std::move(operands.values)));
  node.set_output(0, y);
  return {};
}

}  // namespace weir::onnx_import
