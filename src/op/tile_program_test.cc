// SPDX-License-Identifier: Apache-2.0
#include "op/tile_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

using ::testing::ElementsAre;

constexpr ElementType kF32 = ElementType::kFloat32;

TileInstruction instruction(ScalarOp op, ElementType type, std::array<uint8_t, 3> operands = {},
                            std::array<double, 2> value = {}) {
  return {op, type, operands, value};
}

std::string error_of(std::vector<ElementType> inputs, std::vector<TileInstruction> instructions) {
  auto result = TileProgram::from_parts(std::move(inputs), std::move(instructions));
  return result ? "no error" : result.error().message();
}

TEST(TileProgram, NumbersOperandsInOrder) {
  TileProgram program({kF32, ElementType::kInt64});
  const int half = program.immediate(0.5);
  const int product = program.append(ScalarOp::kMul, {0, half});
  const int less = program.append(ScalarOp::kLess, {product, 0});
  const int cast = program.append_cast(1, kF32);
  const int where = program.append(ScalarOp::kWhere, {less, cast, product});
  EXPECT_EQ(half, 2);
  EXPECT_EQ(where, 6);
  EXPECT_EQ(program.type_of(1), ElementType::kInt64);
  EXPECT_EQ(program.type_of(product), kF32);
  EXPECT_EQ(program.type_of(less), ElementType::kBool);
  EXPECT_EQ(program.type_of(cast), kF32);
  EXPECT_EQ(program.result_type(), kF32);
  EXPECT_EQ(program.to_string(), "mul less cast where");
  EXPECT_EQ(TileProgram({kF32}).to_string(), "identity");
  EXPECT_EQ(TileProgram({ElementType::kInt8}).result_type(), ElementType::kInt8);
  const auto again = TileProgram::from_parts({program.input_types().begin(), program.input_types().end()},
                                             {program.instructions().begin(), program.instructions().end()});
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, program);
}

TEST(TileProgram, RefusesWhatDoesNotFit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr ElementType kI8 = ElementType::kInt8;
  constexpr ElementType kI32 = ElementType::kInt32;
  constexpr auto kUnknown = static_cast<ElementType>(99);
  struct Case {
    std::vector<ElementType> inputs;
    std::vector<TileInstruction> instructions;
    std::string message;
  };
  const auto immediate = [](ElementType type, double value) {
    return instruction(ScalarOp::kImmediate, type, {}, {value, 0});
  };
  const std::vector<Case> cases = {
      {std::vector<ElementType>(kMaxTileInputs + 1, kF32),
       {},
       "A tile program has (9) inputs, and at most (8) are allowed."},
      {{kF32},
       std::vector<TileInstruction>(kMaxTileInstructions + 1, instruction(ScalarOp::kRelu, kF32, {0})),
       "A tile program has (25) instructions, and at most (24) are allowed."},
      {{kF32, static_cast<ElementType>(0)},
       {},
       "Input (1) of a tile program has an unknown element type (0)."},
      {{kF32},
       {instruction(static_cast<ScalarOp>(200), kF32, {0})},
       "Instruction (0) of a tile program has an unknown operation (200) or an unknown element type (1)."},
      {{kF32},
       {instruction(ScalarOp::kRelu, kUnknown, {0})},
       fmt::format(
           "Instruction (0) of a tile program has an unknown operation ({}) or an unknown element type (99).",
           static_cast<int>(ScalarOp::kRelu))},
      {{kF32},
       {instruction(ScalarOp::kAdd, kF32, {0, 1})},
       "Instruction (0) of a tile program reads operand (1), and only (1) lie before it."},
      {{},
       {instruction(ScalarOp::kRelu, kF32, {0})},
       "Instruction (0) of a tile program reads operand (0), and only (0) lie before it."},
      {{},
       {immediate(kF32, NAN)},
       "Instruction (0) of a tile program has an immediate value (nan) that float32 cannot hold."},
      {{},
       {immediate(kI8, 128)},
       "Instruction (0) of a tile program has an immediate value (128) that int8 cannot hold."},
      {{},
       {immediate(ElementType::kUint8, -1)},
       "Instruction (0) of a tile program has an immediate value (-1) that uint8 cannot hold."},
      {{},
       {immediate(ElementType::kUint8, 0), immediate(kI32, 0.5)},
       "Instruction (1) of a tile program has an immediate value (0.5) that int32 cannot hold."},
      {{},
       {immediate(ElementType::kBool, 2)},
       "Instruction (0) of a tile program has an immediate value (2) that bool cannot hold."},
      {{kF32},
       {instruction(ScalarOp::kClip, kF32, {0}, {NAN, 6})},
       "Instruction (0) of a tile program clips to bounds (nan, 6), and NaN is no bound."},
      {{kF32},
       {instruction(ScalarOp::kLeakyRelu, kF32, {0}, {kInfinity, 0})},
       "Instruction (0) of a tile program has coefficients (inf, 0), and only finite ones are allowed."},
      {{kF32},
       {instruction(ScalarOp::kHardSigmoid, kF32, {0}, {1, NAN})},
       "Instruction (0) of a tile program has coefficients (1, nan), and only finite ones are allowed."},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(error_of(c.inputs, c.instructions), c.message);
  }
  struct Mixed {
    std::vector<ElementType> inputs;
    TileInstruction given;
    const char* gives;
  };
  const std::vector<Mixed> mixed = {
      {{kF32, kI32}, instruction(ScalarOp::kAdd, kF32, {0, 1}), "('add') gives float32"},
      {{kI32}, instruction(ScalarOp::kExp, kI32, {0}), "('exp') gives int32"},
      {{kF32}, instruction(ScalarOp::kLess, kF32, {0, 0}), "('less') gives float32"},
      {{kF32}, instruction(ScalarOp::kNot, ElementType::kBool, {0}), "('not') gives bool"},
      {{kF32}, instruction(ScalarOp::kWhere, kF32, {0, 0, 0}), "('where') gives float32"},
  };
  for (const Mixed& m : mixed) {
    EXPECT_EQ(error_of(m.inputs, {m.given}),
              fmt::format("Instruction (0) of a tile program {} from operands of types that it does not take "
                          "together.",
                          m.gives));
  }
  EXPECT_EQ(error_of({}, {immediate(kF32, -kInfinity)}), "no error");
  EXPECT_EQ(error_of({}, {immediate(ElementType::kUint8, 255)}), "no error");
  EXPECT_EQ(error_of({kF32}, {instruction(ScalarOp::kClip, kF32, {0}, {0, kInfinity})}), "no error");
}

