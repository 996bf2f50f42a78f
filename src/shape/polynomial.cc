// SPDX-License-Identifier: Apache-2.0
#include "shape/polynomial.h"

#include <algorithm>
#include <numeric>

#include "shape/dim_node.h"

namespace weir {
namespace {

// The terms of a product before like ones are merged, and the steps of a long division.
constexpr size_t kMaxProducts = 256;

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

bool add_scaled(int64_t a, int64_t b, int64_t factor, int64_t& result) {
  if (factor == -1) {  // −1·INT64_MIN does not fit, and INT64_MIN − INT64_MIN does
    return !__builtin_sub_overflow(a, b, &result);
  }
  int64_t scaled;
  return !__builtin_mul_overflow(b, factor, &scaled) && !__builtin_add_overflow(a, scaled, &result);
}

// Sorts and merges like terms.
bool merge_terms(std::vector<Term>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& x, const Term& y) { return compare(x.atoms, y.atoms) < 0; });
  size_t kept = 0;
  for (size_t i = 0; i < terms.size();) {
    Term merged = std::move(terms[i]);
    for (++i; i < terms.size() && compare(merged.atoms, terms[i].atoms) == 0; ++i) {
      if (__builtin_add_overflow(merged.coefficient, terms[i].coefficient, &merged.coefficient)) {
        return false;
      }
    }
    if (merged.coefficient != 0) {
      terms[kept++] = std::move(merged);
    }
  }
  terms.resize(kept);
  return true;
}

Monomial merged(const Monomial& a, const Monomial& b) {
  Monomial result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result),
             [](const NodeRef& x, const NodeRef& y) { return compare(*x, *y) < 0; });
  return result;
}

}  // namespace

std::strong_ordering compare(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) {
    return b.size() <=> a.size();
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (auto order = compare(*a[i], *b[i]); order != 0) {
      return order;
    }
  }
  return std::strong_ordering::equal;
}

bool add_scaled(const Polynomial& a, const Polynomial& b, int64_t factor, Polynomial& result) {
  if (!add_scaled(a.constant, b.constant, factor, result.constant)) {
    return false;
  }
  result.terms.clear();
  result.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0;
  size_t j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    std::strong_ordering order = i == a.terms.size()   ? std::strong_ordering::greater
                                 : j == b.terms.size() ? std::strong_ordering::less
                                                       : compare(a.terms[i].atoms, b.terms[j].atoms);
    if (order < 0) {
      result.terms.push_back(a.terms[i++]);
      continue;
    }
    int64_t coefficient = order == 0 ? a.terms[i++].coefficient : 0;
    if (!add_scaled(coefficient, b.terms[j].coefficient, factor, coefficient)) {
      return false;
    }
    if (coefficient != 0) {
      result.terms.push_back({coefficient, b.terms[j].atoms});
    }
    ++j;
  }
  return result.terms.size() <= kMaxTerms;
}

bool multiply(const Polynomial& a, const Polynomial& b, Polynomial& result) {
  if (b.is_constant()) {
    return add_scaled({}, a, b.constant, result);
  }
  if (a.is_constant()) {
    return add_scaled({}, b, a.constant, result);
  }
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > kMaxProducts) {
    return false;
  }
  if (__builtin_mul_overflow(a.constant, b.constant, &result.constant)) {
    return false;
  }
  std::vector<Term>& terms = result.terms;
  terms.clear();
  auto append = [&terms](int64_t x, int64_t y, Monomial atoms) {
    Term term{0, std::move(atoms)};
    if (__builtin_mul_overflow(x, y, &term.coefficient) || term.atoms.size() > kMaxDegree) {
      return false;
    }
    if (term.coefficient != 0) {
      terms.push_back(std::move(term));
    }
    return true;
  };
  for (const Term& x : a.terms) {
    for (const Term& y : b.terms) {
      if (!append(x.coefficient, y.coefficient, merged(x.atoms, y.atoms))) {
        return false;
      }
    }
    if (!append(x.coefficient, b.constant, x.atoms)) {
      return false;
    }
  }
  for (const Term& y : b.terms) {
    if (!append(y.coefficient, a.constant, y.atoms)) {
      return false;
    }
  }
  return merge_terms(terms) && terms.size() <= kMaxTerms;
}

bool negate(Polynomial& a) {
  if (__builtin_sub_overflow(int64_t{0}, a.constant, &a.constant)) {
    return false;
  }
  for (Term& term : a.terms) {
    if (__builtin_sub_overflow(int64_t{0}, term.coefficient, &term.coefficient)) {
      return false;
    }
  }
  return true;
}

