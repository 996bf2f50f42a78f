// SPDX-License-Identifier: Apache-2.0
//
// Sums, products, comparisons and choices. Quotients are in dim_division.cc.
#include "shape/dim.h"

#include <algorithm>
#include <cmath>

#include "shape/dim_arithmetic.h"
#include "shape/dim_node.h"
#include "shape/dim_size.h"
#include "shape/interval.h"

namespace weir {
namespace {

constexpr size_t kMaxChoices = 8;            // operands of a nested min or max that are seen as one
constexpr int64_t kExactDouble = 1LL << 53;  // every integer up to here is a double

// An operation whose operands may change places.
Dim commutative(DimOp op, const Dim& a, const Dim& b) {
  return compare(a, b) <= 0 ? DimBuilder::operation(op, a, b) : DimBuilder::operation(op, b, a);
}

// a − b
bool difference(const Dim& a, const Dim& b, Polynomial& result) {
  Polynomial a_storage;
  Polynomial b_storage;
  return add_scaled(DimBuilder::view(a, a_storage), DimBuilder::view(b, b_storage), -1, result);
}

// Of a − b, from both the normal form of the difference and the ranges of the two.
Range difference_range(const Dim& a, const Dim& b) {
  Range range = interval::add(a.range(), interval::negate(b.range()));
  Polynomial polynomial;
  return difference(a, b, polynomial) ? interval::intersect(range, range_of(polynomial)) : range;
}

// d = positive − negative, with positive coefficients in both: what a comparison of d with 0 compares.
bool sides(const Polynomial& d, Dim& positive, Dim& negative) {
  Polynomial above;
  Polynomial below;
  (d.constant > 0 ? above : below).constant = d.constant;
  for (const Term& term : d.terms) {
    (term.coefficient > 0 ? above : below).terms.push_back(term);
  }
  if (!negate(below)) {
    return false;
  }
  positive = DimBuilder::polynomial(std::move(above));
  negative = DimBuilder::polynomial(std::move(below));
  return true;
}

// The operands of nested operations `op`, or just a and b where they are too many.
Dims operands_of(DimOp op, const Dim& a, const Dim& b) {
  Dims operands;
  Dims pending{b, a};
  while (!pending.empty()) {
    Dim dim = std::move(pending.back());
    pending.pop_back();
    if (dim.is_constant() || !dim.node()->is_operation(op)) {
      operands.push_back(std::move(dim));
      continue;
    }
    if (operands.size() + pending.size() + 2 > kMaxChoices) {
      return {a, b};
    }
    pending.push_back(dim.node()->operands[1]);
    pending.push_back(dim.node()->operands[0]);
  }
  return operands;
}

// min or max of both: one chain of the operands that none of the others makes redundant.
Dim extremum(DimOp op, const Dim& a, const Dim& b) {
  auto is_redundant = [op](const Dim& x, const Dim& other) {
    Range range = difference_range(x, other);
    return op == DimOp::kMin ? range.min >= 0 : range.max <= 0;
  };
  // In order from the start: of operands that are proved equal, though they are written differently, the same
  // one stays whichever way round they came.
  Dims operands = operands_of(op, a, b);
  std::sort(operands.begin(), operands.end(), [](const Dim& x, const Dim& y) { return compare(x, y) < 0; });
  Dims kept;
  for (size_t i = 0; i < operands.size(); ++i) {
    bool redundant = std::any_of(kept.begin(), kept.end(),
                                 [&](const Dim& other) { return is_redundant(operands[i], other); });
    for (size_t j = i + 1; j < operands.size() && !redundant; ++j) {
      // Of two that are equal the second is redundant already.
      redundant = is_redundant(operands[i], operands[j]) && !is_redundant(operands[j], operands[i]);
    }
    if (!redundant) {
      kept.push_back(operands[i]);
    }
  }
  Dim result = kept[0];
  for (size_t i = 1; i < kept.size(); ++i) {
    result = DimBuilder::operation(op, result, kept[i]);
  }
  return result;
}

bool is_boolean(const Dim& a) {
  return interval::is_boolean(a.range());
}

}  // namespace

Range Dim::range() const {
  return node_ ? node_->range : interval::constant(value_);
}

int64_t size_of(const Dim& dim) {
  return dim.is_constant() ? 1 : dim.node()->weight;
}

bool Dim::same(const Node& a, const Node& b) {
  return &a == &b || (a.hash == b.hash && compare(a, b) == 0);
}

Dim Dim::add(const Dim& a, const Dim& b) {
  if (a.is_constant(0) || b.is_constant(0)) {
    return a.is_constant(0) ? b : a;
  }
  Polynomial a_storage;
  Polynomial b_storage;
  Polynomial sum;
  if (!add_scaled(DimBuilder::view(a, a_storage), DimBuilder::view(b, b_storage), 1, sum)) {
    return commutative(DimOp::kAdd, a, b);
  }
  return DimBuilder::polynomial(std::move(sum));
}

Dim Dim::subtract(const Dim& a, const Dim& b) {
  if (b.is_constant(0)) {
    return a;
  }
  Polynomial result;
  if (!difference(a, b, result)) {
    return commutative(DimOp::kAdd, a, b * Dim(-1));
  }
  return DimBuilder::polynomial(std::move(result));
}

Dim Dim::multiply(const Dim& a, const Dim& b) {
  if (a.is_constant(0) || b.is_constant(0)) {
    return 0;
  }
  if (a.is_constant(1) || b.is_constant(1)) {
    return a.is_constant(1) ? b : a;
  }
  Polynomial a_storage;
  Polynomial b_storage;
  Polynomial product;
  if (!weir::multiply(DimBuilder::view(a, a_storage), DimBuilder::view(b, b_storage), product)) {
    return commutative(DimOp::kMul, a, b);
  }
  return DimBuilder::polynomial(std::move(product));
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    return std::min(a.constant(), b.constant());
  }
  return extremum(DimOp::kMin, a, b);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    return std::max(a.constant(), b.constant());
  }
  return extremum(DimOp::kMax, a, b);
}

