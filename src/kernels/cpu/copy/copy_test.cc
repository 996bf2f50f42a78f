// SPDX-License-Identifier: Apache-2.0
//
// Strided copies: every pair of memory orders, element size and odd extent, and the operators made of them.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr ElementType kSizes[] = {ElementType::kUint8, ElementType::kInt16, ElementType::kFloat32,
                                  ElementType::kInt64};

TEST(Copy, BetweenAnyOrders) {
  const std::vector<std::vector<int64_t>> shapes = {{1, 1, 1, 1},  {1, 3, 5, 7},   {2, 3, 17, 16},
                                                    {1, 2, 8, 33}, {1, 4, 9, 9},   {1, 40, 13, 5},
                                                    {2, 65, 7, 9}, {3, 16, 4, 16}, {1, 0, 3, 3}};
  const std::vector<std::vector<int>> orders = {{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}};
  for (ElementType type : kSizes) {
    for (const auto& shape : shapes) {
      for (const auto& from : orders) {
        for (const auto& to : orders) {
          KernelCase(Op::kCopy, NoAttributes{})
              .input(make_spec(type, shape, from))
              .output(make_spec(type, shape, to))
              .check();
        }
      }
    }
  }
}

TEST(Copy, BetweenPartsOfLargerTensors) {
  const std::vector<int64_t> shape = {2, 21, 5, 6};
  const std::vector<int> last = {0, 2, 3, 1};
  for (ElementType type : kSizes) {
    for (int64_t gap : {1, 11}) {
      for (const TensorSpec& from : {make_spec(type, shape), make_spec(type, shape, last)}) {
        for (const TensorSpec& to : {make_spec(type, shape), make_spec(type, shape, last)}) {
          KernelCase(Op::kCopy, NoAttributes{}).input(with_gap(from, gap)).output(to).check();
          KernelCase(Op::kCopy, NoAttributes{}).input(from).output(with_gap(to, gap)).check();
        }
      }
    }
  }
}

TEST(Copy, LargeTensors) {
  for (const auto& [from, to] : std::vector<std::pair<std::vector<int>, std::vector<int>>>{
           {{0, 1, 2}, {0, 1, 2}}, {{0, 1, 2}, {0, 2, 1}}, {{0, 2, 1}, {0, 1, 2}}, {{2, 1, 0}, {0, 1, 2}}}) {
    KernelCase(Op::kCopy, NoAttributes{})
        .input(make_spec(kF32, {2, 131, 517}, from))
        .output(make_spec(kF32, {2, 131, 517}, to))
        .check();
  }
  KernelCase(Op::kCopy, NoAttributes{})
      .input(make_spec(kF32, {1, 3, 121, 123}))
      .output(make_spec(kF32, {1, 3, 121, 123}, {0, 2, 3, 1}))
      .check();
}

TEST(Copy, OfABroadcastSource) {
  TensorSpec source = make_spec(kF32, {4, 37, 9});
  source.strides = {0, 1, 0};
  KernelCase(Op::kCopy, NoAttributes{}).input(source).output(make_spec(kF32, {4, 37, 9})).check();
  source.strides = {0, 0, 0};
  KernelCase(Op::kCopy, NoAttributes{}).input(source).output(make_spec(kF32, {4, 37, 9}, {2, 0, 1})).check();
  source.strides = {3, 40, 2};
  KernelCase(Op::kCopy, NoAttributes{}).input(source).output(make_spec(kF32, {4, 37, 9})).check();
}

TEST(Copy, Scalar) {
  KernelCase(Op::kCopy, NoAttributes{}).input(make_spec(kF32, {})).output(make_spec(kF32, {})).check();
}

TEST(Transpose, MovesAxes) {
  for (ElementType type : kSizes) {
    KernelCase(Op::kTranspose, TransposeAttributes{{0, 2, 1, 3}})
        .input(make_spec(type, {2, 33, 5, 64}))
        .output(make_spec(type, {2, 5, 33, 64}))
        .check();
    KernelCase(Op::kTranspose, TransposeAttributes{{0, 2, 3, 1}})
        .input(make_spec(type, {2, 33, 5, 19}))
        .output(make_spec(type, {2, 5, 19, 33}))
        .check();
    KernelCase(Op::kTranspose, TransposeAttributes{{1, 0}})
        .input(make_spec(type, {45, 83}))
        .output(make_spec(type, {83, 45}))
        .check();
  }
}

TEST(Slice, StepsAndNegativeSteps) {
  for (ElementType type : kSizes) {
    KernelCase(Op::kSlice, SliceAttributes{{1, 2, 0}, {1, 3, 1}})
        .input(make_spec(type, {4, 31, 40}))
        .output(make_spec(type, {2, 9, 39}))
        .check();
    KernelCase(Op::kSlice, SliceAttributes{{3, 30, 39}, {-1, -3, -2}})
        .input(make_spec(type, {4, 31, 40}))
        .output(make_spec(type, {4, 10, 20}))
        .check();
    KernelCase(Op::kSlice, SliceAttributes{{0, 10, 3}, {1, 1, 2}})
        .input(make_spec(type, {2, 31, 40}, {0, 2, 1}))
        .output(make_spec(type, {2, 20, 10}, {0, 2, 1}))
        .check();
  }
}

