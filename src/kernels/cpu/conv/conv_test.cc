// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of every instruction set against the reference: kernels, strides, dilations, pads, groups, one
// and two spatial dimensions, channel ranges of wider tensors, epilogues, operands that end at an
// inaccessible page.
#include <gtest/gtest.h>

#include "kernels/cpu/conv/first.h"
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

struct Case {
  int64_t batch = 1, channels = 8, height = 9, width = 11, outputs = 16;
  std::array<int64_t, 2> kernel{3, 3};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 4> pads{1, 1, 1, 1};  // top, left, bottom, right
  int64_t group = 1;
  bool bias = true;
  int64_t input_gap = 0, output_gap = 0;
  Epilogue epilogue{};
  // Shapes of the epilogue's operands; 0 stands for the output's extent.
  std::vector<std::vector<int64_t>> extras{};
  bool row_major_input = false;
};

int64_t extent(const Case& c, int axis) {
  const int64_t in = axis == 0 ? c.height : c.width;
  const auto i = static_cast<size_t>(axis);
  return (in + c.pads[i] + c.pads[i + 2] - c.dilation[i] * (c.kernel[i] - 1) - 1) / c.stride[i] + 1;
}

TensorSpec image(std::vector<int64_t> shape, int64_t gap) {
  return with_gap(make_spec(ElementType::kFloat32, std::move(shape), {0, 2, 3, 1}), gap);
}

void check(const Case& c) {
  ConvAttributes attributes;
  attributes.strides = {c.stride[0], c.stride[1]};
  attributes.dilations = {c.dilation[0], c.dilation[1]};
  attributes.pads_begin = {c.pads[0], c.pads[1]};
  attributes.pads_end = {c.pads[2], c.pads[3]};
  attributes.group = c.group;
  attributes.epilogue = c.epilogue;
  const std::vector<int64_t> output{c.batch, c.outputs, extent(c, 0), extent(c, 1)};
  KernelCase test(Op::kConv, attributes);
  test.constants();
  const std::vector<int64_t> input{c.batch, c.channels, c.height, c.width};
  test.input(c.row_major_input ? make_spec(ElementType::kFloat32, input) : image(input, c.input_gap));
  test.input(make_spec(ElementType::kFloat32, {c.outputs, c.channels / c.group, c.kernel[0], c.kernel[1]}));
  test.input(c.bias ? make_spec(ElementType::kFloat32, {c.outputs}) : absent_operand());
  for (std::vector<int64_t> extra : c.extras) {
    for (size_t i = 0; i < 4; ++i) extra[i] = extra[i] == 0 ? output[i] : extra[i];
    test.input(image(extra, 0));
  }
  test.output(image(output, c.output_gap));
  const int64_t k = c.channels / c.group * c.kernel[0] * c.kernel[1];
  test.check({.relative = 1e-5, .absolute = 3e-6 * static_cast<double>(k + 8)});
}

TEST(Conv, Pointwise) {
  for (const int64_t channels : {1, 3, 16, 37}) {
    for (const int64_t outputs : {1, 8, 24, 49, 80}) {
      check({.channels = channels, .outputs = outputs, .kernel = {1, 1}, .pads = {}});
      check({.batch = 2,
             .channels = channels,
             .outputs = outputs,
             .kernel = {1, 1},
             .stride = {2, 2},
             .pads = {}});
    }
  }
  check({.channels = 1100, .height = 5, .width = 5, .outputs = 70, .kernel = {1, 1}, .pads = {}});
  check({.channels = 17, .height = 61, .width = 53, .outputs = 20, .kernel = {1, 1}, .pads = {}});
  check({.channels = 17, .outputs = 20, .kernel = {1, 1}, .pads = {1, 0, 2, 1}});
}