Dim equal(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    return a.constant() == b.constant() ? 1 : 0;
  }
  if (compare(a, b) > 0) {
    return equal(b, a);
  }
  if (std::optional<bool> known = proves_equal(a, b)) {
    return *known ? 1 : 0;
  }
  Polynomial d;
  Dim positive;
  Dim negative;
  if (!difference(a, b, d) || (d.leading() < 0 && !negate(d))) {
    return commutative(DimOp::kEqual, a, b);
  }
  // proves_equal() has found that the divisor of the coefficients divides the constant too.
  uint64_t gcd = coefficient_gcd(d, false);
  if (gcd <= INT64_MAX) {
    d = divided(d, static_cast<int64_t>(gcd), {});
  }
  if (!sides(d, positive, negative)) {
    return commutative(DimOp::kEqual, a, b);
  }
  if (is_boolean(positive) && negative.is_constant(0)) {
    return logical_not(positive);
  }
  if (is_boolean(positive) && negative.is_constant(1)) {
    return positive;
  }
  return commutative(DimOp::kEqual, positive, negative);
}

Dim less(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    return a.constant() < b.constant() ? 1 : 0;
  }
  if (std::optional<bool> known = proves_less(a, b)) {
    return *known ? 1 : 0;
  }
  Polynomial d;
  Dim positive;
  Dim negative;
  if (!difference(a, b, d)) {
    return DimBuilder::operation(DimOp::kLess, a, b);
  }
  // g·e + k < 0 where and only where e + ⌊k / g⌋ < 0.
  if (uint64_t gcd = coefficient_gcd(d, false); gcd <= INT64_MAX) {
    int64_t constant = floor_quotient(d.constant, static_cast<int64_t>(gcd));
    d = divided(d, static_cast<int64_t>(gcd), {});
    d.constant = constant;
  }
  return sides(d, positive, negative) ? DimBuilder::operation(DimOp::kLess, positive, negative)
                                      : DimBuilder::operation(DimOp::kLess, a, b);
}

Dim logical_not(const Dim& a) {
  if (a.is_constant()) {
    return a.constant() == 0 ? 1 : 0;
  }
  if (interval::excludes_zero(a.range())) {
    return 0;
  }
  if (!is_boolean(a)) {
    return equal(a, 0);
  }
  return a.node()->is_operation(DimOp::kNot) ? a.node()->operands[0] : DimBuilder::operation(DimOp::kNot, a);
}