// Steps that nothing takes: of one element, or of none.
TEST(Slice, StepsAsLongAsTheyGo) {
  const TensorSpec x = make_spec(ElementType::kFloat32, {5, 40, 7, 300});
  KernelCase(Op::kSlice, SliceAttributes{{4, 39, 0, 1}, {kDimMax, -kDimMax, 1, 2}})
      .input(x)
      .output(make_spec(ElementType::kFloat32, {1, 1, 7, 100}))
      .check();
  KernelCase(Op::kSlice, SliceAttributes{{kDimMax, -kDimMax, 0, kDimMax}, {kDimMax, kDimMax, 1, -kDimMax}})
      .input(x)
      .output(make_spec(ElementType::kFloat32, {0, 3, 7, 0}))
      .check();
}

TEST(Expand, AlongAnyAxis) {
  KernelCase(Op::kExpand, NoAttributes{})
      .input(make_spec(kF32, {3, 1}))
      .output(make_spec(kF32, {2, 3, 50}))
      .check();
  KernelCase(Op::kExpand, NoAttributes{})
      .input(make_spec(kF32, {50}))
      .output(make_spec(kF32, {2, 3, 50}))
      .check();
  KernelCase(Op::kExpand, NoAttributes{})
      .input(make_spec(kF32, {}))
      .output(make_spec(kF32, {2, 3, 50}))
      .check();
  KernelCase(Op::kExpand, NoAttributes{})
      .input(make_spec(ElementType::kInt64, {1, 7, 1}))
      .output(make_spec(ElementType::kInt64, {5, 7, 3}))
      .check();
}

TEST(Reshape, FromAndToAnyOrder) {
  // Channels last on one or both sides; the flattening in front of a classifier; axes that do not nest.
  KernelCase(Op::kReshape, NoAttributes{})
      .input(make_spec(kF32, {2, 19, 4, 5}, {0, 2, 3, 1}))
      .output(make_spec(kF32, {2, 380}))
      .check();
  KernelCase(Op::kReshape, NoAttributes{})
      .input(make_spec(kF32, {2, 20, 6, 5}, {0, 2, 3, 1}))
      .output(make_spec(kF32, {2, 4, 5, 30}, {0, 3, 2, 1}))
      .check();
  KernelCase(Op::kReshape, NoAttributes{})
      .input(make_spec(kF32, {6, 10}))
      .output(make_spec(kF32, {5, 3, 4}, {2, 1, 0}))
      .check();
  KernelCase(Op::kReshape, NoAttributes{})
      .input(make_spec(kF32, {60, 100}, {1, 0}))
      .output(make_spec(kF32, {75, 80}, {1, 0}))
      .check();
  KernelCase(Op::kReshape, NoAttributes{}).input(make_spec(kF32, {1, 1})).output(make_spec(kF32, {})).check();
  KernelCase(Op::kReshape, NoAttributes{})
      .input(make_spec(kF32, {0, 4}))
      .output(make_spec(kF32, {2, 0}))
      .check();
  KernelCase(Op::kReshape, NoAttributes{})
      .input(with_gap(make_spec(ElementType::kInt64, {7, 12}), 3))
      .output(make_spec(ElementType::kInt64, {84}))
      .check();
}

TEST(Concat, AlongAnyAxis) {
  const std::vector<int> last = {0, 2, 3, 1};
  for (ElementType type : kSizes) {
    KernelCase(Op::kConcat, ConcatAttributes{1})
        .input(make_spec(type, {2, 3, 5, 6}, last))
        .input(make_spec(type, {2, 16, 5, 6}))
        .input(make_spec(type, {2, 1, 5, 6}, last))
        .output(make_spec(type, {2, 20, 5, 6}, last))
        .check();
    KernelCase(Op::kConcat, ConcatAttributes{0})
        .input(make_spec(type, {2, 77}))
        .input(make_spec(type, {0, 77}))
        .input(make_spec(type, {3, 77}))
        .output(make_spec(type, {5, 77}))
        .check();
    KernelCase(Op::kConcat, ConcatAttributes{2})
        .input(make_spec(type, {2, 7, 4}))
        .output(make_spec(type, {2, 7, 4}, {1, 2, 0}))
        .check();
  }
  KernelCase many(Op::kConcat, ConcatAttributes{1});
  for (int i = 0; i < 42; ++i) many.input(make_spec(kF32, {3, 1 + i % 5, 130}));
  int64_t total = 0;
  for (int i = 0; i < 42; ++i) total += 1 + i % 5;
  many.output(make_spec(kF32, {3, total, 130})).check();
}

}  // namespace
}  // namespace weir
