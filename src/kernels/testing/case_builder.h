// SPDX-License-Identifier: Apache-2.0
//
// Short forms for the files of operator cases.
#pragma once

#include <cmath>
#include <utility>

#include "kernels/testing/op_cases.h"

namespace weir::testing {

using Shape = std::vector<int64_t>;

inline constexpr ElementType kF32 = ElementType::kFloat32;
inline constexpr ElementType kI64 = ElementType::kInt64;
inline constexpr ElementType kI32 = ElementType::kInt32;

inline OperandCase operand(ElementType type, const Shape& shape, Values values = {}) {
  return {TensorSpec::dense(type, shape), values, false};
}

inline OperandCase constant(ElementType type, const Shape& shape, Values values = {}) {
  return {TensorSpec::dense(type, shape), values, true};
}

inline OperandCase missing() {
  return {absent_operand(), {}, false};
}

// Weights of a sum over `terms` products, such that the sum has about the magnitude of one factor.
inline Values weights(int64_t terms) {
  const double bound = std::sqrt(3.0 / static_cast<double>(terms));
  return {-bound, bound};
}

inline std::string text_of(const Shape& shape) {
  std::string text;
  for (int64_t extent : shape) {
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  }
  return text.empty() ? "scalar" : text;
}

}  // namespace weir::testing
