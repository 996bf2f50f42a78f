// SPDX-License-Identifier: Apache-2.0
//
// Cases of Conv and ConvTranspose: the kernels, channels and strides of text detection and recognition,
// EfficientNet, ResNet, MobileNetV2, YOLO, ViT, ConvNeXt and voice activity detection on small images, and
// shapes at the edges of what the operators allow.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

enum class Bias : uint8_t { kNo, kYes };
enum class Tail : uint8_t { kNone, kRelu, kSilu, kAddRelu, kScale, kHardSwish };

constexpr std::string_view kTailNames[] = {"", "_relu", "_silu", "_add_relu", "_scale", "_hard_swish"};

struct Conv {
  Shape x;       // N, C, spatial…
  int64_t m;     // output channels
  Shape kernel;  // one entry a spatial axis, like the others
  Shape strides;
  Shape pads_begin;
  Shape pads_end;
  int64_t group = 1;
  Bias bias = Bias::kYes;
  Tail tail = Tail::kNone;
  Shape dilations = {};
  Shape output_padding = {};  // of a transposed one
};

// The epilogue, and its extra inputs.
Epilogue epilogue(Tail tail, const Shape& y, std::vector<OperandCase>& inputs) {
  Epilogue program({kF32});
  switch (tail) {
    case Tail::kNone:
      return {};
    case Tail::kRelu:
      program.append(ScalarOp::kRelu, {0});
      break;
    case Tail::kSilu:
      program.append(ScalarOp::kSilu, {0});
      break;
    case Tail::kHardSwish:
      program.append(ScalarOp::kHardSwish, {0});
      break;
    case Tail::kAddRelu: {  // a residual connection
      program = Epilogue({kF32, kF32});
      const int sum = program.append(ScalarOp::kAdd, {0, 1});
      program.append(ScalarOp::kRelu, {sum});
      inputs.push_back(operand(kF32, y));
      break;
    }
    case Tail::kScale: {  // per channel
      program = Epilogue({kF32, kF32});
      program.append(ScalarOp::kMul, {0, 1});
      Shape scale(y.size() - 1, 1);
      scale[0] = y[1];
      inputs.push_back(constant(kF32, scale, {0.5, 1.5}));
      break;
    }
  }
  return program;
}

void add(std::vector<OpCase>& cases, const Conv& conv, std::vector<Arrangement> arrangements,
         bool transposed) {
  const size_t axes = conv.kernel.size();
  const Shape dilations = conv.dilations.empty() ? Shape(axes, 1) : conv.dilations;
  Shape y = {conv.x[0], conv.m};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t reach = (conv.kernel[i] - 1) * dilations[i] + 1;
    const int64_t pads = conv.pads_begin[i] + conv.pads_end[i];
    y.push_back(transposed ? (conv.x[2 + i] - 1) * conv.strides[i] + reach - pads +
                                 (conv.output_padding.empty() ? 0 : conv.output_padding[i])
                           : (conv.x[2 + i] + pads - reach) / conv.strides[i] + 1);
  }
  Shape w = {conv.m, conv.x[1] / conv.group};
  if (transposed) {
    w = {conv.x[1], conv.m / conv.group};
  }
  int64_t terms = conv.x[1] / conv.group;
  for (const int64_t k : conv.kernel) {
    w.push_back(k);
    terms *= k;
  }
  OpCase test;
  test.op = transposed ? Op::kConvTranspose : Op::kConv;
  test.inputs = {operand(kF32, conv.x), constant(kF32, w, weights(terms)),
                 conv.bias == Bias::kYes ? constant(kF32, {conv.m}) : missing()};
  ConvAttributes attributes;
  attributes.strides = conv.strides;
  attributes.dilations = dilations;
  attributes.pads_begin = {conv.pads_begin.begin(), conv.pads_begin.end()};
  attributes.pads_end = {conv.pads_end.begin(), conv.pads_end.end()};
  attributes.group = conv.group;
  attributes.epilogue = epilogue(conv.tail, y, test.inputs);
  test.attributes = attributes;
  test.outputs = {operand(kF32, y)};
  test.arrangements = std::move(arrangements);
  test.name = std::string(transposed ? "conv_transpose" : "conv") + "_x" + text_of(conv.x) + "_w" +
              text_of(w) + "_s" + text_of(conv.strides) + "_p" + text_of(conv.pads_begin) + "_" +
              text_of(conv.pads_end) + "_d" + text_of(dilations) + "_g" + std::to_string(conv.group) +
              std::string(kTailNames[static_cast<size_t>(conv.tail)]);
  cases.push_back(std::move(test));
}

// With the same numbers along both axes of an image.
Conv square(Shape x, int64_t m, int64_t kernel, int64_t stride, int64_t pad, int64_t group = 1,
            Tail tail = Tail::kNone, Bias bias = Bias::kYes) {
  return {std::move(x), m, {kernel, kernel}, {stride, stride}, {pad, pad}, {pad, pad}, group, bias, tail};
}

}  // namespace

