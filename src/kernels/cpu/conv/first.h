// SPDX-License-Identifier: Apache-2.0
//
// FirstProblem: a convolution of an image with few channels as plain data, the constants of conv/first.cc.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"

namespace weir {

inline constexpr int64_t kFirstMaxK = 256;     // channels · taps
inline constexpr int64_t kFirstMostRows = 16;  // pixels of a register tile

// Strides in floats; arrays: rows, columns.
struct FirstProblem : ConvProblem {
  int64_t k = 0;  // taps · channels

  // The patch in scratch: [input row][channel][phase][patch_width]. Phase p holds input columns p, p +
  // stride, …, from the first padded one on, so that neighbouring output columns read neighbouring floats
  // whatever the stride.
  int64_t patch_width = 0;
  int64_t patch_rows = 0;
  // Where each k (kernel row, kernel column, channel) of output pixel 0 lies in the patch.
  std::array<int64_t, kFirstMaxK> offsets{};

  // Grid: images × row blocks.
  int64_t row_block = 1;
  int64_t row_blocks = 1;

  int64_t patch_offset = 0;  // bytes
  int64_t finish_offset = 0;
  int64_t scratch_bytes = 0;

  int64_t grid() const { return batch * row_blocks; }
  int64_t patch_row() const { return channels * stride[1] * patch_width; }
};

}  // namespace weir