TEST(Conv, Kernels) {
  for (const int64_t size : {2, 3, 5, 7}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t pad : {int64_t{0}, size / 2}) {
        check({.batch = 2,
               .channels = 5,
               .height = 13,
               .width = 15,
               .outputs = 21,
               .kernel = {size, size},
               .stride = {stride, stride},
               .pads = {pad, pad, pad, pad}});
      }
    }
  }
  check({.kernel = {1, 7}, .pads = {0, 3, 0, 3}});
  check({.kernel = {7, 1}, .pads = {3, 0, 3, 0}});
  check({.kernel = {3, 3}, .stride = {2, 1}, .pads = {0, 1, 1, 2}});
  check({.kernel = {2, 4}, .stride = {1, 2}, .dilation = {3, 2}, .pads = {2, 3, 1, 4}});
  check({.height = 2, .width = 2, .kernel = {5, 5}, .pads = {2, 2, 2, 2}});
  check({.height = 1, .width = 1, .kernel = {3, 3}, .pads = {3, 3, 3, 3}});
}

TEST(Conv, ManyBlocks) {
  check({.channels = 67, .height = 14, .width = 14, .outputs = 100});
  check({.channels = 530, .height = 7, .width = 7, .outputs = 40});
  check({.channels = 3, .height = 40, .width = 41, .outputs = 33});
  check({.batch = 3, .channels = 200, .height = 7, .width = 7, .outputs = 130});
}

TEST(Conv, Groups) {
  check({.channels = 12, .outputs = 20, .group = 4});
  check({.channels = 64, .outputs = 64, .group = 2});
  check({.channels = 6, .outputs = 12, .group = 6});
  check({.channels = 24, .outputs = 12, .kernel = {1, 1}, .pads = {}, .group = 3});
}

TEST(Conv, FewChannels) {
  for (const bool row_major : {false, true}) {
    for (const int64_t size : {1, 3, 4, 7}) {
      for (const int64_t stride : {1, 2, 3, 4}) {
        for (const int64_t pad : {int64_t{0}, size / 2}) {
          check({.batch = 2,
                 .channels = 3,
                 .height = 9,
                 .width = 71,
                 .outputs = 24,
                 .kernel = {size, size},
                 .stride = {stride, stride},
                 .pads = {pad, pad, pad, pad},
                 .row_major_input = row_major});
        }
      }
    }
    for (const int64_t outputs : {1, 16, 17, 40, 64}) {
      for (const int64_t width : {4, 9, 27, 31, 60}) {
        check({.channels = 2,
               .width = width,
               .outputs = outputs,
               .stride = {1, 2},
               .pads = {1, 1, 1, 1},
               .row_major_input = row_major});
      }
    }
    check({.channels = 1,
           .height = 5,
           .width = 40,
           .outputs = 20,
           .dilation = {2, 3},
           .pads = {4, 5, 1, 7},
           .row_major_input = row_major});
    check({.channels = 3,
           .height = 2,
           .width = 2,
           .outputs = 20,
           .kernel = {7, 7},
           .stride = {2, 2},
           .pads = {3, 3, 3, 3},
           .row_major_input = row_major});
    check({.channels = 4, .height = 270, .width = 9, .outputs = 20, .row_major_input = row_major});
  }
}

TEST(Conv, FewOutputs) {
  Epilogue sigmoid({ElementType::kFloat32});
  sigmoid.append(ScalarOp::kSigmoid, {0});
  Epilogue relu({ElementType::kFloat32});
  relu.append(ScalarOp::kRelu, {0});
  for (const int64_t outputs : {1, 2, 3, 4}) {
    for (const int64_t channels : {1, 7, 16, 37}) {
      for (const Epilogue& epilogue : {Epilogue(), sigmoid, relu}) {
        check({.batch = 2,
               .channels = channels,
               .height = 3,
               .width = 301,
               .outputs = outputs,
               .kernel = {1, 1},
               .pads = {},
               .bias = channels != 7,
               .input_gap = channels % 3,
               .output_gap = outputs % 2 == 0 ? 5 : 0,
               .epilogue = epilogue});
      }
    }
  }
}

