// SPDX-License-Identifier: Apache-2.0
//
// Cases of Elementwise: every scalar operation, the ways inputs broadcast, chains, and types.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

constexpr ElementType kBool = ElementType::kBool;
constexpr ElementType kU8 = ElementType::kUint8;
constexpr ElementType kI8 = ElementType::kInt8;
constexpr ElementType kF64 = ElementType::kFloat64;
constexpr ElementType kF16 = ElementType::kFloat16;

OpCase make(std::string name, TileProgram program, std::vector<OperandCase> inputs, const Shape& y) {
  OpCase test;
  test.op = Op::kElementwise;
  test.name = "elementwise_" + std::move(name);
  test.outputs = {operand(program.result_type(), y)};
  test.attributes = ElementwiseAttributes{std::move(program)};
  test.inputs = std::move(inputs);
  return test;
}

// One operation on operands of one shape.
OpCase single(ScalarOp op, ElementType type, Values a, Values b = {}, double v0 = 0, double v1 = 0,
              const Shape& shape = {3, 37}) {
  const bool binary = arity(op) == 2;
  TileProgram program(binary ? std::vector{type, type} : std::vector{type});
  std::vector<OperandCase> inputs = {operand(type, shape, a)};
  if (binary) {
    program.append(op, {0, 1}, v0, v1);
    inputs.push_back(operand(type, shape, b));
  } else {
    program.append(op, {0}, v0, v1);
  }
  return make(std::string(to_string(op)) + "_" + std::string(weir::to_string(type)), std::move(program),
              std::move(inputs), shape);
}

}  // namespace

