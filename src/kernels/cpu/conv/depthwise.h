// SPDX-License-Identifier: Apache-2.0
//
// DepthwiseProblem: a depthwise convolution as plain data, the constants of conv/depthwise.cc.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/gemm/finish.h"

namespace weir {

// Strides in floats; arrays: rows, columns.
struct DepthwiseProblem {
  int64_t channels = 0;
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> pad{0, 0};  // before
  std::array<int64_t, 2> input{1, 1};
  std::array<int64_t, 2> output{1, 1};
  std::array<int64_t, 2> x{0, 0};
  std::array<int64_t, 2> y{0, 0};
  int64_t x_image = 0;
  int64_t y_image = 0;
  bool has_bias = false;
  int32_t y_binding = 3;
  Finish finish;
  // Of each extra operand of the epilogue: strides of images, rows, columns.
  std::array<std::array<int64_t, 3>, kMaxExtras> extra{};

  // Grid: images × row blocks × channel ranges, the last fastest. The last range takes what is left.
  int64_t channel_block = 0;
  int64_t channel_blocks = 1;
  int64_t row_block = 1;
  int64_t row_blocks = 1;
  int64_t grid = 0;
  int64_t strip = 8;  // output columns that a tile goes down together

  // Byte offsets in a participant's scratch.
  int64_t zeros_offset = 0;
  int64_t table_offset = 0;
  int64_t finish_offset = 0;
  int64_t scratch_bytes = 0;
};
static_assert(sizeof(DepthwiseProblem) <= kMaxKernelConstants);

}  // namespace weir
