// SPDX-License-Identifier: Apache-2.0
//
// Dim: normal forms, folding, printing, evaluation and its errors. Random expressions are in
// dim_property_test.cc.
#include "shape/dim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

namespace weir {

// For messages of GoogleTest, which finds it by this name.
void PrintTo(const Dim& dim, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << dim.to_string();
}

namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kMin = INT64_MIN;

class DimTest : public ::testing::Test {
 protected:
  Dim dimension(std::string_view name, Range range = {1, kDimMax}) {
    return symbols_.add(name, range,
                        {SymbolSource::Kind::kDimension, 0, static_cast<int32_t>(symbols_.size())});
  }

  static int64_t value(const Dim& dim, std::vector<int64_t> symbols) {
    Result<int64_t> result = dim.evaluate(symbols);
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().to_string());
    return result.value_or(-12345);
  }

  static std::string error(const Dim& dim, std::vector<int64_t> symbols) {
    Result<int64_t> result = dim.evaluate(symbols);
    EXPECT_FALSE(result.has_value()) << dim.to_string() << " is " << result.value_or(0);
    return result ? "" : result.error().message();
  }

  SymbolTable symbols_;
  Dim batch_ = dimension("batch");
  Dim seq_ = dimension("seq");
  Dim n_ = dimension("n", {0, kDimMax});
  Dim any_ = dimension("any", {});
};

TEST_F(DimTest, NumbersAreFolded) {
  EXPECT_EQ(Dim(7) + 5, Dim(12));
  EXPECT_EQ(Dim(7) - 12, Dim(-5));
  EXPECT_EQ(Dim(7) * 6, Dim(42));
  EXPECT_EQ(floor_div(-7, 2), Dim(-4));
  EXPECT_EQ(floor_div(7, -2), Dim(-4));
  EXPECT_EQ(floor_div(-7, -2), Dim(3));
  EXPECT_EQ(ceil_div(-7, 2), Dim(-3));
  EXPECT_EQ(ceil_div(7, 2), Dim(4));
  EXPECT_EQ(exact_div(-42, 6), Dim(-7));
  EXPECT_EQ(mod(-7, 3), Dim(2));
  EXPECT_EQ(mod(7, -3), Dim(-2));
  EXPECT_EQ(min(3, -4), Dim(-4));
  EXPECT_EQ(max(3, -4), Dim(3));
  EXPECT_EQ(equal(3, 3), Dim(1));
  EXPECT_EQ(less(3, 3), Dim(0));
  EXPECT_EQ(logical_not(3), Dim(0));
  EXPECT_EQ(select(2, 5, 6), Dim(5));
  EXPECT_EQ(floor_scale(5, 1.5), Dim(7));
  EXPECT_EQ(floor_scale(-5, 1.5), Dim(-8));
  EXPECT_EQ(product({}), Dim(1));
  EXPECT_TRUE(Dim().is_constant(0));
}

TEST_F(DimTest, LikeTermsMeet) {
  EXPECT_EQ(batch_ * seq_ - seq_ * batch_, Dim(0));
  EXPECT_EQ(batch_ + seq_, seq_ + batch_);
  EXPECT_EQ((batch_ + 1) * (batch_ - 1), batch_ * batch_ - 1);
  EXPECT_EQ((batch_ + seq_) * (batch_ + seq_), batch_ * batch_ + 2 * batch_ * seq_ + seq_ * seq_);
  EXPECT_EQ(2 * batch_ - batch_, batch_);
  EXPECT_EQ(0 * batch_, Dim(0));
  EXPECT_NE(batch_, seq_);
  EXPECT_NE(batch_, Dim(1));
}

