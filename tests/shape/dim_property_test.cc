// SPDX-License-Identifier: Apache-2.0
//
// Random expressions: the normal form, the table and the expression as it was written have the same value,
// and the range holds it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ostream>

#include "expression.h"
#include "shape/dim.h"
#include "shape/dim_table.h"

namespace weir {

// For messages of GoogleTest, which finds it by this name.
void PrintTo(const Dim& dim, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << dim.to_string();
}

namespace {

using Magnitude = ExpressionSource::Magnitude;

const std::vector<Range> kRanges{{1, kDimMax}, {0, 37}, {-20, 20}, {}};

class DimProperty : public ::testing::TestWithParam<Magnitude> {
 protected:
  DimProperty() {
    for (const Range& range : kRanges) {
      dims_.push_back(symbols_.add(fmt::format("s{}", dims_.size()), range, {}));
    }
  }

  SymbolTable symbols_;
  std::vector<Dim> dims_;
};

INSTANTIATE_TEST_SUITE_P(Magnitudes, DimProperty, ::testing::Values(Magnitude::kSmall, Magnitude::kLarge),
                         [](const auto& param) {
                           return param.param == Magnitude::kSmall ? "Small" : "Large";
                         });

TEST_P(DimProperty, ValuesAndRanges) {
  ExpressionSource source(1, GetParam(), kRanges);
  int compared = 0;
  int overflown = 0;
  for (int round = 0; round < 6000; ++round) {
    Expression expression = source.expression(1 + round % 6);
    Dim dim = expression.to_dim(dims_);
    DimTable table;
    int32_t position = table.add(dim);
    std::vector<int64_t> values(static_cast<size_t>(table.size()));
    std::vector<std::optional<Dim>> numbers(kRanges.size());
    for (int i = 0; i < 6; ++i) {
      std::vector<int64_t> assignment = source.assignment();
      SCOPED_TRACE(fmt::format("{} = {} at {}, {}, {}, {}", expression.to_json(), dim.to_string(),
                               assignment[0], assignment[1], assignment[2], assignment[3]));
      std::optional<Wide> expected = expression.evaluate(assignment);
      Result<int64_t> actual = dim.evaluate(assignment);
      Result<void> tabled = evaluate(table.entries(), assignment, values);
      ASSERT_EQ(actual.has_value(), tabled.has_value());
      if (actual) {
        ASSERT_EQ(*actual, values[static_cast<size_t>(position)]);
        std::copy(assignment.begin(), assignment.end(), numbers.begin());
        // Each number that an operation meets here may overflow, where terms cancelled in the normal form.
        Dim folded = substitute(dim, numbers);
        ASSERT_TRUE(!folded.is_constant() || folded.constant() == *actual) << folded.to_string();
      }
      if (!expected) {
        continue;
      }
      ASSERT_TRUE(*expected >= dim.range().min || dim.range().min == INT64_MIN);
      ASSERT_TRUE(*expected <= dim.range().max || dim.range().max == INT64_MAX);
      if (actual) {
        ASSERT_TRUE(*expected == *actual) << *actual << " is not " << static_cast<int64_t>(*expected);
        ++compared;
      } else {
        // Simplifying removes errors and adds none, but that an expanded product may overflow.
        ASSERT_EQ(actual.error().code(), StatusCode::kOutOfRange) << actual.error().message();
        ++overflown;
      }
    }
  }
  EXPECT_GT(compared, 15000);
  EXPECT_LT(overflown, GetParam() == Magnitude::kSmall ? compared / 100 : compared);
}

TEST_P(DimProperty, ANormalFormIsItsOwn) {
  ExpressionSource source(2, GetParam(), kRanges);
  for (int round = 0; round < 4000; ++round) {
    Expression expression = source.expression(1 + round % 5);
    Dim dim = expression.to_dim(dims_);
    SCOPED_TRACE(expression.to_json());
    DimTable table;
    int32_t position = table.add(dim);
    Result<std::vector<Dim>> again = to_dims(table.entries(), symbols_);
    ASSERT_TRUE(again.has_value());
    if (GetParam() ==
        Magnitude::kSmall) {  // what stays opaque because of an overflow depends on the way to it
      EXPECT_EQ((*again)[static_cast<size_t>(position)], dim);
      EXPECT_EQ(substitute(dim, {}), dim);
    }
    // The same structure from other objects.
    EXPECT_EQ(expression.to_dim(dims_), dim);
  }
}

TEST_P(DimProperty, SumsAndProductsFormARing) {
  ExpressionSource source(3, GetParam(), kRanges);
  source.without_exact_quotients();
  for (int round = 0; round < 3000; ++round) {
    Dim a = source.expression(round % 4).to_dim(dims_);
    Dim b = source.expression(round % 4).to_dim(dims_);
    Dim c = source.expression(round % 3).to_dim(dims_);
    SCOPED_TRACE(fmt::format("a = {}, b = {}, c = {}", a.to_string(), b.to_string(), c.to_string()));
    EXPECT_EQ(a + b, b + a);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ(min(a, b), min(b, a));
    EXPECT_EQ(max(a, b), max(b, a));
    EXPECT_EQ(equal(a, b), equal(b, a));
    EXPECT_EQ(equal(a, a), Dim(1));
    EXPECT_EQ(less(a, a), Dim(0));
    if (GetParam() == Magnitude::kSmall) {  // no coefficient overflows
      EXPECT_EQ(a - a, Dim(0));
      EXPECT_EQ((a + b) - b, a);
      EXPECT_EQ((a + b) + c, a + (b + c));
      EXPECT_EQ((a * b) * c, a * (b * c));
      EXPECT_EQ((a + b) * c, a * c + b * c);
    }
  }
}

TEST_P(DimProperty, ProofsHold) {
  ExpressionSource source(4, GetParam(), kRanges);
  int proved = 0;
  for (int round = 0; round < 4000; ++round) {
    Expression left = source.expression(round % 4);
    Expression right = source.expression(round % 3);
    Dim a = left.to_dim(dims_);
    Dim b = right.to_dim(dims_);
    std::optional<bool> is_equal = proves_equal(a, b);
    std::optional<bool> is_less = proves_less(a, b);
    proved += is_equal.has_value() || is_less.has_value() ? 1 : 0;
    for (int i = 0; i < 4; ++i) {
      std::vector<int64_t> assignment = source.assignment();
      std::optional<Wide> x = left.evaluate(assignment);
      std::optional<Wide> y = right.evaluate(assignment);
      if (x && y) {
        EXPECT_EQ(is_equal.value_or(*x == *y), *x == *y) << a.to_string() << " and " << b.to_string();
        EXPECT_EQ(is_less.value_or(*x < *y), *x < *y) << a.to_string() << " and " << b.to_string();
      }
    }
  }
  EXPECT_GT(proved, 400);
}

}  // namespace
}  // namespace weir
