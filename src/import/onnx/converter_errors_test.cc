// SPDX-License-Identifier: Apache-2.0
//
// Every error of the converters, word by word: what a node says wrong, and what of ONNX is not supported. A
// table has the file of converters in its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/testing/node_text.h"

namespace weir::onnx_import {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;
using weir::testing::error_of;
using weir::testing::model_of;

struct Case {
  std::string_view node;  // as in node_text.h
  std::string_view error;
};

// "Conv, ai.onnx 13" → "Conv" and "13".
std::pair<std::string, std::string> operator_of(std::string_view node) {
  const size_t space = node.find(' ');
  return {std::string(node.substr(space + 1, node.find('(') - space - 1)),
          std::string(node.substr(0, space))};
}

// The model contradicts itself or the definition of the operator: the import ends there.
void expect_mistakes(std::initializer_list<Case> cases) {
  for (const auto& [text, error] : cases) {
    const auto [op, version] = operator_of(text);
    const auto graph = model_of(text).import();
    EXPECT_EQ(error_of(graph),
              fmt::format("{}\n  - while importing node 'node' ({}, ai.onnx {})", error, op, version))
        << text;
    EXPECT_TRUE(graph || graph.error().code() == StatusCode::kInvalidArgument) << text;
  }
}

// A valid node that is not supported: it is listed, with its operands.
void expect_refusals(std::initializer_list<Case> cases) {
  for (const auto& [text, error] : cases) {
    const auto [op, version] = operator_of(text);
    const auto graph = model_of(text).import();
    EXPECT_THAT(
        error_of(graph),
        StartsWith(fmt::format(
            "The model has (1) nodes that are not supported: 1 × ai.onnx.{}.\n  - {} (ai.onnx {}) 'node' of ",
            op, op, version)))
        << text;
    EXPECT_THAT(error_of(graph), EndsWith(fmt::format(": {}", error))) << text;
    EXPECT_TRUE(graph || graph.error().code() == StatusCode::kUnimplemented) << text;
  }
}

void expect_types(std::initializer_list<Case> cases) {
  for (const auto& [text, type] : cases) {
    const auto graph = model_of(text).import();
    EXPECT_EQ(graph ? graph->value(graph->outputs()[0].value).type.to_string() : error_of(graph), type)
        << text;
  }
}

TEST(ConverterErrorsTest, OfAnyOperand) {
  expect_mistakes({
      {"13 Add(float[2])", "The node lacks input (1), and its first (2) are required."},
      {"13 Relu(float[2], float[2])", "The node has (2) inputs, and (1) is the most."},
      {"13 Add(float[2], double[2])",
       "Inputs (0) and (1) have types (float32[2]) and (float64[2]), and take one element type."},
      {"13 Softmax(float[2,3], axis=2)", "Axis (2) lies outside a tensor of rank (2)."},
      {"13 Transpose(float[2,3], perm=[0,-2])", "An axis is named twice in (0, -2)."},
  });
  expect_mistakes({
      {"13 Reshape(float[2], float{2})", "Input (1), the shape, has type (float32[1]), and takes integers."},
  });
  expect_refusals({
      {"13 Elu(int32[2])", "Input (0) has type (int32[2]), and floating-point types are supported."},
      {"13 Squeeze(float[1,2], int64[1])",
       "Input (1), the axes 'b' of type (int64[1]) from the model's input, depends on data, and it has to "
       "follow from shapes and constants."},
      {"13 Squeeze(float[1,2], shape[n])",
       "Input (1), the axes, has an element (n) that depends on dimensions, and takes numbers."},
      {"13 MaxPool(float[1,1,4], kernel_shape=[2]) -> y, indices",
       "Output (1), 'indices', is read, and it is not supported."},
  });
}

TEST(ConverterErrorsTest, OfAttributesOfAnotherKind) {
  expect_mistakes({
      {"13 Softmax(float[2], axis=1.0)", "Attribute 'axis' is no integer."},
      {"13 Elu(float[2], alpha=1)", "Attribute 'alpha' is no floating-point number."},
      {"13 Conv(float[1,1,4], float[1,1,2], auto_pad=1)", "Attribute 'auto_pad' is no string."},
      {"13 Conv(float[1,1,4], float[1,1,2], strides=1)", "Attribute 'strides' is no list of integers."},
      {"13 Conv(float[1,1,4], float[1,1,2], strides=[1,1])",
       "Attribute 'strides' has (2) elements, and takes (1)."},
      {"7 Upsample(float[1,1,4], scales=2.0)", "Attribute 'scales' is no list of floating-point numbers."},
      {"13 Constant(value_int=1.5)", "Attribute 'value_int' is no integer."},
      {"13 Constant(value_floats=[1,2])", "Attribute 'value_floats' is no list of floating-point numbers."},
      {"13 HardSigmoid(float[2], alpha=inf)", "Attribute 'alpha' is (inf), and takes a finite number."},
      {"13 Constant(value=1)", "Attribute 'value' is no tensor."},
      {"13 ConstantOfShape(int64{2}, value=1)", "Attribute 'value' is no tensor."},
      {"13 Concat(float[2], float[2])", "The node lacks attribute 'axis', which it needs."},
      {"13 Cast(float[2])", "The node lacks attribute 'to', which it needs."},
      {"13 MaxPool(float[1,1,4])", "The node lacks attribute 'kernel_shape', which it needs."},
  });
}

TEST(ConverterErrorsTest, OfConvolutionsAndPools) {
  expect_mistakes({
      {"13 Conv(float[1,4], float[4,3,3])", "Input (0) has type (float32[1, 4]), and takes rank 3 or more."},
      {"13 Conv(float[1,3,8], float[4,3])",
       "The weights have type (float32[4, 3]), and take rank 3 or more."},
      {"13 Conv(float[1,3,8], float[4,3,3,3])",
       "Inputs (0) and (1) have types (float32[1, 3, 8]) and (float32[4, 3, 3, 3]), and take one rank."},
      {"13 Conv(float[1,3,8], float[4,3,0])",
       "The weights have type (float32[4, 3, 0]), and their kernel takes (1) to (2147483647) on an axis."},
      {"13 Conv(float[1,3,8], float[4,3,3], kernel_shape=[2])",
       "Attribute 'kernel_shape' is (2), and the weights have type (float32[4, 3, 3])."},
      {"13 Conv(float[1,3,8], float[4,3,3], strides=[0])",
       "Attribute 'strides' has an element (0), and takes (1) to (2147483647)."},
      {"13 Conv(float[1,3,8], float[4,3,3], dilations=[2147483648])",
       "Attribute 'dilations' has an element (2147483648), and takes (1) to (2147483647)."},
      {"13 MaxPool(float[1,3,8], kernel_shape=[-2])",
       "Attribute 'kernel_shape' has an element (-2), and takes (1) to (2147483647)."},
      {"13 MaxPool(float[1,3,8], kernel_shape=[2], pads=[0,-1])",
       "Attribute 'pads' has an element (-1), and takes (0) to (2147483647)."},
      {"13 AveragePool(float[1,3,8], kernel_shape=[2], auto_pad=\"SAME\")",
       "Attribute 'auto_pad' is (SAME), and takes NOTSET, VALID, SAME_UPPER or SAME_LOWER."},
      {"13 Conv(float[1,3,8], float[4,3,3], group=0)",
       "Attribute 'group' is (0), and takes (1) to (2147483647)."},
      {"13 Conv(float[1,3,8], float[4,2,3])",
       "Conv 'node' needs as many input channels as weights times group, and has (3) and (2)."},
      {"13 ConvTranspose(float[1,3,8], float[3,4,3], auto_pad=\"EVEN\")",
       "Attribute 'auto_pad' is (EVEN), and takes NOTSET, VALID, SAME_UPPER or SAME_LOWER."},
      {"13 ConvTranspose(float[1,3,8], float[3,4,3], output_padding=[-1])",
       "Attribute 'output_padding' has an element (-1), and takes (0) to (2147483647)."},
      {"13 ConvTranspose(float[1,3,8], float[3,4,3], output_shape=[4,5])",
       "Attribute 'output_shape' has (2) elements, and takes (1)."},
      {"13 ConvTranspose(float[1,3,8], float[3,4,3], output_shape=[-4])",
       "Attribute 'output_shape' has an element (-4), and takes (0) to (2147483647)."},
      {"13 GlobalMaxPool(float[1,3])", "Input (0) has type (float32[1, 3]), and takes rank 3 or more."},
  });
  expect_refusals({
      {"13 GlobalAveragePool(int32[1,3,8])",
       "Input (0) has type (int32[1, 3, 8]), and floating-point types are supported."},
      {"13 Conv(float[1,3,8], float[4,3,k])",
       "The weights have type (float32[4, 3, k]), and their kernel takes numbers."},
  });
}

TEST(ConverterErrorsTest, OfElementwiseOperators) {
  expect_mistakes({
      {"13 Clip(float[2], float[2])",
       "Input (1), the lower bound, has type (float32[2]), and takes a scalar."},
      {"13 Clip(int32[4], , int32{1,2})",
       "Input (2), the upper bound, has type (int32[2]), and takes a scalar."},
      {"13 Clip(float[2], float(0), float(nan))", "The upper bound is (nan), and takes a number."},
      {"13 Cast(float[2], to=-1)", "Attribute 'to' is (-1), and takes (0) to (2147483647)."},
      {"13 PRelu(float[2,1], float[2,5])",
       "Input (1) has type (float32[2, 5]), which does not broadcast to (2, 1)."},
      {"13 PRelu(float[3], float[1,3])",
       "Input (1) has type (float32[1, 3]), which does not broadcast to (3)."},
  });
  expect_refusals({
      {"13 Exp(int32[2])", "Input (0) has type (int32[2]), and floating-point types are supported."},
      {"13 Add(bool[2], bool[2])", "Input (0) has type (bool[2]), and numbers are supported."},
      {"13 Less(bool[2], bool[2])", "Input (0) has type (bool[2]), and numbers are supported."},
      {"13 Relu(bool[2])", "Input (0) has type (bool[2]), and numbers are supported."},
      {"13 Pow(float[2], bool[2])", "Input (1) has type (bool[2]), and numbers are supported."},
      {"13 Max(bool[2], bool[2])", "Input (0) has type (bool[2]), and numbers are supported."},
      {"13 Clip(bool[2])", "Input (0) has type (bool[2]), and numbers are supported."},
      {"13 And(float[2], float[2])", "Input (0) has type (float32[2]), and bool is supported."},
      {"13 Xor(int64[2], int64[2])", "Input (0) has type (int64[2]), and bool is supported."},
      {"13 Where(int64[2], float[2], float[2])", "Input (0) has type (int64[2]), and bool is supported."},
      {"13 Cast(float[2], to=8)", "Cast gives type (STRING), and numbers and bool are supported."},
      {"13 Cast(float[2], to=99)", "Cast gives type (99), and numbers and bool are supported."},
      {"10 Clip(int32[2], min=0.0)",
       "Input (0) has type (int32[2]), and floating-point types are supported."},
      {"20 Gelu(float[2], approximate=\"sine\")",
       "Attribute 'approximate' is (sine), and (none) and (tanh) are supported."},
      {"13 Mod(int64[2], int64{2})",
       "Mod takes integers that follow from shapes and constants, and has (int64[2]) and (int64[1]), fmod "
       "(0)."},
  });
}

TEST(ConverterErrorsTest, OfNormalisationsAndReductions) {
  expect_mistakes({
      {"13 BatchNormalization(float[3], float[3], float[3], float[3], float[3])",
       "Input (0) has type (float32[3]), and takes rank 2 or more."},
      {"13 BatchNormalization(float[2,3], float[3], float[3], float[4], float[3])",
       "Input (3) has type (float32[4]), and takes (3) channels."},
      {"17 LayerNormalization(float[2,1], float[5])",
       "LayerNormalization 'node' needs a scale and a bias that broadcast to what it normalises over, and "
       "has (5) and (1)."},
      {"13 InstanceNormalization(float[2,3], float[3], float[3])",
       "Input (0) has type (float32[2, 3]), and takes rank 3 or more."},
      {"13 InstanceNormalization(float[2,3,4], float[3], float[2])",
       "Input (2) has type (float32[2]), and takes (3) channels."},
      {"21 GroupNormalization(float[2,4,4], float[4], float[4])",
       "The node lacks attribute 'num_groups', which it needs."},
      {"21 GroupNormalization(float[2,4,4], float[4], float[4], num_groups=0)",
       "Attribute 'num_groups' is (0), and takes (1) to (2147483647)."},
      {"21 GroupNormalization(float[2,6,4], float[6], float[6], num_groups=4)",
       "Input (0) has (6) channels, which attribute 'num_groups' (4) does not divide."},
      {"23 RMSNormalization(float[2,1], float[5])",
       "Input (1) has type (float32[5]), which does not broadcast to (1)."},
      {"13 Tile(float[2,3], int64{2})", "Tile has (1) repeats, and its input has type (float32[2, 3])."},
      {"13 Tile(float[2,3], int64{2,-1})", "Tile has a repeat (-1), and (0) is the least."},
  });
  expect_refusals({
      {"13 BatchNormalization(float[2,3], float[3], float[3], float[3], float[3], training_mode=1)",
       "BatchNormalization has training_mode (1) and spatial (1), and (0) and (1) are supported."},
      {"17 LayerNormalization(float[2,3], float[3], stash_type=16)",
       "Attribute 'stash_type' is (16), and (1), float32, is supported."},
      {"21 GroupNormalization(float[2,4,4], float[4], float[4], num_groups=2, stash_type=10)",
       "Attribute 'stash_type' is (10), and (1), float32, is supported."},
      {"13 ReduceSum(bool[2,3])", "Input (0) has type (bool[2, 3]), and numbers are supported."},
      {"13 ReduceProd(float[2,3])",
       "ReduceProd takes all of a list of integers that follows from shapes and constants, and has "
       "(float32[2, 3])."},
      {"13 Tile(float[1,2,1,2,1,2,1], int64{2,2,1,1,1,1,1})",
       "Tile repeats (2) axes of a tensor of type (float32[1, 2, 1, 2, 1, 2, 1]), and (8) axes and repeats "
       "together are the most."},
  });
}

TEST(ConverterErrorsTest, OfProducts) {
  expect_mistakes({
      {"13 MatMul(float[], float[3])", "MatMul takes no scalars, and has (float32[]) and (float32[3])."},
      {"13 MatMul(float[2,3], float[4,5])",
       "MatMul 'node' needs as many columns of a as rows of b, and has (3) and (4)."},
      {"13 Gemm(float[2,3], float[1,3,4])",
       "Gemm takes matrices, and has (float32[2, 3]) and (float32[1, 3, 4])."},
      {"13 Gemm(float[2,3], float[3,4], float[1,2,4])",
       "Input (2) has type (float32[1, 2, 4]), which does not broadcast to (2, 4)."},
      {"13 Gemm(float[1,3], float[3,4], float[2,4])",
       "Input (2) has type (float32[2, 4]), which does not broadcast to (1, 4)."},
      {"13 Gemm(float[n,3], float[3,4], float[5], beta=0.5)",
       "Input (2) has type (float32[5]), which does not broadcast to (n, 4)."},
  });
}

TEST(ConverterErrorsTest, OfRecurrentLayers) {
  expect_mistakes({
      {"14 LSTM(float[7,2], float[1,16,3], float[1,16,4])",
       "LSTM takes tensors of rank 3, and has (float32[7, 2]), (float32[1, 16, 3]) and (float32[1, 16, 4])."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], , int64[2])",
       "Input (4), the lengths, has type (int64[2]), and takes int32."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], direction=\"up\")",
       "Attribute 'direction' is (up), and takes forward, reverse or bidirectional."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], layout=2)",
       "Attribute 'layout' is (2), and takes (0) to (1)."},
      {"14 LSTM(float[2,7,3], float[1,16,3], float[1,16,4], , , float[2,4], layout=1)",
       "Input (5) has type (float32[2, 4]), and takes rank 3."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], , , float[2,4])",
       "Lstm 'node' takes an initial hidden state of rank (3), and has (float32[2, 4])."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], hidden_size=5)",
       "Lstm 'node' needs weights of shape [1, 20, 3], and has (16) and (20)."},
  });
  expect_refusals({
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], , , , , float[1,12])",
       "LSTM has peephole weights (input 7, float32[1, 12]), and those without are supported."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], clip=3.5)",
       "LSTM has attribute 'clip' (3.5), and those without are supported."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], input_forget=1)",
       "Attribute 'input_forget' is (1), and (0) is supported."},
      {"14 LSTM(float[7,2,3], float[1,16,3], float[1,16,4], activations=[\"Sigmoid\",\"Relu\",\"Tanh\"])",
       "LSTM has activations (Sigmoid, Relu, Tanh), and (Sigmoid, Tanh, Tanh) for each of (1) directions are "
       "supported."},
  });
}

