// SPDX-License-Identifier: Apache-2.0
//
// Runs a tile program on one element at a time.
//
// Floating-point operations are computed in double precision and rounded to the instruction's type: for
// float32 that gives the correctly rounded sum, product, quotient and square root. Integers wrap. An integer
// divided by zero gives zero, so that no model can trap the processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace weir::reference {

// A tile program as plain data, small enough for a step's constants.
struct TileConstants {
  int32_t inputs = 0;
  int32_t instructions = 0;
  std::array<ElementType, kMaxTileInputs> types{};
  std::array<TileInstruction, kMaxTileInstructions> list{};
};

// One scalar: `real` for floating-point types, `integer` for the others (uint64 as its bit pattern).
struct Scalar {
  double real = 0;
  int64_t integer = 0;
};

TileConstants tile_constants(const TileProgram& program);

Scalar load(ElementType type, const std::byte* base, int64_t element);
void store(ElementType type, std::byte* base, int64_t element, Scalar value);
// `value` of a floating-point type rounded to it, or wrapped to an integer type.
Scalar narrow(ElementType type, Scalar value);

// The result of the program for `inputs`, one scalar an input.
Scalar interpret(const TileConstants& program, const Scalar* inputs);

// Why the interpreter cannot run the program, or an empty reason.
Support can_interpret(const TileProgram& program);

// The epilogue of a convolution or matrix product: the program, and the extra inputs as views of the output.
struct EpilogueConstants {
  TileConstants program;
  int32_t first_binding = 0;  // of the extra inputs
  std::array<TensorSpec, kMaxTileInputs - 1> extra{};
};

// Whether the epilogue's types fit the operands of `desc`: `accumulated` → … → the output's type.
Support can_run_epilogue(const OpDesc& desc, ElementType accumulated);
// An extra input of the output's shape and width may be overwritten: each element is read, at the end of the
// sum, before it is written.
std::vector<InPlacePair> epilogue_in_place(const OpDesc& desc);
EpilogueConstants epilogue_constants(const ConcreteOp& op);

// Applies the epilogue to `value`, of type `accumulated`, and stores it at `index` of the output.
void finish(const CpuInvocation& invocation, const EpilogueConstants& epilogue, ElementType accumulated,
            Scalar value, const Index& index, const TensorSpec& output, std::byte* target);

}  // namespace weir::reference
