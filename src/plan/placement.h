// SPDX-License-Identifier: Apache-2.0
//
// Placement: offsets for blocks of memory with lifetimes, so that no two that live at the same time overlap
// and the whole is as small as it can be found.
//
//   std::vector<Block> blocks = {{4096, 0, 2}, {1024, 1, 1}, {4096, 3, 4}};
//   Placement best = place(blocks);
//   best.peak == lower_bound(blocks)     // then it is optimal for this order of steps
//
// place() runs several orders of a first-fit pass (by size, by size × lifetime, by first use, the block at
// the peak first), then a bounded search that moves blocks of the peak forward, then a branch and bound that
// is exhaustive where the problem is small. Deterministic.
//
// Sizes are at least 0, lifetimes run forwards (first ≤ last), and place() takes blocks whose sum fits in 64
// bits; the callers check what comes from outside.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/alignment.h"

namespace weir {

struct Block {
  int64_t bytes = 0;  // placed rounded up to kStorageAlignment
  int32_t first = 0;  // steps, inclusive
  int32_t last = 0;
};

struct Placement {
  std::vector<int64_t> offsets;  // one a block
  int64_t peak = 0;
  std::vector<int32_t> order;  // placing first-fit in this order gives these offsets
};

struct PlacementOptions {
  int64_t goal = 0;               // stops when the peak is no more than this; 0: the lower bound
  int search_tries = 400;         // first-fit passes of the search
  int64_t search_nodes = 200000;  // nodes of the branch and bound
};

Placement place(std::span<const Block> blocks, const PlacementOptions& options = {});

// The most bytes that live at any one step, each block rounded up: no placement can be smaller. INT64_MAX
// where that does not fit in 64 bits.
int64_t lower_bound(std::span<const Block> blocks);

// Places in the given order, each at the lowest offset that fits. `order` holds each block once; `offsets`
// has one place a block. Allocates only through `scratch`, and nothing once it has taken as many blocks
// before. Returns the peak, or INT64_MAX where the sum of the blocks does not fit in 64 bits (no offset is
// set then).
struct PlacementScratch {
  struct Placed {
    int64_t offset;
    int64_t end;
    int32_t first;
    int32_t last;
  };
  std::vector<Placed> placed;  // by offset
};
int64_t place_in_order(std::span<const Block> blocks, std::span<const int32_t> order,
                       std::span<int64_t> offsets, PlacementScratch& scratch);

// Two blocks that overlap in time and space, as positions: the pair that a walk over the steps meets first.
// {−1, −1} where there are none. Offsets at least 0. In O(n log n).
struct Overlap {
  int32_t a = -1;
  int32_t b = -1;
};
Overlap find_overlap(std::span<const Block> blocks, std::span<const int64_t> offsets);

}  // namespace weir
