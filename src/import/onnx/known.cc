// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/known.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/checked.h"

namespace weir::onnx_import {
namespace {

bool is_real(ElementType type) {
  return is_floating_point(type);
}

// A number as a quotient with a small power of two below; nothing where it takes more bits.
std::optional<Scalar> as_quotient(const Scalar& scalar) {
  if (!scalar.real) {
    return scalar;
  }
  constexpr int kMaxShift = 20;
  constexpr double kMaxNumerator = 1 << 20;
  double scaled = *scalar.real;
  int64_t denominator = 1;
  for (int shift = 0; shift <= kMaxShift; ++shift, scaled *= 2, denominator *= 2) {
    if (std::abs(scaled) > kMaxNumerator || std::isnan(scaled)) {
      return std::nullopt;
    }
    if (scaled == std::floor(scaled)) {
      return Scalar{static_cast<int64_t>(scaled), denominator, std::nullopt};
    }
  }
  return std::nullopt;
}

// A quotient of constants as the number that it is.
Scalar simplified(ElementType type, Scalar scalar) {
  if (is_real(type) && !scalar.real && scalar.numerator.is_constant() && scalar.denominator.is_constant()) {
    const auto a = static_cast<double>(scalar.numerator.constant());
    const auto b = static_cast<double>(scalar.denominator.constant());
    return Scalar::number(round_to(type, a / b));
  }
  return scalar;
}

Dim bool_dim(bool value) {
  return value ? 1 : 0;
}

// Integer division as ONNX has it, towards zero.
std::optional<Dim> divide(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) {
    if (b.constant() == 0 || (a.constant() == INT64_MIN && b.constant() == -1)) {
      return std::nullopt;
    }
    return Dim(a.constant() / b.constant());
  }
  if (a.range().min < 0 || b.range().min < 1) {
    return std::nullopt;
  }
  return floor_div(a, b);
}

std::optional<Dim> integer_binary(std::string_view op, const Dim& a, const Dim& b) {
  if (op == "Add") {
    return a + b;
  }
  if (op == "Sub") {
    return a - b;
  }
  if (op == "Mul") {
    return a * b;
  }
  if (op == "Div") {
    return divide(a, b);
  }
  if (op == "Mod") {
    return b.is_constant(0) ? std::nullopt : std::optional<Dim>(mod(a, b));
  }
  if (op == "Min") {
    return min(a, b);
  }
  if (op == "Max") {
    return max(a, b);
  }
  if (op == "Equal") {
    return equal(a, b);
  }
  if (op == "Less") {
    return less(a, b);
  }
  if (op == "Greater") {
    return less(b, a);
  }
  if (op == "LessOrEqual") {
    return logical_not(less(b, a));
  }
  if (op == "GreaterOrEqual") {
    return logical_not(less(a, b));
  }
  if (op == "And") {
    return a * b;  // both 0 or 1
  }
  if (op == "Or") {
    return max(a, b);
  }
  if (op == "Xor") {
    return logical_not(equal(a, b));
  }
  return std::nullopt;
}

std::optional<Scalar> real_binary(std::string_view op, ElementType type, double a, double b) {
  if (op == "Add") {
    return Scalar::number(round_to(type, a + b));
  }
  if (op == "Sub") {
    return Scalar::number(round_to(type, a - b));
  }
  if (op == "Mul") {
    return Scalar::number(round_to(type, a * b));
  }
  if (op == "Div") {
    return Scalar::number(round_to(type, a / b));
  }
  if (op == "Pow") {
    return Scalar::number(round_to(type, std::pow(a, b)));
  }
  if (std::isnan(a) || std::isnan(b)) {
    return std::nullopt;
  }
  if (op == "Min") {
    return Scalar::number(std::min(a, b));
  }
  if (op == "Max") {
    return Scalar::number(std::max(a, b));
  }
  if (op == "Equal") {
    return Scalar::of(bool_dim(a == b));
  }
  if (op == "Less") {
    return Scalar::of(bool_dim(a < b));
  }
  if (op == "Greater") {
    return Scalar::of(bool_dim(a > b));
  }
  if (op == "LessOrEqual") {
    return Scalar::of(bool_dim(a <= b));
  }
  if (op == "GreaterOrEqual") {
    return Scalar::of(bool_dim(a >= b));
  }
  return std::nullopt;
}

// a and b are quotients with denominators above 0.
std::optional<Scalar> quotient_binary(std::string_view op, ElementType type, const Scalar& a,
                                      const Scalar& b) {
  const auto result = [type](Dim numerator, Dim denominator) {
    return simplified(type, {std::move(numerator), std::move(denominator), std::nullopt});
  };
  const Dim left = a.numerator * b.denominator;  // both over a common denominator
  const Dim right = b.numerator * a.denominator;
  const Dim denominator = a.denominator * b.denominator;
  if (op == "Add") {
    return result(left + right, denominator);
  }
  if (op == "Sub") {
    return result(left - right, denominator);
  }
  if (op == "Mul") {
    return result(a.numerator * b.numerator, denominator);
  }
  if (op == "Div") {
    if (b.numerator.range().min < 1) {
      return std::nullopt;
    }
    return result(left, right);
  }
  if (op == "Min" || op == "Max") {
    return result(op == "Min" ? min(left, right) : max(left, right), denominator);
  }
  if (const std::optional<Dim> decided = integer_binary(op, left, right)) {
    return Scalar::of(*decided);  // a comparison
  }
  return std::nullopt;
}

// A narrower type has to hold a number too. Expressions are sizes, and fit.
bool fits(ElementType type, const Dim& value) {
  const std::optional<int64_t> constant = value.as_constant();
  const int bits = bit_width(type);
  if (!constant || bits >= 64) {
    return true;
  }
  const bool is_signed =
      type == ElementType::kInt8 || type == ElementType::kInt16 || type == ElementType::kInt32;
  const int64_t top = int64_t{1} << (is_signed ? bits - 1 : bits);
  return *constant < top && *constant >= (is_signed ? -top : 0);
}

bool is_comparison(std::string_view op) {
  return op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" || op == "GreaterOrEqual";
}

bool is_real_operator(std::string_view op) {
  return op == "Add" || op == "Sub" || op == "Mul" || op == "Div" || op == "Min" || op == "Max" ||
         is_comparison(op);
}

std::optional<std::vector<int64_t>> broadcast_shapes(const std::vector<const Known*>& operands) {
  size_t rank = 0;
  for (const Known* operand : operands) {
    rank = std::max(rank, operand->shape.size());
  }
  std::vector<int64_t> shape(rank, 1);
  for (const Known* operand : operands) {
    const size_t offset = rank - operand->shape.size();
    for (size_t i = 0; i < operand->shape.size(); ++i) {
      int64_t& dim = shape[offset + i];
      if (dim == 1) {
        dim = operand->shape[i];
      } else if (operand->shape[i] != 1 && operand->shape[i] != dim) {
        return std::nullopt;
      }
    }
  }
  return shape;
}

std::optional<Known> map_elements(
    const std::vector<const Known*>& operands,
    const std::function<std::optional<Scalar>(const std::vector<const Scalar*>&)>& function) {
  const std::optional<std::vector<int64_t>> shape = broadcast_shapes(operands);
  if (!shape) {
    return std::nullopt;
  }
  const Result<int64_t> count = checked_product(*shape);
  if (!count || *count > kMaxKnownElements) {
    return std::nullopt;
  }
  Known result{*shape, {}};
  std::vector<const Scalar*> elements(operands.size());
  for (int64_t position = 0; position < *count; ++position) {
    for (size_t operand = 0; operand < operands.size(); ++operand) {
      const Known& known = *operands[operand];
      const size_t offset = shape->size() - known.shape.size();
      int64_t rest = position;
      int64_t index = 0;
      int64_t stride = 1;
      for (size_t axis = shape->size(); axis-- > offset;) {
        const int64_t coordinate = rest % (*shape)[axis];
        rest /= (*shape)[axis];
        const int64_t dim = known.shape[axis - offset];
        index += dim == 1 ? 0 : coordinate * stride;
        stride *= dim;
      }
      elements[operand] = &known.elements[static_cast<size_t>(index)];
    }
    std::optional<Scalar> element = function(elements);
    if (!element) {
      return std::nullopt;
    }
    result.elements.push_back(std::move(*element));
  }
  return result;
}

}  // namespace

