// SPDX-License-Identifier: Apache-2.0
//
// place(): a portfolio of orders, a search that moves blocks of the peak forward, and a branch and bound.
#include "plan/search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/checked.h"

namespace weir {
namespace {

// Beyond these the passes would take seconds; first-fit and branch and bound work in the square of the
// blocks.
constexpr int64_t kSearchWork = int64_t{400} * 1000 * 1000;
constexpr size_t kBranchAndBoundBlocks = 2000;

// What the orders are made from; one a block.
struct Traits {
  int64_t bytes;
  int64_t steps;
  int64_t pressure;  // the most bytes that live at any step of the block
};

class Placer {
 public:
  Placer(std::span<const Block> blocks, const PlacementOptions& options)
      : blocks_(blocks.begin(), blocks.end()), options_(options) {
    for (Block& block : blocks_) {
      block.bytes = align_up(block.bytes, kStorageAlignment);
    }
    bound_ = lower_bound(blocks_);
    goal_ = std::max(bound_, options.goal);
    best_.peak = std::numeric_limits<int64_t>::max();
    best_.offsets.assign(blocks_.size(), 0);
    offsets_.assign(blocks_.size(), 0);
    pass_ = std::max<int64_t>(1, static_cast<int64_t>(blocks_.size() * blocks_.size() / 2));
    tries_ = static_cast<int>(std::min<int64_t>(options.search_tries, kSearchWork / pass_));
  }

  Placement run() {
    measure();
    std::vector<std::vector<int32_t>> orders = portfolio();
    int64_t work = 0;
    for (std::vector<int32_t>& order : orders) {
      if (work > kSearchWork) {
        break;
      }
      work += pass_;
      const int64_t peak = attempt(order);
      if (done()) {
        return std::move(best_);
      }
      ranked_.emplace_back(peak, std::move(order));
    }
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    bound_and_branch();
    for (size_t i = 0; i < std::min<size_t>(3, ranked_.size()) && !done(); ++i) {
      climb(ranked_[i].second, tries_ / (i == 0 ? 2 : 4), /*seed=*/i + 1);
    }
    return std::move(best_);
  }

 private:
  bool done() const { return best_.peak <= goal_; }

  int64_t attempt(std::span<const int32_t> order) {
    const int64_t peak = place_in_order(blocks_, order, offsets_, scratch_);
    if (peak < best_.peak || best_.order.empty()) {
      best_.peak = peak;
      best_.offsets.assign(offsets_.begin(), offsets_.end());
      best_.order.assign(order.begin(), order.end());
    }
    return peak;
  }

  void measure() {
    std::vector<int32_t> births;
    births.reserve(blocks_.size());
    for (const Block& block : blocks_) {
      births.push_back(block.first);
    }
    std::sort(births.begin(), births.end());
    births.erase(std::unique(births.begin(), births.end()), births.end());
    std::vector<int64_t> live(births.size(), 0);
    const auto each_section = [&](const Block& block, auto&& function) {
      auto t =
          static_cast<size_t>(std::lower_bound(births.begin(), births.end(), block.first) - births.begin());
      for (; t < births.size() && births[t] <= block.last; ++t) {
        function(t);
      }
    };
    for (const Block& block : blocks_) {
      each_section(block, [&](size_t t) { live[t] += block.bytes; });
    }
    traits_.reserve(blocks_.size());
    for (const Block& block : blocks_) {
      int64_t pressure = 0;
      each_section(block, [&](size_t t) { pressure = std::max(pressure, live[t]); });
      traits_.push_back({block.bytes, int64_t{block.last} - block.first + 1, pressure});
    }
  }

