// SPDX-License-Identifier: Apache-2.0
//
// DepthwiseProblem: a depthwise convolution as plain data, the constants of conv/depthwise.cc.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"

namespace weir {

// Strides in floats; arrays: rows, columns.
struct DepthwiseProblem : ConvProblem {
  // Grid: images × row blocks × channel ranges, the last fastest. The last range takes what is left.
  int64_t channel_block = 0;
  int64_t channel_blocks = 1;
  int64_t row_block = 1;
  int64_t row_blocks = 1;
  int64_t strip = 8;  // output columns that a tile goes down together

  // Byte offsets in a participant's scratch.
  int64_t zeros_offset = 0;
  int64_t table_offset = 0;
  int64_t finish_offset = 0;
  int64_t scratch_bytes = 0;

  int64_t grid() const { return batch * row_blocks * channel_blocks; }
};

}  // namespace weir
