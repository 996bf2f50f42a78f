// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/interval_set.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace weir {
namespace {

TEST(IntervalSet, AgreesWithASetOfBits) {
  std::mt19937 random(7);
  constexpr int kSize = 60;
  for (int repeat = 0; repeat < 200; ++repeat) {
    IntervalSet set;
    std::array<bool, kSize> bits{};
    for (int i = 0; i < 12; ++i) {
      const int begin = static_cast<int>(random() % kSize);
      const int end = begin + static_cast<int>(random() % 10);
      set.add(begin, std::min(end, kSize));
      for (int k = begin; k < std::min(end, kSize); ++k) {
        bits[static_cast<size_t>(k)] = true;
      }
      for (int from = 0; from < kSize; from += 3) {
        for (int to = from; to <= kSize; to += 5) {
          int expected = from;
          while (expected < to && bits[static_cast<size_t>(expected)]) {
            ++expected;
          }
          ASSERT_EQ(set.first_missing(from, to), expected) << from << " to " << to;
        }
      }
    }
  }
}

TEST(IntervalSet, MergesNeighbours) {
  IntervalSet set;
  set.add(0, 4);
  set.add(8, 12);
  EXPECT_EQ(set.range_count(), 2U);
  set.add(4, 8);
  EXPECT_EQ(set.range_count(), 1U);
  set.add(5, 5);
  EXPECT_EQ(set.range_count(), 1U);
}

}  // namespace
}  // namespace weir
