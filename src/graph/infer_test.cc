// SPDX-License-Identifier: Apache-2.0
#include "graph/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::HasSubstr;

TensorType f32(Dims shape) {
  return {ElementType::kFloat32, std::move(shape), {}};
}

class InferTest : public ::testing::Test {
 protected:
  // The first output's type, or the error's text.
  std::string infer(Op op, const Attributes& attributes, const std::vector<TensorType>& inputs,
                    const std::vector<TensorType>& wanted = {}) {
    std::vector<const TensorType*> pointers;
    for (const TensorType& input : inputs) {
      pointers.push_back(&input);
    }
    InferContext context{&constraints_, "n"};
    const auto types = infer_types(op, attributes, pointers, wanted, context);
    return types ? types->front().to_string() : types.error().to_string();
  }
  Dim symbol(std::string_view name, Range range = {1, 1000}) {
    return symbols_.add(name, range,
                        {SymbolSource::Kind::kDimension, 0, static_cast<int32_t>(symbols_.size())});
  }
  Result<void> check_all(std::vector<int64_t> values) {
    for (const Constraint& constraint : constraints_) {
      WEIR_TRY(check(constraint, values));
    }
    return {};
  }

  SymbolTable symbols_;
  std::vector<Constraint> constraints_;
};

ConvAttributes conv2d(int64_t stride, int64_t pad, int64_t dilation = 1, int64_t group = 1) {
  ConvAttributes attributes;
  attributes.strides = {stride, stride};
  attributes.dilations = {dilation, dilation};
  attributes.pads_begin = {pad, pad};
  attributes.pads_end = {pad, pad};
  attributes.group = group;
  return attributes;
}

TEST_F(InferTest, Conv) {
  EXPECT_EQ(infer(Op::kConv, conv2d(2, 3), {f32({1, 3, 224, 223}), f32({64, 3, 7, 7}), f32({64})}),
            "float32[1, 64, 112, 112]");
  EXPECT_EQ(infer(Op::kConv, conv2d(1, 2, 2), {f32({2, 3, 9, 8}), f32({5, 3, 3, 3})}), "float32[2, 5, 9, 8]");
  EXPECT_EQ(infer(Op::kConv, conv2d(1, 1, 1, 6), {f32({1, 6, 5, 5}), f32({6, 1, 3, 3})}),
            "float32[1, 6, 5, 5]");
  EXPECT_THAT(infer(Op::kConv, conv2d(1, 1, 1, 2), {f32({1, 6, 5, 5}), f32({6, 2, 3, 3})}),
              HasSubstr("Conv 'n' needs as many input channels"));
  EXPECT_THAT(infer(Op::kConv, conv2d(1, 0), {f32({1, 6, 1, 5}), f32({6, 6, 3, 3})}),
              HasSubstr("at least as large as its kernel"));
  EXPECT_THAT(infer(Op::kConv, conv2d(0, 0), {f32({1, 6, 5, 5}), f32({6, 6, 3, 3})}),
              HasSubstr("stride (0)"));
  EXPECT_THAT(infer(Op::kConv, conv2d(1, 0), {f32({1, 6, 5, 5}), f32({6, 6, 3, 3}), f32({5})}),
              HasSubstr("a bias as long as its channels"));
}

TEST_F(InferTest, ConvOnSymbolsGivesExpressions) {
  const Dim h = symbol("h");
  ASSERT_EQ(infer(Op::kConv, conv2d(1, 1), {f32({1, 3, h, 8}), f32({4, 3, 3, 3})}), "float32[1, 4, h, 8]");
  EXPECT_TRUE(constraints_.empty());
  // A kernel that a small input does not hold becomes a constraint.
  infer(Op::kConv, conv2d(1, 0), {f32({1, 3, h, 8}), f32({4, 3, 3, 3})});
  ASSERT_EQ(constraints_.size(), 1u);
  EXPECT_TRUE(check_all({3}));
  EXPECT_FALSE(check_all({1}));
}

TEST_F(InferTest, ConvTranspose) {
  ConvAttributes attributes = conv2d(2, 1);
  EXPECT_EQ(infer(Op::kConvTranspose, attributes, {f32({1, 8, 5, 7}), f32({8, 4, 4, 4})}),
            "float32[1, 4, 10, 14]");
  attributes.pads_end = {0, 0};  // one row of output padding
  EXPECT_EQ(infer(Op::kConvTranspose, attributes, {f32({1, 8, 5, 7}), f32({8, 4, 3, 3})}),
            "float32[1, 4, 10, 14]");
}

