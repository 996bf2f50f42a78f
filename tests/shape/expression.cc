// SPDX-License-Identifier: Apache-2.0
#include "expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "shape/dim_arithmetic.h"

namespace weir {

std::string_view name_of(DimOp op) {
  switch (op) {
    case DimOp::kConstant:
      return "constant";
    case DimOp::kSymbol:
      return "symbol";
    case DimOp::kAdd:
      return "add";
    case DimOp::kMul:
      return "mul";
    case DimOp::kFloorDiv:
      return "floor_div";
    case DimOp::kCeilDiv:
      return "ceil_div";
    case DimOp::kExactDiv:
      return "exact_div";
    case DimOp::kMod:
      return "mod";
    case DimOp::kMin:
      return "min";
    case DimOp::kMax:
      return "max";
    case DimOp::kEqual:
      return "equal";
    case DimOp::kLess:
      return "less";
    case DimOp::kNot:
      return "not";
    case DimOp::kSelect:
      return "select";
    case DimOp::kFloorScale:
      return "floor_scale";
  }
  return "unknown";
}

Dim Expression::to_dim(std::span<const Dim> symbols) const {
  auto operand = [&](size_t i) { return (*operands_)[i].to_dim(symbols); };
  switch (op_) {
    case DimOp::kConstant:
      return value_;
    case DimOp::kSymbol:
      return symbols[static_cast<size_t>(value_)];
    case DimOp::kAdd:
      return operand(0) + operand(1);
    case DimOp::kMul:
      return operand(0) * operand(1);
    case DimOp::kFloorDiv:
      return weir::floor_div(operand(0), operand(1));
    case DimOp::kCeilDiv:
      return weir::ceil_div(operand(0), operand(1));
    case DimOp::kExactDiv:
      return weir::exact_div(operand(0), operand(1));
    case DimOp::kMod:
      return mod(operand(0), operand(1));
    case DimOp::kMin:
      return weir::min(operand(0), operand(1));
    case DimOp::kMax:
      return weir::max(operand(0), operand(1));
    case DimOp::kEqual:
      return weir::equal(operand(0), operand(1));
    case DimOp::kLess:
      return weir::less(operand(0), operand(1));
    case DimOp::kNot:
      return logical_not(operand(0));
    case DimOp::kSelect:
      return weir::select(operand(0), operand(1), operand(2));
    case DimOp::kFloorScale:
      return weir::floor_scale(operand(0), scale_);
  }
  return {};
}

std::string Expression::to_json() const {
  if (op_ == DimOp::kConstant) {
    return fmt::format("{}", value_);
  }
  if (op_ == DimOp::kSymbol) {
    return fmt::format("[\"symbol\", {}]", value_);
  }
  std::string text = fmt::format("[\"{}\"", name_of(op_));
  for (const Expression& operand : *operands_) {
    text += ", " + operand.to_json();
  }
  return op_ == DimOp::kFloorScale ? fmt::format("{}, {}]", text, scale_) : text + "]";
}

std::optional<Wide> Expression::evaluate(std::span<const int64_t> symbols) const {
  if (op_ == DimOp::kConstant) {
    return value_;
  }
  if (op_ == DimOp::kSymbol) {
    return symbols[static_cast<size_t>(value_)];
  }
  constexpr Wide kLimit = static_cast<Wide>(1) << 125;  // negations and sums of two of these fit
  Wide values[3] = {};
  for (size_t i = 0; i < operands_->size(); ++i) {
    std::optional<Wide> value = (*operands_)[i].evaluate(symbols);
    if (!value || *value > kLimit || *value < -kLimit) {
      return std::nullopt;
    }
    values[i] = *value;
  }
  auto [a, b, c] = values;
  // Written apart from apply(), which it checks: by magnitudes, with the sign put back.
  auto floor_of = [](Wide x, Wide y) -> Wide {
    Wide magnitude_x = x < 0 ? -x : x;
    Wide magnitude_y = y < 0 ? -y : y;
    return (x < 0) == (y < 0) ? magnitude_x / magnitude_y : -((magnitude_x + magnitude_y - 1) / magnitude_y);
  };
  Wide result = 0;
  switch (op_) {
    case DimOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional<Wide>(result);
    case DimOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional<Wide>(result);
    case DimOp::kFloorDiv:
      return b == 0 ? std::nullopt : std::optional<Wide>(floor_of(a, b));
    case DimOp::kCeilDiv:
      return b == 0 ? std::nullopt : std::optional<Wide>(-floor_of(-a, b));
    case DimOp::kExactDiv:
      return b == 0 || floor_of(a, b) * b != a ? std::nullopt : std::optional<Wide>(floor_of(a, b));
    case DimOp::kMod:
      return b == 0 ? std::nullopt : std::optional<Wide>(a - b * floor_of(a, b));
    case DimOp::kMin:
      return std::min(a, b);
    case DimOp::kMax:
      return std::max(a, b);
    case DimOp::kEqual:
      return a == b ? 1 : 0;
    case DimOp::kLess:
      return a < b ? 1 : 0;
    case DimOp::kNot:
      return a == 0 ? 1 : 0;
    case DimOp::kSelect:
      return a != 0 ? b : c;
    case DimOp::kFloorScale: {
      double scaled = std::floor(static_cast<double>(a) * scale_);
      return std::abs(scaled) < 1e30 ? std::optional<Wide>(static_cast<Wide>(scaled)) : std::nullopt;
    }
    case DimOp::kConstant:
    case DimOp::kSymbol:
      break;
  }
  return std::nullopt;
}

int64_t ExpressionSource::number() {
  if (magnitude_ == Magnitude::kLarge && below(4) == 0) {
    constexpr int64_t kLarge[] = {INT64_MAX,           INT64_MIN,     int64_t{1} << 62,
                                  -(int64_t{1} << 40), INT64_MAX / 3, kDimMax};
    return kLarge[below(6)];
  }
  return below(5) == 0 ? below(64) : below(14) - 4;
}

Expression ExpressionSource::leaf() {
  return below(3) == 0 ? Expression(number())
                       : Expression::symbol(static_cast<int>(below(static_cast<int64_t>(symbols_.size()))));
}

Expression ExpressionSource::expression(int depth) {
  if (depth == 0) {
    return leaf();
  }
  if (!seen_.empty() && below(6) == 0) {
    return seen_[static_cast<size_t>(below(static_cast<int64_t>(seen_.size())))];
  }
  auto operand = [&] { return expression(static_cast<int>(below(depth))); };
  // Sums and products twice as often as the rest.
  constexpr DimOp kOps[] = {DimOp::kAdd,      DimOp::kAdd,        DimOp::kMul,      DimOp::kMul,
                            DimOp::kFloorDiv, DimOp::kCeilDiv,    DimOp::kMod,      DimOp::kMin,
                            DimOp::kMax,      DimOp::kLess,       DimOp::kEqual,    DimOp::kNot,
                            DimOp::kSelect,   DimOp::kFloorScale, DimOp::kExactDiv, DimOp::kFloorDiv};
  DimOp op = kOps[below(16)];
  if (op == DimOp::kExactDiv && !has_exact_quotients_) {
    op = DimOp::kAdd;
  }
  Expression result(0);
  if (op == DimOp::kFloorScale) {
    constexpr double kScales[] = {2.0, 0.5, 1.5, 0.1, -0.25, 3.0, 1.0 / 3.0, 0.0};
    result = Expression::operation(op, {operand()}, kScales[below(8)]);
  } else if (op == DimOp::kExactDiv && below(3) != 0) {
    // One that has a value: a multiple of the divisor, mostly hidden in a product.
    Expression divisor = below(2) == 0 ? Expression(below(7) + 1) : operand();
    result = exact_div(below(2) == 0 ? operand() * divisor : divisor * (operand() + number()), divisor);
  } else if (op == DimOp::kFloorDiv && below(2) == 0) {
    result = floor_div(operand(), below(6) + 1);
  } else {
    std::vector<Expression> operands;
    for (int i = 0; i < operand_count(op); ++i) {
      operands.push_back(operand());
    }
    result = Expression::operation(op, std::move(operands));
  }
  seen_.push_back(result);
  if (seen_.size() > 12) {
    seen_.erase(seen_.begin());
  }
  return result;
}

std::vector<int64_t> ExpressionSource::assignment() {
  std::vector<int64_t> values;
  for (const Range& range : symbols_) {
    int64_t low = std::max<int64_t>(range.min, -40);
    int64_t high = std::min<int64_t>(range.max, 40);
    if (magnitude_ == Magnitude::kLarge && below(4) == 0) {
      values.push_back(below(2) == 0 ? range.min : range.max);
    } else {
      values.push_back(below(8) == 0 ? low : low + below(high - low + 1));
    }
  }
  return values;
}

}  // namespace weir
