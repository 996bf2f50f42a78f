// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of every instruction set against the reference: odd shapes, broadcast leading axes,
// transposed and gapped operands, epilogues, operands that end at an inaccessible page.
#include <gtest/gtest.h>

#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

using Shape = std::vector<int64_t>;

// Values of deviation 2: products of deviation 4, sums over K of deviation 4·√K, rounding of each addition.
Tolerance tolerance(int64_t k) {
  return {.relative = 1e-5, .absolute = 3e-6 * static_cast<double>(k + 8)};
}

TensorSpec f32(Shape shape, std::vector<int> order = {}) {
  return make_spec(ElementType::kFloat32, std::move(shape), std::move(order));
}

Epilogue silu() {
  Epilogue epilogue({ElementType::kFloat32});
  epilogue.append(ScalarOp::kSilu, {0});
  return epilogue;
}
Epilogue relu() {
  Epilogue epilogue({ElementType::kFloat32});
  epilogue.append(ScalarOp::kRelu, {0});
  return epilogue;
}
Epilogue residual_then_clip() {
  Epilogue epilogue({ElementType::kFloat32, ElementType::kFloat32});
  const int sum = epilogue.append(ScalarOp::kAdd, {0, 1});
  epilogue.append(ScalarOp::kClip, {sum}, -1, 6);
  return epilogue;
}
// gelu(x)·scale + residual
Epilogue gelu_scale_add() {
  Epilogue epilogue({ElementType::kFloat32, ElementType::kFloat32, ElementType::kFloat32});
  const int gelu = epilogue.append(ScalarOp::kGelu, {0});
  const int scaled = epilogue.append(ScalarOp::kMul, {gelu, 1});
  epilogue.append(ScalarOp::kAdd, {2, scaled});
  return epilogue;
}

void check(const Shape& a, const Shape& b, const Shape& y, bool bias, bool constant, Epilogue epilogue = {},
           const std::vector<Shape>& extras = {}) {
  const int64_t k = a.back();
  const int64_t n = y.back();
  KernelCase test(Op::kMatMul, MatMulAttributes{std::move(epilogue)});
  test.input(f32(a)).input(f32(b)).input(bias ? f32({n}) : absent_operand());
  for (const Shape& extra : extras) test.input(f32(extra));
  test.output(f32(y));
  if (constant) test.constants();
  test.check(tolerance(k));
}

TEST(MatMul, OddShapes) {
  for (const bool constant : {true, false}) {
    for (const int64_t m : {1, 2, 5, 10, 13, 31}) {
      for (const int64_t n : {1, 3, 8, 9, 16, 17, 31, 40, 48, 80}) {
        check({m, 7}, {7, n}, {m, n}, n % 2 == 0, constant);
      }
    }
    for (const int64_t k : {1, 2, 15, 16, 17, 100, 511, 513, 1031})
      check({23, k}, {k, 37}, {23, 37}, true, constant);
  }
}

TEST(MatMul, ManyBlocks) {
  for (const bool constant : {true, false}) {
    check({413, 65}, {65, 133}, {413, 133}, true, constant);
    check({3, 1100}, {1100, 517}, {3, 517}, true, constant);
    check({230, 1100}, {1100, 70}, {230, 70}, false, constant);
  }
}

TEST(MatMul, LeadingAxes) {
  for (const bool constant : {true, false}) {
    check({2, 3, 5, 9}, {9, 33}, {2, 3, 5, 33}, true, constant);
    check({2, 3, 5, 9}, {2, 3, 9, 33}, {2, 3, 5, 33}, false, constant);
    check({2, 1, 5, 9}, {3, 9, 33}, {2, 3, 5, 33}, true, constant);
    check({5, 9}, {2, 3, 9, 33}, {2, 3, 5, 33}, false, constant);
    check({4, 1, 9}, {1, 9, 20}, {4, 1, 20}, false, constant);
  }
}

TEST(MatMul, Empty) {
  check({0, 9}, {9, 33}, {0, 33}, true, true);
  check({3, 0}, {0, 33}, {3, 33}, true, true);
  check({3, 0}, {0, 33}, {3, 33}, false, false);
}

TEST(MatMul, Epilogues) {
  for (const bool constant : {true, false}) {
    check({37, 19}, {19, 50}, {37, 50}, true, constant, relu());
    check({37, 19}, {19, 50}, {37, 50}, true, constant, silu());
    check({2, 37, 19}, {19, 50}, {2, 37, 50}, true, constant, residual_then_clip(), {{2, 37, 50}});
    check({2, 37, 19}, {19, 50}, {2, 37, 50}, false, constant, residual_then_clip(), {{37, 50}});
    check({2, 37, 19}, {19, 50}, {2, 37, 50}, true, constant, residual_then_clip(), {{2, 37, 1}});
    check({2, 37, 1100}, {1100, 50}, {2, 37, 50}, true, constant, gelu_scale_add(), {{50}, {2, 37, 50}});
    check({2, 37, 19}, {2, 19, 50}, {2, 37, 50}, true, constant, gelu_scale_add(), {{2, 1, 1}, {1, 37, 50}});
  }
}

TEST(MatMul, TransposedAndGappedOperands) {
  // Attention: queries and keys [batch, token, head, channel] seen as [batch, head, token, channel]; keys
  // transposed.
  KernelCase scores(Op::kMatMul, MatMulAttributes{});
  scores.input(f32({2, 3, 21, 18}, {0, 2, 1, 3}))
      .input(f32({2, 3, 18, 22}, {0, 3, 1, 2}))
      .input(absent_operand());
  scores.output(f32({2, 3, 21, 22}));
  scores.check(tolerance(18));
  KernelCase values(Op::kMatMul, MatMulAttributes{});
  values.input(f32({2, 3, 21, 22})).input(f32({2, 3, 22, 18}, {0, 2, 1, 3})).input(absent_operand());
  values.output(f32({2, 3, 21, 18}, {0, 2, 1, 3}));
  values.check(tolerance(22));
  for (const bool constant : {true, false}) {
    KernelCase test(Op::kMatMul, MatMulAttributes{});
    test.input(with_gap(f32({9, 21}), 5)).input(f32({21, 35}, {1, 0})).input(f32({35}));
    test.output(with_gap(f32({9, 35}), 3));
    if (constant) test.constants();
    test.check(tolerance(21));
  }
  // Neither axis of B is dense.
  KernelCase strided(Op::kMatMul, MatMulAttributes{});
  strided.input(f32({9, 21})).input(f32({1, 21, 35}, {1, 2, 0})).input(absent_operand());
  strided.output(f32({1, 9, 35}));
  strided.check(tolerance(21));
  KernelCase sparse(Op::kMatMul, MatMulAttributes{});
  TensorSpec b = f32({21, 35});
  b.strides = {105, 3};
  sparse.input(f32({9, 21})).input(b).input(absent_operand()).output(f32({9, 35}));
  sparse.check(tolerance(21));
}

}  // namespace
}  // namespace weir