TEST(Conv, Depthwise) {
  for (const int64_t size : {1, 3, 4, 5, 7}) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t width : {1, 4, 9, 23}) {
        const int64_t pad = size / 2;
        check({.batch = 2,
               .channels = 37,
               .height = 6,
               .width = width + size,
               .outputs = 37,
               .kernel = {size, size},
               .stride = {stride, stride},
               .pads = {pad, pad, pad, pad},
               .group = 37});
      }
    }
  }
  for (const int64_t channels : {2, 3, 4, 5, 8, 13, 16, 17, 31, 48, 100, 530}) {
    check({.channels = channels, .outputs = channels, .group = channels, .input_gap = 3, .output_gap = 1});
  }
  check({.channels = 20,
         .outputs = 20,
         .kernel = {3, 5},
         .dilation = {2, 3},
         .pads = {1, 4, 3, 5},
         .group = 20});
  check({.channels = 20,
         .height = 3,
         .width = 3,
         .outputs = 20,
         .kernel = {7, 7},
         .pads = {3, 3, 3, 3},
         .group = 20});
  check({.channels = 20, .height = 1, .width = 1, .outputs = 20, .pads = {4, 4, 4, 4}, .group = 20});
  check({.channels = 40, .height = 60, .width = 130, .outputs = 40, .group = 40});
}

TEST(Conv, Winograd) {
  Epilogue clip({ElementType::kFloat32});
  clip.append(ScalarOp::kClip, {0}, -1, 6);
  Epilogue residual({ElementType::kFloat32, ElementType::kFloat32});
  residual.append(ScalarOp::kRelu, {residual.append(ScalarOp::kAdd, {1, 0})});
  Epilogue silu_add({ElementType::kFloat32, ElementType::kFloat32});
  silu_add.append(ScalarOp::kAdd, {silu_add.append(ScalarOp::kSilu, {0}), 1});
  // Tiles of 4 × 4, then of 2 × 2.
  for (const int64_t height : {21, 13}) {
    for (const int64_t width : {20, 23, 30}) {
      Case c{.channels = 19, .height = height, .width = width, .outputs = 37};
      check(c);
      c.pads = {0, 2, 1, 0};
      c.input_gap = 5;
      c.output_gap = 3;
      c.bias = false;
      c.epilogue = clip;
      check(c);
    }
    for (const int64_t channels : {16, 32, 70}) {
      for (const int64_t outputs : {16, 24, 48, 130}) {
        check({.batch = 2, .channels = channels, .height = height, .width = 21, .outputs = outputs});
      }
    }
    Case c{
        .batch = 2, .channels = 33, .height = height, .width = 22, .outputs = 50, .extras = {{0, 0, 0, 0}}};
    c.epilogue = residual;
    check(c);
    c.epilogue = silu_add;
    check(c);
    c.extras = {{0, 0, 1, 1}};
    check(c);
  }
}

TEST(Conv, ChannelRangesOfWiderTensors) {
  check({.channels = 5, .outputs = 21, .input_gap = 3, .output_gap = 6});
  check({.channels = 5, .outputs = 21, .kernel = {1, 1}, .pads = {}, .input_gap = 3, .output_gap = 6});
}

TEST(Conv, OneDimension) {
  for (const int64_t stride : {1, 2}) {
    ConvAttributes attributes;
    attributes.strides = {stride};
    attributes.dilations = {2};
    attributes.pads_begin = {3};
    attributes.pads_end = {1};
    KernelCase test(Op::kConv, attributes);
    test.constants();
    const int64_t length = (25 + 4 - 4 - 1) / stride + 1;
    test.input(make_spec(ElementType::kFloat32, {2, 9, 25}, {0, 2, 1}));
    test.input(make_spec(ElementType::kFloat32, {19, 9, 3}));
    test.input(make_spec(ElementType::kFloat32, {19}));
    test.output(make_spec(ElementType::kFloat32, {2, 19, length}, {0, 2, 1}));
    test.check({.relative = 1e-5, .absolute = 1e-4});
  }
}