double round_to(ElementType type, double value) {
  return type == ElementType::kFloat64 ? value : static_cast<double>(static_cast<float>(value));
}

double float16_value(uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = bits >> 10 & 0x1f;
  const int mantissa = bits & 0x3ff;
  if (exponent == 0x1f) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  return exponent == 0 ? sign * std::ldexp(mantissa, -24)
                       : sign * std::ldexp(mantissa + 0x400, exponent - 25);
}

double bfloat16_value(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

std::optional<Scalar> evaluate_unary(std::string_view op, ElementType type, const Scalar& a) {
  if (!is_real(type)) {
    if (op == "Not") {
      return Scalar::of(logical_not(a.numerator));
    }
    if (op == "Neg") {
      return Scalar::of(Dim(0) - a.numerator);
    }
    if (op == "Abs") {
      return Scalar::of(max(a.numerator, Dim(0) - a.numerator));
    }
    return std::nullopt;
  }
  if (!has_known_arithmetic(type)) {
    return std::nullopt;
  }
  if (a.real) {
    const double x = *a.real;
    const auto rounded = [type](double value) { return Scalar::number(round_to(type, value)); };
    if (op == "Neg") {
      return rounded(-x);
    }
    if (op == "Abs") {
      return rounded(std::abs(x));
    }
    if (op == "Floor") {
      return rounded(std::floor(x));
    }
    if (op == "Ceil") {
      return rounded(std::ceil(x));
    }
    if (op == "Round") {
      return rounded(std::nearbyint(x));
    }
    if (op == "Sqrt" && x >= 0) {
      return rounded(std::sqrt(x));
    }
    if (op == "Reciprocal") {
      return rounded(1 / x);
    }
    return std::nullopt;
  }
  if (op == "Floor") {
    return simplified(type, Scalar::of(floor_div(a.numerator, a.denominator)));
  }
  if (op == "Ceil") {
    return simplified(type, Scalar::of(ceil_div(a.numerator, a.denominator)));
  }
  if (op == "Neg") {
    return Scalar{Dim(0) - a.numerator, a.denominator, std::nullopt};
  }
  if (op == "Reciprocal" && a.numerator.range().min >= 1) {
    return Scalar{a.denominator, a.numerator, std::nullopt};
  }
  return std::nullopt;
}

std::optional<Scalar> evaluate_binary(std::string_view op, ElementType type, const Scalar& a,
                                      const Scalar& b) {
  if (!is_real(type)) {
    if (const std::optional<Dim> result = integer_binary(op, a.numerator, b.numerator);
        result && fits(type, *result)) {
      return Scalar::of(*result);
    }
    return std::nullopt;
  }
  if (!has_known_arithmetic(type)) {
    return std::nullopt;
  }
  if (a.real && b.real) {
    return real_binary(op, type, *a.real, *b.real);
  }
  if (!is_real_operator(op)) {
    return std::nullopt;
  }
  const std::optional<Scalar> left = as_quotient(a);
  const std::optional<Scalar> right = as_quotient(b);
  if (!left || !right) {
    return std::nullopt;
  }
  return quotient_binary(op, type, *left, *right);
}

std::optional<Scalar> evaluate_where(const Scalar& condition, const Scalar& a, const Scalar& b) {
  if (condition.numerator.is_constant()) {
    return condition.numerator.is_constant(0) ? b : a;
  }
  if (a.real || b.real || !a.denominator.is_constant(1) || !b.denominator.is_constant(1)) {
    return std::nullopt;
  }
  return Scalar::of(select(condition.numerator, a.numerator, b.numerator));
}

std::optional<Scalar> evaluate_cast(ElementType from, ElementType to, const Scalar& a) {
  if (to == ElementType::kBool) {
    if (!is_real(from)) {
      return Scalar::of(logical_not(equal(a.numerator, 0)));
    }
    return a.real ? std::optional<Scalar>(Scalar::of(bool_dim(*a.real != 0))) : std::nullopt;
  }
  if (to == ElementType::kFloat32 || to == ElementType::kFloat64) {
    return a.real ? Scalar::number(round_to(to, *a.real)) : simplified(to, a);
  }
  if (is_real(to)) {
    return std::nullopt;
  }
  Dim value = a.numerator;
  if (a.real) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!(std::abs(*a.real) <= kExact)) {
      return std::nullopt;
    }
    value = static_cast<int64_t>(*a.real);
  } else if (!a.denominator.is_constant(1)) {
    if (a.numerator.range().min < 0) {
      return std::nullopt;
    }
    value = floor_div(a.numerator, a.denominator);
  }
  if (!fits(to, value)) {
    return std::nullopt;
  }
  return Scalar::of(std::move(value));
}