Dim select(const Dim& condition, const Dim& then, const Dim& otherwise) {
  if (condition.is_constant()) {
    return condition.constant() != 0 ? then : otherwise;
  }
  if (interval::excludes_zero(condition.range()) || then == otherwise) {
    return then;
  }
  if (condition.node()->is_operation(DimOp::kNot)) {
    return select(condition.node()->operands[0], otherwise, then);
  }
  if (is_boolean(condition) && then.is_constant(1) && otherwise.is_constant(0)) {
    return condition;
  }
  if (then.is_constant(0) && otherwise.is_constant(1)) {
    return logical_not(condition);
  }
  return DimBuilder::operation(DimOp::kSelect, condition, then, otherwise);
}

Dim floor_scale(const Dim& a, double scale) {
  int64_t value;
  if (a.is_constant() && apply(DimOp::kFloorScale, a.constant(), 0, 0, scale, value) == DimFault::kNone) {
    return value;
  }
  if (a.is_constant() || !std::isfinite(scale)) {
    return DimBuilder::operation(DimOp::kFloorScale, a, {}, {}, scale);
  }
  if (scale == 0) {
    return 0;
  }
  // scale = numerator·2^exponent with an odd numerator. Where a and a·numerator are doubles without rounding,
  // so is the product, and the operation is one on integers.
  int exponent;
  auto numerator = static_cast<int64_t>(std::frexp(scale, &exponent) * 0x1p53);
  exponent -= 53;
  while (numerator % 2 == 0) {
    numerator /= 2;
    ++exponent;
  }
  constexpr Range kExact{-kExactDouble, kExactDouble};
  Range scaled = interval::mul(a.range(), interval::constant(numerator));
  bool is_exact = a.range().min >= kExact.min && a.range().max <= kExact.max && scaled.min >= kExact.min &&
                  scaled.max <= kExact.max;
  if (!is_exact || exponent < -62 || exponent > 62) {
    return DimBuilder::operation(DimOp::kFloorScale, a, {}, {}, scale);
  }
  Dim power = int64_t{1} << std::abs(exponent);
  return exponent >= 0 ? a * numerator * power : floor_div(a * numerator, power);
}

std::optional<bool> proves_equal(const Dim& a, const Dim& b) {
  if (compare(a, b) > 0) {  // a difference may overflow one way round only
    return proves_equal(b, a);
  }
  if (a == b) {
    return true;
  }
  Range range = difference_range(a, b);
  if (interval::excludes_zero(range)) {
    return false;
  }
  if (range.min == 0 && range.max == 0) {
    return true;
  }
  Polynomial d;
  if (difference(a, b, d)) {
    uint64_t gcd = coefficient_gcd(d, false);
    if (gcd > 1 && gcd != coefficient_gcd(d, true)) {
      return false;
    }
  }
  return std::nullopt;
}

std::optional<bool> proves_less(const Dim& a, const Dim& b) {
  if (a == b) {
    return false;
  }
  Range range = difference_range(a, b);
  if (range.max < 0) {
    return true;
  }
  if (range.min >= 0) {
    return false;
  }
  return std::nullopt;
}

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim& dim : dims) {
    result *= dim;
  }
  return result;
}

Dim DimBuilder::apply(DimOp op, const Dim& a, const Dim& b, const Dim& c, double scale) {
  switch (op) {
    case DimOp::kAdd:
      return a + b;
    case DimOp::kMul:
      return a * b;
    case DimOp::kFloorDiv:
      return floor_div(a, b);
    case DimOp::kCeilDiv:
      return ceil_div(a, b);
    case DimOp::kExactDiv:
      return exact_div(a, b);
    case DimOp::kMod:
      return mod(a, b);
    case DimOp::kMin:
      return weir::min(a, b);
    case DimOp::kMax:
      return weir::max(a, b);
    case DimOp::kEqual:
      return equal(a, b);
    case DimOp::kLess:
      return less(a, b);
    case DimOp::kNot:
      return logical_not(a);
    case DimOp::kSelect:
      return select(a, b, c);
    case DimOp::kFloorScale:
      return floor_scale(a, scale);
    case DimOp::kConstant:
    case DimOp::kSymbol:
      break;
  }
  return a;
}

}  // namespace weir