TEST(Conv, Epilogues) {
  Epilogue relu({ElementType::kFloat32});
  relu.append(ScalarOp::kRelu, {0});
  Epilogue silu({ElementType::kFloat32});
  silu.append(ScalarOp::kSilu, {0});
  Epilogue residual({ElementType::kFloat32, ElementType::kFloat32});
  residual.append(ScalarOp::kRelu, {residual.append(ScalarOp::kAdd, {1, 0})});
  Epilogue swish_scale_add({ElementType::kFloat32, ElementType::kFloat32, ElementType::kFloat32});
  const int swish = swish_scale_add.append(ScalarOp::kHardSwish, {0});
  const int scaled = swish_scale_add.append(ScalarOp::kMul, {swish, 1});
  swish_scale_add.append(ScalarOp::kAdd, {scaled, 2});
  for (const int64_t size : {1, 3}) {
    Case c{
        .batch = 2, .outputs = 21, .kernel = {size, size}, .pads = {size / 2, size / 2, size / 2, size / 2}};
    for (const int64_t group : {1, 2}) {
      c.group = group;
      c.outputs = 21 * group;
      c.extras = {};
      c.epilogue = relu;
      check(c);
      c.epilogue = silu;
      check(c);
      c.epilogue = residual;
      c.extras = {{0, 0, 0, 0}};
      check(c);
      c.epilogue = swish_scale_add;
      c.extras = {{1, 0, 1, 1}, {0, 0, 0, 0}};
      check(c);
      c.extras = {{0, 0, 1, 1}, {1, 1, 0, 0}};
      check(c);
    }
  }
  for (const int64_t channels : {3, 39}) {
    Case c{.batch = 2, .channels = channels, .outputs = 39, .group = channels == 3 ? 1 : channels};
    for (const Epilogue& epilogue : {relu, silu}) {
      c.epilogue = epilogue;
      check(c);
    }
    c.epilogue = residual;
    c.extras = {{0, 0, 0, 0}};
    check(c);
    c.epilogue = swish_scale_add;
    c.extras = {{0, 0, 1, 1}, {0, 0, 0, 0}};
    check(c);
    c.extras = {{0, 1, 0, 1}, {1, 1, 0, 0}};
    check(c);
  }
}

TEST(Conv, NegativePadsCrop) {
  for (const int64_t channels : {3, 20}) {
    for (const int64_t group : {int64_t{1}, channels}) {
      for (const int64_t stride : {1, 2, 4}) {
        Case c{.batch = 2, .channels = channels, .height = 30, .width = 61, .outputs = 20};
        c.outputs = group == 1 ? 20 : channels;
        c.group = group;
        c.stride = {stride, stride};
        c.row_major_input = channels == 3 && group == 1;
        for (const std::array<int64_t, 4>& pads :
             {std::array<int64_t, 4>{-1, -3, 1, 2}, {2, 1, -2, -5}, {-6, -7, -3, -1}}) {
          c.pads = pads;
          check(c);
        }
      }
    }
  }
}

// A line of sound so long that places in the patch pass 32 bits: it is planned, not run.
TEST(Conv, LongLinesOfFewChannels) {
  const int64_t length = int64_t{1} << 31;
  ConvAttributes attributes;
  attributes.strides = {4};
  attributes.dilations = {1};
  attributes.pads_begin = attributes.pads_end = {0};
  const std::vector<TensorSpec> inputs = {make_spec(ElementType::kFloat32, {1, 4, length}),
                                          make_spec(ElementType::kFloat32, {8, 4, 8}), absent_operand()};
  const std::vector<TensorSpec> outputs = {
      make_spec(ElementType::kFloat32, {1, 8, (length - 8) / 4 + 1}, {0, 2, 1})};
  const Attributes held = attributes;
  const Implementation* first = find_implementation("conv.first.sse4");
  ASSERT_NE(first, nullptr);
  alignas(64) std::array<std::byte, kMaxKernelConstants> constants;
  const Extent extent = first->extent({Op::kConv, &held, inputs, outputs}, constants);
  FirstProblem problem;
  ASSERT_EQ(extent.constant_bytes, static_cast<int64_t>(sizeof(problem)));
  std::memcpy(&problem, constants.data(), sizeof(problem));
  ASSERT_EQ(problem.k, 32);
  for (int64_t k = 0; k < problem.k; ++k) {
    const int64_t channel = k % 4;
    const int64_t column = k / 4;
    EXPECT_EQ(problem.offsets[static_cast<size_t>(k)],
              (channel * 4 + column % 4) * problem.patch_width + column / 4);
  }
}

}  // namespace
}  // namespace weir
