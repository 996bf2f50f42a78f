// SPDX-License-Identifier: Apache-2.0
#include "compile/within_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compile/testing/sample_networks.h"
#include "program/report.h"
#include "runtime/concrete.h"

namespace weir {
namespace {

using testing::cpu;
using testing::load;
using testing::NetworkBuilder;
using testing::Outputs;
using testing::run;
using testing::transformable_network;

CompileOptions within(int64_t bytes) {
  CompileOptions options;
  options.memory_limit = bytes;
  return options;
}

// What the limit counts, from the program's report.
int64_t bytes_of(const Program& program) {
  const KindTotals totals = report(program, {})->totals;
  return totals.constant + totals.packed + totals.prepared + totals.input + totals.output + totals.state +
         totals.activation + totals.workspace;
}

std::string limit_note(const Program& program) {
  const auto found = std::ranges::find(program.notices, "memory limit", &ProgramNotice::what);
  return found == program.notices.end() ? "" : found->reason;
}

// Four wide products, then four sums over them: as the model orders them all four products live at once.
Graph branching_network(Range batch = {1, 1}) {
  NetworkBuilder b;
  const Dim n = batch.min == batch.max
                    ? Dim(batch.min)
                    : b.graph.symbols.add("n", batch, {SymbolSource::Kind::kDimension, 0, 0});
  const ValueId x = b.input("x", {n, 4});
  std::vector<ValueId> branches;
  for (int i = 0; i < 4; ++i) {
    branches.push_back(b.node(Op::kMatMul, MatMulAttributes{}, {x, b.weights({4, 2048})}));
  }
  ReduceAttributes last;
  last.axes = {1};
  for (ValueId& branch : branches) {
    branch = b.node(Op::kReduce, last, {branch});
  }
  return b.finish({{"y", b.node(Op::kConcat, ConcatAttributes{1}, branches)}});
}

TEST(WithinLimit, MeetsALimitWithAnotherOrder) {
  const auto own = compile(branching_network(), {});
  ASSERT_TRUE(own);
  EXPECT_GE(own->program.arena_bytes, 4 * 2048 * 4);
  const int64_t limit = bytes_of(own->program) - 3 * 2048 * 4;
  const auto small = compile(branching_network(), within(limit));
  ASSERT_TRUE(small) << small.error().to_string();
  EXPECT_LE(bytes_of(small->program), limit);
  EXPECT_EQ(limit_note(small->program),
            fmt::format("to stay within ({}) bytes the steps run in another order than the model's", limit));
  const Outputs expected = run(*load(branching_network(), {}, cpu(1)), {1, 4});
  EXPECT_EQ(run(*load(branching_network(), within(limit), cpu(1)), {1, 4}).values, expected.values);
  const auto loose = compile(branching_network(), within(bytes_of(own->program)));
  ASSERT_TRUE(loose);
  EXPECT_EQ(limit_note(loose->program), "");
  EXPECT_EQ(loose->program.arena_bytes, own->program.arena_bytes);
}

TEST(WithinLimit, MeetsALimitWithSmallerWeights) {
  CompileOptions memory;
  memory.prefer_memory = true;
  const int64_t large = bytes_of(compile(transformable_network(), {})->program);
  const int64_t small = bytes_of(compile(transformable_network(), memory)->program);
  ASSERT_LT(small, large);
  const auto met = compile(transformable_network(), within(small));
  ASSERT_TRUE(met) << met.error().to_string();
  EXPECT_EQ(bytes_of(met->program), small);
  EXPECT_THAT(limit_note(met->program), ::testing::HasSubstr("weights are kept as the model has them"));
  EXPECT_EQ(limit_note(compile(transformable_network(), within(large))->program), "");

  const auto missed = compile(transformable_network(), within(small - 1));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(missed.error().message(),
              ::testing::HasSubstr(
                  fmt::format("takes ({}) bytes, (1) more than the limit of ({})", small, small - 1)));
}

TEST(WithinLimit, SaysWhatHoldsThePeakWhereALimitIsMissed) {
  const auto missed = compile(branching_network(), within(1000));
  ASSERT_FALSE(missed);
  const std::string message = missed.error().message();
  // One wide product lives beside at most three sums.
  EXPECT_THAT(message, ::testing::ContainsRegex("Most lives at step '.*': 'MatMul.*' \\(8192 bytes\\)"));
  EXPECT_THAT(message, ::testing::ContainsRegex("The largest constants: 'w[0-9]*' \\([0-9]* bytes\\)"));
}

TEST(WithinLimit, MeetsALimitAtTheLargestValuesOfItsDimensions) {
  constexpr int64_t kMost = 6;
  const auto fixed = compile(branching_network({kMost, kMost}), {});
  ASSERT_TRUE(fixed) << fixed.error().to_string();
  const auto open = compile(branching_network({1, kMost}), {});
  ASSERT_TRUE(open) << open.error().to_string();
  ASSERT_FALSE(open->program.is_static());
  const auto arena_of = [](const Program& program, int64_t n) {
    const std::vector<int64_t> symbols = {n};
    const Result<ShapeValues> values = evaluate_shapes(program, symbols);
    const Result<std::vector<ConcreteStep>> steps = concrete_steps(program, program.steps, *values);
    return plan_shape(program, *values, {}, *steps)->arena_bytes;
  };
  // The wide products one after the other, as the static program can.
  const int64_t limit = bytes_of(fixed->program) - (arena_of(open->program, kMost) - 2 * kMost * 2048 * 4);
  const auto met = compile(branching_network({1, kMost}), within(limit));
  ASSERT_TRUE(met) << met.error().to_string();
  EXPECT_LT(arena_of(met->program, kMost), arena_of(open->program, kMost));
  EXPECT_THAT(limit_note(met->program), ::testing::HasSubstr("another order"));
  EXPECT_LT(arena_of(met->program, 1), arena_of(met->program, kMost));

  const auto missed = compile(branching_network({1, kMost}), within(1000));
  ASSERT_FALSE(missed);
  EXPECT_EQ(missed.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(missed.error().message(),
              ::testing::HasSubstr("bytes at the largest values of its dimensions (n = 6), ("));
}

TEST(WithinLimit, ALimitWantsALargestValueOfEveryDimension) {
  const auto refused = compile(branching_network({1, kDimMax}), within(1 << 20));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message(),
              ::testing::HasSubstr(
                  "open without a largest value at which they could be counted: 'n' (axis 0 of input "
                  "'x'); give them a number or a range, as in --dim n=1..N."));
}

}  // namespace
}  // namespace weir
