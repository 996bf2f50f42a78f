// SPDX-License-Identifier: Apache-2.0
//
// Figures worked out by hand, from the operators' definitions.
#include "op/work.h"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace weir {

std::ostream& operator<<(std::ostream& stream, const Work& work) {
  return stream << work.flops << " FLOP, reads " << work.bytes_read << ", writes " << work.bytes_written;
}

namespace {

constexpr ElementType kFloat = ElementType::kFloat32;

TensorSpec of(std::vector<int64_t> shape, ElementType type = kFloat) {
  return TensorSpec::dense(type, shape);
}

Work work(Op op, const Attributes& attributes, std::vector<TensorSpec> inputs,
          std::vector<TensorSpec> outputs) {
  return work_of({op, &attributes, inputs, outputs});
}

TileProgram add_then_relu() {
  TileProgram program({kFloat, kFloat});
  program.append(ScalarOp::kRelu, {program.append(ScalarOp::kAdd, {0, 1})});
  return program;
}

TEST(Work, OfConvolutions) {
  // 1×3×8×8 → 1×4×4×4 by 3×3 kernels: 64 sums of 27 products.
  const ConvAttributes plain{{2, 2}, {1, 1}, {1, 1}, {1, 1}, 1, {}};
  EXPECT_EQ(work(Op::kConv, plain, {of({1, 3, 8, 8}), of({4, 3, 3, 3})}, {of({1, 4, 4, 4})}),
            (Work{64 * 27 * 2, (192 + 108) * 4, 64 * 4}));
  // Bias, residual and activation: three more an element.
  ConvAttributes finished = plain;
  finished.epilogue = add_then_relu();
  EXPECT_EQ(work(Op::kConv, finished, {of({1, 3, 8, 8}), of({4, 3, 3, 3}), of({4}), of({1, 4, 4, 4})},
                 {of({1, 4, 4, 4})}),
            (Work{64 * (27 * 2 + 3), (192 + 108 + 4 + 64) * 4, 64 * 4}));
  // Depthwise: 9 products an element.
  const ConvAttributes depthwise{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 5, {}};
  EXPECT_EQ(work(Op::kConv, depthwise, {of({2, 5, 7, 7}), of({5, 1, 3, 3}), of({5})}, {of({2, 5, 7, 7})}),
            (Work{490 * 19, (490 + 45 + 5) * 4, 490 * 4}));
  // Transposed: each of 2·3·5·5 elements meets 4·2·2 weights; then the bias of 2·4·10·10.
  const ConvAttributes up{{2, 2}, {1, 1}, {0, 0}, {0, 0}, 1, {}};
  EXPECT_EQ(work(Op::kConvTranspose, up, {of({2, 3, 5, 5}), of({3, 4, 2, 2}), of({4})}, {of({2, 4, 10, 10})}),
            (Work{150 * 16 * 2 + 800, (150 + 48 + 4) * 4, 800 * 4}));
}

TEST(Work, OfMatrixProducts) {
  EXPECT_EQ(work(Op::kMatMul, MatMulAttributes{}, {of({2, 5, 7}), of({7, 3})}, {of({2, 5, 3})}),
            (Work{30 * 14, (70 + 21) * 4, 30 * 4}));
  EXPECT_EQ(work(Op::kMatMul, MatMulAttributes{add_then_relu()},
                 {of({5, 7}), of({7, 3}), of({3}), of({5, 3})}, {of({5, 3})}),
            (Work{15 * (14 + 3), (35 + 21 + 3 + 15) * 4, 15 * 4}));
}

TEST(Work, OfElementwisePrograms) {
  TileProgram program({kFloat, ElementType::kInt64});
  const int cast = program.append_cast(1, kFloat);
  const int scaled = program.append(ScalarOp::kMul, {cast, program.immediate(0.5)});
  program.append(ScalarOp::kAdd, {0, scaled});
  EXPECT_EQ(work(Op::kElementwise, ElementwiseAttributes{program}, {of({4, 6}), of({6}, ElementType::kInt64)},
                 {of({4, 6})}),
            (Work{48, 24 * 4 + 6 * 8, 24 * 4}));
}

TEST(Work, OfAnLstm) {
  // T=3 B=2 I=5 H=4, both directions: 48 cells of 8·(5 + 4) + 17 operations.
  const LstmAttributes attributes{LstmDirection::kBidirectional, 4};
  EXPECT_EQ(work(Op::kLstm, attributes,
                 {of({3, 2, 5}), of({2, 16, 5}), of({2, 16, 4}), of({2, 32}), absent_operand()},
                 {of({3, 2, 2, 4}), of({2, 2, 4}), absent_operand()}),
            (Work{48 * (72 + 17), (30 + 160 + 128 + 64) * 4, (48 + 16) * 4}));
}

TEST(Work, OfWindowsAndRows) {
  const PoolAttributes pool{{3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, false};
  EXPECT_EQ(work(Op::kMaxPool, pool, {of({1, 2, 6, 6})}, {of({1, 2, 4, 5})}), (Work{40 * 6, 288, 160}));
  EXPECT_EQ(work(Op::kAveragePool, pool, {of({1, 2, 6, 6})}, {of({1, 2, 4, 5})}), (Work{40 * 6, 288, 160}));
  EXPECT_EQ(work(Op::kReduce, ReduceAttributes{ReduceKind::kMean, {1}, true}, {of({4, 9})}, {of({4, 1})}),
            (Work{40, 144, 16}));
  EXPECT_EQ(work(Op::kReduce, ReduceAttributes{ReduceKind::kMax, {1}, true}, {of({4, 9})}, {of({4, 1})}),
            (Work{36, 144, 16}));
  EXPECT_EQ(work(Op::kSoftmax, SoftmaxAttributes{1}, {of({4, 9})}, {of({4, 9})}), (Work{180, 144, 144}));
  EXPECT_EQ(work(Op::kLayerNormalization, LayerNormalizationAttributes{1}, {of({4, 9}), of({9}), of({9})},
                 {of({4, 9})}),
            (Work{36 * 7, 144 + 72, 144}));
  ResizeAttributes resize;
  EXPECT_EQ(work(Op::kResize, resize, {of({1, 1, 3, 3})}, {of({1, 1, 6, 6})}), (Work{0, 36, 144}));
  resize.mode = ResizeMode::kLinear;
  EXPECT_EQ(work(Op::kResize, resize, {of({1, 1, 3, 3})}, {of({1, 1, 6, 6})}), (Work{36 * 8, 36, 144}));
  resize.mode = ResizeMode::kCubic;
  EXPECT_EQ(work(Op::kResize, resize, {of({1, 1, 3, 3})}, {of({1, 1, 3, 6})}), (Work{18 * 8, 36, 72}));
}

TEST(Work, OfMovement) {
  EXPECT_EQ(
      work(Op::kGather, GatherAttributes{0}, {of({1000, 8}), of({3}, ElementType::kInt64)}, {of({3, 8})}),
      (Work{0, 96 + 24, 96}));
  EXPECT_EQ(work(Op::kSlice, SliceAttributes{{0, 2}, {1, 2}}, {of({4, 9})}, {of({4, 3})}), (Work{0, 48, 48}));
  EXPECT_EQ(work(Op::kConcat, ConcatAttributes{0}, {of({2, 3}), of({1, 3})}, {of({3, 3})}),
            (Work{0, 36, 36}));
  TensorSpec row = of({4, 6});
  row.strides[0] = 0;
  EXPECT_EQ(work(Op::kCopy, NoAttributes{}, {row}, {of({4, 6})}), (Work{0, 24, 96}));
  EXPECT_EQ(work(Op::kFill, FillAttributes{}, {}, {of({4, 6})}), (Work{0, 0, 96}));
  EXPECT_EQ(work(Op::kCopy, NoAttributes{}, {of({0, 6})}, {of({0, 6})}), (Work{0, 0, 0}));
}

TEST(Work, StaysInRange) {
  const int64_t large = int64_t{1} << 31;  // (2^31)^2 elements can be counted, 2 (2^31)^3 operations cannot
  EXPECT_EQ(
      work(Op::kMatMul, MatMulAttributes{}, {of({large, large}), of({large, large})}, {of({large, large})})
          .flops,
      INT64_MAX);
}

}  // namespace
}  // namespace weir
