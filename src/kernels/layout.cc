// SPDX-License-Identifier: Apache-2.0
#include "kernels/layout.h"

#include <algorithm>

namespace weir {

bool has_strides(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> wanted) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1) && !(strides[i] == wanted[i])) {
      return false;
    }
  }
  return true;
}

bool satisfies(LayoutRule rule, std::span<const Dim> shape, std::span<const Dim> strides) {
  const auto dense_axis = [&](size_t axis) {
    return shape[axis].is_constant(1) || strides[axis].is_constant(1);
  };
  switch (rule) {
    case LayoutRule::kAny:
      // The range of an expression is wider than what a model's constraints leave of it, so what may be below
      // 0 passes here, and a program's numbers are looked at when a shape is prepared.
      return std::ranges::all_of(strides, [](const Dim& stride) { return stride.range().max >= 0; });
    case LayoutRule::kRowMajor:
      return has_strides(shape, strides, dense_strides(shape));
    case LayoutRule::kInnerDense:
      return shape.empty() || dense_axis(shape.size() - 1);
    case LayoutRule::kChannelsDense:
      return shape.size() < 2 || dense_axis(1);
  }
  return false;
}

}  // namespace weir
