// SPDX-License-Identifier: Apache-2.0
//
// The range of a polynomial. Interval arithmetic treats terms as if they were independent; where an atom that
// stands alone is bounded by other expressions, those take its place and like terms then cancel:
//
//   ⌊p / c⌋ = (p − m) / c  with 0 ≤ m < c         min(p, q) is p or q, and no more than either
//   p / c   = p / c        exactly                select(…, p, q) is p or q
//
// Each rewriting holds for every value, so the ranges that they give are intersected.
#include <numeric>

#include "shape/dim_node.h"
#include "shape/interval.h"
#include "shape/polynomial.h"

namespace weir {
namespace {

constexpr int kMaxRewrites = 3;         // one after the other
constexpr int kMaxAlternatives = 2;     // atoms with two cases, for each rewriting
constexpr int kMaxPolynomials = 24;     // looked at in all
constexpr size_t kMaxRefined = 16;      // terms; what has more is seen term by term
constexpr int64_t kMaxScale = 1 << 24;  // the common denominator of the divisions in one polynomial

Range of_monomial(const Monomial& atoms) {
  Range range{1, 1};
  for (size_t i = 0; i < atoms.size();) {
    size_t end = i + 1;
    while (end < atoms.size() && compare(*atoms[end], *atoms[i]) == 0) {
      ++end;
    }
    range = interval::mul(range, interval::power(atoms[i]->range, static_cast<int>(end - i)));
    i = end;
  }
  return range;
}

Range term_by_term(const Polynomial& a) {
  Range range = interval::constant(a.constant);
  for (const Term& term : a.terms) {
    range =
        interval::add(range, interval::mul(interval::constant(term.coefficient), of_monomial(term.atoms)));
  }
  return range;
}

// The divisor of a division by a number above 1, else 0.
int64_t constant_divisor(const Dim::Node& atom) {
  bool is_division = atom.is_operation(DimOp::kFloorDiv) || atom.is_operation(DimOp::kExactDiv);
  return is_division && atom.operands[1].is_constant() && atom.operands[1].constant() > 1
             ? atom.operands[1].constant()
             : 0;
}

bool has_two_cases(const Dim::Node& atom) {
  return atom.is_operation(DimOp::kMin) || atom.is_operation(DimOp::kMax) ||
         atom.is_operation(DimOp::kSelect);
}

// `a` with term `index`, which is k·atom, replaced by k·replacement.
bool replace(const Polynomial& a, size_t index, const Dim& replacement, Polynomial& result) {
  Polynomial others = a;
  others.terms.erase(others.terms.begin() + static_cast<ptrdiff_t>(index));
  Polynomial storage;
  return add_scaled(others, DimBuilder::view(replacement, storage), a.terms[index].coefficient, result);
}

class Refiner {
 public:
  Range refine(const Polynomial& a, int rewrites) {
    Range range = term_by_term(a);
    if (rewrites == 0 || range.min == range.max || a.terms.size() > kMaxRefined || --budget_ < 0) {
      return range;
    }
    range = without_divisions(a, range, rewrites);
    return by_cases(a, range, rewrites);
  }

 private:
  Range without_divisions(const Polynomial& a, Range range, int rewrites);
  Range by_cases(const Polynomial& a, Range range, int rewrites);

  int budget_ = kMaxPolynomials;
};

Range Refiner::without_divisions(const Polynomial& a, Range range, int rewrites) {
  int64_t scale = 1;
  for (const Term& term : a.terms) {
    if (term.atoms.size() != 1) {
      continue;
    }
    if (int64_t divisor = constant_divisor(*term.atoms[0]); divisor > 0) {
      int64_t factor = divisor / std::gcd(scale, divisor);
      if (factor > kMaxScale / scale) {
        return range;
      }
      scale *= factor;
    }
  }
  if (scale == 1) {
    return range;
  }
  // scale·a = sum − Σ (scale·k / c)·m
  Polynomial sum;
  Range slack = interval::constant(0);
  for (const Term& term : a.terms) {
    int64_t divisor = term.atoms.size() == 1 ? constant_divisor(*term.atoms[0]) : 0;
    int64_t factor;
    if (__builtin_mul_overflow(term.coefficient, divisor > 0 ? scale / divisor : scale, &factor)) {
      return range;
    }
    Polynomial next;
    if (divisor > 0) {
      Polynomial storage;
      if (!add_scaled(sum, DimBuilder::view(term.atoms[0]->operands[0], storage), factor, next)) {
        return range;
      }
      if (term.atoms[0]->op == DimOp::kFloorDiv) {
        slack = interval::add(slack,
                              interval::mul(interval::constant(factor), interval::negate({0, divisor - 1})));
      }
    } else if (!add_scaled(sum, Polynomial{0, {{1, term.atoms}}}, factor, next)) {
      return range;
    }
    sum = std::move(next);
  }
  Polynomial constant{a.constant, {}};
  Polynomial whole;
  if (!add_scaled(sum, constant, scale, whole)) {
    return range;
  }
  Range scaled = interval::add(refine(whole, rewrites - 1), slack);
  // scale·a lies in `scaled`, so the integer a lies between the quotients of its ends, rounded inwards.
  Range divisor = interval::constant(scale);
  return interval::intersect(
      range, {interval::ceil_div(scaled, divisor).min, interval::floor_div(scaled, divisor).max});
}

Range Refiner::by_cases(const Polynomial& a, Range range, int rewrites) {
  int alternatives = 0;
  for (size_t i = 0; i < a.terms.size() && alternatives < kMaxAlternatives; ++i) {
    const Term& term = a.terms[i];
    if (term.atoms.size() != 1 || !has_two_cases(*term.atoms[0])) {
      continue;
    }
    ++alternatives;
    const Dim::Node& atom = *term.atoms[0];
    bool is_select = atom.op == DimOp::kSelect;
    Polynomial first;
    Polynomial second;
    if (!replace(a, i, atom.operands[is_select ? 1 : 0], first) ||
        !replace(a, i, atom.operands[is_select ? 2 : 1], second)) {
      continue;
    }
    Range one = refine(first, rewrites - 1);
    Range other = refine(second, rewrites - 1);
    Range both = interval::hull(one, other);
    if (!is_select) {
      // The lesser of the two cases where k·min or −k·max, the greater otherwise.
      bool lesser = (atom.op == DimOp::kMin) == (term.coefficient > 0);
      both = lesser ? interval::min(one, other) : interval::max(one, other);
    }
    range = interval::intersect(range, both);
  }
  return range;
}

}  // namespace

Range range_of(const Polynomial& a) {
  return Refiner().refine(a, kMaxRewrites);
}

}  // namespace weir
