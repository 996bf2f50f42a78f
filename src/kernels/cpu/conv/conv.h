// SPDX-License-Identifier: Apache-2.0
//
// What the convolutions of this folder share: checks, and the shape with exactly two spatial axes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/implementation.h"

namespace weir {

// One spatial axis: the height is 1.
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
  std::array<int, 2> axis{
      0, 0};  // of the tensors; the height of a one-dimensional convolution: the batch's, unused
};
ConvShape conv_shape(const ConcreteOp& op);

// Whether weights are constant, all operands float32 of rank 3 or 4, and the epilogue runs.
Support supports_conv(const OpDesc& desc);

// `input` for the image, row-major bias, any strides for the epilogue's operands, channels dense for the
// output.
std::vector<LayoutRule> conv_layouts(const OpDesc& desc, LayoutRule input);

}  // namespace weir