TEST_F(DimTest, ExactQuotientsCancel) {
  EXPECT_EQ(exact_div(batch_ * seq_ * 384, batch_ * seq_), Dim(384));
  EXPECT_EQ(exact_div(4 * n_ + 8, 4), n_ + 2);
  EXPECT_EQ(exact_div(batch_ * seq_, seq_), batch_);
  EXPECT_EQ(exact_div(batch_ * n_, n_), batch_);
  EXPECT_EQ(exact_div(6 * n_ + 4, 4), exact_div(3 * n_ + 2, 2));
  EXPECT_EQ(exact_div((n_ + 1) * (batch_ + 3) * seq_, n_ + 1), batch_ * seq_ + 3 * seq_);
  EXPECT_EQ(exact_div((n_ + 1) * (seq_ - 5), 5 - seq_), -1 * n_ - 1);
  EXPECT_EQ(exact_div(exact_div(n_, 2), 3), exact_div(n_, 6));
  EXPECT_EQ(exact_div(-1 * n_, 2), -1 * exact_div(n_, 2));
}

TEST_F(DimTest, AReshapeKeepsTheElementCount) {
  Dim total = 3 * batch_ * seq_;
  EXPECT_EQ(exact_div(total, 2) * 2, total);
  EXPECT_EQ(exact_div(total, seq_ * 4) * 4 * seq_, total);
  EXPECT_EQ(exact_div(total, 2) + exact_div(total, 2), total);
  EXPECT_EQ(exact_div(n_ + 1, seq_) * seq_, n_ + 1);
}

TEST_F(DimTest, MultiplesOfTheDivisorSplitOff) {
  EXPECT_EQ(floor_div(4 * n_ + 2, 4), n_);
  EXPECT_EQ(mod(4 * n_ + 2, 4), Dim(2));
  EXPECT_EQ(mod(4 * n_ - 1, 4), Dim(3));
  EXPECT_EQ(ceil_div(4 * n_ + 2, 4), n_ + 1);
  EXPECT_EQ(floor_div(n_, 1), n_);
  EXPECT_EQ(ceil_div(n_, 1), n_);
  EXPECT_EQ(mod(n_, 1), Dim(0));
  EXPECT_EQ(floor_div(5 * n_ + 3, 4), n_ + floor_div(n_ + 3, 4));
  EXPECT_EQ(floor_div(4 * n_ + 3, 6), floor_div(2 * n_ + 1, 3));
  EXPECT_EQ(floor_div(n_ - 1, 2) + 1, floor_div(n_ + 1, 2));
  EXPECT_EQ(floor_div(-1 * n_, 2), -1 * ceil_div(n_, 2));
  EXPECT_EQ(floor_div(n_, -2), floor_div(-1 * n_, 2));
  EXPECT_EQ(ceil_div(n_, 2), floor_div(n_ + 1, 2));
  EXPECT_EQ(mod(n_, 3), n_ - 3 * floor_div(n_, 3));
  EXPECT_EQ(mod(n_, 3).range(), (Range{0, 2}));
  EXPECT_EQ(mod(n_, -3).range(), (Range{-2, 0}));
}

TEST_F(DimTest, SymbolicDivisors) {
  EXPECT_EQ(floor_div(batch_ * seq_, seq_), batch_);
  EXPECT_EQ(floor_div(batch_ * seq_ + n_, seq_), batch_ + floor_div(n_, seq_));
  EXPECT_EQ(mod(batch_ * seq_, seq_), Dim(0));
  EXPECT_EQ(mod(batch_ * seq_ + n_, seq_), mod(n_, seq_));
  EXPECT_EQ(floor_div(2 * batch_, 2 * seq_), floor_div(batch_, seq_));
  EXPECT_EQ(floor_div(n_, n_ + 1), Dim(0));
  EXPECT_EQ(mod(n_, n_ + 1), n_);
  EXPECT_EQ(ceil_div(batch_, batch_ + 1), Dim(1));
  EXPECT_EQ(ceil_div(batch_, seq_), -1 * floor_div(-1 * batch_, seq_));
  EXPECT_EQ(floor_div((n_ + 1) * seq_, n_ + 1), seq_);
  // n may be 0, which must stay an error.
  EXPECT_THAT(error(floor_div(batch_ * n_, n_), {3, 1, 0}), HasSubstr("by zero"));
  EXPECT_EQ(value(floor_div(batch_ * n_, n_), {3, 1, 4}), 3);
  EXPECT_THAT(error(mod(batch_ * n_, n_), {3, 1, 0}), HasSubstr("by zero"));
}

