// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/rectangle.h"

#include <algorithm>
#include <cmath>

namespace weir::cli {

OrientedRectangle minimum_area_rectangle(std::span<const Point> hull) {
  const size_t count = hull.size();
  if (count == 0) return {};
  if (count == 1) return {{static_cast<double>(hull[0].x), static_cast<double>(hull[0].y)}, {1, 0}, 0, 0};
  OrientedRectangle best;
  double best_area = INFINITY;
  // Rotating calipers: as the base edge goes around, the corners that lie farthest ahead, across and behind
  // go around with it and never turn back.
  size_t ahead = 1;
  size_t across = 1;
  size_t behind = 1;
  for (size_t edge = 0; edge < count; ++edge) {
    const Point origin = hull[edge];
    const Point end = hull[(edge + 1) % count];
    const double dx = end.x - origin.x;
    const double dy = end.y - origin.y;
    // In units of the edge's length; exact, since coordinates are whole and far below 2^26.
    const auto along = [&](size_t i) { return dx * (hull[i].x - origin.x) + dy * (hull[i].y - origin.y); };
    const auto off = [&](size_t i) { return dx * (hull[i].y - origin.y) - dy * (hull[i].x - origin.x); };
    const auto advance = [&](size_t& i, auto&& value) {
      for (size_t steps = 0; steps < count && value((i + 1) % count) >= value(i); ++steps)
        i = (i + 1) % count;
    };
    advance(ahead, along);
    if (edge == 0) across = ahead;
    advance(across, off);
    if (edge == 0) behind = across;
    advance(behind, [&](size_t i) { return -along(i); });
    const double squared = dx * dx + dy * dy;
    const double width = along(ahead) - along(behind);
    const double height = off(across);
    const double area = width * height / squared;
    // Areas of digital shapes are often equal; what they differ by from rounding must not decide.
    if (area >= best_area * (1 - 1e-9)) continue;
    best_area = area;
    const double length = std::sqrt(squared);
    const double middle = (along(ahead) + along(behind)) / 2 / squared;
    const double half = height / 2 / squared;
    best = {{origin.x + middle * dx - half * dy, origin.y + middle * dy + half * dx},
            {dx / length, dy / length},
            width / length,
            height / length};
  }
  return best;
}

std::array<PointF, 4> corners(const OrientedRectangle& rectangle) {
  const double ax = rectangle.axis.x * rectangle.width / 2;
  const double ay = rectangle.axis.y * rectangle.width / 2;
  const double bx = -rectangle.axis.y * rectangle.height / 2;
  const double by = rectangle.axis.x * rectangle.height / 2;
  const PointF c = rectangle.centre;
  return {{{c.x - ax - bx, c.y - ay - by},
           {c.x + ax - bx, c.y + ay - by},
           {c.x + ax + bx, c.y + ay + by},
           {c.x - ax + bx, c.y - ay + by}}};
}

Quad in_reading_order(std::array<PointF, 4> points) {
  std::ranges::stable_sort(points, {}, &PointF::x);
  if (points[0].y > points[1].y) std::swap(points[0], points[1]);
  if (points[2].y > points[3].y) std::swap(points[2], points[3]);
  return {points[0], points[2], points[3], points[1]};
}

}  // namespace weir::cli
