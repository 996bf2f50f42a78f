// SPDX-License-Identifier: Apache-2.0
//
// Polynomials with integer coefficients over atoms: the normal form of a Dim. Only for src/shape.
//
// Terms stand in graded lexicographic order, greatest first (batch·seq, then batch, then seq), which long
// division needs. Functions that return bool return false where a coefficient overflows or a bound below is
// passed; what they were to fill is then unspecified.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "shape/dim.h"

namespace weir {

using NodeRef = std::shared_ptr<const Dim::Node>;

// Products beyond these stay products: expanding them would cost more than equality gains.
inline constexpr size_t kMaxTerms = 64;
inline constexpr size_t kMaxDegree = 16;

// Atoms in order, a power as repeats.
using Monomial = std::vector<NodeRef>;

struct Term {
  int64_t coefficient = 0;  // not 0
  Monomial atoms;           // not empty
};

struct Polynomial {
  int64_t constant = 0;
  std::vector<Term> terms;

  bool is_constant() const { return terms.empty(); }
  bool is_zero() const { return terms.empty() && constant == 0; }
  // One product, without a sum: c, or c·atoms.
  bool is_product() const { return terms.empty() || (terms.size() == 1 && constant == 0); }
  int64_t leading() const { return terms.empty() ? constant : terms.front().coefficient; }
};

// Which stands first, the greater monomial.
std::strong_ordering compare(const Monomial& a, const Monomial& b);

// result = a + factor·b
[[nodiscard]] bool add_scaled(const Polynomial& a, const Polynomial& b, int64_t factor, Polynomial& result);
[[nodiscard]] bool multiply(const Polynomial& a, const Polynomial& b, Polynomial& result);
[[nodiscard]] bool negate(Polynomial& a);

// `from` without the factors of `part`; false where it does not have them all.
[[nodiscard]] bool divide(const Monomial& from, const Monomial& part, Monomial& quotient);

// dividend = quotient·divisor + remainder, term by term, for a divisor that is one positive product.
// Coefficients are cut towards 0; the constant of the remainder lies in [0, divisor) where the divisor is a
// number.
[[nodiscard]] bool split(const Polynomial& dividend, const Polynomial& divisor, Polynomial& quotient,
                         Polynomial& remainder);

// quotient = dividend / divisor by long division; false where it leaves a remainder.
[[nodiscard]] bool divide_exactly(const Polynomial& dividend, const Polynomial& divisor,
                                  Polynomial& quotient);

// The greatest common divisor of the coefficients, with or without the constant; 0 for none.
uint64_t coefficient_gcd(const Polynomial& a, bool with_constant);
// The factors that all terms share; none where there is a constant.
Monomial common_factors(const Polynomial& a);
Monomial common_factors(const Monomial& a, const Monomial& b);
// Divides every coefficient, which `factor` divides, and every term by `atoms`, which all have.
Polynomial divided(const Polynomial& a, int64_t factor, const Monomial& atoms);

// Every value of the polynomial, from the ranges of its atoms. Better than interval arithmetic where terms
// depend on each other: 2·⌊w / 2⌋ − w lies in [−1, 0].
Range range_of(const Polynomial& a);

}  // namespace weir
