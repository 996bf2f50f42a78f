// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace weir {
namespace {

// The number of characters to change, add or remove (Levenshtein), without regard to case.
size_t distance(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

}  // namespace

std::string near_names(std::string_view name, std::span<const std::string_view> known) {
  constexpr size_t kLongest = 256;
  constexpr size_t kMost = 3;
  std::vector<std::pair<size_t, std::string_view>> near;
  if (name.size() > kLongest) {
    return "";
  }
  for (const std::string_view other : known) {
    if (other.empty() || other.size() > kLongest) {
      continue;
    }
    const bool part = name.size() > 2 && other.find(name) != std::string_view::npos;
    const size_t away = distance(name, other);
    if (part || away * 3 <= std::max(name.size(), other.size())) {
      near.emplace_back(part ? std::min<size_t>(away, 1) : away, other);
    }
  }
  std::ranges::stable_sort(near, {}, &std::pair<size_t, std::string_view>::first);
  std::string text;
  for (size_t i = 0; i < std::min(near.size(), kMost); ++i) {
    text += (i == 0 ? "; near it: '" : "', '");
    text += near[i].second;
  }
  return text.empty() ? text : text + "'";
}

}  // namespace weir