TEST_F(DimTest, QuotientsOfQuotientsAreOne) {
  EXPECT_EQ(floor_div(floor_div(n_, 2), 3), floor_div(n_, 6));
  EXPECT_EQ(floor_div(floor_div(n_, 2) + 1, 3), floor_div(n_ + 2, 6));
  EXPECT_EQ(ceil_div(ceil_div(n_, 2), 2), ceil_div(n_, 4));
  Dim side = n_;
  for (int i = 0; i < 5; ++i) {
    side = ceil_div(side, 2);
  }
  EXPECT_EQ(side, ceil_div(n_, 32));
}

TEST_F(DimTest, RangesFoldComparisons) {
  EXPECT_EQ(max(batch_, 0), batch_);
  EXPECT_EQ(max(batch_, 1), batch_);
  EXPECT_EQ(min(batch_, kMax), batch_);
  EXPECT_EQ(min(batch_, batch_ + n_), batch_);
  EXPECT_EQ(max(batch_, batch_ + n_), batch_ + n_);
  EXPECT_EQ(min(n_, seq_), min(seq_, n_));
  EXPECT_EQ(min(min(n_, seq_), min(batch_, n_)), min(batch_, min(seq_, n_)));
  EXPECT_EQ(min(min(n_, 7), 5), min(n_, 5));
  EXPECT_EQ(max(n_ - min(n_, 5), 0), n_ - min(n_, 5));
  EXPECT_EQ(less(batch_, 1), Dim(0));
  EXPECT_EQ(less(batch_ - 1, batch_), Dim(1));
  EXPECT_EQ(less(2 * batch_, 2 * seq_), less(batch_, seq_));
  EXPECT_EQ(less(2 * n_, 5), less(n_, 3));
  EXPECT_EQ(less(n_, 0), Dim(0));
  EXPECT_EQ(equal(batch_, 0), Dim(0));
  EXPECT_EQ(equal(batch_, batch_), Dim(1));
  EXPECT_EQ(equal(2 * n_, 5), Dim(0));
  EXPECT_EQ(equal(2 * n_, 6), equal(3, n_));
  EXPECT_EQ(equal(seq_, batch_), equal(batch_, seq_));
  EXPECT_EQ(logical_not(batch_), Dim(0));
  EXPECT_EQ(logical_not(logical_not(less(batch_, seq_))), less(batch_, seq_));
  EXPECT_EQ(equal(less(batch_, seq_), 0), logical_not(less(batch_, seq_)));
  EXPECT_EQ(equal(less(batch_, seq_), 1), less(batch_, seq_));
  EXPECT_EQ(logical_not(n_), equal(n_, 0));
  EXPECT_EQ(select(batch_, seq_, n_), seq_);
  EXPECT_EQ(select(equal(n_, 3), seq_, seq_), seq_);
  EXPECT_EQ(select(logical_not(equal(n_, 3)), seq_, n_), select(equal(n_, 3), n_, seq_));
  EXPECT_EQ(select(equal(n_, 3), 1, 0), equal(n_, 3));
  EXPECT_EQ(select(equal(batch_, -1), seq_, batch_), batch_);
}

TEST_F(DimTest, Proofs) {
  EXPECT_EQ(proves_equal(batch_ + 1, 1 + batch_), true);
  EXPECT_EQ(proves_equal(batch_, 0), false);
  EXPECT_EQ(proves_equal(2 * n_, 2 * seq_ + 1), false);
  EXPECT_EQ(proves_equal(batch_, seq_), std::nullopt);
  EXPECT_EQ(proves_less(n_, n_ + 1), true);
  EXPECT_EQ(proves_less(n_ + 1, n_), false);
  EXPECT_EQ(proves_less(n_, n_), false);
  EXPECT_EQ(proves_less(n_, seq_), std::nullopt);
  EXPECT_EQ(proves_less(n_, kMax), true);
}

