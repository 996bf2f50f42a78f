// SPDX-License-Identifier: Apache-2.0
#include "runtime/concrete.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace weir {
namespace {

int32_t number(Program& program, int64_t value) {
  program.dims.push_back({.op = DimOp::kConstant, .value = value});
  return static_cast<int32_t>(program.dims.size()) - 1;
}

Program with_constraint(Constraint::Kind kind, int64_t a, int64_t b) {
  Program program;
  program.arena_bytes = program.activation_bytes = 0;
  const int32_t first = number(program, a);
  program.constraints.push_back({kind, first, number(program, b), "the sides agree"});
  return program;
}

TEST(EvaluateShapes, AsksOfConstraintsWhatNumbersAllow) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  using Kind = Constraint::Kind;
  EXPECT_TRUE(evaluate_shapes(with_constraint(Kind::kDivides, kLeast, -1), {}));
  EXPECT_TRUE(evaluate_shapes(with_constraint(Kind::kDivides, 12, 4), {}));
  EXPECT_TRUE(evaluate_shapes(with_constraint(Kind::kAtMost, kLeast, -1), {}));
  EXPECT_FALSE(evaluate_shapes(with_constraint(Kind::kDivides, 12, 0), {}));
  EXPECT_FALSE(evaluate_shapes(with_constraint(Kind::kEqual, 12, 11), {}));
  const Result<ShapeValues> refused = evaluate_shapes(with_constraint(Kind::kDivides, 12, 5), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "The shapes do not fit: the sides agree ((12) and (5)).");
}

}  // namespace
}  // namespace weir
