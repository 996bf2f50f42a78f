// SPDX-License-Identifier: Apache-2.0
//
// Dim: one dimension, stride or offset. An integer, or an expression over the symbols of a program.
//
//   SymbolTable symbols;
//   Dim batch = symbols.add("batch", {1, kDimMax}, {SymbolSource::Kind::kDimension, 0, 0});
//   Dim tokens = batch * 128;
//   exact_div(tokens, batch) == Dim(128);     // common factors cancel: no expression is left
//   floor_div(batch * 4 + 2, 4) == batch;     // 0 ≤ 2 < 4
//
// Every Dim is kept in normal form: a polynomial with integer coefficients whose factors ("atoms") are
// symbols or operations that do not simplify. Two Dims that have the same normal form compare equal, so
// equality of shapes and strides can be decided while compiling. A comparison whose ranges decide it folds to
// 0 or 1.
//
// Dims are immutable values that share their structure; copying one is cheap, and any number of threads may
// read one. Arithmetic never fails while building: where a constant would overflow or divide by zero the
// operation stays an expression, and evaluating it gives the error. Normalising never changes a value, but it
// may remove an error: x − x is 0 even where computing x overflows, and exact_div(a·b, b) is a even for b =
// 0. Every operation is strict: an error in the branch that kSelect does not take is an error all the same.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir {

// The largest value that a dimension may take; sums and products of dimensions are checked in 64 bits.
inline constexpr int64_t kDimMax = int64_t{1} << 48;

// Inclusive. A range with min == max is a constant.
struct Range {
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
  friend bool operator==(const Range&, const Range&) = default;
};

// Where the value of a symbol comes from when a request is prepared.
struct SymbolSource {
  enum class Kind : uint8_t {
    kDimension,  // dimension `index` of program input `input`
    kElement,    // element `index` of program input `input`, declared as a shape input
  };
  Kind kind = Kind::kDimension;
  int32_t input = 0;
  int32_t index = 0;
  friend bool operator==(const SymbolSource&, const SymbolSource&) = default;
};

struct Symbol {
  int32_t id = 0;  // position in its SymbolTable; the order of terms in a normal form
  std::string name;
  Range range;
  SymbolSource source;
};

enum class DimOp : uint8_t {
  kConstant,    // value
  kSymbol,      // symbol id
  kAdd,         // a + b
  kMul,         // a * b
  kFloorDiv,    // ⌊a / b⌋, rounds towards minus infinity
  kCeilDiv,     // ⌈a / b⌉
  kExactDiv,    // a / b, an error where b does not divide a
  kMod,         // a − b·⌊a / b⌋
  kMin,         //
  kMax,         //
  kEqual,       // 1 where a = b, else 0
  kLess,        // 1 where a < b, else 0
  kNot,         // 1 where a = 0, else 0
  kSelect,      // b where a ≠ 0, else c
  kFloorScale,  // ⌊a · scale⌋, the product in double precision (Resize)
};

class Dim {
 public:
  struct Node;  // the shared, immutable expression; see dim_node.h

  Dim() : Dim(int64_t{0}) {}
  Dim(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): a Dim is a number first
  Dim(int value) : value_(value) {}      // NOLINT(google-explicit-constructor)

  bool is_constant() const { return node_ == nullptr; }
  // The number. Only for constants.
  int64_t constant() const { return value_; }
  std::optional<int64_t> as_constant() const {
    return is_constant() ? std::optional<int64_t>(value_) : std::nullopt;
  }
  bool is_constant(int64_t value) const { return is_constant() && value_ == value; }

  // Bounds of its value, from the ranges of its symbols; INT64_MIN and INT64_MAX where there is none. They
  // may be equal though it is an expression: is_constant() is about the form, proves_equal() about the value.
  Range range() const;

  // The value with `symbols[id]` for each symbol. Overflow, a zero divisor and an inexact quotient are
  // errors.
  Result<int64_t> evaluate(std::span<const int64_t> symbols) const;

  // As a person would write it: "4·batch + 2", "⌊(height + 1) / 2⌋".
  std::string to_string() const;