TEST_F(DimTest, ScalesThatAreExactBecomeIntegerArithmetic) {
  EXPECT_EQ(floor_scale(n_, 2.0), 2 * n_);
  EXPECT_EQ(floor_scale(n_, 0.5), floor_div(n_, 2));
  EXPECT_EQ(floor_scale(n_, 1.5), floor_div(3 * n_, 2));
  EXPECT_EQ(floor_scale(n_, -3.0), -3 * n_);
  EXPECT_EQ(floor_scale(n_, 0.0), Dim(0));
  EXPECT_EQ(floor_scale(n_, 1.0), n_);
  EXPECT_EQ(floor_scale(n_, 100.0), 100 * n_);
  // 67·2⁴⁸ exceeds what a double holds, and 0.1 is no dyadic fraction of few bits.
  EXPECT_NE(floor_scale(n_, 67.0), 67 * n_);
  Dim tenth = floor_scale(n_, 0.1);
  EXPECT_EQ(value(tenth, {1, 1, 30}), static_cast<int64_t>(std::floor(30 * 0.1)));
  EXPECT_EQ(tenth.range().min, 0);
  EXPECT_EQ(floor_scale(dimension("side", {1, 1000}), 100.0).range(), (Range{100, 100000}));
  EXPECT_THAT(error(floor_scale(any_, std::numeric_limits<double>::quiet_NaN()), {1, 1, 1, 1}),
              HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(error(floor_scale(any_, 1e300), {1, 1, 1, 1}), HasSubstr("does not fit in 64 bits"));
}

TEST_F(DimTest, OverflowStaysAnExpression) {
  Dim sum = Dim(kMax) + 1;
  EXPECT_FALSE(sum.is_constant());
  EXPECT_EQ(
      error(sum, {}),
      "Dimension '1 + 9223372036854775807' needs the sum of (1) and (9223372036854775807), which does not "
      "fit in 64 bits.");
  EXPECT_THAT(error(Dim(kMin) - 1, {}), HasSubstr("does not fit"));
  EXPECT_THAT(error(Dim(0) - kMin, {}), HasSubstr("does not fit"));
  EXPECT_THAT(error(Dim(kMax) * 2, {}), HasSubstr("product"));
  EXPECT_THAT(error(floor_div(kMin, -1), {}), HasSubstr("does not fit"));
  EXPECT_THAT(error(exact_div(kMin, -1), {}), HasSubstr("does not fit"));
  EXPECT_THAT(error(floor_div(5, 0), {}), HasSubstr("divides (5) by zero"));
  EXPECT_THAT(error(ceil_div(5, 0), {}), HasSubstr("by zero"));
  EXPECT_THAT(error(mod(5, 0), {}), HasSubstr("by zero"));
  EXPECT_THAT(error(exact_div(5, 0), {}), HasSubstr("by zero"));
  EXPECT_EQ(error(exact_div(7, 4), {}),
            "Dimension '7 / 4' divides (7) by (4), and the remainder (3) must be 0.");
  EXPECT_THAT(error(exact_div(n_, 4), {1, 1, 7}), HasSubstr("remainder (3) must be 0"));
  EXPECT_THAT(error(floor_div(n_, 0), {1, 1, 7}), HasSubstr("by zero"));
  EXPECT_EQ(mod(kMin, -1), Dim(0));
  Dim large = kMax * n_;
  EXPECT_EQ(value(large, {1, 1, 1}), kMax);
  EXPECT_THAT(error(large, {1, 1, 2}), HasSubstr("does not fit"));
  EXPECT_EQ(value(large + large, {1, 1, 0}), 0);
  EXPECT_THAT(error(large + large, {1, 1, 1}), HasSubstr("does not fit"));
  EXPECT_EQ(value(floor_div(kMin * n_, kMin), {1, 1, 0}), 0);
  EXPECT_EQ(value(floor_div(any_, kMin), {1, 1, 1, 5}), -1);
  EXPECT_EQ(value(mod(any_, kMin), {1, 1, 1, -5}), -5);
  EXPECT_EQ(value(less(kMin * any_, kMin * n_), {1, 1, 0, 1}), 1);
  EXPECT_EQ(error(batch_ + n_, {4}),
            "Dimension 'batch + n' needs symbol (2), and the values of (1) symbols are given.");
}

TEST_F(DimTest, Prints) {
  Dim height = dimension("height");
  EXPECT_EQ((4 * batch_ + 2).to_string(), "4·batch + 2");
  EXPECT_EQ(floor_div(height + 1, 2).to_string(), "⌊(height + 1) / 2⌋");
  EXPECT_EQ(floor_div(3 * height, 7).to_string(), "⌊3·height / 7⌋");
  EXPECT_EQ((seq_ * batch_ * batch_ - seq_ - 1).to_string(), "batch·batch·seq - seq - 1");
  EXPECT_EQ((3 - batch_).to_string(), "-batch + 3");
  EXPECT_EQ(Dim(-3).to_string(), "-3");
  EXPECT_EQ(ceil_div(batch_, seq_ + 1).to_string(), "⌈batch / (seq + 1)⌉");
  EXPECT_EQ(exact_div(batch_, seq_).to_string(), "batch / seq");
  EXPECT_EQ((3 * exact_div(batch_, seq_) * n_).to_string(), "3·n·(batch / seq)");
  EXPECT_EQ(mod(batch_, seq_).to_string(), "batch mod seq");
  EXPECT_EQ(min(batch_, 8).to_string(), "min(8, batch)");
  EXPECT_EQ(select(less(batch_, seq_), n_, 4).to_string(), "select(batch < seq, n, 4)");
  EXPECT_EQ(logical_not(equal(batch_, seq_)).to_string(), "not (batch = seq)");
  EXPECT_EQ(floor_scale(batch_, 0.1).to_string(), "⌊batch · 0.1⌋");
  EXPECT_EQ((floor_scale(batch_, 0.1) * 2 + less(batch_, seq_)).to_string(),
            "(batch < seq) + 2·⌊batch · 0.1⌋");
  EXPECT_EQ(dimension("").to_string(), "dim5");
  EXPECT_EQ(dimension("?").to_string(), "dim6");
}

TEST_F(DimTest, Ranges) {
  EXPECT_EQ(batch_.range(), (Range{1, kDimMax}));
  EXPECT_EQ((2 * batch_ - 3).range(), (Range{-1, 2 * kDimMax - 3}));
  EXPECT_EQ((batch_ * seq_).range(), (Range{1, kMax}));
  EXPECT_EQ((any_ * any_).range(), (Range{0, kMax}));
  EXPECT_EQ(any_.range(), (Range{kMin, kMax}));
  EXPECT_EQ((n_ - 2 * floor_div(n_, 2)).range(), (Range{0, 1}));
  EXPECT_EQ((n_ - floor_div(n_, 2)).range().min, 0);
  EXPECT_EQ((n_ - min(n_, seq_)).range().min, 0);
  EXPECT_EQ((max(n_, seq_) - seq_).range().min, 0);
  EXPECT_EQ(floor_div(10, batch_).range(), (Range{0, 10}));
  EXPECT_EQ(mod(n_, dimension("k", {3, 7})).range(), (Range{0, 6}));
  EXPECT_EQ(dimension("fixed", {4, 4}), Dim(4));
  // At least 2·2⁶² is not the number 2⁶³ − 1.
  Dim large = dimension("two", {2, 9}) * (int64_t{1} << 62);
  EXPECT_FALSE(large.is_constant());
}

TEST_F(DimTest, Substitutes) {
  std::vector<std::optional<Dim>> replacements(2);
  replacements[0] = 32 * n_;
  EXPECT_EQ(substitute(floor_div(batch_ - 1, 2) + seq_, replacements), 16 * n_ - 1 + seq_);
  replacements[1] = 7;
  EXPECT_EQ(substitute(select(less(batch_, seq_), batch_, min(seq_, any_)), replacements),
            select(less(n_, 1), 32 * n_, min(any_, 7)));
  EXPECT_EQ(substitute(Dim(5), replacements), Dim(5));
  EXPECT_EQ(substitute(n_, {}), n_);
}

TEST_F(DimTest, ConstraintsNameBothValues) {
  auto message = [](const Constraint& constraint, std::vector<int64_t> symbols) {
    Result<void> result = check(constraint, symbols);
    return result ? "" : result.error().to_string();
  };
  Constraint same{Constraint::Kind::kEqual, batch_, seq_, "Add 'a' and Mul 'b' need equal dimensions"};
  EXPECT_EQ(message(same, {3, 3}), "");
  EXPECT_EQ(message(same, {3, 4}),
            "Add 'a' and Mul 'b' need equal dimensions: the program holds only where 'batch' (3) equals "
            "'seq' (4).");
  EXPECT_EQ(message({Constraint::Kind::kDivides, batch_, 4, "w"}, {8}), "");
  EXPECT_EQ(message({Constraint::Kind::kDivides, batch_, 4, "The window"}, {9}),
            "The window: the program holds only where 'batch' (9) is a multiple of (4).");
  EXPECT_NE(message({Constraint::Kind::kDivides, batch_, n_, "w"}, {9, 0, 0}), "");
  EXPECT_EQ(message({Constraint::Kind::kDivides, any_, -1, "w"}, {0, 0, 0, kMin}), "");
  EXPECT_EQ(message({Constraint::Kind::kAtLeast, batch_, 4, "w"}, {4}), "");
  EXPECT_NE(message({Constraint::Kind::kAtLeast, batch_, 4, "w"}, {3}), "");
  EXPECT_EQ(message({Constraint::Kind::kAtMost, batch_, 4, "w"}, {4}), "");
  EXPECT_NE(message({Constraint::Kind::kAtMost, batch_, 4, "w"}, {5}), "");
  EXPECT_EQ(message({Constraint::Kind::kEqual, floor_div(batch_, n_), 4, "the sides agree"}, {5, 0, 0}),
            "Dimension '⌊batch / n⌋' divides (5) by zero.\n  - while checking that the sides agree");
}

// A convolution or pool of one side, as shape inference writes it.
struct Window {
  Dim output;
  Dim pad_begin;
  Dim pad_end;
};

Window same_upper(const Dim& input, int64_t kernel, int64_t stride) {
  Dim output = ceil_div(input, stride);
  Dim total = max((output - 1) * stride + kernel - input, 0);
  Dim begin = floor_div(total, 2);
  Dim end = total - begin;
  return {floor_div(input + begin + end - kernel, stride) + 1, begin, end};
}

TEST_F(DimTest, SamePaddingOfDynamicSides) {
  Dim width = dimension("width");
  Window stride_1 = same_upper(width, 3, 1);
  EXPECT_EQ(stride_1.output, width);
  EXPECT_EQ(stride_1.pad_begin, Dim(1));
  EXPECT_EQ(stride_1.pad_end, Dim(1));
  Window stride_2 = same_upper(width, 3, 2);
  EXPECT_EQ(stride_2.output, ceil_div(width, 2)) << stride_2.output.to_string();
  EXPECT_EQ((stride_2.pad_begin + stride_2.pad_end).range(), (Range{1, 2}));
  EXPECT_EQ(proves_equal(stride_2.pad_end, 1), true);
  EXPECT_EQ(stride_2.pad_begin.range(), (Range{0, 1}));
  Dim even = 2 * n_ + 2;
  EXPECT_EQ(same_upper(even, 3, 2).pad_begin, Dim(0));
  EXPECT_EQ(same_upper(even, 3, 2).pad_end, Dim(1));
}

TEST_F(DimTest, ADetectorWithSidesOfMultiplesOf32) {
  auto convolve = [](const Dim& side, int64_t kernel, int64_t stride, int64_t pad) {
    return floor_div(side + 2 * pad - kernel, stride) + 1;
  };
  Dim side = 32 * dimension("h");
  std::vector<Dim> levels{side};
  for (int i = 0; i < 5; ++i) {
    levels.push_back(convolve(convolve(levels.back(), 3, 2, 1), 3, 1, 1));
  }
  EXPECT_EQ(levels[5], exact_div(side, 32));
  for (int i = 5; i > 0; --i) {
    // The upsampled level meets the one below it in a concatenation.
    EXPECT_EQ(proves_equal(floor_scale(levels[i], 2.0), levels[i - 1]), true);
  }
  // The boxes of all levels, three anchors each, in one list: (4² + 2² + 1²) cells for each cell of the last
  // level.
  Dim columns = 32 * dimension("w");
  Dim boxes;
  for (int i = 3; i <= 5; ++i) {
    boxes += 3 * levels[i] * floor_div(columns, int64_t{1} << i);
  }
  EXPECT_EQ(boxes, 63 * exact_div(side * columns, 1024));
}

TEST_F(DimTest, ReshapesOfATransformer) {
  Dim tokens = batch_ * seq_ * 768;
  EXPECT_EQ(exact_div(tokens, batch_ * seq_ * 12), Dim(64));
  EXPECT_EQ(exact_div(batch_ * 12 * seq_ * seq_, batch_ * 12 * seq_), seq_);
  EXPECT_EQ(exact_div(tokens, 768), batch_ * seq_);
}

TEST_F(DimTest, DeepExpressionsNeedNoStack) {
  Dim deep = n_;
  Dim again = n_;
  for (int i = 0; i < 100'000; ++i) {
    deep = floor_scale(deep + 1, 0.7);
    again = floor_scale(again + 1, 0.7);
  }
  EXPECT_EQ(deep, again);
  int64_t expected = 1000;
  for (int i = 0; i < 100'000; ++i) {
    expected = static_cast<int64_t>(std::floor(static_cast<double>(expected + 1) * 0.7));
  }
  EXPECT_EQ(value(deep, {1, 1, 1000}), expected);
  EXPECT_LT(deep.to_string().size(), 3000U);
  std::vector<std::optional<Dim>> replacements{std::nullopt, std::nullopt, Dim(1000)};
  EXPECT_EQ(substitute(deep, replacements), Dim(expected));
}

TEST_F(DimTest, SharedPartsAreVisitedOnce) {
  // A graph of 200 steps that spells a tree of 2²⁰⁰ nodes, built twice.
  auto build = [this] {
    Dim dim = n_;
    for (int i = 0; i < 200; ++i) {
      dim = min(floor_scale(dim, 0.9) + 1, floor_scale(dim, 0.8) + 2);
    }
    return dim;
  };
  Dim a = build();
  Dim b = build();
  EXPECT_EQ(a, b);
  EXPECT_EQ(a - b, Dim(0));
  EXPECT_LT(a.to_string().size(), 4000U);
  EXPECT_EQ(value(a, {1, 1, 100}), value(b, {1, 1, 100}));
}

TEST_F(DimTest, LongSumsAndProductsStayBounded) {
  Dim sum;
  Dim square = 1;
  std::vector<int64_t> values(symbols_.size(), 1);
  for (int i = 0; i < 200; ++i) {
    Dim symbol = dimension("");
    sum += symbol;
    square *= symbol + 1;
    values.push_back(i < 40 ? 1 : 0);
  }
  EXPECT_EQ(value(sum, values), 40);
  EXPECT_EQ(value(square, values), int64_t{1} << 40);
}

TEST_F(DimTest, ThreadsMayShareADim) {
  Dim shared = floor_div(batch_ * seq_ + n_, 7) + min(n_, seq_);
  std::vector<std::thread> threads;
  std::vector<int> equal_count(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 500; ++i) {
        Dim copy = shared + i;
        equal_count[static_cast<size_t>(t)] += copy - i == shared ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(equal_count, ::testing::Each(500));
}

}  // namespace
}  // namespace weir
