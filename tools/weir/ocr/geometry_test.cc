// SPDX-License-Identifier: Apache-2.0
//
// Hull and rectangle against brute force; compare_with_opencv.py has the same against another library.
#include "tools/weir/ocr/geometry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tools/weir/ocr/hull.h"
#include "tools/weir/ocr/rectangle.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;

std::vector<Point> random_points(std::mt19937& random, int count, int extent) {
  std::vector<Point> points(static_cast<size_t>(count));
  for (Point& p : points) {
    p = {static_cast<int>(random() % static_cast<unsigned>(extent)) - extent / 3,
         static_cast<int>(random() % static_cast<unsigned>(extent))};
  }
  return points;
}

int64_t cross(Point a, Point b, Point c) {
  return int64_t{b.x - a.x} * (c.y - a.y) - int64_t{b.y - a.y} * (c.x - a.x);
}

// The least area over every direction between two of the points.
double brute_force_area(const std::vector<Point>& points) {
  double best = INFINITY;
  for (Point a : points) {
    for (Point b : points) {
      if (a == b) continue;
      const double dx = b.x - a.x;
      const double dy = b.y - a.y;
      double low = INFINITY, high = -INFINITY, near = INFINITY, far = -INFINITY;
      for (Point p : points) {
        low = std::min(low, dx * p.x + dy * p.y);
        high = std::max(high, dx * p.x + dy * p.y);
        near = std::min(near, dx * p.y - dy * p.x);
        far = std::max(far, dx * p.y - dy * p.x);
      }
      best = std::min(best, (high - low) * (far - near) / (dx * dx + dy * dy));
    }
  }
  return best == INFINITY ? 0 : best;
}

TEST(Hull, OfASquareWithPointsOnItsSidesAndInside) {
  const Point points[] = {{1, 1}, {0, 0}, {2, 0}, {1, 0}, {2, 2}, {0, 2}, {0, 1}, {2, 1}, {0, 0}};
  EXPECT_THAT(convex_hull(points), ElementsAre(Point{0, 0}, Point{2, 0}, Point{2, 2}, Point{0, 2}));
}

TEST(Hull, OfFewPointsAndLines) {
  EXPECT_TRUE(convex_hull({}).empty());
  EXPECT_THAT(convex_hull(std::vector<Point>{{3, 4}, {3, 4}}), ElementsAre(Point{3, 4}));
  EXPECT_THAT(convex_hull(std::vector<Point>{{4, 4}, {0, 0}, {2, 2}, {1, 1}}),
              ElementsAre(Point{0, 0}, Point{4, 4}));
}

TEST(Hull, TurnsOneWayAndHoldsEveryPoint) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::vector<Point> points = random_points(random, 3 + round % 60, 3 + round % 50);
    const std::vector<Point> hull = convex_hull(points);
    for (size_t i = 0; hull.size() >= 3 && i < hull.size(); ++i) {
      const Point a = hull[i];
      const Point b = hull[(i + 1) % hull.size()];
      EXPECT_GT(cross(a, b, hull[(i + 2) % hull.size()]), 0);
      for (Point p : points) EXPECT_GE(cross(a, b, p), 0);
    }
    for (Point p : hull) EXPECT_THAT(points, testing::Contains(p));
  }
}

TEST(Rectangle, HasTheLeastAreaAndHoldsEveryPoint) {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    const std::vector<Point> points = random_points(random, 1 + round % 40, 2 + round % 70);
    const OrientedRectangle box = minimum_area_rectangle(convex_hull(points));
    const double expected = brute_force_area(points);
    EXPECT_NEAR(box.width * box.height, expected, 1e-9 + expected * 1e-9);
    EXPECT_NEAR(std::hypot(box.axis.x, box.axis.y), 1, 1e-12);
    for (Point p : points) {
      const double dx = p.x - box.centre.x;
      const double dy = p.y - box.centre.y;
      EXPECT_LE(std::abs(dx * box.axis.x + dy * box.axis.y), box.width / 2 + 1e-9);
      EXPECT_LE(std::abs(dy * box.axis.x - dx * box.axis.y), box.height / 2 + 1e-9);
    }
  }
}

TEST(Rectangle, OfEqualAreasIsTheFirst) {
  // Both the legs and the long side of this triangle give an area of 180; the hull's first edge is the long
  // side.
  const Point triangle[] = {{0, 0}, {0, 15}, {12, 15}};
  const OrientedRectangle box = minimum_area_rectangle(convex_hull(triangle));
  EXPECT_NEAR(box.axis.x, 12 / std::hypot(12, 15), 1e-12);
  EXPECT_NEAR(box.axis.y, 15 / std::hypot(12, 15), 1e-12);
  EXPECT_NEAR(box.width * box.height, 180, 1e-9);
}

TEST(Rectangle, CornersGoRoundAndReadInOrder) {
  const OrientedRectangle box{{10, 20}, {0, 1}, 6, 4};  // the width points down, the height to the left
  const std::array<PointF, 4> around = corners(box);
  const double expected[4][2] = {{12, 17}, {12, 23}, {8, 23}, {8, 17}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(around[i].x, expected[i][0]);
    EXPECT_DOUBLE_EQ(around[i].y, expected[i][1]);
  }
  const Quad quad = in_reading_order(around);
  const double ordered[4][2] = {{8, 17}, {12, 17}, {12, 23}, {8, 23}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(quad[i].x, ordered[i][0]);
    EXPECT_DOUBLE_EQ(quad[i].y, ordered[i][1]);
  }
}

}  // namespace
}  // namespace weir::cli
