// SPDX-License-Identifier: Apache-2.0
//
// Cases of MatMul and Lstm: projections, attention and classifiers of transformers, and the recurrent layer
// of voice activity detection.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

enum class Right : uint8_t { kConstant, kComputed };

struct MatMul {
  Shape a;
  Shape b;
  Shape y;
  Right right = Right::kConstant;
  bool bias = false;
  ScalarOp activation = ScalarOp::kImmediate;  // none
  Shape residual = {};                         // of an extra input that is added
};

void add(std::vector<OpCase>& cases, const MatMul& c, std::vector<Arrangement> arrangements) {
  OpCase test;
  test.op = Op::kMatMul;
  const int64_t depth = c.a.back();
  test.inputs = {operand(kF32, c.a), operand(kF32, c.b, weights(depth)),
                 c.bias ? constant(kF32, {c.y.back()}) : missing()};
  test.inputs[1].constant = c.right == Right::kConstant;
  MatMulAttributes attributes;
  if (c.activation != ScalarOp::kImmediate || !c.residual.empty()) {
    Epilogue epilogue(c.residual.empty() ? std::vector{kF32} : std::vector{kF32, kF32});
    int value = 0;
    if (!c.residual.empty()) {
      value = epilogue.append(ScalarOp::kAdd, {0, 1});
      test.inputs.push_back(operand(kF32, c.residual));
    }
    if (c.activation != ScalarOp::kImmediate) {
      epilogue.append(c.activation, {value});
    }
    attributes.epilogue = epilogue;
  }
  test.attributes = attributes;
  test.outputs = {operand(kF32, c.y)};
  test.arrangements = std::move(arrangements);
  test.name = "matmul_" + text_of(c.a) + "_" + text_of(c.b) +
              (c.right == Right::kConstant ? "_constant" : "") + (c.bias ? "_bias" : "") +
              (c.activation != ScalarOp::kImmediate ? "_" + std::string(to_string(c.activation)) : "") +
              (c.residual.empty() ? "" : "_add" + text_of(c.residual));
  cases.push_back(std::move(test));
}

struct Lstm {
  int64_t steps;
  int64_t batch;
  int64_t features;
  int64_t hidden;
  LstmDirection direction = LstmDirection::kForward;
  bool bias = true;
  bool lengths = false;
  bool states = false;
  bool all_outputs = true;
};

void add(std::vector<OpCase>& cases, const Lstm& c, std::vector<Arrangement> arrangements) {
  const int64_t d = c.direction == LstmDirection::kBidirectional ? 2 : 1;
  OpCase test;
  test.op = Op::kLstm;
  test.attributes = LstmAttributes{c.direction, c.hidden};
  const Shape state = {d, c.batch, c.hidden};
  test.inputs = {operand(kF32, {c.steps, c.batch, c.features}),
                 constant(kF32, {d, 4 * c.hidden, c.features}, weights(c.features)),
                 constant(kF32, {d, 4 * c.hidden, c.hidden}, weights(c.hidden)),
                 c.bias ? constant(kF32, {d, 8 * c.hidden}) : missing(),
                 c.lengths ? operand(kI32, {c.batch}, {0, static_cast<double>(c.steps + 1)}) : missing(),
                 c.states ? operand(kF32, state) : missing(),
                 c.states ? operand(kF32, state) : missing()};
  test.outputs = {operand(kF32, {c.steps, d, c.batch, c.hidden}),
                  c.all_outputs ? operand(kF32, state) : missing(),
                  c.all_outputs ? operand(kF32, state) : missing()};
  test.arrangements = std::move(arrangements);
  test.name = "lstm_t" + std::to_string(c.steps) + "_b" + std::to_string(c.batch) + "_i" +
              std::to_string(c.features) + "_h" + std::to_string(c.hidden) + "_d" +
              std::to_string(static_cast<int>(c.direction)) + (c.bias ? "" : "_no_bias") +
              (c.lengths ? "_lengths" : "") + (c.states ? "_states" : "") + (c.all_outputs ? "" : "_y_only");
  cases.push_back(std::move(test));
}

}  // namespace

