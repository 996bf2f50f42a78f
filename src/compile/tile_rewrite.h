// SPDX-License-Identifier: Apache-2.0
//
// Rewrites of tile programs that the passes share. All keep the program's result, up to rounding.
#pragma once

#include <optional>
#include <vector>

#include "op/tile_program.h"

namespace weir {

// Spells known chains as one operation (x·sigmoid(x) as silu, the erf form of GELU, hard swish, clip), drops
// what does nothing, shares equal instructions and removes those that the result does not need.
TileProgram tidy(const TileProgram& program);

// The program with input `input` replaced by a number. The inputs after it move up by one. Nothing where
// there is no such program: one instruction too many, or NaN, which is no immediate.
std::optional<TileProgram> with_immediate(const TileProgram& program, int input, double value);

// The program without the inputs that no instruction reads; `kept` gets their old numbers. Input 0 always
// stays.
TileProgram without_unused_inputs(const TileProgram& program, std::vector<int>& kept);

// The number of the input that the whole program passes through unchanged, where it does nothing else.
std::optional<int> passed_input(const TileProgram& program);

}  // namespace weir
