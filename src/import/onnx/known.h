// SPDX-License-Identifier: Apache-2.0
//
// Known: the elements of a small tensor that are known while importing. They carry the shape arithmetic of a
// model (Shape, Gather, Concat, Mul, Floor, …) to the attributes that need it, as expressions over
// dimensions.
//
// An element of an integer or bool tensor is a Dim. An element of a floating-point tensor is a number,
// rounded to its type, or a quotient of two Dims: ⌊h · 0.5⌋ stays exact as ⌊h / 2⌋. Quotients are exact where
// the model computes in float32 as long as numerator and denominator stay below 2^24.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shape/dim.h"
#include "tensor/element_type.h"

namespace weir::onnx_import {

struct Scalar {
  Dim numerator;               // of an integer or bool tensor: the element
  Dim denominator = 1;         // of a quotient; > 0
  std::optional<double> real;  // a floating-point number; then the others don't count

  // Rather than an expression or a quotient.
  bool is_number() const { return real || (numerator.is_constant() && denominator.is_constant(1)); }

  static Scalar of(Dim value) { return {std::move(value), 1, std::nullopt}; }
  static Scalar number(double value) { return {0, 1, value}; }
};

struct Known {
  std::vector<int64_t> shape;
  std::vector<Scalar> elements;  // row-major
};

// Larger tensors are data.
inline constexpr int64_t kMaxKnownElements = 1024;

// Whether elements of this type are computed here, and not only read.
constexpr bool has_known_arithmetic(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64;
}
// What the arithmetic of such a type makes of a number.
double round_to(ElementType type, double value);

// The number that 16 bits stand for.
double float16_value(uint16_t bits);
double bfloat16_value(uint16_t bits);

// Elementwise operators by their ONNX names; nothing where the result cannot be said. `type` is that of the
// operands, which are equal but for Where's condition.
std::optional<Scalar> evaluate_unary(std::string_view op, ElementType type, const Scalar& a);
std::optional<Scalar> evaluate_binary(std::string_view op, ElementType type, const Scalar& a,
                                      const Scalar& b);
std::optional<Scalar> evaluate_where(const Scalar& condition, const Scalar& a, const Scalar& b);
std::optional<Scalar> evaluate_cast(ElementType from, ElementType to, const Scalar& a);

// The operands under NumPy's rules of broadcasting; nothing where shapes do not fit, an element can't be said
// or the result is too large.
std::optional<Known> evaluate_binary(std::string_view op, ElementType type, const Known& a, const Known& b);
std::optional<Known> evaluate_where(const Known& condition, const Known& a, const Known& b);

// Repeated along axes of extent 1 up to a shape; nothing where it does not broadcast to that shape alone.
std::optional<Known> broadcast_to(const Known& a, const std::vector<int64_t>& shape);
// Axis i of the result is axis permutation[i] of `a`.
Known transpose(const Known& a, const std::vector<int64_t>& permutation);
// Element k of axis i is element starts[i] + k · steps[i] of `a`, all of which exist.
Known slice(const Known& a, const std::vector<int64_t>& starts, const std::vector<int64_t>& steps,
            const std::vector<int64_t>& counts);

}  // namespace weir::onnx_import
