// SPDX-License-Identifier: Apache-2.0
//
// Quotients and remainders. Each is brought to one form, so that equal things compare equal:
//
//   - multiples of the divisor are split off: ⌊(4·n + m + 2) / 4⌋ = n + ⌊(m + 2) / 4⌋
//   - common factors cancel: ⌊(4·n + 3) / 6⌋ = ⌊(2·n + 1) / 3⌋
//   - the leading coefficient is positive: ⌊−n / 2⌋ = −⌊(n + 1) / 2⌋
//   - by a number, a ceiling is a floor: ⌈n / 2⌉ = ⌊(n + 1) / 2⌋, and a remainder n − c·⌊n / c⌋
//   - quotients of quotients are one: ⌊(⌊n / 2⌋ + 1) / 3⌋ = ⌊(n + 2) / 6⌋
//
// Where a number overflows on the way, the operation stays as it was given.
#include <algorithm>
#include <numeric>
#include <optional>

#include "shape/dim_arithmetic.h"
#include "shape/dim_node.h"
#include "shape/interval.h"

namespace weir {
namespace {

Polynomial copy_of(const Dim& dim) {
  Polynomial storage;
  return DimBuilder::view(dim, storage);
}

std::optional<Dim> fold(DimOp op, const Dim& a, const Dim& b) {
  int64_t result;
  if (a.is_constant() && b.is_constant() &&
      apply(op, a.constant(), b.constant(), 0, 0, result) == DimFault::kNone) {
    return result;
  }
  return std::nullopt;
}

// sum += sign·part
bool accumulate(Polynomial& sum, const Polynomial& part, int64_t sign) {
  Polynomial next;
  if (!add_scaled(sum, part, sign, next)) {
    return false;
  }
  sum = std::move(next);
  return true;
}

// ⌊x / a⌋ + q, with no other floor in q: x + a·q and a.
bool is_quotient_sum(const Polynomial& sum, Polynomial& dividend, int64_t& divisor) {
  size_t found = sum.terms.size();
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& term = sum.terms[i];
    bool has_floor = std::any_of(term.atoms.begin(), term.atoms.end(), [](const NodeRef& atom) {
      return atom->is_operation(DimOp::kFloorDiv) && atom->operands[1].is_constant();
    });
    if (!has_floor) {
      continue;
    }
    if (found != sum.terms.size() || term.atoms.size() != 1 || term.coefficient != 1) {
      return false;
    }
    found = i;
  }
  if (found == sum.terms.size()) {
    return false;
  }
  const Dim::Node& quotient = *sum.terms[found].atoms[0];
  divisor = quotient.operands[1].constant();
  Polynomial others = sum;
  others.terms.erase(others.terms.begin() + static_cast<ptrdiff_t>(found));
  Polynomial storage;
  return divisor > 0 &&
         add_scaled(DimBuilder::view(quotient.operands[0], storage), others, divisor, dividend);
}

// ⌊p / c⌋ for c ≥ 1; false where a number overflows.
bool floor_by_number(Polynomial p, int64_t c, Polynomial& result) {
  result = {};
  int64_t sign = 1;
  Polynomial rest;
  for (;;) {
    Polynomial quotient;
    if (!split(p, {c, {}}, quotient, rest) || !accumulate(result, quotient, sign)) {
      return false;
    }
    if (rest.is_constant()) {  // 0 ≤ rest < c
      return true;
    }
    auto gcd = static_cast<int64_t>(std::gcd(coefficient_gcd(rest, false), static_cast<uint64_t>(c)));
    if (gcd > 1) {  // ⌊(g·q + r) / (g·c)⌋ = ⌊(q + ⌊r / g⌋) / c⌋, and r ≥ 0
      rest = divided(rest, gcd, {});
      c /= gcd;
    }
    if (rest.leading() < 0) {  // ⌊p / c⌋ = −⌊(c − 1 − p) / c⌋
      if (!negate(rest)) {
        return false;
      }
      rest.constant += c - 1;
      sign = -sign;
    }
    int64_t inner;
    int64_t both;
    Polynomial dividend;
    if (is_quotient_sum(rest, dividend, inner) && !__builtin_mul_overflow(inner, c, &both)) {
      p = std::move(dividend);
      c = both;
      continue;
    }
    Dim atom = DimBuilder::operation(DimOp::kFloorDiv, DimBuilder::polynomial(std::move(rest)), c);
    Polynomial storage;
    return accumulate(result, DimBuilder::view(atom, storage), sign);
  }
}

// What both have in common, cancelled: the numbers always, the atoms those that `may_cancel`.
template <typename MayCancel>
void cancel(Polynomial& p, Polynomial& d, MayCancel may_cancel) {
  uint64_t gcd = std::gcd(coefficient_gcd(p, true), coefficient_gcd(d, true));
  Monomial common = common_factors(common_factors(p), common_factors(d));
  std::erase_if(common, [&](const NodeRef& atom) { return !may_cancel(*atom); });
  if (gcd <= 1 && common.empty()) {
    return;
  }
  int64_t factor = gcd > INT64_MAX ? 1 : std::max<int64_t>(static_cast<int64_t>(gcd), 1);
  p = divided(p, factor, common);
  d = divided(d, factor, common);
}

// dividend = quotient·divisor + remainder, for any divisor with a positive leading coefficient.
bool divide_with_remainder(const Polynomial& p, const Polynomial& d, Polynomial& quotient,
                           Polynomial& remainder) {
  if (d.is_product()) {
    return split(p, d, quotient, remainder);
  }
  remainder = {};
  if (!divide_exactly(p, d, quotient)) {
    quotient = {};
    remainder = p;
  }
  return true;
}

// (k·rest·(x / y)) / d = k·rest·x / (d·y): p and d without the inner quotient, where p is such a product.
bool merge_nested_quotient(Polynomial& p, Polynomial& d) {
  if (p.terms.size() != 1 || p.constant != 0) {
    return false;
  }
  const Term& term = p.terms[0];
  auto nested = std::find_if(term.atoms.begin(), term.atoms.end(),
                             [](const NodeRef& atom) { return atom->is_operation(DimOp::kExactDiv); });
  if (nested == term.atoms.end() || (*nested)->operands[1].is_constant(0)) {
    return false;
  }
  Polynomial others{0, {term}};
  Monomial& atoms = others.terms[0].atoms;
  atoms.erase(atoms.begin() + (nested - term.atoms.begin()));
  if (atoms.empty()) {
    others = {term.coefficient, {}};
  }
  Polynomial dividend;
  Polynomial divisor;
  if (!multiply(others, copy_of((*nested)->operands[0]), dividend) ||
      !multiply(d, copy_of((*nested)->operands[1]), divisor)) {
    return false;
  }
  p = std::move(dividend);
  d = std::move(divisor);
  return true;
}

// ⌊a / b⌋ or ⌈a / b⌉ for a divisor that is no number.
Dim round_by_expression(DimOp op, const Dim& a, const Dim& b) {
  Polynomial p = copy_of(a);
  Polynomial d = copy_of(b);
  if (d.leading() < 0 && (!negate(d) || !negate(p))) {
    return DimBuilder::operation(op, a, b);
  }
  cancel(p, d, [](const Dim::Node& atom) { return interval::excludes_zero(atom.range); });
  Dim divisor = DimBuilder::polynomial(d);
  if (divisor.is_constant()) {
    Dim dividend = DimBuilder::polynomial(std::move(p));
    return op == DimOp::kFloorDiv ? floor_div(dividend, divisor) : ceil_div(dividend, divisor);
  }
  Polynomial result;
  Polynomial rest;
  if (!divide_with_remainder(p, d, result, rest)) {
    return DimBuilder::operation(op, a, b);
  }
  Range range = divisor.range();
  if (rest.is_zero()) {
    if (interval::excludes_zero(range)) {
      return DimBuilder::polynomial(std::move(result));
    }
    result = {};  // a zero divisor must stay an error
    rest = p;
  }
  int64_t sign = 1;
  if (rest.leading() < 0) {  // ⌊−p / d⌋ = −⌈p / d⌉
    if (!negate(rest)) {
      return DimBuilder::operation(op, a, b);
    }
    op = op == DimOp::kFloorDiv ? DimOp::kCeilDiv : DimOp::kFloorDiv;
    sign = -1;
  }
  Dim dividend = DimBuilder::polynomial(rest);
  Dim atom;
  Polynomial excess;
  if (range.min > 0 && dividend.range().min >= 0 && !rest.is_zero() && add_scaled(rest, d, -1, excess) &&
      range_of(excess).max < 0 && (op == DimOp::kFloorDiv || dividend.range().min > 0)) {
    atom = op == DimOp::kFloorDiv ? 0 : 1;  // 0 ≤ dividend < divisor
  } else {
    atom = DimBuilder::operation(op, dividend, divisor);
  }
  Polynomial storage;
  return accumulate(result, DimBuilder::view(atom, storage), sign) ? DimBuilder::polynomial(std::move(result))
                                                                   : DimBuilder::operation(op, a, b);
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) {
  if (auto folded = fold(DimOp::kFloorDiv, a, b)) {
    return *folded;
  }
  if (!b.is_constant()) {
    return round_by_expression(DimOp::kFloorDiv, a, b);
  }
  Polynomial p = copy_of(a);
  int64_t c = b.constant();
  if (c == 0 || c == INT64_MIN || (c < 0 && !negate(p))) {
    return DimBuilder::operation(DimOp::kFloorDiv, a, b);
  }
  Polynomial result;
  return floor_by_number(std::move(p), c < 0 ? -c : c, result)
             ? DimBuilder::polynomial(std::move(result))
             : DimBuilder::operation(DimOp::kFloorDiv, a, b);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (auto folded = fold(DimOp::kCeilDiv, a, b)) {
    return *folded;
  }
  if (!b.is_constant()) {
    return round_by_expression(DimOp::kCeilDiv, a, b);
  }
  // ⌈p / c⌉ = −⌊−p / c⌋ = −⌊p / −c⌋
  Polynomial p = copy_of(a);
  int64_t c = b.constant();
  Polynomial result;
  if (c == 0 || c == INT64_MIN || (c > 0 && !negate(p)) ||
      !floor_by_number(std::move(p), c < 0 ? -c : c, result) || !negate(result)) {
    return DimBuilder::operation(DimOp::kCeilDiv, a, b);
  }
  return DimBuilder::polynomial(std::move(result));
}

Dim exact_div(const Dim& a, const Dim& b) {
  if (auto folded = fold(DimOp::kExactDiv, a, b)) {
    return *folded;
  }
  Dim as_given = DimBuilder::operation(DimOp::kExactDiv, a, b);
  if (b.is_constant(0) || (a.is_constant() && b.is_constant())) {
    return as_given;
  }
  Polynomial p = copy_of(a);
  Polynomial d = copy_of(b);
  Polynomial result;
  int64_t sign = 1;
  for (;;) {
    if (d.leading() < 0 && (!negate(d) || !negate(p))) {
      return as_given;
    }
    cancel(p, d, [](const Dim::Node&) { return true; });
    if (merge_nested_quotient(p, d)) {
      continue;
    }
    Polynomial quotient;
    Polynomial rest;
    if (!divide_with_remainder(p, d, quotient, rest) || !accumulate(result, quotient, sign)) {
      return as_given;
    }
    if (rest.is_zero()) {
      return DimBuilder::polynomial(std::move(result));
    }
    p = std::move(rest);
    if (!quotient.is_zero()) {
      continue;  // what is left may have factors in common with the divisor
    }
    if (p.leading() > 0) {
      Dim atom = DimBuilder::operation(DimOp::kExactDiv, DimBuilder::polynomial(std::move(p)),
                                       DimBuilder::polynomial(std::move(d)));
      Polynomial storage;
      return accumulate(result, DimBuilder::view(atom, storage), sign)
                 ? DimBuilder::polynomial(std::move(result))
                 : as_given;
    }
    if (!negate(p)) {
      return as_given;
    }
    sign = -sign;
  }
}

Dim mod(const Dim& a, const Dim& b) {
  if (auto folded = fold(DimOp::kMod, a, b)) {
    return *folded;
  }
  Dim as_given = DimBuilder::operation(DimOp::kMod, a, b);
  if (b.is_constant(0) || b.is_constant(INT64_MIN)) {
    return as_given;
  }
  // a mod −b = −(−a mod b)
  Polynomial p = copy_of(a);
  Polynomial d = copy_of(b);
  int64_t sign = d.leading() < 0 ? -1 : 1;
  if (sign < 0 && (!negate(p) || !negate(d))) {
    return as_given;
  }
  Polynomial quotient;
  Polynomial rest;
  if (!divide_with_remainder(p, d, quotient, rest)) {
    return as_given;
  }
  Dim divisor = DimBuilder::polynomial(d);
  if (divisor.is_constant()) {
    Polynomial floor;
    Polynomial result;
    Polynomial signed_result;
    if (!floor_by_number(rest, divisor.constant(), floor) ||
        !add_scaled(rest, floor, -divisor.constant(), result) ||
        !add_scaled({}, result, sign, signed_result)) {
      return as_given;
    }
    return DimBuilder::polynomial(std::move(signed_result));
  }
  if (interval::excludes_zero(divisor.range()) && rest.is_zero()) {
    return 0;
  }
  Polynomial excess;
  if (divisor.range().min > 0 && range_of(rest).min >= 0 && add_scaled(rest, d, -1, excess) &&
      range_of(excess).max < 0) {
    return DimBuilder::polynomial(std::move(rest)) * sign;
  }
  return DimBuilder::operation(DimOp::kMod, DimBuilder::polynomial(std::move(rest)), divisor) * sign;
}

}  // namespace weir