bool divide(const Monomial& from, const Monomial& part, Monomial& quotient) {
  quotient.clear();
  size_t j = 0;
  for (const NodeRef& atom : from) {
    if (j < part.size() && compare(*atom, *part[j]) == 0) {
      ++j;
    } else {
      quotient.push_back(atom);
    }
  }
  return j == part.size();
}

bool split(const Polynomial& dividend, const Polynomial& divisor, Polynomial& quotient,
           Polynomial& remainder) {
  bool by_number = divisor.is_constant();
  int64_t factor = divisor.leading();
  const Monomial none;
  const Monomial& part = by_number ? none : divisor.terms.front().atoms;
  quotient = {};
  remainder = {};
  if (by_number) {
    remainder.constant = dividend.constant % factor;
    quotient.constant = dividend.constant / factor;
    if (remainder.constant < 0) {
      remainder.constant += factor;
      quotient.constant -= 1;  // factor > 1 here, so the quotient is not the least number
    }
  } else {
    remainder.constant = dividend.constant;
  }
  Monomial rest;
  for (const Term& term : dividend.terms) {
    int64_t cut = term.coefficient / factor;
    if (cut == 0 || !divide(term.atoms, part, rest)) {
      remainder.terms.push_back(term);
      continue;
    }
    if (rest.empty()) {
      if (__builtin_add_overflow(quotient.constant, cut, &quotient.constant)) {
        return false;
      }
    } else {
      quotient.terms.push_back({cut, rest});
    }
    if (term.coefficient % factor != 0) {
      remainder.terms.push_back({term.coefficient % factor, term.atoms});
    }
  }
  return true;
}

bool divide_exactly(const Polynomial& dividend, const Polynomial& divisor, Polynomial& quotient) {
  quotient = {};
  Polynomial rest = dividend;
  for (size_t step = 0; step < kMaxProducts; ++step) {
    if (rest.is_zero()) {
      return true;
    }
    if (rest.is_constant() != divisor.is_constant() && rest.is_constant()) {
      return false;
    }
    int64_t factor = divisor.leading();
    int64_t leading = rest.leading();
    if (factor == 0 || factor == -1 || leading % factor != 0) {
      return false;
    }
    Polynomial part;
    Monomial atoms;
    if (!rest.is_constant() &&
        !divide(rest.terms.front().atoms, divisor.is_constant() ? Monomial{} : divisor.terms.front().atoms,
                atoms)) {
      return false;
    }
    if (atoms.empty()) {
      part.constant = leading / factor;
    } else {
      part.terms.push_back({leading / factor, std::move(atoms)});
    }
    Polynomial product;
    Polynomial next;
    Polynomial sum;
    if (!multiply(part, divisor, product) || !add_scaled(rest, product, -1, next) ||
        !add_scaled(quotient, part, 1, sum)) {
      return false;
    }
    rest = std::move(next);
    quotient = std::move(sum);
  }
  return false;
}

uint64_t coefficient_gcd(const Polynomial& a, bool with_constant) {
  uint64_t gcd = with_constant ? magnitude(a.constant) : 0;
  for (const Term& term : a.terms) {
    gcd = std::gcd(gcd, magnitude(term.coefficient));
  }
  return gcd;
}

Monomial common_factors(const Monomial& a, const Monomial& b) {
  Monomial common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common),
                        [](const NodeRef& x, const NodeRef& y) { return compare(*x, *y) < 0; });
  return common;
}

Monomial common_factors(const Polynomial& a) {
  if (a.constant != 0 || a.terms.empty()) {
    return {};
  }
  Monomial common = a.terms.front().atoms;
  for (size_t i = 1; i < a.terms.size() && !common.empty(); ++i) {
    common = common_factors(common, a.terms[i].atoms);
  }
  return common;
}

Polynomial divided(const Polynomial& a, int64_t factor, const Monomial& atoms) {
  Polynomial result;
  result.constant = a.constant / factor;
  for (const Term& term : a.terms) {
    Term& reduced = result.terms.emplace_back(Term{term.coefficient / factor, {}});
    if (!divide(term.atoms, atoms, reduced.atoms)) {
      reduced.atoms = term.atoms;
    }
  }
  if (!result.terms.empty() && result.terms.back().atoms.empty()) {  // the term that was `atoms` itself
    result.constant = result.terms.back().coefficient;
    result.terms.pop_back();
  }
  return result;
}

}  // namespace weir
