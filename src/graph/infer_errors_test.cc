// SPDX-License-Identifier: Apache-2.0
//
// Every error of shape inference, word by word: a table a kind of operator.
#include <gtest/gtest.h>

#include "graph/infer.h"

namespace weir {
namespace {

struct Case {
  Op op;
  Attributes attributes;
  std::vector<std::optional<TensorType>> inputs;
  std::vector<TensorType> wanted;
  std::string error;
};

TensorType f32(Dims shape) {
  return {ElementType::kFloat32, std::move(shape), {}};
}
TensorType i64(Dims shape) {
  return {ElementType::kInt64, std::move(shape), {}};
}

// What inference says of node 'n', "inferred" where it says no error.
std::string error_of(const Case& refused) {
  std::vector<const TensorType*> inputs;
  for (const std::optional<TensorType>& input : refused.inputs) {
    inputs.push_back(input ? &*input : nullptr);
  }
  std::vector<Constraint> constraints;
  InferContext context{&constraints, "n"};
  const auto types = infer_types(refused.op, refused.attributes, inputs, refused.wanted, context);
  if (types) {
    return "inferred";
  }
  EXPECT_EQ(types.error().code(), StatusCode::kInvalidArgument);
  return types.error().to_string();
}

void expect_errors(const std::vector<Case>& cases) {
  for (const Case& refused : cases) {
    EXPECT_EQ(error_of(refused), refused.error);
  }
}

ConvAttributes conv(std::vector<int64_t> strides, std::vector<int64_t> dilations, int64_t group = 1) {
  ConvAttributes attributes;
  attributes.pads_begin = attributes.pads_end = Dims(strides.size(), 0);
  attributes.strides = std::move(strides);
  attributes.dilations = std::move(dilations);
  attributes.group = group;
  return attributes;
}

PoolAttributes pool(std::vector<int64_t> kernel, std::vector<int64_t> strides) {
  PoolAttributes attributes;
  attributes.kernel = std::move(kernel);
  attributes.dilations = std::vector<int64_t>(strides.size(), 1);
  attributes.pads_begin = attributes.pads_end = Dims(strides.size(), 0);
  attributes.strides = std::move(strides);
  return attributes;
}

TileProgram program(std::vector<ElementType> inputs) {
  TileProgram made(std::move(inputs));
  made.append(made.input_count() < 2 ? ScalarOp::kNeg : ScalarOp::kAdd, {0, made.input_count() - 1});
  return made;
}

constexpr ElementType kF32 = ElementType::kFloat32;

TEST(InferErrorsTest, OfAnyOperator) {
  CustomAttributes custom;
  custom.domain = "com.example";
  custom.name = "Twist";
  expect_errors({
      {Op::kSoftmax,
       NoAttributes{},
       {f32({2})},
       {},
       "Node 'n' has attributes that operator (Softmax) does not take."},
      {static_cast<Op>(200),
       NoAttributes{},
       {f32({2})},
       {},
       "Node 'n' has attributes that operator (200) does not take."},
      {Op::kCustom,
       custom,
       {f32({2})},
       {},
       "Custom 'n' is of custom operator 'com.example.Twist', which is not registered."},
      {Op::kReshape,
       NoAttributes{},
       {f32({1})},
       {f32(Dims(9, 1))},
       "Reshape 'n' gives a result of rank (9), and (8) is the most."},
      {Op::kPad,
       PadAttributes{PadMode::kConstant, {kDimMax}, {0}},
       {f32({1})},
       {},
       "Pad 'n' gives a result of type (float32[281474976710657]), and extents of (0) to (281474976710656) "
       "with a product within that are the most."},
      // How many operands there are, and which of them.
      {Op::kSoftmax, SoftmaxAttributes{0}, {}, {}, "Softmax 'n' has (0) operands, and takes (1)."},
      {Op::kLstm,
       LstmAttributes{LstmDirection::kForward, 4},
       {f32({7, 2, 3}), f32({1, 16, 3})},
       {},
       "Lstm 'n' has (2) operands, and takes (3) to (7)."},
      {Op::kConcat, ConcatAttributes{0}, {}, {}, "Concat 'n' has (0) operands, and takes (1) or more."},
      {Op::kMatMul,
       MatMulAttributes{},
       {f32({2, 3}), std::nullopt},
       {},
       "MatMul 'n' lacks operand (1), which it needs."},
      // Of operators whose result the caller names.
      {Op::kReshape,
       NoAttributes{},
       {f32({2})},
       {},
       "Reshape 'n' is asked for (0) results, and it gives one, whose shape the caller names."},
  });
}

TEST(InferErrorsTest, OfPrograms) {
  Epilogue cast({kF32, kF32});
  cast.append(ScalarOp::kAdd, {0, 7});
  expect_errors({
      {Op::kElementwise,
       ElementwiseAttributes{program({kF32, kF32})},
       {f32({2}), i64({2})},
       {},
       "Elementwise 'n' has operand (1) of type (int64[2]), and its program reads (float32)."},
      {Op::kElementwise,
       ElementwiseAttributes{program({kF32, kF32})},
       {f32({2}), f32({3})},
       {},
       "Node 'n' joins dimensions (2) and (3), which are neither equal nor 1.\n  - while joining shapes on "
       "axis (0)"},
      {Op::kElementwise,
       ElementwiseAttributes{cast},
       {f32({2}), f32({2})},
       {},
       "Elementwise 'n' has a program that is not valid: Instruction (0) of a tile program reads operand "
       "(7), and only (2) lie before it."},
      {Op::kMatMul,
       MatMulAttributes{program({ElementType::kInt32})},
       {f32({2, 3}), f32({3, 4}), std::nullopt},
       {},
       "MatMul 'n' has an epilogue that does not read its result of type (float32[2, 4])."},
      {Op::kMatMul,
       MatMulAttributes{program({kF32, kF32})},
       {f32({2, 3}), f32({3, 4}), std::nullopt, std::nullopt},
       {},
       "MatMul 'n' lacks operand (3), which its epilogue reads."},
      {Op::kMatMul,
       MatMulAttributes{program({kF32, kF32})},
       {f32({2, 3}), f32({3, 4}), std::nullopt, i64({4})},
       {},
       "MatMul 'n' has operand (3) of type (int64[4]), and its epilogue reads (float32)."},
      {Op::kMatMul,
       MatMulAttributes{program({kF32, kF32})},
       {f32({2, 3}), f32({3, 4}), std::nullopt, f32({5, 1, 4})},
       {},
       "MatMul 'n' has an epilogue input of type (float32[5, 1, 4]), and its result (float32[2, 4]) has "
       "fewer axes."},
      {Op::kMatMul,
       MatMulAttributes{program({kF32, kF32})},
       {f32({1, 3}), f32({3, 4}), std::nullopt, f32({5, 4})},
       {},
       "MatMul 'n' needs epilogue inputs that do not enlarge its result, and has (5) and (1)."},
  });
}

TEST(InferErrorsTest, OfMovesOfData) {
  expect_errors({
      {Op::kGather,
       GatherAttributes{2},
       {f32({4, 5}), i64({3})},
       {},
       "Gather 'n' has axis (2), and its input has rank (2)."},
      {Op::kGather,
       GatherAttributes{0},
       {f32({4, 5}), f32({3})},
       {},
       "Gather 'n' has indices of type (float32[3]), and takes int32 or int64."},
      {Op::kTranspose,
       TransposeAttributes{{0}},
       {f32({4, 5})},
       {},
       "Transpose 'n' permutes (1) axes, and its input has rank (2)."},
      {Op::kTranspose,
       TransposeAttributes{{1, 1}},
       {f32({4, 5})},
       {},
       "Transpose 'n' names axis (1) twice in its permutation."},
      {Op::kSlice,
       SliceAttributes{{0}, {1, 1}},
       {f32({6, 6})},
       {f32({3})},
       "Slice 'n' has (1) starts, (2) steps and a result of rank (1), and its input has rank (2)."},
      {Op::kSlice,
       SliceAttributes{{0, 0}, {1, 0}},
       {f32({6, 6})},
       {f32({6, 6})},
       "Slice 'n' has a step of (0) on axis (1)."},
      {Op::kSlice,
       SliceAttributes{{1}, {2}},
       {f32({6})},
       {f32({4})},
       "Slice 'n' takes (4) elements from (1) by (2) on axis (0), which has (6)."},
      {Op::kConcat,
       ConcatAttributes{1},
       {f32({2, 1}), i64({2, 1})},
       {},
       "Concat 'n' joins (float32[2, 1]) and (int64[2, 1]), and it takes one element type and one rank."},
      {Op::kConcat,
       ConcatAttributes{1},
       {f32({2, 1}), f32({2})},
       {},
       "Concat 'n' joins (float32[2, 1]) and (float32[2]), and it takes one element type and one rank."},
      {Op::kConcat,
       ConcatAttributes{1},
       {f32({2, 1}), f32({3, 1})},
       {},
       "Concat 'n' needs operands of one shape off its axis, and has (2) and (3)."},
      {Op::kReshape,
       NoAttributes{},
       {f32({2, 6})},
       {f32({3, 5})},
       "Reshape 'n' needs a result with as many elements as its input, and has (12) and (15)."},
      {Op::kExpand,
       NoAttributes{},
       {f32({2, 3})},
       {f32({3})},
       "Expand 'n' takes (float32[2, 3]) to (float32[3]), which has fewer axes."},
      {Op::kExpand,
       NoAttributes{},
       {f32({2})},
       {f32({1})},
       "Expand 'n' needs a shape that its input broadcasts to, and has (2) and (1)."},
      {Op::kPad,
       PadAttributes{PadMode::kConstant, {1, 1}, {0}},
       {f32({4})},
       {},
       "Pad 'n' has (2) pads before and (1) behind, and its input has rank (1)."},
      {Op::kPad,
       PadAttributes{PadMode::kConstant, {-3}, {-2}},
       {f32({4})},
       {},
       "Pad 'n' needs a result of at least 0 elements an axis, and has (-1), where (0) is the least."},
      {Op::kPad,
       PadAttributes{PadMode::kReflect, {0}, {4}},
       {f32({4})},
       {},
       "Pad 'n' needs an input that is longer than what it reflects, and has (4), where (5) is the least."},
      {Op::kPad,
       PadAttributes{PadMode::kEdge, {1}, {0}},
       {f32({0})},
       {},
       "Pad 'n' needs an input that has elements to repeat, and has (0), where (1) is the least."},
      {Op::kRange,
       RangeAttributes{},
       {},
       {f32({2, 2})},
       "Range 'n' gives a result of rank 1, and (float32[2, 2]) is asked for."},
      {Op::kDimTensor,
       DimTensorAttributes{{1, 2}},
       {},
       {i64({3})},
       "DimTensor 'n' holds (2) int64 elements, and (int64[3]) is asked for."},
  });
}

TEST(InferErrorsTest, OfReductionsNormalisationsAndResize) {
  ResizeAttributes resize;
  resize.scales = {1, 2.5};
  expect_errors({
      {Op::kReduce,
       ReduceAttributes{ReduceKind::kMax, {2, 0}, true},
       {f32({4, 5, 6})},
       {},
       "Reduce 'n' has axes (2, 0), and takes ascending ones below the rank (3) of its input."},
      {Op::kReduce,
       ReduceAttributes{ReduceKind::kMax, {1, 3}, true},
       {f32({4, 5, 6})},
       {},
       "Reduce 'n' has axes (1, 3), and takes ascending ones below the rank (3) of its input."},
      {Op::kSoftmax,
       SoftmaxAttributes{-1},
       {f32({2})},
       {},
       "Softmax 'n' has axis (-1), and its input has rank (1)."},
      {Op::kLayerNormalization,
       LayerNormalizationAttributes{1, 1e-5},
       {f32({2, 4}), f32({2, 4})},
       {},
       "LayerNormalization 'n' has operand (1) of shape [2, 4], and it normalises over [4]."},
      {Op::kLayerNormalization,
       LayerNormalizationAttributes{1, 1e-5},
       {f32({2, 1}), f32({1}), f32({5})},
       {},
       "LayerNormalization 'n' needs a scale and a bias that broadcast to what it normalises over, and has "
       "(5) and (1)."},
      {Op::kResize,
       resize,
       {f32({4, 5})},
       {f32({4})},
       "Resize 'n' takes (float32[4, 5]) to (float32[4]) with (2) scales, and the ranks are to be equal."},
      {Op::kResize,
       ResizeAttributes{},
       {f32({4, 0})},
       {f32({4, 2})},
       "Resize 'n' takes (float32[4, 0]) to (float32[4, 2]), which makes something of no elements on axis "
       "(1)."},
      {Op::kResize,
       resize,
       {f32({4, 5})},
       {f32({4, 14})},
       "Resize 'n' scales (5) by (2.5) on axis (1), and (14) is asked for."},
  });
}

TEST(InferErrorsTest, OfConvolutions) {
  const ConvAttributes plain = conv({1, 1}, {1, 1});
  ConvAttributes pads = plain;
  pads.pads_begin = {0};
  expect_errors({
      {Op::kConv,
       plain,
       {f32({1, 3}), f32({4, 3})},
       {},
       "Conv 'n' takes an input and weights of the same rank of at least 3, and has (float32[1, 3]) and "
       "(float32[4, 3])."},
      {Op::kConv,
       plain,
       {f32({1, 3, 8, 8}), f32({4, 3, 3})},
       {},
       "Conv 'n' takes an input and weights of the same rank of at least 3, and has (float32[1, 3, 8, 8]) "
       "and (float32[4, 3, 3])."},
      {Op::kConv,
       conv({1, 1}, {1, 1}, 0),
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' has group (0), and (1) is the least."},
      {Op::kConv,
       pads,
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' has (2) strides, (2) dilations, (1) pads before and (2) behind, and its input has (2) "
       "spatial axes."},
      {Op::kConv,
       conv({1, 0}, {1, 2}),
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' has stride (0) and dilation (2) on spatial axis (1), and takes (1) to (2147483647)."},
      {Op::kConv,
       conv({1, 1}, {int64_t{1} << 31, 1}),
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' has stride (1) and dilation (2147483648) on spatial axis (0), and takes (1) to "
       "(2147483647)."},
      {Op::kConv,
       conv({1, 1}, {1, 1}, 2),
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' needs as many input channels as weights times group, and has (3) and (6)."},
      {Op::kConv,
       conv({1, 1}, {1, 1}, 2),
       {f32({1, 6, 8, 8}), f32({5, 3, 3, 3})},
       {},
       "Conv 'n' has (5) output channels, which its group (2) does not divide."},
      {Op::kConv,
       plain,
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3}), f32({4, 1})},
       {},
       "Conv 'n' has a bias of type (float32[4, 1]), and takes one of rank 1."},
      {Op::kConv,
       plain,
       {f32({1, 3, 8, 8}), f32({4, 3, 3, 3}), f32({5})},
       {},
       "Conv 'n' needs a bias as long as its channels, and has (5) and (4)."},
      {Op::kConv,
       plain,
       {f32({1, 3, 2, 8}), f32({4, 3, 3, 3})},
       {},
       "Conv 'n' needs an input at least as large as its kernel, and has (0), where (1) is the least."},
      {Op::kConvTranspose,
       conv({1, 1}, {1, 1}, 2),
       {f32({1, 5, 8, 8}), f32({5, 3, 3, 3})},
       {},
       "ConvTranspose 'n' has (5) input channels, which its group (2) does not divide."},
  });
}

TEST(InferErrorsTest, OfPools) {
  expect_errors({
      {Op::kMaxPool,
       pool({2}, {1}),
       {f32({1, 3})},
       {},
       "MaxPool 'n' takes an input of rank 3 or more, and has (float32[1, 3])."},
      {Op::kMaxPool,
       pool({2}, {1, 1}),
       {f32({1, 3, 8, 8})},
       {},
       "MaxPool 'n' has a kernel of (1) axes, and its input has (2) spatial axes."},
      {Op::kAveragePool,
       pool({2, 0}, {1, 1}),
       {f32({1, 3, 8, 8})},
       {},
       "AveragePool 'n' has a kernel of (0) on spatial axis (1), and takes (1) to (2147483647)."},
      {Op::kMaxPool,
       pool({2, 2}, {1, 1}),
       {f32({1, 3, 8, 8})},
       {f32({1, 3, 7})},
       "MaxPool 'n' gives a result of rank (4), and (float32[1, 3, 7]) is asked for."},
      {Op::kMaxPool,
       pool({3}, {2}),
       {f32({1, 3, 8})},
       {f32({1, 3, 5})},
       "MaxPool 'n' needs no more windows than its input holds, and has (4), where (5) is the least."},
      {Op::kMaxPool,
       pool({3}, {2}),
       {f32({1, 3, 8})},
       {f32({1, 3, 2})},
       "MaxPool 'n' needs no fewer windows than its input holds, and has (2), where (3) is the least."},
  });
}

TEST(InferErrorsTest, OfProductsAndRecurrentLayers) {
  const LstmAttributes lstm{LstmDirection::kForward, 4};
  const TensorType x = f32({7, 2, 3});
  const TensorType w = f32({1, 16, 3});
  const TensorType r = f32({1, 16, 4});
  expect_errors({
      {Op::kMatMul,
       MatMulAttributes{},
       {f32({3}), f32({3, 4})},
       {},
       "MatMul 'n' takes operands of rank 2 or more, and has (float32[3]) and (float32[3, 4])."},
      {Op::kMatMul,
       MatMulAttributes{},
       {f32({2, 3}), f32({5, 4})},
       {},
       "MatMul 'n' needs as many columns of a as rows of b, and has (3) and (5)."},
      {Op::kLstm,
       LstmAttributes{LstmDirection::kForward, 0},
       {x, w, r},
       {},
       "Lstm 'n' has a hidden size (0), and takes (1) to (2147483647)."},
      {Op::kLstm,
       lstm,
       {f32({7, 2}), w, r},
       {},
       "Lstm 'n' takes an input of rank 3, and has (float32[7, 2])."},
      {Op::kLstm,
       lstm,
       {x, w, f32({16, 4})},
       {},
       "Lstm 'n' takes recurrent weights of rank (3), and has (float32[16, 4])."},
      {Op::kLstm,
       lstm,
       {x, f32({1, 12, 3}), r},
       {},
       "Lstm 'n' needs weights of shape [1, 16, 3], and has (12) and (16)."},
      {Op::kLstm,
       lstm,
       {x, w, r, f32({1, 16})},
       {},
       "Lstm 'n' needs a bias of shape [1, 32], and has (16) and (32)."},
      {Op::kLstm,
       lstm,
       {x, w, r, std::nullopt, std::nullopt, f32({1, 5, 4})},
       {},
       "Lstm 'n' needs an initial hidden state of shape [1, 2, 4], and has (5) and (2)."},
  });
}

}  // namespace
}  // namespace weir
