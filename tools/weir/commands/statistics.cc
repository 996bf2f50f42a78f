// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/statistics.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace weir::cli {

Percentiles percentiles_of(std::span<const double> values) {
  if (values.empty()) return {};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const auto at = [&](double fraction) {
    const double position = fraction * static_cast<double>(sorted.size() - 1);
    const size_t below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  return {sorted.front(),
          at(0.5),
          at(0.9),
          at(0.99),
          sorted.back(),
          std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size())};
}

}  // namespace weir::cli
