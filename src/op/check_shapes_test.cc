// SPDX-License-Identifier: Apache-2.0
#include "op/check_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

using testing::HasSubstr;

constexpr ElementType kFloat = ElementType::kFloat32;

TensorSpec of(std::vector<int64_t> shape, ElementType type = kFloat) {
  return TensorSpec::dense(type, shape);
}

std::string error_of(Op op, const Attributes& attributes, std::vector<TensorSpec> inputs,
                     std::vector<TensorSpec> outputs) {
  const Result<void> checked = check_shapes({op, &attributes, inputs, outputs});
  return checked ? "" : checked.error().message();
}

TileProgram sum() {
  TileProgram program({kFloat, kFloat});
  program.append(ScalarOp::kAdd, {0, 1});
  return program;
}

// Each element of `wrong` replaces operand or result number `at` (results follow the operands) of a sound
// step.
struct Wrong {
  size_t at;
  TensorSpec spec;
};

void expect(Op op, const Attributes& attributes, const std::vector<TensorSpec>& inputs,
            const std::vector<TensorSpec>& outputs, const std::vector<Wrong>& wrong) {
  EXPECT_EQ(error_of(op, attributes, inputs, outputs), "") << to_string(op);
  for (const Wrong& w : wrong) {
    std::vector<TensorSpec> in = inputs;
    std::vector<TensorSpec> out = outputs;
    (w.at < in.size() ? in[w.at] : out[w.at - in.size()]) = w.spec;
    EXPECT_THAT(error_of(op, attributes, in, out), HasSubstr(to_string(op)))
        << to_string(op) << ' ' << w.at << ' ' << w.spec.to_string();
  }
}

TEST(CheckShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(error_of(Op::kTranspose, TransposeAttributes{{1, 0}}, {of({2, 3})}, {of({2, 3})}),
            "A Transpose gives the permuted extents of its operand, and this one has (float32[2,3] → "
            "float32[2,3]).");
  EXPECT_EQ(error_of(Op::kConcat, ConcatAttributes{0}, {of({2, 3}), of({1, 3})}, {of({4, 3})}),
            "A Concat gives the sum of its operands' extents, and this one has (float32[2,3], float32[1,3] → "
            "float32[4,3]).");
}

TEST(CheckShapes, Elementwise) {
  expect(Op::kElementwise, ElementwiseAttributes{sum()}, {of({2, 1, 4}), of({3, 1})}, {of({2, 3, 4})},
         {{0, of({2, 2, 4})},
          {0, of({2, 2, 1, 4})},
          {1, of({3, 1}, ElementType::kInt32)},
          {2, of({2, 4, 4})},
          {2, of({3, 4})},
          {2, of({2, 3, 4}, ElementType::kInt32)}});
}

TEST(CheckShapes, Convolution) {
  const ConvAttributes a{{2, 1}, {1, 2}, {1, 0}, {1, 0}, 2, sum()};
  // (9 + 2 − 3) / 2 + 1 = 5; 8 − (2·2 + 1) + 1 = 4
  expect(Op::kConv, a, {of({2, 4, 9, 8}), of({6, 2, 3, 3}), of({6}), of({6, 1, 1})}, {of({2, 6, 5, 4})},
         {{0, of({2, 6, 9, 8})},
          {0, of({3, 4, 9, 8})},
          {0, of({2, 4, 11, 8})},
          {0, of({2, 4, 9})},
          {1, of({5, 2, 3, 3})},
          {1, of({6, 2, 1, 3})},
          {1, of({6, 2, 0, 3})},
          {1, of({6, 2, 3, 3}, ElementType::kFloat16)},
          {2, of({5})},
          {2, of({6, 1})},
          {2, of({6}, ElementType::kFloat16)},
          {3, of({5, 1, 1})},
          {3, of({1, 2, 6, 5, 4})},
          {3, of({6, 1, 1}, ElementType::kInt32)},
          {4, of({2, 6, 5, 5})},
          {4, of({2, 6, 5})},
          {4, of({2, 6, 5, 4}, ElementType::kFloat16)}});
  EXPECT_EQ(error_of(Op::kConv, ConvAttributes{{1}, {1}, {0}, {0}, 1, {}},
                     {of({1, 1, 5}), of({1, 1, 3}), absent_operand()}, {of({1, 1, 3})}),
            "");
}