TEST(ConverterErrorsTest, OfResize) {
  expect_mistakes({
      {"13 Resize(float[1,1,4], , float{1,2})",
       "The node has (2) scales, and takes one for each of (3) axes."},
      {"13 Resize(float[1,1,4], , float{1,1,-2})",
       "The scale of axis (2) is (-2), and takes a number above 0."},
      {"13 Resize(float[1,1,4], , , int64{1,8})",
       "The node has (2) sizes, and takes one for each of (3) axes."},
      {"18 Resize(float[1,1,4], , , int64{0}, axes=[2])",
       "The size of axis (2) is (0), and (1) is the least."},
      {"13 Resize(float[1,1,4])",
       "The node has neither scales (input 2) nor sizes (input 3), and takes one of them."},
      {"7 Upsample(float[1,1,4])", "The node lacks attribute 'scales', which it needs."},
      {"9 Upsample(float[1,1,4], float{1,1,2}, mode=\"cubic\")",
       "Attribute 'mode' is (cubic), and takes nearest or linear."},
  });
  expect_refusals({
      {"13 Resize(float[1,1,4], , float{1,1,2}, mode=\"area\")",
       "Resize has mode (area), and nearest, linear and cubic are supported."},
      {"13 Resize(float[1,1,4], , float{1,1,2}, coordinate_transformation_mode=\"tf_crop_and_resize\")",
       "Resize has coordinate_transformation_mode (tf_crop_and_resize), and half_pixel, pytorch_half_pixel, "
       "half_pixel_symmetric, align_corners and asymmetric are supported."},
      {"13 Resize(float[1,1,4], , float{1,1,2}, nearest_mode=\"up\")",
       "Resize has nearest_mode (up), and round_prefer_floor, round_prefer_ceil, floor and ceil are "
       "supported."},
      {"18 Resize(float[1,1,4], , float{1,1,2}, antialias=1)",
       "Resize has antialias (1) and keep_aspect_ratio_policy (stretch), and (0) and (stretch) are "
       "supported."},
      {"13 If(bool[])", "The condition depends on data, and it has to follow from shapes and constants."},
      {"9 Upsample(float[1,1,4], float[3])",
       "The scales (input 1) depend on data, and have to follow from shapes and constants."},
      {"13 Resize(float[1,1,4], , float[3])",
       "The scales (input 2) depend on data, and have to follow from shapes and constants."},
      {"9 Upsample(float[1,4,4], float{1,2,0.5})",
       "The scales (1, 2, 0.5) both enlarge and shrink, and nearest ones that do one of both are supported."},
      {"9 Upsample(float[1,4], shape[1,n])",
       "The scales follow from dimensions, and nearest ones that are numbers are supported."},
  });
}

