// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/hull.h"

#include <algorithm>
#include <cstdint>

namespace weir::cli {
namespace {

// More than 0 where a → b → c turns clockwise as seen (y points down).
int64_t turn(Point a, Point b, Point c) {
  return (int64_t{b.x} - a.x) * (int64_t{c.y} - b.y) - (int64_t{b.y} - a.y) * (int64_t{c.x} - b.x);
}

}  // namespace

std::vector<Point> convex_hull(std::span<const Point> points) {
  std::vector<Point> sorted(points.begin(), points.end());
  std::ranges::sort(sorted, [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  sorted.erase(std::ranges::unique(sorted).begin(), sorted.end());
  if (sorted.size() <= 2) return sorted;
  // The upper chain from left to right, then the lower one back (A. M. Andrew, 1979).
  std::vector<Point> hull;
  const auto add = [&hull](Point p, size_t floor) {
    while (hull.size() > floor && turn(hull[hull.size() - 2], hull.back(), p) <= 0) hull.pop_back();
    hull.push_back(p);
  };
  for (Point p : sorted) add(p, 1);
  const size_t floor = hull.size();
  for (size_t i = sorted.size() - 1; i-- > 0;) add(sorted[i], floor);
  hull.pop_back();
  return hull;
}

}  // namespace weir::cli
