// SPDX-License-Identifier: Apache-2.0
#include "shape/interval.h"

#include <cmath>
#include <initializer_list>

#include "shape/dim_arithmetic.h"

namespace weir::interval {
namespace {

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

// A range that holds `a` in which each end of 64 bits means unbounded: INT64_MAX as the least value is a
// number, and so is INT64_MIN as the greatest.
Range loosened(const Range& a) {
  return {std::min(a.min, INT64_MAX - 1), std::max(a.max, INT64_MIN + 1)};
}

bool is_infinite(int64_t bound) {
  return bound == INT64_MIN || bound == INT64_MAX;
}

int64_t negate_bound(int64_t bound) {
  return bound == INT64_MIN ? INT64_MAX : bound == INT64_MAX ? INT64_MIN : -bound;
}

int64_t mul_bound(int64_t a, int64_t b) {
  if (a == 0 || b == 0) {
    return 0;
  }
  int64_t product;
  if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product)) {
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  }
  return product;
}

// b is not 0.
int64_t floor_div_bound(int64_t a, int64_t b) {
  if (is_infinite(a)) {
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  }
  if (is_infinite(b)) {  // a divisor greater than any finite a
    return a != 0 && (a < 0) != (b < 0) ? -1 : 0;
  }
  return floor_quotient(a, b);
}

Range of_corners(std::initializer_list<int64_t> values) {
  auto [low, high] = std::minmax(values);
  return {low, high};
}

// b does not hold 0.
Range floor_div_one_sign(const Range& dividend, const Range& divisor) {
  Range a = loosened(dividend);
  Range b = loosened(divisor);
  return of_corners({floor_div_bound(a.min, b.min), floor_div_bound(a.min, b.max),
                     floor_div_bound(a.max, b.min), floor_div_bound(a.max, b.max)});
}

}  // namespace

Range negate(const Range& a) {
  const Range loose = loosened(a);
  return {negate_bound(loose.max), negate_bound(loose.min)};
}

Range add(const Range& a, const Range& b) {
  Range sum;
  if (a.min != INT64_MIN && b.min != INT64_MIN) {
    sum.min = saturating_add(a.min, b.min);
  }
  if (a.max != INT64_MAX && b.max != INT64_MAX) {
    sum.max = saturating_add(a.max, b.max);
  }
  return sum;
}

Range mul(const Range& a, const Range& b) {
  const Range x = loosened(a);
  const Range y = loosened(b);
  return of_corners(
      {mul_bound(x.min, y.min), mul_bound(x.min, y.max), mul_bound(x.max, y.min), mul_bound(x.max, y.max)});
}

Range power(const Range& a, int exponent) {
  Range result = a;
  for (int i = 1; i < exponent; ++i) {
    result = mul(result, a);
  }
  return exponent % 2 == 0 ? intersect(result, {0, INT64_MAX}) : result;
}

Range floor_div(const Range& a, const Range& b) {
  if (excludes_zero(b)) {
    return floor_div_one_sign(a, b);
  }
  if (b.min == 0 && b.max == 0) {
    return kEverything;
  }
  if (b.min == 0) {
    return floor_div_one_sign(a, {1, b.max});
  }
  if (b.max == 0) {
    return floor_div_one_sign(a, {b.min, -1});
  }
  return hull(floor_div_one_sign(a, {b.min, -1}), floor_div_one_sign(a, {1, b.max}));
}

Range ceil_div(const Range& a, const Range& b) {
  return negate(floor_div(negate(a), b));
}

Range exact_div(const Range& a, const Range& b) {
  return hull(floor_div(a, b), ceil_div(a, b));
}

Range mod(const Range& a, const Range& b) {
  // The result has the divisor's sign and a lesser magnitude.
  Range result{b.min < 0 ? (b.min == INT64_MIN ? INT64_MIN : b.min + 1) : 0,
               b.max > 0 ? (b.max == INT64_MAX ? INT64_MAX : b.max - 1) : 0};
  if (b.min > 0 && a.min >= 0) {
    result.max = std::min(result.max, a.max);
  }
  return result;
}

Range min(const Range& a, const Range& b) {
  return {std::min(a.min, b.min), std::min(a.max, b.max)};
}

Range max(const Range& a, const Range& b) {
  return {std::max(a.min, b.min), std::max(a.max, b.max)};
}

Range floor_scale(const Range& a, double scale) {
  const Range loose = loosened(a);
  if (!std::isfinite(scale)) {
    return kEverything;
  }
  // Conversion, product and floor round monotonically, so the ends bound everything between them.
  auto bound = [scale](int64_t end) -> int64_t {
    if (scale == 0) {
      return 0;
    }
    if (is_infinite(end)) {
      return (end < 0) == (scale < 0) ? INT64_MAX : INT64_MIN;
    }
    double scaled = std::floor(static_cast<double>(end) * scale);
    return scaled >= 0x1p63 ? INT64_MAX : scaled < -0x1p63 ? INT64_MIN : static_cast<int64_t>(scaled);
  };
  return of_corners({bound(loose.min), bound(loose.max)});
}

}  // namespace weir::interval
