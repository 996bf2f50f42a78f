// SPDX-License-Identifier: Apache-2.0
//
// FewProblem: a convolution to very few channels as plain data, the constants of conv/few.cc.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/gemm/finish.h"

namespace weir {

inline constexpr int64_t kFewMostColumns = 32;  // kernel rows · kernel columns · output channels
inline constexpr int64_t kFewChunk = 256;       // input pixels of a tile

// Strides in floats.
struct FewProblem {
  int64_t channels = 0;
  int64_t outputs = 0;
  int64_t weight_stride = 0;            // from column to column
  std::array<int64_t, 2> kernel{1, 1};  // and stride
  int64_t lines = 1;                    // of the input
  int64_t width = 1;
  int64_t x_image = 0;
  int64_t x_line = 0;
  int64_t x_pixel = 0;
  int64_t y_image = 0;
  int64_t y_line = 0;
  int64_t y_pixel = 0;
  bool has_bias = false;
  int32_t y_binding = 3;
  Finish finish;

  // Grid: images × lines × chunks of a line, the last fastest.
  int64_t chunks = 1;
  int64_t grid = 0;
};
static_assert(sizeof(FewProblem) <= kMaxKernelConstants);

}  // namespace weir
