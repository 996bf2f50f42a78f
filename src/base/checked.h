// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on sizes that come from a file or a caller: overflow is an error, never a wrap.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace weir {

inline Result<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return fail(StatusCode::kOutOfRange, "The sum of ({}) and ({}) does not fit in 64 bits.", a, b);
  }
  return sum;
}

inline Result<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) {
    return fail(StatusCode::kOutOfRange, "The product of ({}) and ({}) does not fit in 64 bits.", a, b);
  }
  return product;
}

// The product of all factors; 1 for none.
inline Result<int64_t> checked_product(std::span<const int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    WEIR_ASSIGN(product, checked_mul(product, factor));
  }
  return product;
}

// `value` rounded up to a multiple of `alignment` (a power of two), both at least 0. The caller knows that it
// fits.
constexpr int64_t align_up(int64_t value, int64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace weir