TEST_F(InferTest, PoolTakesTheWantedCeiling) {
  PoolAttributes pool;
  pool.kernel = {3, 3};
  pool.strides = {2, 2};
  pool.dilations = {1, 1};
  pool.pads_begin = pool.pads_end = {0, 0};
  EXPECT_EQ(infer(Op::kMaxPool, pool, {f32({1, 2, 8, 7})}), "float32[1, 2, 3, 3]");
  EXPECT_EQ(infer(Op::kMaxPool, pool, {f32({1, 2, 8, 7})}, {f32({1, 2, 4, 3})}), "float32[1, 2, 4, 3]");
  EXPECT_THAT(infer(Op::kMaxPool, pool, {f32({1, 2, 8, 7})}, {f32({1, 2, 5, 3})}),
              HasSubstr("no more windows than its input holds"));
}

TEST_F(InferTest, MatMulBroadcastsLeadingAxes) {
  EXPECT_EQ(infer(Op::kMatMul, MatMulAttributes{}, {f32({4, 1, 5, 6}), f32({3, 6, 7})}),
            "float32[4, 3, 5, 7]");
  EXPECT_THAT(infer(Op::kMatMul, MatMulAttributes{}, {f32({5, 6}), f32({5, 7})}), HasSubstr("columns of a"));
  EXPECT_THAT(infer(Op::kMatMul, MatMulAttributes{}, {f32({5}), f32({5, 7})}), HasSubstr("rank 2 or more"));
  MatMulAttributes fused;
  fused.epilogue = TileProgram({ElementType::kFloat32, ElementType::kFloat32});
  fused.epilogue.append(ScalarOp::kAdd, {0, 1});
  EXPECT_EQ(infer(Op::kMatMul, fused, {f32({5, 6}), f32({6, 7}), f32({7}), f32({5, 1})}), "float32[5, 7]");
  EXPECT_THAT(infer(Op::kMatMul, fused, {f32({1, 6}), f32({6, 7}), f32({7}), f32({5, 1})}),
              HasSubstr("do not enlarge"));
}

TEST_F(InferTest, ElementwiseBroadcast) {
  TileProgram program({ElementType::kFloat32, ElementType::kFloat32});
  program.append(ScalarOp::kLess, {0, 1});
  const Attributes less = ElementwiseAttributes{program};
  EXPECT_EQ(infer(Op::kElementwise, less, {f32({4, 1, 3}), f32({5, 1})}), "bool[4, 5, 3]");
  EXPECT_EQ(infer(Op::kElementwise, less, {f32({}), f32({})}), "bool[]");
  EXPECT_EQ(infer(Op::kElementwise, less, {f32({0}), f32({1})}), "bool[0]");
  EXPECT_THAT(infer(Op::kElementwise, less, {f32({4}), f32({5})}), HasSubstr("neither equal nor 1"));
  const Dim n = symbol("n");
  const Dim m = symbol("m");
  EXPECT_EQ(infer(Op::kElementwise, less, {f32({n}), f32({1})}), "bool[n]");
  EXPECT_TRUE(constraints_.empty());
  EXPECT_EQ(infer(Op::kElementwise, less, {f32({n}), f32({m})}), "bool[n]");
  ASSERT_EQ(constraints_.size(), 1u);
  EXPECT_TRUE(check_all({4, 4}));
  EXPECT_FALSE(check_all({4, 5}));
}

TEST_F(InferTest, Reduce) {
  EXPECT_EQ(infer(Op::kReduce, ReduceAttributes{ReduceKind::kMax, {0, 2}, true}, {f32({4, 5, 6})}),
            "float32[1, 5, 1]");
  EXPECT_EQ(infer(Op::kReduce, ReduceAttributes{ReduceKind::kMax, {0, 2}, false}, {f32({4, 5, 6})}),
            "float32[5]");
  EXPECT_THAT(infer(Op::kReduce, ReduceAttributes{ReduceKind::kMax, {3}, false}, {f32({4, 5, 6})}),
              HasSubstr("below the rank (3)"));
}