void add_elementwise_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense,     Arrangement::kChannelsLast,
                                        Arrangement::kSliced,    Arrangement::kStrided,
                                        Arrangement::kBroadcast, Arrangement::kTransposed};
  const auto add = [&](OpCase test, bool every_arrangement = false) {
    if (every_arrangement) {
      test.arrangements = all;
    }
    cases.push_back(std::move(test));
  };
  const Values wide = {-8, 8};
  const Values positive = {0.01, 9};
  const Values special = {-6, 6, 0, true};

  for (const ScalarOp op :
       {ScalarOp::kNeg, ScalarOp::kAbs, ScalarOp::kFloor, ScalarOp::kCeil, ScalarOp::kRound, ScalarOp::kRelu,
        ScalarOp::kErf, ScalarOp::kExp, ScalarOp::kTanh, ScalarOp::kSigmoid, ScalarOp::kHardSwish,
        ScalarOp::kSilu, ScalarOp::kGelu}) {
    add(single(op, kF32, wide));
  }
  for (const ScalarOp op : {ScalarOp::kSqrt, ScalarOp::kLog, ScalarOp::kReciprocal}) {
    add(single(op, kF32, positive));
  }
  add(single(ScalarOp::kClip, kF32, wide, {}, 0, 6));
  add(single(ScalarOp::kHardSigmoid, kF32, wide, {}, 1.0 / 6, 0.5));
  add(single(ScalarOp::kLeakyRelu, kF32, wide, {}, 0.1));
  for (const ScalarOp op : {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kMin, ScalarOp::kMax}) {
    add(single(op, kF32, wide, wide));
    add(single(op, kI64, {-100, 100}, {-100, 100}));
    add(single(op, kI32, {-100, 100}, {-100, 100}));
  }
  add(single(ScalarOp::kDiv, kF32, wide, {0.5, 4}));
  for (const ElementType type : {kI64, kI32}) {
    add(single(ScalarOp::kDiv, type, {-100, 100}, {1, 9}));
    OpCase test = single(ScalarOp::kDiv, type, {-100, 100}, {-5, 5});
    test.name += "_with_zeros";  // gives zero
    add(std::move(test));
  }
  add(single(ScalarOp::kPow, kF32, {0.1, 4}, {-3, 3}));
  for (const ScalarOp op : {ScalarOp::kEqual, ScalarOp::kLess, ScalarOp::kLessOrEqual, ScalarOp::kGreater,
                            ScalarOp::kGreaterOrEqual}) {
    add(single(op, kF32, special, special));
    add(single(op, kI64, {-3, 3}, {-3, 3}));
    add(single(op, kI32, {-3, 3}, {-3, 3}));
  }
  for (const ScalarOp op : {ScalarOp::kAnd, ScalarOp::kOr, ScalarOp::kNot}) {
    add(single(op, kBool, {0, 2}, {0, 2}));
  }
  for (const ScalarOp op : {ScalarOp::kAdd, ScalarOp::kSub, ScalarOp::kMul, ScalarOp::kMin, ScalarOp::kMax}) {
    add(single(op, kF64, wide, wide));
    add(single(op, kU8, {0, 255}, {0, 255}));
  }
  // NaN, infinities and extremes. Not Silu and Gelu, where −∞ times a vanished factor is a matter of taste.
  for (const ScalarOp op : {ScalarOp::kRelu, ScalarOp::kAbs, ScalarOp::kExp, ScalarOp::kTanh,
                            ScalarOp::kSigmoid, ScalarOp::kErf, ScalarOp::kNeg, ScalarOp::kFloor}) {
    OpCase test = single(op, kF32, special);
    test.name += "_specials";
    add(std::move(test));
  }
  for (const ScalarOp op : {ScalarOp::kMin, ScalarOp::kMax, ScalarOp::kAdd, ScalarOp::kMul}) {
    OpCase test = single(op, kF32, special, {-2, 2});
    test.name += "_specials";
    add(std::move(test));
  }
  {
    OpCase test = single(ScalarOp::kClip, kF32, special, {}, 0, 6);
    test.name += "_specials";
    add(std::move(test));
  }

  // Broadcasts: a, b, y.
  const std::vector<std::array<Shape, 3>> broadcasts = {
      {Shape{1, 7, 5, 3}, Shape{1, 7, 1, 1}, Shape{1, 7, 5, 3}},  // squeeze and excite
      {Shape{2, 17, 4, 5}, Shape{17, 1, 1}, Shape{2, 17, 4, 5}},  // a scale a channel
      {Shape{2, 3, 4, 5}, Shape{}, Shape{2, 3, 4, 5}},
      {Shape{2, 3, 4, 5}, Shape{1}, Shape{2, 3, 4, 5}},
      {Shape{2, 9, 33}, Shape{33}, Shape{2, 9, 33}},
      {Shape{2, 9, 33}, Shape{2, 9, 1}, Shape{2, 9, 33}},  // less the mean of rows
      {Shape{1, 4, 6, 6}, Shape{1, 1, 6, 6}, Shape{1, 4, 6, 6}},
      {Shape{1, 1, 6}, Shape{5, 1}, Shape{1, 5, 6}},  // both repeat
      {Shape{1, 4, 1, 6}, Shape{2, 1, 5, 1}, Shape{2, 4, 5, 6}},
      {Shape{3, 1}, Shape{1, 1}, Shape{3, 1}},
      {Shape{}, Shape{}, Shape{}},
      {Shape{0, 3}, Shape{3}, Shape{0, 3}},
      {Shape{2, 2, 2, 2, 2, 3}, Shape{2, 1, 2, 1, 2, 1}, Shape{2, 2, 2, 2, 2, 3}},
      {Shape{1000}, Shape{1000}, Shape{1000}},
      {Shape{1, 24, 33, 31}, Shape{1, 24, 33, 31}, Shape{1, 24, 33, 31}},
  };
  for (const auto& [a, b, y] : broadcasts) {
    TileProgram program({kF32, kF32});
    program.append(ScalarOp::kMul, {0, 1});
    add(make("mul_" + text_of(a) + "_" + text_of(b), program, {operand(kF32, a), operand(kF32, b)}, y), true);
  }

  // Chains.
  {
    TileProgram program({kF32, kF32, kF32});  // a batch normalisation and an activation
    const int scaled = program.append(ScalarOp::kMul, {0, 1});
    const int shifted = program.append(ScalarOp::kAdd, {scaled, 2});
    program.append(ScalarOp::kHardSwish, {shifted});
    add(make("scale_shift_hard_swish", program,
             {operand(kF32, {2, 13, 5, 7}), operand(kF32, {13, 1, 1}), operand(kF32, {13, 1, 1})},
             {2, 13, 5, 7}),
        true);
  }
  {
    TileProgram program({kF32});  // x · sigmoid(1.702 x)
    const int scaled = program.append(ScalarOp::kMul, {0, program.immediate(1.702)});
    program.append(ScalarOp::kMul, {0, program.append(ScalarOp::kSigmoid, {scaled})});
    add(make("quick_gelu", program, {operand(kF32, {3, 65}, wide)}, {3, 65}), true);
  }
  {
    TileProgram program({kF32, kF32});  // (x − mean)², squared twice over
    const int difference = program.append(ScalarOp::kSub, {0, 1});
    program.append(ScalarOp::kMul, {difference, difference});
    add(make("squared_difference", program, {operand(kF32, {4, 19}), operand(kF32, {4, 1})}, {4, 19}), true);
  }
  {
    TileProgram program({kBool, kF32, kF32});
    program.append(ScalarOp::kWhere, {0, 1, 2});
    add(make("where", program,
             {operand(kBool, {1, 1, 5, 9}, {0, 2}), operand(kF32, {2, 3, 5, 9}), operand(kF32, {})},
             {2, 3, 5, 9}),
        true);
  }
  {
    TileProgram program({kI64, kF32});  // a mask from lengths
    const int less = program.append(ScalarOp::kLess, {0, program.immediate(2, kI64)});
    program.append(ScalarOp::kWhere, {less, 1, program.immediate(-INFINITY)});
    add(make("mask_by_index", program, {operand(kI64, {7}, {0, 5}), operand(kF32, {3, 7})}, {3, 7}), true);
  }
  {
    TileProgram program({kF32});
    program.immediate(3.5);
    add(make("only_an_immediate", program, {operand(kF32, {5})}, {5}));
  }
  {
    TileProgram program(std::vector<ElementType>(kMaxTileInputs, kF32));
    int sum = program.append(ScalarOp::kAdd, {0, 1});
    for (int i = 2; i < kMaxTileInputs; ++i) {
      sum = program.append(ScalarOp::kAdd, {sum, i});
    }
    for (int i = kMaxTileInputs - 1; i < kMaxTileInstructions; ++i) {
      sum = program.append(ScalarOp::kAbs, {sum});
    }
    add(make("as_long_as_allowed", program, std::vector<OperandCase>(kMaxTileInputs, operand(kF32, {2, 21})),
             {2, 21}),
        true);
  }

  // Casts, from and to.
  for (const auto& [from, to, values] :
       std::initializer_list<std::tuple<ElementType, ElementType, Values>>{{kF32, kI64, {-50, 50}},
                                                                           {kF32, kI32, {-50, 50}},
                                                                           {kF32, kU8, {0, 255}},
                                                                           {kF32, kI8, {-128, 127}},
                                                                           {kF32, kBool, {-1, 1}},
                                                                           {kF32, kF16, {-50, 50}},
                                                                           {kF32, kF64, {-50, 50}},
                                                                           {kI64, kF32, {-1e6, 1e6}},
                                                                           {kI32, kF32, {-1e6, 1e6}},
                                                                           {kU8, kF32, {0, 255}},
                                                                           {kI8, kF32, {-128, 128}},
                                                                           {kBool, kF32, {0, 2}},
                                                                           {kF16, kF32, {-50, 50}},
                                                                           {kF64, kF32, {-50, 50}},
                                                                           {kI64, kI32, {-1e6, 1e6}},
                                                                           {kI32, kI64, {-1e6, 1e6}},
                                                                           {kI64, kBool, {-1, 2}},
                                                                           {kBool, kI64, {0, 2}}}) {
    TileProgram program({from});
    program.append_cast(0, to);
    add(make("cast_" + std::string(weir::to_string(from)) + "_" + std::string(weir::to_string(to)), program,
             {operand(from, {3, 41}, values)}, {3, 41}),
        true);
  }
}

}  // namespace weir::testing
