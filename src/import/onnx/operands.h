// SPDX-License-Identifier: Apache-2.0
//
// What converters of elementwise operators share: the operands of a node as those of a tile program.
//
//   WEIR_ASSIGN(Operands operands, gather_operands(node, kBoth));
//   operands.program.append(ScalarOp::kAdd, {operands.numbers[0], operands.numbers[1]});
//   return emit_program(node, std::move(operands));
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "import/onnx/lowering.h"

namespace weir::onnx_import {

// The operands of a program: scalar constants become immediates, the others its inputs.
struct Operands {
  TileProgram program;
  std::vector<ValueId> values;  // of the program's inputs
  std::vector<int> numbers;     // the program's operand for each one asked for
};

Result<Operands> gather_operands(NodeLowering& node, std::span<const size_t> indices);

// The program's node, whose result is output 0.
Result<void> emit_program(NodeLowering& node, Operands operands);

}  // namespace weir::onnx_import
