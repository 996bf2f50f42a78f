// SPDX-License-Identifier: Apache-2.0
//
// Points and quadrilaterals in image coordinates: x to the right, y down, pixel centres at whole numbers.
#pragma once

#include <array>

namespace weir::cli {

struct Point {
  int x = 0;
  int y = 0;
  friend bool operator==(const Point&, const Point&) = default;
};

struct PointF {
  double x = 0;
  double y = 0;
};

// Top left, top right, bottom right, bottom left of what is read, so clockwise.
using Quad = std::array<PointF, 4>;

}  // namespace weir::cli
