// SPDX-License-Identifier: Apache-2.0
//
// Shape expressions out of bytes: every operation is done on Dims, which simplify, and on numbers of 128 bits
// as it is written. Where the numbers have a value, the normal form, its table and its range agree with it.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "shape/dim.h"
#include "shape/dim_size.h"
#include "shape/dim_table.h"

namespace weir::fuzz {

__extension__ using Wide = __int128;

constexpr size_t kSymbols = 4;
constexpr size_t kAssignments = 4;

// One expression: as a Dim, and its value for each assignment; none where a step of it has none in 64 bits.
struct Slot {
  Dim dim;
  std::array<std::optional<Wide>, kAssignments> values;
};

inline Wide floor_quotient(Wide a, Wide b) {
  const Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The operation as dim.h defines it.
inline std::optional<Wide> direct(DimOp op, Wide a, Wide b, Wide c, double scale) {
  const bool divides =
      op == DimOp::kFloorDiv || op == DimOp::kCeilDiv || op == DimOp::kExactDiv || op == DimOp::kMod;
  if (divides && b == 0) {
    return std::nullopt;
  }
  Wide value = 0;
  switch (op) {
    case DimOp::kAdd:
      value = a + b;
      break;
    case DimOp::kMul:
      value = a * b;
      break;
    case DimOp::kFloorDiv:
      value = floor_quotient(a, b);
      break;
    case DimOp::kCeilDiv:
      value = -floor_quotient(-a, b);
      break;
    case DimOp::kExactDiv:
      if (a % b != 0) {
        return std::nullopt;
      }
      value = a / b;
      break;
    case DimOp::kMod:
      value = a - b * floor_quotient(a, b);
      break;
    case DimOp::kMin:
      value = a < b ? a : b;
      break;
    case DimOp::kMax:
      value = a < b ? b : a;
      break;
    case DimOp::kEqual:
      value = a == b ? 1 : 0;
      break;
    case DimOp::kLess:
      value = a < b ? 1 : 0;
      break;
    case DimOp::kNot:
      value = a == 0 ? 1 : 0;
      break;
    case DimOp::kSelect:
      value = a != 0 ? b : c;
      break;
    case DimOp::kFloorScale: {
      const double scaled = std::floor(static_cast<double>(static_cast<int64_t>(a)) * scale);
      if (!(scaled >= -0x1p63 && scaled < 0x1p63)) {
        return std::nullopt;
      }
      value = static_cast<Wide>(scaled);
      break;
    }
    case DimOp::kConstant:
    case DimOp::kSymbol:
      return std::nullopt;
  }
  return value >= INT64_MIN && value <= INT64_MAX ? std::optional(value) : std::nullopt;
}

inline Dim apply(DimOp op, const Dim& a, const Dim& b, const Dim& c, double scale) {
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
      return min(a, b);
    case DimOp::kMax:
      return max(a, b);
    case DimOp::kEqual:
      return equal(a, b);
    case DimOp::kLess:
      return less(a, b);
    case DimOp::kNot:
      return logical_not(a);
    case DimOp::kSelect:
      return select(a, b, c);
    default:
      return floor_scale(a, scale);
  }
}

class Expressions {
 public:
  explicit Expressions(std::span<const std::byte> bytes) : bytes_(bytes) {}

  // Whether any expression that is none of the numbers or symbols had a value.
  bool run() {
    static constexpr std::array<Range, 6> kRanges{
        {{1, kDimMax}, {0, 37}, {-20, 20}, {1, 8}, {INT64_MIN, INT64_MAX}, {0, kDimMax}}};
    for (size_t i = 0; i < kSymbols; ++i) {
      const Range range = kRanges[next() % kRanges.size()];
      const auto axis = static_cast<int32_t>(i);
      Slot slot{symbols_.add("", range, {SymbolSource::Kind::kDimension, 0, axis}), {}};
      for (size_t a = 0; a < kAssignments; ++a) {
        assignments_[a][i] = value_in(range, next());
        slot.values[a] = assignments_[a][i];
      }
      slots_.push_back(slot);
    }
    bool any = false;
    for (int steps = 0; position_ < bytes_.size() && steps < kMaxSteps; ++steps) {
      slots_.push_back(step());
      any = check(slots_.back()) || any;
    }
    return any;
  }

 private:
  static constexpr int kMaxSteps = 64;

  uint8_t next() {
    return position_ < bytes_.size() ? std::to_integer<uint8_t>(bytes_[position_++]) : uint8_t{0};
  }

  static int64_t value_in(const Range& range, uint8_t choice) {
    const int64_t offset = choice & 63;
    const bool wide = range.min == INT64_MIN;
    switch (choice >> 6) {
      case 0:
        return wide ? offset - 32 : range.max - offset > range.min ? range.min + offset : range.max;
      case 1:
        return range.max - (range.max - offset > range.min ? offset : 0);
      default:
        return wide ? offset : range.min <= offset && offset <= range.max ? offset : range.min;
    }
  }