void add_convolution_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense, Arrangement::kChannelsLast, Arrangement::kSliced,
                                        Arrangement::kTransposed};
  const std::vector<Arrangement> some = {Arrangement::kDense, Arrangement::kSliced};
  const auto conv = [&](const Conv& c, const std::vector<Arrangement>& arrangements) {
    add(cases, c, arrangements, false);
  };
  const auto transpose = [&](const Conv& c, const std::vector<Arrangement>& arrangements) {
    add(cases, c, arrangements, true);
  };

  // Pointwise: odd numbers of channels and pixels around the widths of vectors and panels.
  for (const int64_t c : {1, 3, 5, 7, 17, 33}) {
    for (const int64_t m : {1, 3, 7, 16, 17, 33}) {
      conv(square({1, c, 3, 5}, m, 1, 1, 0), all);
    }
  }
  conv(square({2, 64, 7, 7}, 64, 1, 1, 0, 1, Tail::kAddRelu), all);
  conv(square({1, 48, 1, 1}, 12, 1, 1, 0, 1, Tail::kRelu), some);  // squeeze and excite
  conv(square({1, 12, 1, 1}, 48, 1, 1, 0, 1, Tail::kSilu), some);
  conv(square({1, 96, 13, 7}, 24, 1, 1, 0, 1, Tail::kNone, Bias::kNo), some);
  conv(square({1, 192, 6, 10}, 384, 1, 1, 0, 1, Tail::kHardSwish), some);
  conv(square({1, 320, 7, 7}, 128, 1, 1, 0, 1, Tail::kSilu), some);
  conv(square({2, 40, 5, 9}, 240, 1, 1, 0, 1, Tail::kScale), some);
  conv(square({1, 64, 14, 14}, 128, 1, 2, 0), all);  // a down-sampling shortcut
  conv(square({1, 16, 9, 7}, 8, 1, 3, 0), some);
  conv(square({1, 8, 4, 4}, 6, 1, 1, 1), some);                  // padding around a pointwise kernel
  conv({{1, 8, 4, 5}, 6, {1, 1}, {1, 1}, {0, 0}, {1, 2}}, all);  // and behind it only
  conv({{2, 8, 5, 4}, 6, {1, 1}, {2, 1}, {0, 0}, {2, 0}, 2}, all);

  // Stems: three colours.
  conv(square({1, 3, 17, 19}, 24, 3, 2, 1, 1, Tail::kRelu), all);
  conv(square({2, 3, 16, 16}, 32, 3, 2, 1, 1, Tail::kSilu), some);
  conv(square({1, 3, 23, 21}, 64, 7, 2, 3, 1, Tail::kRelu), all);
  conv(square({1, 1, 9, 11}, 8, 3, 1, 1), some);
  conv(square({1, 3, 32, 48}, 48, 16, 16, 0), some);  // patches
  conv(square({1, 3, 16, 12}, 96, 4, 4, 0), some);
  conv(square({1, 96, 6, 8}, 40, 2, 2, 0), some);

  // Dense 3 × 3 and others.
  conv(square({1, 64, 10, 12}, 64, 3, 1, 1, 1, Tail::kAddRelu), all);
  conv(square({1, 32, 13, 11}, 80, 3, 1, 1, 1, Tail::kSilu), some);
  conv(square({1, 64, 14, 15}, 96, 3, 2, 1, 1, Tail::kRelu), all);
  conv(square({2, 17, 9, 7}, 5, 3, 1, 1), all);
  conv(square({1, 5, 8, 8}, 17, 3, 1, 0), some);
  conv(square({1, 7, 11, 13}, 3, 5, 1, 2), some);
  conv(square({1, 6, 10, 10}, 9, 3, 3, 1), all);
  conv(square({1, 256, 5, 5}, 64, 3, 1, 1), {Arrangement::kDense});
  conv({{1, 24, 9, 8}, 12, {2, 2}, {1, 1}, {0, 0}, {1, 1}}, all);  // SAME_UPPER of an even kernel
  conv({{1, 4, 7, 9}, 6, {3, 1}, {1, 2}, {1, 0}, {0, 0}}, all);
  conv({{1, 4, 6, 7}, 6, {1, 3}, {2, 1}, {0, 2}, {0, 1}}, some);
  conv({{1, 3, 8, 8}, 4, {3, 3}, {1, 1}, {1, 2}, {3, 0}}, some);  // four different pads
  conv({{1, 4, 12, 12}, 5, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 1, Bias::kYes, Tail::kNone, {2, 2}}, all);
  conv({{1, 4, 14, 11}, 5, {3, 2}, {2, 1}, {3, 1}, {3, 0}, 1, Bias::kYes, Tail::kNone, {3, 2}}, some);
  conv(square({1, 3, 1, 1}, 5, 3, 1, 1), all);  // a kernel larger than the image
  conv(square({2, 2, 2, 3}, 3, 7, 2, 3), some);
  conv(square({1, 1, 1, 1}, 1, 1, 1, 0), some);
  conv(square({1, 16, 40, 33}, 16, 3, 1, 1, 1, Tail::kRelu), {Arrangement::kDense});

  // Depthwise.
  for (const int64_t kernel : {3, 5, 7}) {
    for (const int64_t stride : {1, 2}) {
      conv(square({1, 24, 11, 13}, 24, kernel, stride, kernel / 2, 24, Tail::kHardSwish), all);
      conv(square({2, 7, 9, 10}, 7, kernel, stride, kernel / 2, 7), some);
    }
  }
  conv(square({1, 33, 8, 9}, 33, 3, 1, 1, 33, Tail::kRelu), all);
  conv(square({1, 96, 7, 7}, 96, 7, 1, 3, 96), some);
  conv(square({1, 17, 1, 1}, 17, 5, 1, 2, 17), some);
  conv(square({1, 5, 10, 10}, 5, 3, 3, 0, 5), some);
  conv(square({1, 240, 6, 6}, 240, 3, 2, 1, 240, Tail::kSilu, Bias::kNo), some);
  conv(square({1, 1, 6, 6}, 1, 3, 1, 1, 1), some);
  conv({{1, 24, 12, 10}, 24, {3, 3}, {2, 1}, {1, 1}, {1, 1}, 24}, all);  // text recognition halves the height
  conv({{1, 32, 12, 10}, 32, {5, 5}, {2, 1}, {2, 2}, {2, 2}, 32, Bias::kYes, Tail::kHardSwish}, some);
  conv({{1, 40, 1, 17}, 40, {1, 7}, {1, 1}, {0, 3}, {0, 3}, 40}, all);
  conv({{1, 9, 10, 10}, 9, {3, 3}, {1, 1}, {2, 2}, {2, 2}, 9, Bias::kYes, Tail::kNone, {2, 2}}, some);
  conv(square({1, 4, 6, 5}, 8, 3, 1, 1, 4), all);  // with a multiplier of two
  conv(square({1, 3, 6, 5}, 9, 3, 2, 1, 3), some);

  // Groups.
  conv(square({1, 8, 7, 6}, 12, 3, 1, 1, 4), all);
  conv(square({2, 6, 5, 5}, 10, 1, 1, 0, 2, Tail::kRelu), some);
  conv(square({1, 32, 7, 7}, 32, 3, 2, 1, 2), some);

  // One dimension: voice activity detection.
  conv({{1, 129, 5}, 128, {3}, {1}, {1}, {1}, 1, Bias::kYes, Tail::kRelu}, some);
  conv({{1, 128, 5}, 64, {3}, {2}, {1}, {1}, 1, Bias::kYes, Tail::kRelu}, some);
  conv({{2, 64, 3}, 64, {3}, {2}, {1}, {1}, 1, Bias::kYes, Tail::kRelu}, all);
  conv({{1, 1, 640}, 66, {256}, {128}, {0}, {0}, 1, Bias::kNo}, some);
  conv({{1, 128, 1}, 1, {1}, {1}, {0}, {0}}, some);
  conv({{2, 3, 9}, 5, {4}, {1}, {0}, {2}, 1, Bias::kYes, Tail::kNone, {2}}, all);
  conv({{1, 6, 11}, 6, {3}, {1}, {1}, {1}, 6}, some);
  // Three.
  conv({{1, 3, 4, 5, 6}, 4, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, all);
  conv({{1, 4, 5, 4, 3}, 6, {2, 3, 1}, {2, 1, 1}, {0, 1, 0}, {1, 1, 0}, 2}, some);

  // Transposed.
  transpose(square({1, 24, 5, 7}, 24, 2, 2, 0, 1, Tail::kRelu), all);
  transpose(square({1, 24, 6, 5}, 1, 2, 2, 0), all);
  transpose(square({2, 5, 4, 3}, 7, 3, 2, 1), all);
  transpose(square({1, 3, 5, 5}, 4, 4, 2, 1), some);
  transpose(square({1, 4, 5, 5}, 6, 3, 1, 1, 2), some);
  transpose(square({1, 6, 3, 4}, 6, 3, 3, 0, 6), some);
  transpose({{1, 3, 4, 5}, 2, {3, 2}, {2, 3}, {1, 0}, {0, 1}, 1, Bias::kNo, Tail::kNone, {2, 1}, {1, 0}},
            all);
  transpose({{1, 4, 6}, 3, {3}, {2}, {1}, {1}, 1, Bias::kYes, Tail::kNone, {}, {1}}, some);
  transpose({{1, 2, 3, 2, 3}, 3, {2, 2, 2}, {2, 1, 2}, {0, 0, 0}, {0, 0, 0}}, some);
}

}  // namespace weir::testing
