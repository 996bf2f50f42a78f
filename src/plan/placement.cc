// SPDX-License-Identifier: Apache-2.0
//
// The first-fit pass, the lower bound and the overlap check.
#include "plan/placement.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked.h"

namespace weir {
namespace {

constexpr int64_t kTooMuch = std::numeric_limits<int64_t>::max();

// Both at least 0.
int64_t saturating_add(int64_t a, int64_t b) {
  return a > kTooMuch - b ? kTooMuch : a + b;
}

int64_t rounded(int64_t bytes) {
  return bytes > kTooMuch - kStorageAlignment ? kTooMuch : align_up(bytes, kStorageAlignment);
}

}  // namespace

int64_t lower_bound(std::span<const Block> blocks) {
  // Births and deaths in order of time; at one step the deaths of the step before come first.
  struct Event {
    int64_t time;
    int64_t bytes;
    bool birth;
  };
  std::vector<Event> events;
  events.reserve(2 * blocks.size());
  int64_t sum = 0;
  for (const Block& block : blocks) {
    const int64_t bytes = rounded(block.bytes);
    sum = saturating_add(sum, bytes);
    events.push_back({block.first, bytes, true});
    events.push_back({int64_t{block.last} + 1, bytes, false});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.time != b.time ? a.time < b.time : a.birth < b.birth;
  });
  const bool saturates = sum == kTooMuch;
  int64_t live = 0;
  int64_t most = 0;
  if (!saturates) {
    for (const Event& event : events) {
      live += event.birth ? event.bytes : -event.bytes;
      most = std::max(most, live);
    }
    return most;
  }
  // Sums that pass 64 bits cannot be subtracted from again: count in 128 bits.
  __extension__ typedef __int128 Wide;
  Wide wide_live = 0;
  Wide wide_most = 0;
  for (const Event& event : events) {
    wide_live += event.birth ? Wide{event.bytes} : -Wide{event.bytes};
    wide_most = std::max(wide_most, wide_live);
  }
  return wide_most > Wide{kTooMuch} ? kTooMuch : static_cast<int64_t>(wide_most);
}

int64_t place_in_order(std::span<const Block> blocks, std::span<const int32_t> order,
                       std::span<int64_t> offsets, PlacementScratch& scratch) {
  int64_t sum = 0;
  for (const Block& block : blocks) {
    sum = saturating_add(sum, rounded(block.bytes));
  }
  if (sum == kTooMuch) {
    return kTooMuch;
  }
  std::vector<PlacementScratch::Placed>& placed = scratch.placed;
  placed.clear();
  placed.reserve(blocks.size());
  int64_t peak = 0;
  for (const int32_t position : order) {
    const Block& block = blocks[position];
    const int64_t bytes = align_up(block.bytes, kStorageAlignment);
    if (bytes == 0) {
      offsets[position] = 0;
      continue;
    }
    // Walks the placed blocks upwards; `free` is the end of those that live at the same time so far.
    int64_t free = 0;
    size_t above = 0;  // the first placed block whose offset is at least the new one's
    for (const PlacementScratch::Placed& other : placed) {
      if (other.offset >= free + bytes) {
        break;
      }
      if (other.first <= block.last && block.first <= other.last && other.end > free) {
        free = other.end;
      }
    }
    while (above < placed.size() && placed[above].offset < free) {
      ++above;
    }
    placed.insert(placed.begin() + static_cast<std::ptrdiff_t>(above),
                  {free, free + bytes, block.first, block.last});
    offsets[position] = free;
    peak = std::max(peak, free + bytes);
  }
  return peak;
}

Overlap find_overlap(std::span<const Block> blocks, std::span<const int64_t> offsets) {
  struct Event {
    int64_t time;
    bool birth;
    int32_t block;
  };
  std::vector<Event> events;
  events.reserve(2 * blocks.size());
  for (int32_t i = 0; i < static_cast<int32_t>(blocks.size()); ++i) {
    if (blocks[i].bytes > 0) {
      events.push_back({blocks[i].first, true, i});
      events.push_back({int64_t{blocks[i].last} + 1, false, i});
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.time != b.time) {
      return a.time < b.time;
    }
    return a.birth != b.birth ? a.birth < b.birth : a.block < b.block;
  });
  // What lives is disjoint until the pair that is returned, so only neighbours can overlap a new block.
  const auto below = [&](int32_t a, int32_t b) {
    return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b;
  };
  const auto overlaps = [&](int32_t low, int32_t high) {
    return saturating_add(offsets[low], blocks[low].bytes) > offsets[high];
  };
  std::set<int32_t, decltype(below)> live(below);
  for (const Event& event : events) {
    if (!event.birth) {
      live.erase(event.block);
      continue;
    }
    const auto [place, inserted] = live.insert(event.block);
    if (place != live.begin() && overlaps(*std::prev(place), event.block)) {
      return {*std::prev(place), event.block};
    }
    if (std::next(place) != live.end() && overlaps(event.block, *std::next(place))) {
      return {*std::next(place), event.block};
    }
  }
  return {};
}

}  // namespace weir
