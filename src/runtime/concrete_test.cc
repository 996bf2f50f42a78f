// SPDX-License-Identifier: Apache-2.0
//
// Shapes that do not fit a program; those that do are planned by every test of sessions.
#include "runtime/concrete.h"

#include <limits>

#include "base/testing/results.h"
#include "program/testing/sample_programs.h"

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

TEST(EvaluateShapes, SaysWhatDoesNotFit) {
  const Program program = samples::dynamic_program();
  EXPECT_ERROR(evaluate_shapes(program, std::vector<int64_t>{65, 5}), StatusCode::kOutOfRange,
               "Dimension 'batch' is (65), and the program takes (1) to (64).");
  Program stricter = program;
  stricter.constraints.push_back({Constraint::Kind::kAtMost, program.constraints[0].a,
                                  program.constraints[0].b, "At most two rows are needed"});
  EXPECT_ERROR(evaluate_shapes(stricter, std::vector<int64_t>{3, 5}), StatusCode::kInvalidArgument,
               "The shapes do not fit: At most two rows are needed ((5) and (2)).");
}

TEST(ConcreteStep, TakesNoNegativeStrides) {
  const Program program = samples::static_program();  // its step (4) reads a tensor upside down
  const ShapeValues values = must(evaluate_shapes(program, {}));
  EXPECT_ERROR(concrete_step(program, program.steps[4], values), StatusCode::kDataLoss,
               "Axis (2) of an operand has the stride (-6), and (0) is the least.\n"
               "  - while preparing step 'mix'");
  EXPECT_TRUE(concrete_step(program, program.steps[1], values));
}

TEST(PlanShape, CountsBytesInSixtyFourBits) {
  // Each of the most bytes that a tensor may have, all alive at once.
  Program program;
  program.name = "huge";
  program.dims = {{.op = DimOp::kConstant, .value = kDimMax}};
  program.symbols = {{"n", {1, 2}, {SymbolSource::Kind::kDimension, 0, 0}}};
  constexpr int32_t kStorages = 1 << 15;
  for (int32_t i = 0; i < kStorages; ++i) {
    program.storages.push_back({StorageKind::kActivation, 0, 0, 0, -1, -1, "", 0});
    program.placement_order.push_back(i);
  }
  const ShapeValues values{{1}, {kDimMax}, {Dim(kDimMax)}};
  EXPECT_ERROR(plan_shape(program, values, {}, {}), StatusCode::kOutOfRange,
               "The tensors of program 'huge' have more bytes together than 64 bits count.");
  program.placement_order.resize(2);
  program.storages.resize(2);
  EXPECT_EQ(must(plan_shape(program, values, {}, {})).arena_bytes, 2 * kDimMax);
}

}  // namespace
}  // namespace weir
