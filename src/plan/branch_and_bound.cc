// SPDX-License-Identifier: Apache-2.0
//
// Depth-first search over placements, block by block in ascending order of offsets.
//
// Of the best placements take one whose offsets have the least sum. In it every block rests on 0 or on the
// top of a block that lives at the same time and lies below. Listed by offset (ties by rank) each block's
// offset is therefore the highest end of the blocks listed before it that live at the same time: choosing the
// order chooses the placement. A branch is cut when
//   - at some step what is still to be placed does not fit above what is placed there,
//   - the next block would lie lower than the last (the order is ascending),
//   - some other block would fit wholly below the next one, where it now can be (it would lie lower in a
//     placement of the least sum).
#include <algorithm>

#include "plan/search.h"

namespace weir::internal {
namespace {

class Search {
 public:
  Search(std::span<const Block> blocks, std::span<const int32_t> preference, int64_t peak, int64_t goal,
         int64_t nodes)
      : count_(static_cast<int32_t>(blocks.size())), goal_(goal), nodes_(nodes) {
    result_.peak = peak;
    // What lives at a step also lives at the last birth up to it: births are steps enough.
    std::vector<int32_t> births;
    births.reserve(blocks.size());
    for (const Block& block : blocks) {
      births.push_back(block.first);
    }
    std::sort(births.begin(), births.end());
    births.erase(std::unique(births.begin(), births.end()), births.end());
    const auto section = [&](int32_t step) {
      return static_cast<int32_t>(std::upper_bound(births.begin(), births.end(), step) - births.begin()) - 1;
    };
    // Blocks are renumbered by preference, so that the number is the rank.
    items_.resize(blocks.size());
    for (int32_t rank = 0; rank < count_; ++rank) {
      const Block& block = blocks[preference[rank]];
      items_[rank] = {block.bytes, section(block.first), section(block.last), preference[rank]};
    }
    meets_.resize(blocks.size());
    remaining_.assign(births.size(), 0);
    top_.assign(births.size(), 0);
    for (int32_t i = 0; i < count_; ++i) {
      for (int32_t j = 0; j < count_; ++j) {
        if (i != j && items_[i].first <= items_[j].last && items_[j].first <= items_[i].last) {
          meets_[i].push_back(j);
        }
      }
      for (int32_t t = items_[i].first; t <= items_[i].last; ++t) {
        remaining_[t] += items_[i].bytes;
      }
    }
    floor_.assign(blocks.size(), 0);
    placed_.assign(blocks.size(), 0);
    undo_.resize(blocks.size());
    order_.reserve(blocks.size());
  }

  Bounded run() {
    const bool complete = descend(0, 0, -1);
    result_.exhausted = complete;
    return std::move(result_);
  }

 private:
  struct Item {
    int64_t bytes;
    int32_t first;
    int32_t last;
    int32_t block;
  };
  struct Saved {
    std::vector<std::pair<int32_t, int64_t>> floors;
    std::vector<int64_t> tops;
  };

  // Whether every step has room for what is left, given that nothing more lies below `base`.
  bool fits(int64_t base) const {
    for (size_t t = 0; t < top_.size(); ++t) {
      if (std::max(top_[t], remaining_[t] == 0 ? 0 : base) + remaining_[t] >= result_.peak) {
        return false;
      }
    }
    return true;
  }

  // False when the search is to stop: out of nodes, or the goal is reached.
  bool descend(int32_t depth, int64_t last_offset, int32_t last_rank) {
    if (depth == count_) {
      result_.peak = *std::max_element(top_.begin(), top_.end());
      result_.order.clear();
      for (const int32_t item : order_) {
        result_.order.push_back(items_[item].block);
      }
      return result_.peak > goal_;
    }
    int64_t lowest_end = INT64_MAX;
    for (int32_t i = 0; i < count_; ++i) {
      if (!placed_[i]) {
        lowest_end = std::min(lowest_end, floor_[i] + items_[i].bytes);
      }
    }
    // Lower offsets first, then the preferred block.
    std::vector<std::pair<int64_t, int32_t>> candidates;
    for (int32_t i = 0; i < count_; ++i) {
      if (placed_[i] || floor_[i] >= lowest_end || floor_[i] < last_offset ||
          (floor_[i] == last_offset && i < last_rank)) {
        continue;
      }
      candidates.emplace_back(floor_[i], i);
    }
    std::sort(candidates.begin(), candidates.end());
    for (const auto& [offset, item] : candidates) {
      if (nodes_-- <= 0) {
        return false;
      }
      place(item, depth);
      const bool go_on = !fits(offset) || descend(depth + 1, offset, item);
      lift(item, depth);
      if (!go_on) {
        return false;
      }
    }
    return true;
  }

  void place(int32_t item, int32_t depth) {
    const Item& it = items_[item];
    const int64_t end = floor_[item] + it.bytes;
    Saved& saved = undo_[depth];
    saved.floors.clear();
    saved.tops.clear();
    placed_[item] = 1;
    order_.push_back(item);
    for (const int32_t other : meets_[item]) {
      if (!placed_[other] && floor_[other] < end) {
        saved.floors.emplace_back(other, floor_[other]);
        floor_[other] = end;
      }
    }
    for (int32_t t = it.first; t <= it.last; ++t) {
      saved.tops.push_back(top_[t]);
      top_[t] = end;
      remaining_[t] -= it.bytes;
    }
  }

  void lift(int32_t item, int32_t depth) {
    const Item& it = items_[item];
    const Saved& saved = undo_[depth];
    for (const auto& [other, floor] : saved.floors) {
      floor_[other] = floor;
    }
    for (int32_t t = it.first; t <= it.last; ++t) {
      top_[t] = saved.tops[t - it.first];
      remaining_[t] += it.bytes;
    }
    order_.pop_back();
    placed_[item] = 0;
  }

  const int32_t count_;
  const int64_t goal_;
  int64_t nodes_;
  std::vector<Item> items_;
  std::vector<std::vector<int32_t>> meets_;  // the items that live at the same time
  std::vector<int64_t> top_;                 // by section: end of the highest placed block
  std::vector<int64_t> remaining_;           // by section: bytes to be placed
  std::vector<int64_t> floor_;               // by item: the offset that it would get now
  std::vector<char> placed_;
  std::vector<Saved> undo_;  // by depth
  std::vector<int32_t> order_;
  Bounded result_;
};

}  // namespace

Bounded branch_and_bound(std::span<const Block> blocks, std::span<const int32_t> preference, int64_t peak,
                         int64_t goal, int64_t nodes) {
  return Search(blocks, preference, peak, goal, nodes).run();
}

}  // namespace weir::internal
