// SPDX-License-Identifier: Apache-2.0
//
// Expressions as they are written, before any Dim simplifies them: what the tests of src/shape check Dims
// against.
//
//   Expression height = Expression::symbol(0);
//   Expression output = floor_div(height + 2 - 3, 2) + 1;
//   Dim dim = output.to_dim(symbols);      // in normal form
//   output.to_json();                      // ["add", ["floor_div", …], 1] for the oracle in Python
//   output.evaluate(values);               // in 128 bits, nothing where it fails or does not fit
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "shape/dim.h"

namespace weir {

__extension__ using Wide = __int128;

class Expression {
 public:
  Expression(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is one

  static Expression symbol(int id) {
    Expression result(id);
    result.op_ = DimOp::kSymbol;
    return result;
  }
  static Expression operation(DimOp op, std::vector<Expression> operands, double scale = 0) {
    Expression result(0);
    result.op_ = op;
    result.operands_ = std::make_shared<const std::vector<Expression>>(std::move(operands));
    result.scale_ = scale;
    return result;
  }

  Dim to_dim(std::span<const Dim> symbols) const;
  std::string to_json() const;
  std::optional<Wide> evaluate(std::span<const int64_t> symbols) const;

 private:
  DimOp op_ = DimOp::kConstant;
  int64_t value_ = 0;
  std::shared_ptr<const std::vector<Expression>> operands_;
  double scale_ = 0;
};

// The name of an operation in the JSON that dim_oracle.py reads.
std::string_view name_of(DimOp op);

inline Expression operator+(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kAdd, {a, b});
}
inline Expression operator*(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kMul, {a, b});
}
inline Expression operator-(const Expression& a, const Expression& b) {
  return a + b * -1;
}
inline Expression floor_div(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kFloorDiv, {a, b});
}
inline Expression ceil_div(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kCeilDiv, {a, b});
}
inline Expression exact_div(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kExactDiv, {a, b});
}
inline Expression min(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kMin, {a, b});
}
inline Expression max(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kMax, {a, b});
}
inline Expression less(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kLess, {a, b});
}
inline Expression equal(const Expression& a, const Expression& b) {
  return Expression::operation(DimOp::kEqual, {a, b});
}
inline Expression select(const Expression& a, const Expression& b, const Expression& c) {
  return Expression::operation(DimOp::kSelect, {a, b, c});
}
inline Expression floor_scale(const Expression& a, double scale) {
  return Expression::operation(DimOp::kFloorScale, {a}, scale);
}

// Random expressions and assignments. The same seed gives the same ones.
class ExpressionSource {
 public:
  // How large constants and values are.
  enum class Magnitude { kSmall, kLarge };

  ExpressionSource(uint64_t seed, Magnitude magnitude, std::span<const Range> symbols)
      : random_(seed), magnitude_(magnitude), symbols_(symbols.begin(), symbols.end()) {}

  // No more exact quotients: c·(x / c) is x, and then a sum with x / c in it is no longer the one expected.
  void without_exact_quotients() { has_exact_quotients_ = false; }

  // An expression of at most `depth` levels. Parts of it come back elsewhere in it, so that rules that need
  // equal operands apply.
  Expression expression(int depth);
  // A value for each symbol, within its range; often at its ends.
  std::vector<int64_t> assignment();

  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

 private:
  Expression leaf();
  int64_t number();

  std::mt19937_64 random_;
  Magnitude magnitude_;
  std::vector<Range> symbols_;
  std::vector<Expression> seen_;
  bool has_exact_quotients_ = true;
};

}  // namespace weir
