// SPDX-License-Identifier: Apache-2.0
//
// The branch and bound behind place(). Inner to src/plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/placement.h"

namespace weir::internal {

// Looks for a placement whose peak is below `peak` and stops at one of `goal` or less, or after `nodes`
// nodes. Sizes are multiples of kStorageAlignment, none of them 0. Gives the blocks in ascending order of
// their offsets (first-fit in that order does no worse than `peak`), or an empty list where it found nothing
// better. `exhausted`, where given, becomes true when there is nothing better.
struct Bounded {
  std::vector<int32_t> order;
  int64_t peak = 0;
  bool exhausted = false;
};
Bounded branch_and_bound(std::span<const Block> blocks, std::span<const int32_t> preference, int64_t peak,
                         int64_t goal, int64_t nodes);

}  // namespace weir::internal