TEST(TileProgram, ComposesIntoAnyInput) {
  TileProgram product({kF32, kF32});
  product.append(ScalarOp::kMul, {0, 1});
  TileProgram difference({kF32, kF32, kF32});  // a − b·c, through a further instruction
  const int inner = difference.append(ScalarOp::kMul, {1, 2});
  difference.append(ScalarOp::kSub, {0, inner});

  const auto composed = difference.compose(product, 1);  // a, b of product, then a, c of difference
  ASSERT_TRUE(composed.has_value());
  TileProgram expected({kF32, kF32, kF32, kF32});
  const int first = expected.append(ScalarOp::kMul, {0, 1});
  const int second = expected.append(ScalarOp::kMul, {first, 3});
  expected.append(ScalarOp::kSub, {2, second});
  EXPECT_EQ(*composed, expected);

  const auto through = product.compose(TileProgram({kF32}), 0);
  ASSERT_TRUE(through.has_value());
  EXPECT_EQ(*through, product);
  const auto identity = TileProgram({kF32}).compose(product, 0);
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(*identity, product);

  // An identity over two inputs whose second one is produced still gives its first.
  const auto other = TileProgram({kF32, kF32}).compose(product, 1);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->input_count(), 3);
  EXPECT_EQ(other->instructions().back().op, ScalarOp::kCast);
  EXPECT_EQ(other->instructions().back().operands[0], 2);
}

TEST(TileProgram, ComposesOnlyWithinLimitsAndTypes) {
  TileProgram long_program({kF32});
  for (int i = 0; i < kMaxTileInstructions; ++i) {
    long_program.append(ScalarOp::kRelu, {i});
  }
  TileProgram relu({kF32});
  relu.append(ScalarOp::kRelu, {0});
  EXPECT_FALSE(relu.compose(long_program, 0).has_value());
  TileProgram wide(std::vector<ElementType>(kMaxTileInputs, kF32));
  wide.append(ScalarOp::kAdd, {0, 7});
  TileProgram two({kF32, kF32});
  two.append(ScalarOp::kAdd, {0, 1});
  EXPECT_FALSE(wide.compose(two, 0).has_value());
  TileProgram comparison({kF32});
  comparison.append(ScalarOp::kLess, {0, 0});
  EXPECT_FALSE(relu.compose(comparison, 0).has_value());
  EXPECT_FALSE(relu.compose(relu, 1).has_value());
}

TEST(TileProgram, RemapsInputs) {
  TileProgram program({kF32, kF32, kF32});
  const int sum = program.append(ScalarOp::kAdd, {1, 2});
  program.append(ScalarOp::kMul, {sum, 0});
  const std::array<int, 3> map = {0, 1, 0};
  const TileProgram merged = program.remap(map, {kF32, kF32});
  TileProgram expected({kF32, kF32});
  const int merged_sum = expected.append(ScalarOp::kAdd, {1, 0});
  expected.append(ScalarOp::kMul, {merged_sum, 0});
  EXPECT_EQ(merged, expected);

  const std::array<int, 1> second = {1};
  const TileProgram moved = TileProgram({kF32}).remap(second, {ElementType::kInt32, kF32});
  EXPECT_EQ(moved.result_type(), kF32);
  EXPECT_THAT(moved.input_types(), ElementsAre(ElementType::kInt32, kF32));
}

}  // namespace
}  // namespace weir