// Numbers at the end of 64 bits: no window fits, and what they wrap to is no number of windows either.
TEST(CheckShapes, WindowsThatPass64Bits) {
  ConvAttributes a{{INT32_MAX}, {INT32_MAX}, {1 - (int64_t{1} << 32)}, {0}, 1, {}};
  const TensorSpec x = of({1, 1, 1});
  const TensorSpec w = of({0, 1, (int64_t{1} << 32) + 1});
  EXPECT_THAT(error_of(Op::kConv, a, {x, w, absent_operand()}, {of({1, 0, 4294967298})}),
              HasSubstr("finds places"));
}

TEST(CheckShapes, TransposedConvolution) {
  // (4 − 1)·2 + 3 − 1 − 1 = 7; one more with output padding.
  const ConvAttributes a{{2}, {1}, {1}, {1}, 2, {}};
  expect(Op::kConvTranspose, a, {of({1, 4, 4}), of({4, 3, 3}), of({6})}, {of({1, 6, 7})},
         {{0, of({1, 2, 4})},
          {0, of({1, 4, 5})},
          {1, of({4, 2, 3})},
          {2, of({3})},
          {3, of({1, 6, 9})},
          {3, of({1, 6, 5})}});
  EXPECT_EQ(error_of(Op::kConvTranspose, a, {of({1, 4, 4}), of({4, 3, 3})}, {of({1, 6, 8})}), "");
}

TEST(CheckShapes, MatMul) {
  expect(Op::kMatMul, MatMulAttributes{}, {of({5, 1, 2, 3}), of({6, 3, 4}), of({4})}, {of({5, 6, 2, 4})},
         {{0, of({5, 1, 2, 4})},
          {0, of({3})},
          {0, of({4, 1, 2, 3})},
          {1, of({6, 2, 4})},
          {1, of({5, 3, 4})},
          {2, of({3})},
          {2, of({4}, ElementType::kInt8)},
          {3, of({5, 6, 2, 3})},
          {3, of({5, 6, 3, 4})},
          {3, of({6, 2, 4})}});
}

TEST(CheckShapes, Lstm) {
  const LstmAttributes a{LstmDirection::kBidirectional, 5};
  expect(Op::kLstm, a,
         {of({7, 2, 3}), of({2, 20, 3}), of({2, 20, 5}), of({2, 40}), of({2}, ElementType::kInt32),
          of({2, 2, 5}), of({2, 2, 5})},
         {of({7, 2, 2, 5}), of({2, 2, 5}), absent_operand()},
         {{0, of({7, 2, 4})},
          {0, of({7, 3, 3})},
          {1, of({1, 20, 3})},
          {2, of({2, 20, 4})},
          {3, of({2, 20})},
          {4, of({3}, ElementType::kInt32)},
          {4, of({2}, ElementType::kInt8)},
          {5, of({2, 2, 4})},
          {6, of({2, 5})},
          {7, of({6, 2, 2, 5})},
          {8, of({2, 2, 4})},
          {9, of({1, 2, 5})}});
}

TEST(CheckShapes, Pools) {
  const PoolAttributes a{{2}, {2}, {1}, {0}, {0}, false};
  for (const Op op : {Op::kMaxPool, Op::kAveragePool}) {
    expect(op, a, {of({1, 3, 7})}, {of({1, 3, 3})},
           {{0, of({1, 2, 7})},
            {0, of({1, 3, 10})},
            {1, of({1, 3, 5})},
            {1, of({1, 3, 2})},
            {1, of({2, 3, 3})}});
    EXPECT_EQ(error_of(op, a, {of({1, 3, 7})}, {of({1, 3, 4})}), "");  // ceil mode
  }
}

TEST(CheckShapes, Normalisations) {
  expect(Op::kReduce, ReduceAttributes{ReduceKind::kMean, {0, 2}, true}, {of({2, 3, 4})}, {of({1, 3, 1})},
         {{0, of({2, 3})}, {1, of({3})}, {1, of({2, 3, 1})}, {1, of({1, 3, 1}, ElementType::kInt32)}});
  expect(Op::kReduce, ReduceAttributes{ReduceKind::kMax, {1}, false}, {of({2, 3, 4})}, {of({2, 4})},
         {{1, of({2, 3})}});
  expect(Op::kSoftmax, SoftmaxAttributes{1}, {of({2, 3})}, {of({2, 3})}, {{0, of({6})}, {1, of({3, 2})}});
  expect(Op::kLayerNormalization, LayerNormalizationAttributes{1, 1e-5}, {of({2, 3, 4}), of({3, 4}), of({4})},
         {of({2, 3, 4})}, {{0, of({2})}, {1, of({4, 3})}, {2, of({2, 3, 4})}, {3, of({2, 4, 3})}});
}

