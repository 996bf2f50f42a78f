// SPDX-License-Identifier: Apache-2.0
//
// The convex hull of points with whole coordinates.
#pragma once

#include <span>
#include <vector>

#include "tools/weir/ocr/geometry.h"

namespace weir::cli {

// Corners only (no three on a line), clockwise as seen, from the leftmost and of those the topmost. One or
// two points where all coincide or lie on a line. Coordinates up to 2^30 in size.
std::vector<Point> convex_hull(std::span<const Point> points);

}  // namespace weir::cli
