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
// the peak first) and a bounded search that moves blocks of the peak forward; small problems are solved
// exactly. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  int64_t goal = 0;        // stops when the peak is no more than this; 0: the lower bound
  int search_tries = 400;  // first-fit passes of the search
};

Placement place(std::span<const Block> blocks, const PlacementOptions& options = {});

// The most bytes that live at any one step, each block rounded up: no placement can be smaller.
int64_t lower_bound(std::span<const Block> blocks);

// Places in the given order, each at the lowest offset that fits. `order` holds each block once; `offsets`
// has one place a block. Allocates only through `scratch`, which keeps its capacity from call to call.
// Returns the peak.
struct PlacementScratch {
  std::vector<int32_t> neighbours;
};
int64_t place_in_order(std::span<const Block> blocks, std::span<const int32_t> order,
                       std::span<int64_t> offsets, PlacementScratch& scratch);

// The first two blocks that overlap in time and space, as positions; {−1, −1} where there are none.
struct Overlap {
  int32_t a = -1;
  int32_t b = -1;
};
Overlap find_overlap(std::span<const Block> blocks, std::span<const int64_t> offsets);

}  // namespace weir