  // Equal normal forms: equal for every value of the symbols. (Unequal says nothing.)
  friend bool operator==(const Dim& a, const Dim& b) {
    return a.is_constant() || b.is_constant() ? a.is_constant() == b.is_constant() && a.value_ == b.value_
                                              : same(*a.node_, *b.node_);
  }

  // Numbers are the common case and stay inline: they neither allocate nor call.
  friend Dim operator+(const Dim& a, const Dim& b) {
    int64_t sum;
    if (a.is_constant() && b.is_constant() && !__builtin_add_overflow(a.value_, b.value_, &sum)) {
      return sum;
    }
    return add(a, b);
  }
  friend Dim operator-(const Dim& a, const Dim& b) {
    int64_t difference;
    if (a.is_constant() && b.is_constant() && !__builtin_sub_overflow(a.value_, b.value_, &difference)) {
      return difference;
    }
    return subtract(a, b);
  }
  friend Dim operator*(const Dim& a, const Dim& b) {
    int64_t product;
    if (a.is_constant() && b.is_constant() && !__builtin_mul_overflow(a.value_, b.value_, &product)) {
      return product;
    }
    return multiply(a, b);
  }
  Dim& operator+=(const Dim& other) { return *this = *this + other; }
  Dim& operator*=(const Dim& other) { return *this = *this * other; }

  // For the layers that store or walk expressions (dim_table.h).
  const Node* node() const { return node_.get(); }

 private:
  friend class DimBuilder;
  static Dim add(const Dim& a, const Dim& b);
  static Dim subtract(const Dim& a, const Dim& b);
  static Dim multiply(const Dim& a, const Dim& b);
  static bool same(const Node& a, const Node& b);

  int64_t value_ = 0;
  std::shared_ptr<const Node> node_;
};

Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
// a / b where b is known to divide a (the −1 of a Reshape); cancels common factors.
Dim exact_div(const Dim& a, const Dim& b);
Dim mod(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim equal(const Dim& a, const Dim& b);
Dim less(const Dim& a, const Dim& b);
Dim logical_not(const Dim& a);
Dim select(const Dim& condition, const Dim& then, const Dim& otherwise);
Dim floor_scale(const Dim& a, double scale);

// True or false where the ranges or normal forms decide, nothing where they do not.
std::optional<bool> proves_equal(const Dim& a, const Dim& b);
std::optional<bool> proves_less(const Dim& a, const Dim& b);

Dim product(std::span<const Dim> dims);

// `dim` with every symbol `i` for which `replacements[i]` holds a Dim replaced by it, in normal form again.
Dim substitute(const Dim& dim, std::span<const std::optional<Dim>> replacements);

// The symbols of one graph or program, in order of their ids.
class SymbolTable {
 public:
  // A fresh symbol. An empty name or '?' becomes "dim<id>". A range of one value gives that number: the
  // symbol keeps its place in the table, and no expression mentions it.
  Dim add(std::string_view name, Range range, SymbolSource source);
  std::span<const std::shared_ptr<const Symbol>> symbols() const { return symbols_; }
  size_t size() const { return symbols_.size(); }

 private:
  std::vector<std::shared_ptr<const Symbol>> symbols_;
};

// What must hold for a program to be prepared; an error names `what` ("Add 'a' and Mul 'b' need equal …").
struct Constraint {
  enum class Kind : uint8_t { kEqual, kDivides, kAtLeast, kAtMost };
  Kind kind = Kind::kEqual;
  Dim a;  // kEqual: a = b; kDivides: b divides a; kAtLeast: a ≥ b; kAtMost: a ≤ b
  Dim b;
  std::string what;
};

// Whether a constraint of `kind` holds for these values of a and b, whatever they are.
bool holds(Constraint::Kind kind, int64_t a, int64_t b);
// What `kind` says of a and b: "equals", "is a multiple of", "is at least", "is at most".
std::string_view relation(Constraint::Kind kind);

// The error that names the constraint and both values, or nothing.
Result<void> check(const Constraint& constraint, std::span<const int64_t> symbols);

using Dims = std::vector<Dim>;

}  // namespace weir
