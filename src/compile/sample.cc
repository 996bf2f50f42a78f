// SPDX-License-Identifier: Apache-2.0
#include "compile/sample.h"

#include <algorithm>
#include <climits>

namespace weir {
namespace {

// Sizes beyond are no numbers that models compare dimensions with.
constexpr int64_t kMostTried = 1024;
// Operations on dimensions, in all.
constexpr int64_t kMostWork = int64_t{1} << 25;
constexpr int64_t kUnknown = INT64_MIN;  // a dimension that was not evaluated; none has this value

}  // namespace

std::vector<bool> meet_constraints(const Program& program, std::span<int64_t> symbols) {
  std::vector<int64_t> dims(program.dims.size());
  int64_t work = 0;
  const auto broken = [&]() -> int64_t {
    work += static_cast<int64_t>(dims.size());
    std::ranges::fill(dims, kUnknown);
    if (!evaluate(program.dims, symbols, dims)) {
      // An inexact quotient, a zero divisor: the further it got, the better.
      const auto left = std::ranges::find(dims, kUnknown);
      return static_cast<int64_t>(program.constraints.size()) + (dims.end() - left);
    }
    return std::ranges::count_if(program.constraints, [&](const ProgramConstraint& constraint) {
      return !holds(constraint.kind, dims[static_cast<size_t>(constraint.a)],
                    dims[static_cast<size_t>(constraint.b)]);
    });
  };
  std::vector<bool> changed(symbols.size(), false);
  int64_t fewest = broken();
  // A second round, since symbols depend on one another.
  for (int round = 0; round < 2 && fewest > 0; ++round) {
    for (size_t i = 0; i < symbols.size() && fewest > 0; ++i) {
      int64_t best = symbols[i];
      const Range range = program.symbols[i].range;
      const int64_t last = std::min(range.max, std::max(range.min, int64_t{0}) + kMostTried);
      for (int64_t value = std::max<int64_t>(range.min, 0); value <= last && work < kMostWork; ++value) {
        symbols[i] = value;
        if (const int64_t now = broken(); now < fewest) {
          fewest = now;
          best = value;
          changed[i] = true;
        }
      }
      symbols[i] = best;
    }
  }
  return changed;
}

}  // namespace weir