TEST(ConverterErrorsTest, OfSelections) {
  expect_mistakes({
      {"9 Slice(float[4], starts=[0])", "The node lacks attribute 'ends', which it needs."},
      {"13 Slice(float[4,4], int64{0,0}, int64{1,1}, int64{0})",
       "Slice has (2) starts, (2) ends, (1) axes and (2) steps, and takes as many of each."},
      {"13 Slice(float[4,4], int64{0}, int64{2}, int64{1}, int64{0})",
       "The step of axis (1) is (0), and takes (1) to (281474976710656), forwards or backwards."},
      {"11 Split(float[2,5], axis=1) -> y, z",
       "Axis (1) has (5) elements, which do not split into (2) equal parts."},
      {"18 Split(float[2,2], axis=1, num_outputs=5) -> u, v, w, x, y",
       "Axis (1) has (2) elements, too few for (5) parts, all but the last of (1)."},
      {"18 Split(float[6], num_outputs=3) -> y, z",
       "Attribute 'num_outputs' is (3), and the node has (2) outputs."},
      {"13 Split(float[6], int64{1,2,3}) -> y, z", "Split has (3) sizes, and (2) outputs."},
      {"13 Split(float[6], int64{7,-1}) -> y, z", "Split has a size (-1), and (0) is the least."},
      {"13 Split(float[2,6], int64{2,3}, axis=1) -> y, z",
       "Split has sizes of (5) in all, and axis (1) has (6) elements."},
      {"13 Gather(float[4], float[1])", "The indices have type (float32[1]), and take int32 or int64."},
      {"13 Gather(float[2,4], int64{0,-5,2}, axis=1)", "An index is (-5), and axis (1) has (4) elements."},
      {"13 Gather(float[4], int64{-9223372036854775808})",
       "An index is (-9223372036854775808), and axis (0) has (4) elements."},
      {"13 Gather(float[n], int64{281474976710656})",
       "An index is (281474976710656), and axis (0) has (n) elements."},
      {"13 Gather(float[2,4], int64{0,4}, axis=1)", "An index is (4), and axis (1) has (4) elements."},
      {"13 Concat(float[2,3], float[3,3], axis=1)",
       "Concat 'node' needs operands of one shape off its axis, and has (2) and (3)."},
      {"13 Pad(float[4], int64{1,1}, mode=\"mirror\")",
       "Attribute 'mode' is (mirror), and takes constant, reflect, edge or wrap."},
      {"13 Pad(float[4], int64{4,0}, mode=\"reflect\")",
       "Pad 'node' needs an input that is longer than what it reflects, and has (4), where (5) is the "
       "least."},
      {"13 Pad(float[2,4], int64{1,1})", "Pad has (2) pads for (2) axes, and takes two for each."},
  });
  expect_refusals({
      {"13 Pad(float[4], int64{1,1}, float[])",
       "Input (2), the value, has type (float32[]), and takes a number of type (float32) that does not "
       "depend on data."},
      {"13 Pad(float[4], int64{1,1}, int64(0))",
       "Input (2), the value, has type (int64[]), and takes a number of type (float32) that does not depend "
       "on data."},
  });
}