std::optional<Known> evaluate_binary(std::string_view op, ElementType type, const Known& a, const Known& b) {
  return map_elements({&a, &b}, [&](const std::vector<const Scalar*>& elements) {
    return evaluate_binary(op, type, *elements[0], *elements[1]);
  });
}

std::optional<Known> evaluate_where(const Known& condition, const Known& a, const Known& b) {
  return map_elements({&condition, &a, &b}, [](const std::vector<const Scalar*>& elements) {
    return evaluate_where(*elements[0], *elements[1], *elements[2]);
  });
}

std::optional<Known> broadcast_to(const Known& a, const std::vector<int64_t>& shape) {
  const Result<int64_t> count = checked_product(shape);
  if (!count || *count < 0 || *count > kMaxKnownElements) {
    return std::nullopt;
  }
  const Known frame{shape, std::vector<Scalar>(static_cast<size_t>(*count))};
  std::optional<Known> result = map_elements(
      {&a, &frame}, [](const std::vector<const Scalar*>& elements) { return std::optional(*elements[0]); });
  return result && result->shape == shape ? result : std::nullopt;
}

Known slice(const Known& a, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
            const std::vector<int64_t>& counts) {
  Known result{counts, {}};
  int64_t total = 1;
  for (int64_t count : counts) {
    total *= count;
  }
  for (int64_t position = 0; position < total; ++position) {
    int64_t rest = position;
    int64_t index = 0;
    int64_t stride = 1;
    for (size_t axis = counts.size(); axis-- > 0;) {
      index += (starts[axis] + rest % counts[axis] * steps[axis]) * stride;
      rest /= counts[axis];
      stride *= a.shape[axis];
    }
    result.elements.push_back(a.elements[static_cast<size_t>(index)]);
  }
  return result;
}

Known transpose(const Known& a, const std::vector<int64_t>& permutation) {
  const size_t rank = a.shape.size();
  std::vector<int64_t> strides(rank, 1);  // of `a`
  for (size_t i = rank; i-- > 1;) {
    strides[i - 1] = strides[i] * a.shape[i];
  }
  Known result;
  for (int64_t axis : permutation) {
    result.shape.push_back(a.shape[static_cast<size_t>(axis)]);
  }
  for (size_t position = 0; position < a.elements.size(); ++position) {
    auto rest = static_cast<int64_t>(position);
    int64_t index = 0;
    for (size_t axis = rank; axis-- > 0;) {
      index += rest % result.shape[axis] * strides[static_cast<size_t>(permutation[axis])];
      rest /= result.shape[axis];
    }
    result.elements.push_back(a.elements[static_cast<size_t>(index)]);
  }
  return result;
}

}  // namespace weir::onnx_import
