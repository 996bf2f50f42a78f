// SPDX-License-Identifier: Apache-2.0
//
// Interval arithmetic on Range, for any integers, not only those that fit in 64 bits: a `max` of INT64_MAX
// means unbounded above and a `min` of INT64_MIN unbounded below, and both stay so through every operation. A
// bound that leaves 64 bits becomes unbounded. Each function returns a range that holds every result of the
// operation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shape/dim.h"

namespace weir::interval {

inline constexpr Range kEverything{};
inline constexpr Range kBoolean{0, 1};

inline Range constant(int64_t value) {
  return {value, value};
}
// One value. (Two equal bounds at the end of 64 bits are one bound and the lack of another.)
inline bool is_single(const Range& a) {
  return a.min == a.max && a.min != INT64_MIN && a.max != INT64_MAX;
}
inline bool excludes_zero(const Range& a) {
  return a.min > 0 || a.max < 0;
}
inline bool is_boolean(const Range& a) {
  return a.min >= 0 && a.max <= 1;
}
inline Range hull(const Range& a, const Range& b) {
  return {std::min(a.min, b.min), std::max(a.max, b.max)};
}
// Of two ranges that both hold the value. Where they contradict each other no value exists; `a` is kept.
inline Range intersect(const Range& a, const Range& b) {
  Range both{std::max(a.min, b.min), std::min(a.max, b.max)};
  return both.min <= both.max ? both : a;
}

Range negate(const Range& a);
Range add(const Range& a, const Range& b);
Range mul(const Range& a, const Range& b);
Range power(const Range& a, int exponent);
// A zero in `b` is an error of the operation, so only the divisors beside it count.
Range floor_div(const Range& a, const Range& b);
Range ceil_div(const Range& a, const Range& b);
Range exact_div(const Range& a, const Range& b);
Range mod(const Range& a, const Range& b);
Range min(const Range& a, const Range& b);
Range max(const Range& a, const Range& b);
Range floor_scale(const Range& a, double scale);

}  // namespace weir::interval