TEST(ConverterErrorsTest, OfShapes) {
  expect_mistakes({
      {"13 Reshape(float[2,6], int64(12))", "The shape has type (int64[]), and takes rank 1."},
      {"13 Reshape(float[2,6], int64{2,6,0})", "The shape copies dimension (2) of a tensor of rank (2)."},
      {"13 Reshape(float[2,6], int64{-1,2,-1})", "The shape has (-1) at (0) and (2), and takes it once."},
      {"13 Reshape(float[2,6], int64{-2,6})", "The shape has an element (-2), and (-1) is the least."},
      {"13 Reshape(float[2,6], int64{-1,5})",
       "A tensor of type (float32[2, 6]) has (12) elements, which (5) does not divide."},
      {"13 Reshape(float[2,6], int64{3,5})",
       "Reshape 'node' needs a result with as many elements as its input, and has (12) and (15)."},
      {"13 Reshape(float{1,2,3}, int64{2,2})",
       "A tensor of type (float32[3]) takes shape (2, 2), which has another number of elements."},
      {"13 Flatten(float[2,6], axis=3)", "Axis (3) lies outside a tensor of rank (2)."},
      {"13 Squeeze(float[2,6], int64{1})",
       "Axis (1) of a tensor of type (float32[2, 6]) is squeezed, and takes an extent of 1."},
      {"13 Unsqueeze(float[2])", "Unsqueeze lacks its axes (attribute 'axes', from version 13 on input 1)."},
      {"13 Transpose(float[2,6], perm=[0])", "Attribute 'perm' has (1) axes, and the input has rank (2)."},
      {"13 Expand(float[2], int64{3})",
       "Node 'node' joins dimensions (2) and (3), which are neither equal nor 1.\n  - while joining shapes "
       "on axis (0)"},
      {"13 ConstantOfShape(int64{2,-1})", "The shape has an element (-1), and (0) is the least."},
      {"13 Range(int64(0), int64(4), int64(0))", "The step of a range is (0), and takes another number."},
      {"13 Range(float(0.5), float(4), float(0))", "The step of a range is (0), and takes another number."},
      {"13 Range(double(0.5), double(1e20), double(1))",
       "The range has (1e+20) elements, and (281474976710656) is the most."},
      {"13 DepthToSpace(float[1,4,2,2])", "The node lacks attribute 'blocksize', which it needs."},
      {"13 DepthToSpace(float[1,4,2,2], blocksize=0)",
       "Attribute 'blocksize' is (0), and takes (1) to (2147483647)."},
      {"13 DepthToSpace(float[4,2,2], blocksize=2)",
       "Input (0) has type (float32[4, 2, 2]), and takes rank 4."},
      {"13 DepthToSpace(float[1,4,2,2], blocksize=2, mode=\"DRC\")",
       "Attribute 'mode' is (DRC), and takes DCR or CRD."},
      {"13 DepthToSpace(float[1,6,2,2], blocksize=2)",
       "Axis (1) has (6) elements, which (4) does not divide."},
      {"13 SpaceToDepth(float[1,1,4,3], blocksize=2)",
       "Axis (3) has (3) elements, which (2) does not divide."},
  });
  expect_refusals({
      {"13 Squeeze(float[n,2])",
       "Squeeze without axes takes (float32[n, 2]), where dimension (n) may be 1; a range or a number for it "
       "decides that."},
      {"13 Unsqueeze(float[1,1,1,1,1,1,1,1], int64{0})", "The result has rank (9), and (8) is the most."},
      {"13 Dropout(float[2], float(0.5), bool(1))",
       "Dropout trains (input 2 is true or depends on data), and only its inference is supported."},
      {"13 Constant(value_string=\"text\")",
       "The constant has attributes (value_string), and one of value, value_float, value_int, value_floats "
       "and value_ints is supported."},
      {"13 ConstantOfShape(int64{2}, value=float{1,2})",
       "Attribute 'value' has type (float32[2]), and takes one number."},
      {"13 ConstantOfShape(shape[n], value=int64{9007199254740993})",
       "Attribute 'value' is (9007199254740993), and takes (-9007199254740992) to (9007199254740992)."},
      {"13 Range(bool(0), bool(1), bool(1))", "Input (0) has type (bool[]), and numbers are supported."},
      {"13 Range(int64(0), int64[], int64(1))",
       "Input (1), the limit, has type (int64[]), and takes a scalar that follows from shapes and "
       "constants."},
      {"13 Range(int64(0), int64(4), shape[n])", "The step of a range is (n), and takes a number."},
  });
}

