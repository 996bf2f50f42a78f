// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/suggest.h"

#include <algorithm>
#include <vector>

namespace weir::cli {
namespace {

// Optimal string alignment distance.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string nearest(std::string_view typed, std::span<const std::string> names) {
  constexpr size_t kLongest = 64;  // nobody mistypes more, and the table stays small
  std::string best;
  size_t least = kLongest;
  for (const std::string& name : names) {
    if (typed.size() > kLongest) {
      break;
    }
    const size_t changes = distance(typed, name);
    if (changes < least && changes <= std::max<size_t>(1, name.size() / 3)) {
      least = changes;
      best = name;
    }
  }
  return best;
}

}  // namespace weir::cli
