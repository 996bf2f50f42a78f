// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/hazards.h"

#include <algorithm>

namespace weir {
namespace {

// Calls `visit(a, b)` for overlapping pairs of different commands of which one writes, until it returns true.
// A sweep: ranges by where they begin, and those that have not ended yet.
template <typename Visit>
bool sweep(std::vector<Touch>& touches, const Visit& visit) {
  std::ranges::sort(touches, [](const Touch& a, const Touch& b) {
    return a.storage != b.storage ? std::less<>()(a.storage, b.storage) : a.begin < b.begin;
  });
  std::vector<const Touch*> open;
  for (const Touch& touch : touches) {
    std::erase_if(open, [&](const Touch* other) {
      return other->storage != touch.storage || other->end <= touch.begin;
    });
    for (const Touch* other : open) {
      if (other->command != touch.command && (other->writes || touch.writes) && overlap(*other, touch) &&
          visit(*other, touch)) {
        return true;
      }
    }
    if (touch.begin < touch.end) {
      open.push_back(&touch);
    }
  }
  return false;
}

}  // namespace

bool overlap(const Touch& a, const Touch& b) {
  if (a.storage != b.storage || a.end <= b.begin || b.end <= a.begin) {
    return false;
  }
  if (a.block <= 0 || b.block <= 0 || a.stride != b.stride || a.stride <= 0) {
    return true;
  }
  const int64_t distance = ((b.begin - a.begin) % a.stride + a.stride) % a.stride;
  return distance < a.block || distance + b.block > a.stride;
}

std::optional<Hazard> find_missing_barrier(std::vector<Touch> touches) {
  std::ranges::stable_sort(touches, {}, &Touch::group);
  std::optional<Hazard> found;
  for (size_t begin = 0; begin < touches.size() && !found;) {
    size_t end = begin;
    while (end < touches.size() && touches[end].group == touches[begin].group) {
      ++end;
    }
    std::vector<Touch> group(touches.begin() + static_cast<ptrdiff_t>(begin),
                             touches.begin() + static_cast<ptrdiff_t>(end));
    std::erase_if(group, [](const Touch& touch) { return touch.everything; });
    sweep(group, [&](const Touch& a, const Touch& b) {
      found = a.command < b.command ? Hazard{a, b} : Hazard{b, a};
      return true;
    });
    begin = end;
  }
  return found;
}

std::vector<int32_t> find_superfluous_barriers(const std::vector<Touch>& touches, int32_t groups) {
  std::vector<std::vector<Touch>> by_group(static_cast<size_t>(groups));
  for (const Touch& touch : touches) {
    by_group[static_cast<size_t>(touch.group)].push_back(touch);
  }
  std::vector<int32_t> superfluous;
  for (int32_t g = 1; g < groups; ++g) {
    std::vector<Touch> both = by_group[static_cast<size_t>(g - 1)];
    both.insert(both.end(), by_group[static_cast<size_t>(g)].begin(), by_group[static_cast<size_t>(g)].end());
    const bool orders = std::ranges::any_of(both, &Touch::everything) ||
                        sweep(both, [](const Touch& a, const Touch& b) { return a.group != b.group; });
    if (!orders) {
      superfluous.push_back(g);
    }
  }
  return superfluous;
}

}  // namespace weir