// What was taken before, or refused, and what is right.
TEST(ConverterErrorsTest, NeighboursOfErrorsAreImported) {
  expect_types({
      {"10 Clip(float[2], min=0.0)", "float32[2]"},
      {"13 Clip(int32[2], int32{1})", "int32[2]"},
      {"13 Equal(bool[2], bool[2])", "bool[2]"},
      {"13 Xor(bool[2], bool[2])", "bool[2]"},
      {"20 ReduceMax(bool[2,3])", "bool[1, 1]"},
      {"13 Gather(float[4], int64{-4,3})", "float32[2]"},
      {"13 PRelu(float[2,3,4], float[3,1])", "float32[2, 3, 4]"},
      {"13 Gemm(float[n,3], float[3,4], float[n,1], alpha=2.0)", "float32[n, 4]"},
      {"13 ConvTranspose(float[1,3,8], float[3,4,3], auto_pad=\"VALID\")", "float32[1, 4, 10]"},
      {"18 Split(float[2,5], axis=1, num_outputs=3) -> y, z, w", "float32[2, 2]"},
      {"17 LayerNormalization(float[2,3,4], float[3,1], float[4], axis=1)", "float32[2, 3, 4]"},
      {"23 RMSNormalization(float[2,3,4], float[4], axis=1)", "float32[2, 3, 4]"},
  });
}

