// SPDX-License-Identifier: Apache-2.0
//
// The rectangle of least area, at any angle, around a set of points.
//
//   OrientedRectangle box = minimum_area_rectangle(convex_hull(points));
//   box.width += 4;                                    // grows about its centre
//   std::array<PointF, 4> around = corners(box);
#pragma once

#include <array>
#include <span>

#include "tools/weir/ocr/geometry.h"

namespace weir::cli {

struct OrientedRectangle {
  PointF centre;
  PointF axis = {
      1, 0};  // of length 1, along the width; the height lies a quarter turn clockwise from it, as seen
  double width = 0;
  double height = 0;
};

// `hull` as convex_hull gives it. One side of the rectangle lies along one of the hull; of equal areas, the
// first.
OrientedRectangle minimum_area_rectangle(std::span<const Point> hull);

// Clockwise as seen, from where both axes are least.
std::array<PointF, 4> corners(const OrientedRectangle& rectangle);

// The same corners as top left, top right, bottom right, bottom left: the two leftmost, the upper first, are
// the left side.
Quad in_reading_order(std::array<PointF, 4> points);

}  // namespace weir::cli
