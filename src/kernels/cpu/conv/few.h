// SPDX-License-Identifier: Apache-2.0
//
// FewProblem: a convolution to very few channels as plain data, the constants of conv/few.cc.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"

namespace weir {

inline constexpr int64_t kFewMostColumns = 32;  // kernel rows · kernel columns · output channels
inline constexpr int64_t kFewChunk = 256;       // input pixels of a tile

// Strides in floats.
struct FewProblem : ConvProblem {
  int64_t weight_stride = 0;  // from column to column

  // Grid: images × lines × chunks of a line, the last fastest.
  int64_t chunks = 1;
  int64_t scratch_bytes = 0;

  int64_t grid() const { return batch * input[0] * chunks; }
};

}  // namespace weir