  int64_t number() {
    const uint8_t choice = next();
    if (choice < 200) {
      return int64_t{choice} - 40;
    }
    static constexpr std::array<int64_t, 8> kEnds{INT64_MIN,        INT64_MAX,          kDimMax,
                                                  -kDimMax,         INT64_MIN + 1,      int64_t{1} << 32,
                                                  int64_t{3} << 61, -(int64_t{1} << 53)};
    return kEnds[choice % kEnds.size()];
  }

  Slot step() {
    const uint8_t code = next();
    if (code % 16 >= 13) {
      const int64_t value = number();
      Slot slot{Dim(value), {}};
      slot.values.fill(Wide{value});
      return slot;
    }
    const auto op = static_cast<DimOp>(static_cast<int>(DimOp::kAdd) + code % 16);
    const Slot a = slots_[next() % slots_.size()];
    const Slot b = slots_[next() % slots_.size()];
    const bool selects = op == DimOp::kSelect;
    const Slot c = selects ? slots_[next() % slots_.size()] : Slot{};
    double scale = 0;
    if (op == DimOp::kFloorScale) {
      static constexpr std::array<double, 8> kScales{0.5, 2.0, 1.7, 1.0 / 3.0, 0.0, -0.25, 1e18, 1e-300};
      scale = kScales[next() % kScales.size()];
    }
    Slot slot{apply(op, a.dim, b.dim, c.dim, scale), {}};
    for (size_t i = 0; i < kAssignments; ++i) {
      const bool unary = op == DimOp::kNot || op == DimOp::kFloorScale;
      if (a.values[i] && (unary || b.values[i]) && (!selects || c.values[i])) {
        slot.values[i] =
            direct(op, *a.values[i], unary ? Wide{0} : *b.values[i], selects ? *c.values[i] : Wide{0}, scale);
      }
    }
    return slot;
  }

  void expect(bool holds, const Slot& slot, size_t assignment, const char* what) const {
    if (!holds) {
      const std::array<int64_t, kSymbols>& at = assignments_[assignment];
      std::fprintf(stderr, "%s: %s at %lld, %lld, %lld, %lld\n", what, slot.dim.to_string().c_str(),
                   static_cast<long long>(at[0]), static_cast<long long>(at[1]),
                   static_cast<long long>(at[2]), static_cast<long long>(at[3]));
      std::abort();
    }
  }

  bool check(const Slot& slot) {
    (void)slot.dim.to_string();
    DimTable table;
    const int32_t position = table.add(slot.dim);
    std::vector<int64_t> values(static_cast<size_t>(table.size()));
    const Range range = slot.dim.range();
    bool any = false;
    for (size_t i = 0; i < kAssignments; ++i) {
      const Result<int64_t> actual = slot.dim.evaluate(assignments_[i]);
      const Result<void> tabled = evaluate(table.entries(), assignments_[i], values);
      expect(actual.has_value() == tabled.has_value(), slot, i, "One of Dim and DimTable has no value");
      expect(!actual || *actual == values[static_cast<size_t>(position)], slot, i, "Dim and DimTable differ");
      if (!slot.values[i]) {
        continue;
      }
      expect(*slot.values[i] >= range.min && *slot.values[i] <= range.max, slot, i,
             "The range does not hold the value");
      if (actual) {
        expect(*actual == *slot.values[i], slot, i, "The normal form has another value");
        any = !slot.dim.is_constant();
      } else {  // only an expanded product may fail where the expression does not
        expect(actual.error().code() == StatusCode::kOutOfRange, slot, i,
               "The normal form has an error of its own");
      }
    }
    check_table(slot, table, position);
    return any;
  }

  // The table's expressions are as many and have the same values, within the limits on what is read.
  void check_table(const Slot& slot, const DimTable& table, int32_t position) const {
    const Result<std::vector<Dim>> again = to_dims(table.entries(), symbols_);
    if (!again) {
      expect(
          again.error().code() == StatusCode::kResourceExhausted && size_of(slot.dim) > kMaxTableExpression,
          slot, 0, "The table is no expression");
      return;
    }
    expect(again->size() == static_cast<size_t>(table.size()), slot, 0, "The table lacks expressions");
    for (size_t i = 0; i < kAssignments; ++i) {
      const Result<int64_t> before = slot.dim.evaluate(assignments_[i]);
      const Result<int64_t> after = (*again)[static_cast<size_t>(position)].evaluate(assignments_[i]);
      expect(!before || !after || *before == *after, slot, i, "The expression of the table differs");
    }
  }

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  SymbolTable symbols_;
  std::array<std::array<int64_t, kSymbols>, kAssignments> assignments_{};
  std::vector<Slot> slots_;
};

inline bool entry(std::span<const std::byte> bytes) {
  return Expressions(bytes).run();
}

}  // namespace weir::fuzz
