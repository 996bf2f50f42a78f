// SPDX-License-Identifier: Apache-2.0
//
// The operations of a Dim on numbers: the one definition that folding, Dim::evaluate and DimTable share.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "shape/dim.h"

namespace weir {

// How many operands an operation has; −1 for a value that is no DimOp (it may come from a file).
constexpr int operand_count(DimOp op) {
  // In the order of DimOp. A table rather than a switch: DimTable asks it for each entry that it evaluates.
  constexpr std::array<int8_t, 15> kCounts{0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 3, 1};
  static_assert(static_cast<size_t>(DimOp::kFloorScale) + 1 == kCounts.size());
  return static_cast<size_t>(op) < kCounts.size() ? kCounts[static_cast<size_t>(op)] : -1;
}

// b is not 0, and the quotient fits: not INT64_MIN / −1.
constexpr int64_t floor_quotient(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

enum class DimFault : uint8_t { kNone, kOverflow, kZeroDivisor, kInexact, kNoSymbol };

// The result of any operation but kConstant and kSymbol. Operands that it does not have are ignored.
[[gnu::always_inline]] inline DimFault apply(DimOp op, int64_t a, int64_t b, int64_t c, double scale,
                                             int64_t& result) {
  switch (op) {
    case DimOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? DimFault::kOverflow : DimFault::kNone;
    case DimOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? DimFault::kOverflow : DimFault::kNone;
    case DimOp::kFloorDiv:
    case DimOp::kCeilDiv:
    case DimOp::kExactDiv:
    case DimOp::kMod: {
      if (b == 0) {
        return DimFault::kZeroDivisor;
      }
      if (b == -1) {  // a / −1 traps for INT64_MIN
        result = 0;
        return op != DimOp::kMod && __builtin_sub_overflow(int64_t{0}, a, &result) ? DimFault::kOverflow
                                                                                   : DimFault::kNone;
      }
      int64_t quotient = a / b;
      int64_t remainder = a % b;
      bool below = remainder != 0 && (remainder < 0) != (b < 0);  // the quotient was rounded up to reach 0
      if (op == DimOp::kFloorDiv) {
        result = quotient - (below ? 1 : 0);
      } else if (op == DimOp::kCeilDiv) {
        result = quotient + (remainder != 0 && !below ? 1 : 0);
      } else if (op == DimOp::kMod) {
        result = remainder + (below ? b : 0);
      } else {
        result = quotient;
        return remainder == 0 ? DimFault::kNone : DimFault::kInexact;
      }
      return DimFault::kNone;
    }
    case DimOp::kMin:
      result = a < b ? a : b;
      return DimFault::kNone;
    case DimOp::kMax:
      result = a < b ? b : a;
      return DimFault::kNone;
    case DimOp::kEqual:
      result = a == b ? 1 : 0;
      return DimFault::kNone;
    case DimOp::kLess:
      result = a < b ? 1 : 0;
      return DimFault::kNone;
    case DimOp::kNot:
      result = a == 0 ? 1 : 0;
      return DimFault::kNone;
    case DimOp::kSelect:
      result = a != 0 ? b : c;
      return DimFault::kNone;
    case DimOp::kFloorScale: {
      double scaled = std::floor(static_cast<double>(a) * scale);
      if (!(scaled >= -0x1p63 && scaled < 0x1p63)) {  // a NaN fails too
        return DimFault::kOverflow;
      }
      result = static_cast<int64_t>(scaled);
      return DimFault::kNone;
    }
    case DimOp::kConstant:
    case DimOp::kSymbol:
      break;
  }
  return DimFault::kNoSymbol;
}

// The sentence for a fault of `subject` ("Dimension 'a / b'") whose operands were a and b; for kNoSymbol a is
// the symbol's id and b the number of values given.
Status fault_status(DimFault fault, DimOp op, std::string_view subject, int64_t a, int64_t b);

}  // namespace weir
