// SPDX-License-Identifier: Apache-2.0
//
// The C++ types behind the element types, for reference kernels.
//
//   with_floating(spec.type, [&]<typename T>() { const T* x = view.as<T>(); double sum = x[0]; … });
//
// Half and BFloat16 are storage: they convert to double exactly and from double with rounding to nearest
// even.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "tensor/element_type.h"

namespace weir::reference {

struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(double wide) {
    const auto value = static_cast<float>(wide);
    const uint32_t word = std::bit_cast<uint32_t>(value);
    const auto sign = static_cast<uint16_t>((word >> 16) & 0x8000);
    const float magnitude = std::fabs(value);
    if (std::isnan(value)) {
      bits = sign | 0x7e00;
    } else if (magnitude >= 65520.0f) {  // half-way from the greatest finite value to the next power of two
      bits = sign | 0x7c00;
    } else if (magnitude < 0x1p-14f) {  // subnormal: units of 2^-24
      bits = static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 0x1p24f)));
    } else {
      const uint32_t bias = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
      bits = static_cast<uint16_t>(sign | ((bias + 0x0fff + ((bias >> 13) & 1)) >> 13));
    }
  }
  operator double() const {  // NOLINT(google-explicit-constructor)
    const int exponent = (bits >> 10) & 0x1f;
    const int fraction = bits & 0x3ff;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    }
    return exponent == 0 ? sign * std::ldexp(fraction, -24)
                         : sign * std::ldexp(1024 + fraction, exponent - 25);
  }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(double wide) {
    const auto value = static_cast<float>(wide);
    const uint32_t word = std::bit_cast<uint32_t>(value);
    bits = std::isnan(value) ? static_cast<uint16_t>((word >> 16) | 0x40)
                             : static_cast<uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  operator double() const {  // NOLINT(google-explicit-constructor)
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
};

template <typename T>
concept Floating =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, Half> || std::same_as<T, BFloat16>;

inline bool is_reference_float(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64 || type == ElementType::kFloat16 ||
         type == ElementType::kBFloat16;
}
inline bool is_reference_integer(ElementType type) {
  return type >= ElementType::kInt8 && type <= ElementType::kUint64;
}

// Calls `function.operator()<T>()` for the type, and nothing where it is none of these.
template <typename F>
void with_floating(ElementType type, const F& function) {
  switch (type) {
    case ElementType::kFloat32:
      return function.template operator()<float>();
    case ElementType::kFloat64:
      return function.template operator()<double>();
    case ElementType::kFloat16:
      return function.template operator()<Half>();
    case ElementType::kBFloat16:
      return function.template operator()<BFloat16>();
    default:
      return;
  }
}

template <typename F>
void with_integer(ElementType type, const F& function) {
  switch (type) {
    case ElementType::kInt8:
      return function.template operator()<int8_t>();
    case ElementType::kUint8:
      return function.template operator()<uint8_t>();
    case ElementType::kInt16:
      return function.template operator()<int16_t>();
    case ElementType::kUint16:
      return function.template operator()<uint16_t>();
    case ElementType::kInt32:
      return function.template operator()<int32_t>();
    case ElementType::kUint32:
      return function.template operator()<uint32_t>();
    case ElementType::kInt64:
      return function.template operator()<int64_t>();
    case ElementType::kUint64:
      return function.template operator()<uint64_t>();
    default:
      return;
  }
}

// Integers and floating point; bool is none of them.
template <typename F>
void with_number(ElementType type, const F& function) {
  if (is_reference_integer(type)) {
    with_integer(type, function);
  } else {
    with_floating(type, function);
  }
}

// A floating-point value as an integer: towards zero; beyond the range its nearest end; NaN gives 0.
template <std::integral T>
T truncate_to(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  // Both ends are powers of two (or 0), so exact in double.
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value >= above) {
    return std::numeric_limits<T>::max();
  }
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

}  // namespace weir::reference
