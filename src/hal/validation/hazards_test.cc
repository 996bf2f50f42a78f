// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/hazards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace weir {
namespace {

using ::testing::ElementsAre;

TEST(Hazards, OverlapOfBlocksAgreesWithCountingBytes) {
  std::mt19937 random(3);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const int storage = 0;
    const int64_t stride = 2 + static_cast<int64_t>(random() % 9);
    const auto blocks = [&] {
      Touch touch{.storage = &storage, .stride = stride};
      touch.block = 1 + static_cast<int64_t>(random() % static_cast<unsigned>(stride));
      touch.begin = static_cast<int64_t>(random() % 12);
      // Whole blocks, enough of them for either to meet the other's pattern.
      touch.end = touch.begin + stride * 20 + touch.block;
      return touch;
    };
    const Touch a = blocks();
    const Touch b = blocks();
    bool shared = false;
    for (int64_t byte = 0; byte < 300; ++byte) {
      const auto has = [&](const Touch& t) {
        return byte >= t.begin && byte < t.end && (byte - t.begin) % stride < t.block;
      };
      shared = shared || (has(a) && has(b));
    }
    ASSERT_EQ(overlap(a, b), shared) << a.begin << "+" << a.block << " " << b.begin << "+" << b.block << " / "
                                     << stride;
  }
}

TEST(Hazards, FindsThePairOfAGroupThatConflicts) {
  const int storage = 0;
  const int other = 0;
  std::vector<Touch> touches = {
      {.storage = &storage, .begin = 0, .end = 16, .writes = true, .command = 0, .group = 0},
      {.storage = &storage, .begin = 16, .end = 32, .writes = true, .command = 1, .group = 0},
      {.storage = &other, .begin = 0, .end = 64, .writes = true, .command = 2, .group = 0},
      {.storage = &storage, .begin = 0, .end = 32, .command = 3, .group = 1},
      {.storage = &storage, .begin = 8, .end = 20, .command = 4, .group = 1},
  };
  EXPECT_FALSE(find_missing_barrier(touches));
  EXPECT_THAT(find_superfluous_barriers(touches, 2), ElementsAre());
  touches.push_back({.storage = &storage, .begin = 31, .end = 40, .writes = true, .command = 5, .group = 1});
  const std::optional<Hazard> hazard = find_missing_barrier(touches);
  ASSERT_TRUE(hazard);
  EXPECT_EQ(hazard->first.command, 3);
  EXPECT_EQ(hazard->second.command, 5);
}

TEST(Hazards, BarrierBetweenWhatDoesNotMeetIsSuperfluous) {
  const int storage = 0;
  const std::vector<Touch> touches = {
      {.storage = &storage, .begin = 0, .end = 16, .writes = true, .command = 0, .group = 0},
      {.storage = &storage, .begin = 16, .end = 32, .writes = true, .command = 1, .group = 1},
      {.storage = &storage, .begin = 16, .end = 32, .command = 2, .group = 2},
      {.storage = &storage, .begin = 16, .end = 32, .command = 3, .group = 3},
      {.command = 4, .group = 4, .everything = true},
  };
  EXPECT_THAT(find_superfluous_barriers(touches, 5), ElementsAre(1, 3));
}

}  // namespace
}  // namespace weir