TEST(CheckShapes, Movement) {
  ResizeAttributes resize;
  expect(Op::kResize, resize, {of({1, 2, 3})}, {of({1, 2, 9})}, {{0, of({1, 3})}, {0, of({1, 2, 0})}});
  resize.scales = {1, 3};
  EXPECT_THAT(error_of(Op::kResize, resize, {of({1, 2, 3})}, {of({1, 2, 9})}), HasSubstr("a scale an axis"));
  expect(Op::kPad, PadAttributes{PadMode::kReflect, {1, 0}, {2, -1}, 0}, {of({3, 4})}, {of({6, 3})},
         {{0, of({2, 4})}, {0, of({3})}, {1, of({6, 4})}});
  EXPECT_THAT(error_of(Op::kPad, PadAttributes{PadMode::kReflect, {3}, {0}, 0}, {of({3})}, {of({6})}),
              HasSubstr("for reflection more than it pads"));
  const TensorSpec indices = of({5}, ElementType::kInt64);
  expect(Op::kGather, GatherAttributes{1}, {of({2, 3, 4}), indices}, {of({2, 5, 4})},
         {{0, of({2})},
          {0, of({2, 0, 4})},
          {1, of({5})},
          {1, of({5, 1}, ElementType::kInt64)},
          {2, of({5, 2, 4})}});
  expect(Op::kReshape, NoAttributes{}, {of({2, 6})}, {of({3, 4})},
         {{1, of({3, 5})}, {1, of({3, 4}, ElementType::kInt8)}});
  expect(Op::kTranspose, TransposeAttributes{{1, 0}}, {of({2, 3})}, {of({3, 2})},
         {{0, of({2, 3, 1})}, {1, of({2, 3})}});
  expect(Op::kSlice, SliceAttributes{{4, 0}, {-2, 1}}, {of({5, 3})}, {of({3, 3})},
         {{0, of({4, 3})}, {0, of({5, 2})}, {1, of({4, 3})}, {1, of({3})}});
  expect(
      Op::kConcat, ConcatAttributes{1}, {of({2, 3}), of({2, 4})}, {of({2, 7})},
      {{0, of({3, 3})}, {0, of({2, 2})}, {1, of({2})}, {1, of({2, 4}, ElementType::kInt8)}, {2, of({2, 8})}});
  expect(Op::kExpand, NoAttributes{}, {of({3, 1})}, {of({2, 3, 4})}, {{0, of({2, 1})}, {1, of({3})}});
  expect(Op::kCopy, NoAttributes{}, {of({3, 1})}, {of({3, 1})},
         {{0, of({2, 1})}, {1, of({3, 1}, ElementType::kInt8)}});
}

TEST(CheckShapes, Sources) {
  expect(Op::kFill, FillAttributes{1}, {}, {of({3, 1})}, {});
  expect(Op::kRange, RangeAttributes{0, 1}, {}, {of({3}, ElementType::kInt64)}, {{0, of({3, 1})}});
  expect(Op::kDimTensor, DimTensorAttributes{{1, 2}}, {}, {of({2}, ElementType::kInt64)},
         {{0, of({3}, ElementType::kInt64)}, {0, of({2})}});
}

TEST(CheckShapes, SurvivesNumbersThatDoNotFit) {
  const int64_t huge = INT64_MAX;
  const ConvAttributes a{{1}, {INT32_MAX}, {Dim(huge)}, {Dim(huge)}, 1, {}};
  EXPECT_THAT(error_of(Op::kConv, a, {of({1, 1, 5}), of({1, 1, 3})}, {of({1, 1, 3})}), HasSubstr("64 bits"));
  EXPECT_THAT(error_of(Op::kSlice, SliceAttributes{{huge}, {kDimMax}}, {of({5})}, {of({1 << 20})}),
              HasSubstr("64 bits"));
}

}  // namespace
}  // namespace weir
