// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions of every instruction set against the reference.
#include <gtest/gtest.h>

#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

struct Case {
  int64_t batch = 1, channels = 8, height = 5, width = 7, outputs = 20;
  std::array<int64_t, 2> kernel{2, 2};
  std::array<int64_t, 2> stride{2, 2};
  std::array<int64_t, 4> pads{};  // top, left, bottom, right
  std::array<int64_t, 2> more{};  // rows and columns of output padding
  int64_t group = 1;
  bool bias = true;
  int64_t output_gap = 0;
  Epilogue epilogue{};
  // Shapes of the epilogue's operands; 0 stands for the output's extent.
  std::vector<std::vector<int64_t>> extras{};
};

TensorSpec image(std::vector<int64_t> shape, int64_t gap) {
  return with_gap(make_spec(ElementType::kFloat32, std::move(shape), {0, 2, 3, 1}), gap);
}

void check(const Case& c) {
  ConvAttributes attributes;
  attributes.strides = {c.stride[0], c.stride[1]};
  attributes.dilations = {1, 1};
  attributes.pads_begin = {c.pads[0], c.pads[1]};
  attributes.pads_end = {c.pads[2], c.pads[3]};
  attributes.group = c.group;
  attributes.epilogue = c.epilogue;
  const std::vector<int64_t> output{
      c.batch, c.outputs, (c.height - 1) * c.stride[0] + c.kernel[0] - c.pads[0] - c.pads[2] + c.more[0],
      (c.width - 1) * c.stride[1] + c.kernel[1] - c.pads[1] - c.pads[3] + c.more[1]};
  KernelCase test(Op::kConvTranspose, attributes);
  test.constants();
  test.input(image({c.batch, c.channels, c.height, c.width}, 0));
  test.input(make_spec(ElementType::kFloat32, {c.channels, c.outputs / c.group, c.kernel[0], c.kernel[1]}));
  test.input(c.bias ? make_spec(ElementType::kFloat32, {c.outputs}) : absent_operand());
  for (std::vector<int64_t> extra : c.extras) {
    for (size_t i = 0; i < 4; ++i) extra[i] = extra[i] == 0 ? output[i] : extra[i];
    test.input(image(extra, 0));
  }
  test.output(image(output, c.output_gap));
  test.check({.relative = 1e-5, .absolute = 1e-4});
}

TEST(ConvTranspose, Kernels) {
  for (const int64_t size : {1, 2, 3, 4, 5}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t pad : {0, 1}) {
        if (size <= 2 * pad) continue;
        check({.batch = 2, .kernel = {size, size}, .stride = {stride, stride}, .pads = {pad, pad, pad, pad}});
      }
    }
  }
  check({.channels = 24, .height = 20, .width = 30, .outputs = 1});
  check({.kernel = {3, 3}, .pads = {1, 1, 1, 1}, .more = {1, 1}});
  check({.kernel = {2, 5},
         .stride = {3, 1},
         .pads = {0, 2, 1, 1},
         .more = {2, 0},
         .bias = false,
         .output_gap = 3});
}

TEST(ConvTranspose, FewOutputs) {
  Epilogue sigmoid({ElementType::kFloat32});
  sigmoid.append(ScalarOp::kSigmoid, {0});
  for (const int64_t outputs : {1, 2}) {
    for (const int64_t size : {2, 3, 4}) {
      Case c{.batch = 2, .channels = 19, .height = 3, .width = 270, .outputs = outputs};
      c.kernel = c.stride = {size, size};
      check(c);
      c.epilogue = sigmoid;
      c.output_gap = 3;
      c.bias = false;
      check(c);
    }
  }
}

TEST(ConvTranspose, Groups) {
  check({.group = 2});
  check({.outputs = 8, .kernel = {3, 3}, .pads = {1, 1, 0, 0}, .group = 8});
}

TEST(ConvTranspose, Epilogues) {
  Epilogue clip({ElementType::kFloat32});
  clip.append(ScalarOp::kClip, {0}, -1, 6);
  Epilogue silu_add({ElementType::kFloat32, ElementType::kFloat32});
  silu_add.append(ScalarOp::kAdd, {silu_add.append(ScalarOp::kSilu, {0}), 1});
  Case c{.batch = 2, .kernel = {3, 3}};
  c.epilogue = clip;
  check(c);
  c.epilogue = silu_add;
  c.extras = {{0, 0, 0, 0}};
  check(c);
  c.extras = {{1, 0, 0, 1}};
  check(c);
}

TEST(ConvTranspose, OneDimension) {
  ConvAttributes attributes;
  attributes.strides = {3};
  attributes.dilations = {1};
  attributes.pads_begin = {1};
  attributes.pads_end = {0};
  KernelCase test(Op::kConvTranspose, attributes);
  test.constants();
  test.input(make_spec(ElementType::kFloat32, {2, 9, 25}, {0, 2, 1}));
  test.input(make_spec(ElementType::kFloat32, {9, 19, 4}));
  test.input(make_spec(ElementType::kFloat32, {19}));
  test.output(make_spec(ElementType::kFloat32, {2, 19, 24 * 3 + 4 - 1}, {0, 2, 1}));
  test.check({.relative = 1e-5, .absolute = 1e-4});
}

// What `output_shape` and SAME ask for beyond what the windows give.
TEST(ConvTranspose, NegativePadsLengthen) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t size : {1, 2, 3}) {
      for (const std::array<int64_t, 4>& pads :
           {std::array<int64_t, 4>{-1, 0, 0, -1}, {-2, -3, -1, 0}, {-4, -5, 1, 1}}) {
        check({.height = 4, .width = 5, .kernel = {size, size}, .stride = {stride, stride}, .pads = pads});
      }
    }
  }
}

}  // namespace
}  // namespace weir