// What only a request decides becomes a condition, whose error names the node and what it asks.
TEST(ConverterErrorsTest, OfOpenDimensionsAreConditions) {
  struct Condition {
    std::string_view node;
    int64_t refused;  // a value for n
    std::string_view error;
    int64_t taken;
  };
  const std::initializer_list<Condition> conditions = {
      {"13 Gather(float[n,4], int64{0,5,2})", 5,
       "Gather 'node' takes element (5) of axis (0): the program holds only where 'n' (5) is at least (6).",
       6},
      {"13 Gather(float[n,4], int64(-4))", 3,
       "Gather 'node' takes element (-4) of axis (0): the program holds only where 'n' (3) is at least (4).",
       4},
      {"13 Pad(float[n], int64{0,3}, mode=\"reflect\")", 3,
       "Pad 'node' needs an input that is longer than what it reflects: the program holds only where 'n' (3) "
       "is at least (4).",
       4},
      {"13 PRelu(float[5,3], float[n])", 2,
       "PRelu 'node' broadcasts input (1): the program holds only where (3) equals 'n' (2).", 3},
      {"13 PRelu(float[5,1], float[n])", 2,
       "PRelu 'node' broadcasts input (1): the program holds only where (1) equals 'n' (2).", 1},
  };
  for (const Condition& condition : conditions) {
    const auto graph = model_of(condition.node).import();
    ASSERT_TRUE(graph) << error_of(graph);
    ASSERT_EQ(graph->constraints.size(), 1u) << condition.node;
    const auto refused = check(graph->constraints[0], std::array{condition.refused});
    EXPECT_EQ(refused ? "taken" : refused.error().to_string(), condition.error);
    EXPECT_TRUE(check(graph->constraints[0], std::array{condition.taken})) << condition.node;
  }
}

}  // namespace
}  // namespace weir::onnx_import
