// SPDX-License-Identifier: Apache-2.0
//
// What the convolutions of this folder share: checks, and the shape with exactly two spatial axes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/cpu/gemm/finish.h"
#include "kernels/implementation.h"

namespace weir {

// Of a convolution with one spatial axis the height is 1.
struct ConvShape {
  int64_t batch = 1;
  int64_t channels = 1;  // of a group, of the input
  int64_t columns = 1;   // of a group, of the output
  int64_t group = 1;
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> pad{0, 0};  // before
  std::array<int64_t, 2> input{1, 1};
  std::array<int64_t, 2> output{1, 1};
  std::array<int64_t, 2> x{0, 0};  // strides of input and output
  std::array<int64_t, 2> y{0, 0};
  // Of the tensors. The height of a one-dimensional convolution has none: 0 stands there, the batch's.
  std::array<int, 2> axis{0, 0};
};
ConvShape conv_shape(const ConcreteOp& op);

// What the kernels that walk images themselves keep in their constants, each with its own grid and scratch.
struct ConvProblem : ConvShape {
  int64_t x_image = 0;  // strides
  int64_t x_channel = 0;
  int64_t y_image = 0;
  bool has_bias = false;
  int32_t y_binding = 3;
  Finish finish;
  // Of each extra operand of the epilogue: strides of images, rows, columns.
  std::array<std::array<int64_t, 3>, kMaxExtras> extra{};
};
ConvProblem conv_problem(const ConcreteOp& op);

// Whether weights are constant, all operands float32 of rank 3 or 4, and the epilogue runs.
Support supports_conv(const OpDesc& desc);

// `input` for the image, row-major bias, any strides for the epilogue's operands, channels dense for the
// output.
std::vector<LayoutRule> conv_layouts(const OpDesc& desc, LayoutRule input);

}  // namespace weir
