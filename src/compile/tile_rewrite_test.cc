// SPDX-License-Identifier: Apache-2.0
#include "compile/tile_rewrite.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;

TEST(Tidy, SpellsSilu) {
  TileProgram program({kF32});
  program.append(ScalarOp::kMul, {0, program.append(ScalarOp::kSigmoid, {0})});
  EXPECT_EQ(tidy(program).to_string(), "silu");
}

TEST(Tidy, SpellsGeluAsExportersWriteIt) {
  // x / √2 → erf → + 1 → · x → · 0.5, and the same with 0.5 multiplied into x first.
  for (bool half_first : {false, true}) {
    TileProgram program({kF32});
    const int erf =
        program.append(ScalarOp::kErf, {program.append(ScalarOp::kDiv, {0, program.immediate(1.41421354)})});
    const int sum = program.append(ScalarOp::kAdd, {erf, program.immediate(1.0)});
    if (half_first) {
      program.append(ScalarOp::kMul, {program.append(ScalarOp::kMul, {0, program.immediate(0.5)}), sum});
    } else {
      program.append(ScalarOp::kMul, {program.append(ScalarOp::kMul, {0, sum}), program.immediate(0.5)});
    }
    EXPECT_EQ(tidy(program).to_string(), "gelu") << half_first;
  }
}

TEST(Tidy, LeavesWhatIsNotGelu) {
  TileProgram program({kF32});
  const int erf =
      program.append(ScalarOp::kErf, {program.append(ScalarOp::kMul, {0, program.immediate(0.8)})});
  const int sum = program.append(ScalarOp::kAdd, {erf, program.immediate(1.0)});
  program.append(ScalarOp::kMul, {program.append(ScalarOp::kMul, {0, sum}), program.immediate(0.5)});
  EXPECT_EQ(tidy(program).instructions().size(), program.instructions().size());
}

TEST(Tidy, SpellsHardSwishOfClip) {
  TileProgram program({kF32});
  const int clip = program.append(ScalarOp::kClip,
                                  {program.append(ScalarOp::kAdd, {0, program.immediate(3.0)})}, 0.0, 6.0);
  program.append(ScalarOp::kDiv, {program.append(ScalarOp::kMul, {0, clip}), program.immediate(6.0)});
  EXPECT_EQ(tidy(program).to_string(), "hard_swish");
}

TEST(Tidy, DropsWhatDoesNothing) {
  TileProgram program({kF32});
  const int same = program.append(ScalarOp::kMul, {0, program.immediate(1.0)});
  program.append(ScalarOp::kAdd, {same, program.immediate(0.0)});
  const TileProgram tidied = tidy(program);
  EXPECT_TRUE(tidied.empty());
  EXPECT_EQ(passed_input(tidied), 0);
}

TEST(Tidy, SquaresAndRoots) {
  TileProgram square({kF32});
  square.append(ScalarOp::kPow, {0, square.immediate(2.0)});
  EXPECT_EQ(tidy(square).to_string(), "mul");
  TileProgram root({kF32});
  root.append(ScalarOp::kPow, {0, root.immediate(0.5)});
  EXPECT_EQ(tidy(root).to_string(), "sqrt");
}

// Real numbers of 64 bits tell them from 1, and so do powers of large ones.
TEST(Tidy, KeepsWhatIsOnlyAboutAnIdentity) {
  for (const ElementType type : {kF32, ElementType::kFloat64}) {
    for (const ScalarOp op : {ScalarOp::kMul, ScalarOp::kDiv, ScalarOp::kPow}) {
      TileProgram program({type});
      program.append(op, {0, program.immediate(1.0000005, type)});
      EXPECT_EQ(tidy(program).instructions().size(), 2u) << to_string(op);
    }
  }
}

TEST(Tidy, DividesWhereTheReciprocalIsNoNormalNumber) {
  for (const double divisor : {3e38, 1e-40, 0.0, std::numeric_limits<double>::infinity()}) {
    TileProgram program({kF32});
    program.append(ScalarOp::kDiv, {0, program.immediate(divisor)});
    EXPECT_EQ(tidy(program).to_string(), program.to_string()) << divisor;
  }
}

TEST(Tidy, TellsZerosOfTwoSigns) {
  TileProgram program({kF32});
  const int below = program.append(ScalarOp::kDiv, {0, program.immediate(-0.0)});
  const int above = program.append(ScalarOp::kDiv, {0, program.immediate(0.0)});
  program.append(ScalarOp::kSub, {above, below});
  EXPECT_EQ(tidy(program).instructions().size(), 5u);
}

// x to the power of 2^20: its factors are as many.
TEST(Tidy, TakesNoLongerForSquaresOfSquares) {
  TileProgram program({kF32});
  int power = 0;
  for (int i = 0; i < 20; ++i) {
    power = program.append(ScalarOp::kMul, {power, power});
  }
  EXPECT_EQ(tidy(program).instructions().size(), 20u);
}

TEST(Tidy, SharesEqualInstructions) {
  TileProgram program({kF32});
  const int a = program.append(ScalarOp::kTanh, {0});
  const int b = program.append(ScalarOp::kTanh, {0});
  program.append(ScalarOp::kAdd, {a, b});
  EXPECT_EQ(tidy(program).instructions().size(), 2u);
}

TEST(WithImmediate, RenumbersTheOtherInputs) {
  TileProgram program({kF32, kF32, kF32});
  program.append(ScalarOp::kSub, {program.append(ScalarOp::kMul, {0, 1}), 2});
  const std::optional<TileProgram> replaced = with_immediate(program, 1, 3.0);
  ASSERT_TRUE(replaced);
  const TileProgram& result = *replaced;
  ASSERT_EQ(result.input_count(), 2);
  ASSERT_EQ(result.instructions().size(), 3u);
  EXPECT_EQ(result.instructions()[0].op, ScalarOp::kImmediate);
  EXPECT_EQ(result.instructions()[0].value[0], 3.0);
  EXPECT_EQ(result.instructions()[1].operands[0], 0);
  EXPECT_EQ(result.instructions()[1].operands[1], 2);  // the immediate
  EXPECT_EQ(result.instructions()[2].operands[0], 3);  // the product
  EXPECT_EQ(result.instructions()[2].operands[1], 1);  // what was input 2
}

TEST(WithImmediate, LeavesNaNAnInput) {
  TileProgram program({ElementType::kBool, kF32, kF32});
  program.append(ScalarOp::kWhere, {0, 1, 2});
  EXPECT_FALSE(with_immediate(program, 1, std::numeric_limits<double>::quiet_NaN()));
}

TEST(WithoutUnusedInputs, KeepsTheFirst) {
  TileProgram program({kF32, kF32, kF32});
  program.append(ScalarOp::kSqrt, {2});
  std::vector<int> kept;
  const TileProgram result = without_unused_inputs(program, kept);
  EXPECT_EQ(kept, (std::vector<int>{0, 2}));
  EXPECT_EQ(result.instructions()[0].operands[0], 1);
}

}  // namespace
}  // namespace weir
