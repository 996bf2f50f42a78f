// SPDX-License-Identifier: Apache-2.0
//
// Every interval operation against all values of all small ranges, and the ends of 64 bits.
#include "shape/interval.h"

#include <gtest/gtest.h>

#include <optional>
#include <ostream>

#include "shape/dim_arithmetic.h"

namespace weir {

// For messages of GoogleTest, which finds it by this name.
void PrintTo(const Range& range, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << '[' << range.min << ", " << range.max << ']';
}

namespace {

using Operation = Range (*)(const Range&, const Range&);

// The least range of op(x, y) over all x of a and y of b, nothing where no pair has a value.
std::optional<Range> by_values(DimOp op, const Range& a, const Range& b) {
  std::optional<Range> range;
  for (int64_t x = a.min; x <= a.max; ++x) {
    for (int64_t y = b.min; y <= b.max; ++y) {
      int64_t value;
      if (apply(op, x, y, 0, 0, value) == DimFault::kNone) {
        Range one = interval::constant(value);
        range = range ? interval::hull(*range, one) : one;
      }
    }
  }
  return range;
}

void check_all(DimOp op, Operation operation, bool is_tight) {
  constexpr int64_t kReach = 5;
  for (int64_t a_min = -kReach; a_min <= kReach; ++a_min) {
    for (int64_t a_max = a_min; a_max <= kReach; ++a_max) {
      for (int64_t b_min = -kReach; b_min <= kReach; ++b_min) {
        for (int64_t b_max = b_min; b_max <= kReach; ++b_max) {
          Range a{a_min, a_max};
          Range b{b_min, b_max};
          Range actual = operation(a, b);
          std::optional<Range> expected = by_values(op, a, b);
          if (expected && is_tight) {
            ASSERT_EQ(actual, *expected) << ::testing::PrintToString(a) << ::testing::PrintToString(b);
          } else if (expected) {
            ASSERT_EQ(interval::hull(actual, *expected), actual)
                << ::testing::PrintToString(a) << ::testing::PrintToString(b);
          }
        }
      }
    }
  }
}

TEST(Interval, SmallRanges) {
  check_all(DimOp::kAdd, interval::add, true);
  check_all(DimOp::kMul, interval::mul, true);
  check_all(DimOp::kFloorDiv, interval::floor_div, true);
  check_all(DimOp::kCeilDiv, interval::ceil_div, true);
  check_all(DimOp::kMin, interval::min, true);
  check_all(DimOp::kMax, interval::max, true);
  check_all(DimOp::kExactDiv, interval::exact_div, false);
  check_all(DimOp::kMod, interval::mod, false);
}

TEST(Interval, PowersAndScales) {
  EXPECT_EQ(interval::power({-3, 2}, 1), (Range{-3, 2}));
  EXPECT_EQ(interval::power({-3, 2}, 2), (Range{0, 9}));
  EXPECT_EQ(interval::power({-3, 2}, 3), (Range{-27, 18}));
  EXPECT_EQ(interval::floor_scale({-3, 5}, 1.5), (Range{-5, 7}));
  EXPECT_EQ(interval::floor_scale({-3, 5}, -0.5), (Range{-3, 1}));
  EXPECT_EQ(interval::floor_scale({0, INT64_MAX}, 0.1), (Range{0, INT64_MAX}));
  EXPECT_EQ(interval::floor_scale({1, 2}, 1e300), (Range{INT64_MAX, INT64_MAX}));
}

TEST(Interval, TheEndsOf64BitsAreUnbounded) {
  constexpr int64_t kMin = INT64_MIN;
  constexpr int64_t kMax = INT64_MAX;
  EXPECT_EQ(interval::add({1, kMax}, {-5, -5}), (Range{-4, kMax}));
  EXPECT_EQ(interval::add({kMin, 1}, {5, 5}), (Range{kMin, 6}));
  EXPECT_EQ(interval::mul({2, kMax}, {-3, -3}), (Range{kMin, -6}));
  EXPECT_EQ(interval::mul({kMin, kMax}, {0, 0}), (Range{0, 0}));
  EXPECT_EQ(interval::negate({kMin, 4}), (Range{-4, kMax}));
  EXPECT_EQ(interval::floor_div({7, kMax}, {2, kMax}), (Range{0, kMax}));
  EXPECT_EQ(interval::floor_div({-7, 7}, {2, kMax}), (Range{-4, 3}));
  EXPECT_EQ(interval::floor_div({0, kMax}, {kMax, kMax}), (Range{0, kMax}));
  EXPECT_EQ(interval::mod({kMin, kMax}, {1, kMax}), (Range{0, kMax}));
  // As a least value INT64_MAX is a number, whose negative is above the least of all.
  EXPECT_GE(interval::negate({kMax, kMax}).max, -kMax);
  EXPECT_GE(interval::mul({kMax, kMax}, {-1, -1}).max, -kMax);
  EXPECT_GE(interval::ceil_div({kMax, kMax}, {-3, -3}).max, -(kMax / 3));
  EXPECT_FALSE(interval::is_single({kMax, kMax}));
  EXPECT_FALSE(interval::is_single({kMin, kMin}));
  EXPECT_TRUE(interval::is_single({7, 7}));
}

}  // namespace
}  // namespace weir
