// SPDX-License-Identifier: Apache-2.0
#include "op/tile_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kAdd, kF32, {0, 1})}), HasSubstr("reads operand (1)"));
  EXPECT_THAT(error_of({}, {instruction(ScalarOp::kRelu, kF32, {0})}), HasSubstr("reads operand (0)"));
  EXPECT_THAT(error_of({kF32, ElementType::kInt32}, {instruction(ScalarOp::kAdd, kF32, {0, 1})}),
              HasSubstr("('add')"));
  EXPECT_THAT(error_of({ElementType::kInt32}, {instruction(ScalarOp::kExp, ElementType::kInt32, {0})}),
              HasSubstr("('exp')"));
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kLess, kF32, {0, 0})}), HasSubstr("('less')"));
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kNot, ElementType::kBool, {0})}), HasSubstr("('not')"));
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kWhere, kF32, {0, 0, 0})}), HasSubstr("('where')"));
  EXPECT_THAT(error_of({kF32}, {instruction(static_cast<ScalarOp>(200), kF32, {0})}),
              HasSubstr("unknown operation (200)"));
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kRelu, static_cast<ElementType>(99), {0})}),
              HasSubstr("unknown element type (99)"));
  EXPECT_THAT(error_of({static_cast<ElementType>(0)}, {}), HasSubstr("unknown element type (0)"));
  EXPECT_THAT(error_of({}, {instruction(ScalarOp::kImmediate, kF32, {}, {NAN, 0})}),
              HasSubstr("cannot hold"));
  EXPECT_THAT(error_of({}, {instruction(ScalarOp::kImmediate, ElementType::kInt8, {}, {128, 0})}),
              HasSubstr("cannot hold"));
  EXPECT_THAT(error_of({}, {instruction(ScalarOp::kImmediate, ElementType::kUint8, {}, {-1, 0})}),
              HasSubstr("cannot hold"));
  EXPECT_THAT(error_of({}, {instruction(ScalarOp::kImmediate, ElementType::kInt32, {}, {0.5, 0})}),
              HasSubstr("cannot hold"));
  EXPECT_EQ(error_of({}, {instruction(ScalarOp::kImmediate, kF32, {}, {-infinity, 0})}), "no error");
  EXPECT_EQ(error_of({}, {instruction(ScalarOp::kImmediate, ElementType::kUint8, {}, {255, 0})}), "no error");
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kClip, kF32, {0}, {NAN, 6})}), HasSubstr("no bound"));
  EXPECT_EQ(error_of({kF32}, {instruction(ScalarOp::kClip, kF32, {0}, {0, infinity})}), "no error");
  EXPECT_THAT(error_of({kF32}, {instruction(ScalarOp::kLeakyRelu, kF32, {0}, {infinity, 0})}),
              HasSubstr("only finite ones"));
  EXPECT_THAT(error_of(std::vector<ElementType>(kMaxTileInputs + 1, kF32), {}), HasSubstr("(9) inputs"));
  EXPECT_THAT(error_of({kF32}, std::vector<TileInstruction>(kMaxTileInstructions + 1,
                                                            instruction(ScalarOp::kRelu, kF32, {0}))),
              HasSubstr("(25) instructions"));
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