void add_matrix_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense, Arrangement::kSliced, Arrangement::kStrided,
                                        Arrangement::kTransposed, Arrangement::kBroadcast};
  const std::vector<Arrangement> some = {Arrangement::kDense, Arrangement::kSliced};

  for (const int64_t m : {1, 5, 6, 7, 13}) {
    for (const int64_t n : {1, 3, 16, 17, 31}) {
      for (const int64_t k : {1, 7, 64}) {
        add(cases, MatMul{{m, k}, {k, n}, {m, n}}, {Arrangement::kDense});
      }
    }
  }
  for (const Right right : {Right::kConstant, Right::kComputed}) {
    add(cases, MatMul{{9, 33}, {33, 21}, {9, 21}, right, true}, all);
    add(cases, MatMul{{2, 7, 40}, {40, 24}, {2, 7, 24}, right, true, ScalarOp::kGelu}, all);
    add(cases, MatMul{{1, 11, 24}, {24, 40}, {1, 11, 40}, right, true, ScalarOp::kImmediate, {1, 11, 40}},
        all);
    add(cases, MatMul{{3, 4, 5}, {3, 5, 6}, {3, 4, 6}, right}, all);
  }
  // A residual that is one row, and one of a single element.
  add(cases, MatMul{{5, 8}, {8, 9}, {5, 9}, Right::kConstant, false, ScalarOp::kRelu, {9}}, some);
  add(cases, MatMul{{5, 8}, {8, 9}, {5, 9}, Right::kConstant, true, ScalarOp::kSigmoid, {1, 1}}, some);
  // Attention: heads, keys transposed by strides, and a single key.
  add(cases, MatMul{{1, 8, 20, 15}, {1, 8, 15, 20}, {1, 8, 20, 20}, Right::kComputed}, all);
  add(cases, MatMul{{1, 8, 20, 20}, {1, 8, 20, 15}, {1, 8, 20, 15}, Right::kComputed}, all);
  add(cases, MatMul{{2, 3, 9, 64}, {2, 3, 64, 9}, {2, 3, 9, 9}, Right::kComputed}, some);
  add(cases, MatMul{{1, 12, 17, 32}, {1, 12, 32, 17}, {1, 12, 17, 17}, Right::kComputed}, some);
  add(cases, MatMul{{2, 2, 1, 8}, {2, 2, 8, 1}, {2, 2, 1, 1}, Right::kComputed}, some);
  // Leading axes that broadcast, on either side.
  add(cases, MatMul{{4, 1, 5, 6}, {3, 6, 7}, {4, 3, 5, 7}, Right::kComputed}, all);
  add(cases, MatMul{{5, 6}, {2, 3, 6, 4}, {2, 3, 5, 4}, Right::kComputed}, some);
  add(cases, MatMul{{2, 5, 6}, {1, 6, 4}, {2, 5, 4}}, some);
  // Projections and classifiers.
  add(cases, MatMul{{1, 16, 120}, {120, 360}, {1, 16, 360}, Right::kConstant, true}, some);
  add(cases, MatMul{{1, 3, 120}, {120, 1871}, {1, 3, 1871}, Right::kConstant, true}, {Arrangement::kDense});
  add(cases, MatMul{{1, 512}, {512, 1000}, {1, 1000}, Right::kConstant, true}, {Arrangement::kDense});
  add(cases, MatMul{{2, 200}, {200, 2}, {2, 2}, Right::kConstant, true}, some);
  add(cases, MatMul{{1, 10, 384}, {384, 96}, {1, 10, 96}, Right::kConstant, true, ScalarOp::kGelu}, some);
  add(cases, MatMul{{37, 96}, {96, 200}, {37, 200}, Right::kConstant, true, ScalarOp::kSilu}, some);
  add(cases, MatMul{{70, 70}, {70, 70}, {70, 70}, Right::kComputed}, some);
  // Deep sums, longer than a block of any kernel.
  add(cases, MatMul{{3, 1500}, {1500, 20}, {3, 20}, Right::kConstant, true}, some);
  add(cases, MatMul{{7, 1029}, {1029, 5}, {7, 5}, Right::kComputed}, some);

  for (const LstmDirection direction :
       {LstmDirection::kForward, LstmDirection::kReverse, LstmDirection::kBidirectional}) {
    add(cases, Lstm{4, 1, 5, 3, direction}, some);
    add(cases, Lstm{5, 3, 7, 17, direction, true, true, true}, all);
    add(cases, Lstm{3, 2, 8, 16, direction, false, false, true, false}, some);
  }
  add(cases, Lstm{1, 1, 128, 128, LstmDirection::kForward, true, false, true}, some);
  add(cases, Lstm{1, 1, 1, 1}, some);
  add(cases, Lstm{6, 2, 40, 33, LstmDirection::kBidirectional}, some);
}

}  // namespace weir::testing
