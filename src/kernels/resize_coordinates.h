// SPDX-License-Identifier: Apache-2.0
//
// Where in the input a resized tensor reads: shared by the reference and the fast kernels, so that all of
// them choose the same neighbours.
//
// Coordinates are in single precision on purpose. Nearest neighbours hang on which side of an integer or a
// half a quotient falls, and models are exported against runtimes that compute it in single precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "op/op.h"

namespace weir {

// Output extent over input extent of `axis`: the model's own number where it gives one.
inline float resize_scale(const ResizeAttributes& attributes, size_t axis, int64_t input, int64_t output) {
  return axis < attributes.scales.size() ? static_cast<float>(attributes.scales[axis])
                                         : static_cast<float>(output) / static_cast<float>(input);
}

// The input coordinate of output position `x`. It may lie outside the input, and is infinite or no number
// where the scale is next to nothing.
inline float resize_coordinate(CoordinateMode mode, float scale, int64_t x, int64_t input, int64_t output) {
  const auto position = static_cast<float>(x);
  switch (mode) {
    case CoordinateMode::kHalfPixel:
      return (position + 0.5f) / scale - 0.5f;
    case CoordinateMode::kPytorchHalfPixel:
      return output > 1 ? (position + 0.5f) / scale - 0.5f : 0.0f;
    case CoordinateMode::kAlignCorners:
      return output == 1 ? 0.0f : position * static_cast<float>(input - 1) / static_cast<float>(output - 1);
    case CoordinateMode::kAsymmetric:
      return position / scale;
    case CoordinateMode::kHalfPixelSymmetric: {
      // Centred even where the output extent was rounded down.
      const float adjustment = static_cast<float>(output) / (scale * static_cast<float>(input));
      const float center = static_cast<float>(input) / 2.0f;
      return center * (1.0f - adjustment) + (position + 0.5f) / scale - 0.5f;
    }
  }
  return 0.0f;
}

// A coordinate this close to the middle between two positions lies on it: single precision blurs halves.
inline constexpr float kResizeHalf = 1e-6f;

// The input position nearest to `coordinate`, inside the input.
inline int64_t resize_nearest(NearestMode mode, float coordinate, int64_t input) {
  const float below = std::floor(coordinate);
  const bool half = std::fabs(coordinate - below - 0.5f) <= kResizeHalf;
  float rounded = below;
  switch (mode) {
    case NearestMode::kRoundPreferFloor:
      rounded = half ? below : std::round(coordinate);
      break;
    case NearestMode::kRoundPreferCeil:
      rounded = half ? below + 1.0f : std::round(coordinate);
      break;
    case NearestMode::kFloor:
      break;
    case NearestMode::kCeil:
      rounded = std::ceil(coordinate);
      break;
  }
  // Before it is an integer, which has no room for what is far outside; NaN counts as 0.
  const float bounded = rounded > 0.0f ? std::min(rounded, static_cast<float>(input)) : 0.0f;
  return std::min(static_cast<int64_t>(bounded), input - 1);
}

// The two neighbours of a coordinate and the weight of the second.
struct LinearTaps {
  int64_t low = 0;
  int64_t high = 0;
  float fraction = 0;
};

inline LinearTaps resize_linear(float coordinate, int64_t input) {
  // NaN counts as 0, and the last position may be less than single precision rounds it to.
  const float inside = coordinate > 0.0f ? std::min(coordinate, static_cast<float>(input - 1)) : 0.0f;
  const int64_t low = std::min(static_cast<int64_t>(inside), input - 1);
  return {low, std::min(low + 1, input - 1), inside - static_cast<float>(low)};
}

}  // namespace weir