  template <typename Key>
  std::vector<int32_t> sorted(Key key) const {
    std::vector<int32_t> order(blocks_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
    return order;
  }

  std::vector<std::vector<int32_t>> portfolio() const {
    const auto& t = traits_;
    using Key = std::array<double, 3>;
    const auto area = [&](int32_t i) {
      return static_cast<double>(t[i].bytes) * static_cast<double>(t[i].steps);
    };
    const auto real = [](int64_t value) { return static_cast<double>(value); };
    return {
        sorted([&](int32_t i) { return Key{-real(t[i].bytes), -real(t[i].steps), real(blocks_[i].first)}; }),
        sorted([&](int32_t i) { return Key{-area(i), -real(t[i].bytes), real(blocks_[i].first)}; }),
        sorted([&](int32_t i) { return Key{-real(t[i].steps), -real(t[i].bytes), real(blocks_[i].first)}; }),
        sorted([&](int32_t i) { return Key{real(blocks_[i].first), -real(t[i].steps), -real(t[i].bytes)}; }),
        sorted([&](int32_t i) { return Key{-real(blocks_[i].last), -real(t[i].steps), -real(t[i].bytes)}; }),
        sorted([&](int32_t i) { return Key{-real(t[i].pressure), -real(t[i].bytes), -real(t[i].steps)}; }),
        sorted([&](int32_t i) { return Key{-real(t[i].pressure), -real(t[i].steps), -real(t[i].bytes)}; }),
        sorted([&](int32_t i) { return Key{-real(t[i].pressure), real(blocks_[i].first), -area(i)}; }),
    };
  }

  // The branch and bound from several preferences; the nodes are shared out.
  void bound_and_branch() {
    std::vector<int32_t> kept;
    std::vector<Block> sub;
    for (int32_t i = 0; i < static_cast<int32_t>(blocks_.size()); ++i) {
      if (blocks_[i].bytes > 0) {
        kept.push_back(i);
      }
    }
    if (kept.size() > kBranchAndBoundBlocks) {
      return;
    }
    std::vector<int32_t> number(blocks_.size(), -1);
    for (size_t i = 0; i < kept.size(); ++i) {
      number[kept[i]] = static_cast<int32_t>(i);
      sub.push_back(blocks_[kept[i]]);
    }
    const size_t runs = std::min<size_t>(4, ranked_.size());
    for (size_t run = 0; run < runs && !done(); ++run) {
      std::vector<int32_t> preference;
      for (const int32_t block : ranked_[run].second) {
        if (number[block] >= 0) {
          preference.push_back(number[block]);
        }
      }
      const int64_t nodes = options_.search_nodes / (run == 0 ? 2 : 6);
      const internal::Bounded found = internal::branch_and_bound(sub, preference, best_.peak, goal_, nodes);
      if (!found.order.empty()) {
        std::vector<int32_t> order;
        for (const int32_t item : found.order) {
          order.push_back(kept[item]);
        }
        for (int32_t i = 0; i < static_cast<int32_t>(blocks_.size()); ++i) {
          if (number[i] < 0) {
            order.push_back(i);
          }
        }
        attempt(order);
      }
      if (found.exhausted) {
        tries_ = 0;
        return;
      }
    }
  }

  uint64_t random() {  // xorshift64
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  // Moves one block that reaches the peak to an earlier place in the order, and keeps the move where the peak
  // did not rise, or the bytes above the goal are fewer.
  void climb(std::vector<int32_t> order, int tries, uint64_t seed) {
    state_ = 0x9e3779b97f4a7c15u * seed;
    int64_t peak = attempt(order);
    std::vector<int32_t> next;
    std::vector<size_t> high;
    std::vector<int64_t> current = offsets_;
    for (int n = 0; n < tries && !done(); ++n) {
      high.clear();
      for (size_t place = 1; place < order.size(); ++place) {
        if (current[order[place]] + blocks_[order[place]].bytes == peak) {
          high.push_back(place);
        }
      }
      if (high.empty()) {
        return;  // the block at the peak is the first: nothing to move
      }
      const size_t from = high[random() % high.size()];
      const size_t to = random() % from;
      next.assign(order.begin(), order.end());
      std::rotate(next.begin() + static_cast<std::ptrdiff_t>(to),
                  next.begin() + static_cast<std::ptrdiff_t>(from),
                  next.begin() + static_cast<std::ptrdiff_t>(from) + 1);
      const int64_t moved = attempt(next);
      if (moved <= peak) {
        peak = moved;
        order.swap(next);
        current.assign(offsets_.begin(), offsets_.end());
      }
    }
  }

  std::vector<Block> blocks_;  // sizes rounded
  PlacementOptions options_;
  int64_t bound_ = 0;
  int64_t goal_ = 0;
  int64_t pass_ = 1;  // comparisons of one attempt, no fewer
  int tries_ = 0;
  std::vector<Traits> traits_;
  std::vector<std::pair<int64_t, std::vector<int32_t>>> ranked_;
  Placement best_;
  std::vector<int64_t> offsets_;
  PlacementScratch scratch_;
  uint64_t state_ = 1;
};

}  // namespace

Placement place(std::span<const Block> blocks, const PlacementOptions& options) {
  return Placer(blocks, options).run();
}

}  // namespace weir
