// SPDX-License-Identifier: Apache-2.0
//
// A set of integers as ranges that neither touch nor overlap. Not thread-safe.
//
//   IntervalSet written;
//   written.add(0, 16);
//   written.first_missing(0, 32);   // 16
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace weir {

class IntervalSet {
 public:
  void add(int64_t begin, int64_t end) {
    if (begin >= end) {
      return;
    }
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin() && std::prev(next)->second >= begin) {
      --next;
      begin = next->first;
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  // The least number from `begin` up to, not including, `end` that is not in the set; `end` when all are.
  int64_t first_missing(int64_t begin, int64_t end) const {
    if (begin >= end) {
      return end;
    }
    const auto next = ranges_.upper_bound(begin);
    if (next == ranges_.begin() || std::prev(next)->second <= begin) {
      return begin;
    }
    return std::min(end, std::prev(next)->second);
  }

  size_t range_count() const { return ranges_.size(); }

 private:
  std::map<int64_t, int64_t> ranges_;  // begin → end
};

}  // namespace weir