TEST_F(InferTest, MovesOfData) {
  EXPECT_EQ(infer(Op::kGather, GatherAttributes{1}, {f32({4, 5, 6}), {ElementType::kInt64, {2, 3}, {}}}),
            "float32[4, 2, 3, 6]");
  EXPECT_EQ(infer(Op::kGather, GatherAttributes{0}, {f32({4, 5}), {ElementType::kInt64, {}, {}}}),
            "float32[5]");
  EXPECT_THAT(infer(Op::kGather, GatherAttributes{0}, {f32({4}), f32({1})}), HasSubstr("int32 or int64"));
  EXPECT_EQ(infer(Op::kTranspose, TransposeAttributes{{2, 0, 1}}, {f32({4, 5, 6})}), "float32[6, 4, 5]");
  EXPECT_THAT(infer(Op::kTranspose, TransposeAttributes{{1, 1}}, {f32({4, 5})}), HasSubstr("twice"));
  EXPECT_EQ(infer(Op::kConcat, ConcatAttributes{1}, {f32({2, 1}), f32({2, 3})}), "float32[2, 4]");
  EXPECT_THAT(infer(Op::kConcat, ConcatAttributes{1}, {f32({2, 1}), f32({3, 3})}), HasSubstr("off its axis"));
  EXPECT_EQ(infer(Op::kReshape, NoAttributes{}, {f32({2, 6})}, {f32({3, 4})}), "float32[3, 4]");
  EXPECT_THAT(infer(Op::kReshape, NoAttributes{}, {f32({2, 6})}, {f32({3, 5})}), HasSubstr("(12) and (15)"));
  EXPECT_EQ(infer(Op::kExpand, NoAttributes{}, {f32({3, 1})}, {f32({2, 3, 4})}), "float32[2, 3, 4]");
  EXPECT_THAT(infer(Op::kExpand, NoAttributes{}, {f32({2})}, {f32({1})}),
              HasSubstr("a shape that its input"));
  EXPECT_EQ(infer(Op::kSlice, SliceAttributes{{5}, {-2}}, {f32({6})}, {f32({3})}), "float32[3]");
  EXPECT_THAT(infer(Op::kSlice, SliceAttributes{{1}, {2}}, {f32({6})}, {f32({4})}),
              HasSubstr("which has (6)"));
  PadAttributes pad;
  pad.begin = {1, -1};
  pad.end = {0, 2};
  EXPECT_EQ(infer(Op::kPad, pad, {f32({4, 5})}), "float32[5, 6]");
}

TEST_F(InferTest, Sources) {
  EXPECT_EQ(infer(Op::kFill, FillAttributes{1}, {}, {f32({2})}), "float32[2]");
  EXPECT_EQ(infer(Op::kDimTensor, DimTensorAttributes{{1, 2}}, {}, {{ElementType::kInt64, {2}, {}}}),
            "int64[2]");
  EXPECT_THAT(infer(Op::kDimTensor, DimTensorAttributes{{1, 2}}, {}, {{ElementType::kInt64, {3}, {}}}),
              HasSubstr("(2) int64 elements"));
  EXPECT_THAT(infer(Op::kRange, RangeAttributes{}, {}, {f32({2, 2})}), HasSubstr("rank 1"));
}

TEST_F(InferTest, Lstm) {
  LstmAttributes lstm;
  lstm.direction = LstmDirection::kBidirectional;
  lstm.hidden_size = 4;
  EXPECT_EQ(infer(Op::kLstm, lstm, {f32({7, 2, 3}), f32({2, 16, 3}), f32({2, 16, 4}), f32({2, 32})}),
            "float32[7, 2, 2, 4]");
  EXPECT_THAT(infer(Op::kLstm, lstm, {f32({7, 2, 3}), f32({1, 16, 3}), f32({2, 16, 4})}),
              HasSubstr("weights"));
}

TEST_F(InferTest, NormalisationSoftmaxAndResize) {
  EXPECT_EQ(infer(Op::kLayerNormalization, LayerNormalizationAttributes{1, 1e-5},
                  {f32({2, 3, 4}), f32({3, 4}), f32({4})}),
            "float32[2, 3, 4]");
  EXPECT_THAT(
      infer(Op::kLayerNormalization, LayerNormalizationAttributes{3, 1e-5}, {f32({2, 3, 4}), f32({4})}),
      HasSubstr("axis (3)"));
  EXPECT_EQ(infer(Op::kSoftmax, SoftmaxAttributes{1}, {f32({2, 3})}), "float32[2, 3]");
  ResizeAttributes resize;
  resize.scales = {1, 1, 2, 2.5};
  EXPECT_EQ(infer(Op::kResize, resize, {f32({1, 2, 3, 5})}, {f32({1, 2, 6, 12})}), "float32[1, 2, 6, 12]");
  EXPECT_THAT(infer(Op::kResize, resize, {f32({1, 2, 3, 5})}, {f32({1, 2, 6, 14})}),
              HasSubstr("by (2.5) on axis (3)"));
}

TEST_F(InferTest, RefusesAttributesOfAnotherOperatorAndHighRanks) {
  EXPECT_THAT(infer(Op::kSoftmax, NoAttributes{}, {f32({2})}), HasSubstr("operator (Softmax) does not take"));
  EXPECT_THAT(infer(Op::kReshape, NoAttributes{}, {f32({1})}, {f32(Dims(9, 1))}),
              HasSubstr("(8) is the most"));
}

}  // namespace
}  // namespace weir
