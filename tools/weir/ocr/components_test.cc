// SPDX-License-Identifier: Apache-2.0
//
// Borders against flood fills.
#include "tools/weir/ocr/components.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;

using Pixels = std::set<std::pair<int, int>>;  // y, x

Mask mask_of(const std::vector<std::string>& rows) {
  Mask mask{static_cast<int>(rows[0].size()), static_cast<int>(rows.size()), {}};
  for (const std::string& row : rows) {
    for (char c : row) mask.pixels.push_back(c == '#');
  }
  return mask;
}

bool is_set(const Mask& mask, int y, int x) {
  return y >= 0 && x >= 0 && y < mask.height && x < mask.width &&
         mask.pixels[static_cast<size_t>(y) * static_cast<size_t>(mask.width) + static_cast<size_t>(x)] != 0;
}

// The pixels that can be reached from `start` within those for which `inside` holds, and a frame of one
// pixel.
template <typename Inside>
Pixels flood(const Mask& mask, std::pair<int, int> start, bool diagonal, Inside inside) {
  Pixels seen = {start};
  std::vector<std::pair<int, int>> open = {start};
  while (!open.empty()) {
    const auto [y, x] = open.back();
    open.pop_back();
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        if (!diagonal && dx != 0 && dy != 0) continue;
        const std::pair<int, int> next = {y + dy, x + dx};
        if (next.first < -1 || next.second < -1 || next.first > mask.height || next.second > mask.width)
          continue;
        if (inside(next.first, next.second) && seen.insert(next).second) open.push_back(next);
      }
    }
  }
  return seen;
}

Pixels pixels_of(const std::vector<PixelRun>& runs) {
  Pixels pixels;
  for (const PixelRun& run : runs) {
    for (int x = run.first; x <= run.last; ++x)
      EXPECT_TRUE(pixels.insert({run.y, x}).second) << "runs overlap";
  }
  return pixels;
}

TEST(Components, OfARing) {
  const std::vector<Border> borders = trace_borders(mask_of({".....", ".###.", ".#.#.", ".###.", "....."}));
  ASSERT_EQ(borders.size(), 2u);
  EXPECT_FALSE(borders[0].hole);
  EXPECT_EQ(borders[0].points.size(), 8u);
  EXPECT_THAT(inside(borders[0]), ElementsAre(PixelRun{1, 1, 3}, PixelRun{2, 1, 3}, PixelRun{3, 1, 3}));
  // The hole's border takes the four pixels that touch it, and encloses it.
  EXPECT_TRUE(borders[1].hole);
  EXPECT_EQ(borders[1].points.size(), 4u);
  EXPECT_THAT(inside(borders[1]), ElementsAre(PixelRun{1, 2, 2}, PixelRun{2, 1, 3}, PixelRun{3, 2, 2}));
}

TEST(Components, OfSinglePixelsAndLines) {
  const std::vector<Border> borders = trace_borders(mask_of({"#...#", "..#..", "#.#.#"}));
  EXPECT_EQ(borders.size(), 5u);
  EXPECT_THAT(inside(borders[2]), ElementsAre(PixelRun{1, 2, 2}, PixelRun{2, 2, 2}));
  EXPECT_TRUE(trace_borders(mask_of({"....", "...."})).empty());
}

TEST(Components, AgreeWithFloodFills) {
  std::mt19937 random(4);
  int holes_seen = 0;
  for (int round = 0; round < 300; ++round) {
    Mask mask{1 + round % 23, 1 + round % 17, {}};
    for (int i = 0; i < mask.width * mask.height; ++i)
      mask.pixels.push_back(random() % 100 < 20u + round % 7 * 10);
    const std::vector<Border> borders = trace_borders(mask);
    std::set<Pixels> outer;
    std::set<Pixels> holes;
    Pixels done;
    const Pixels outside = flood(mask, {-1, -1}, false, [&](int y, int x) { return !is_set(mask, y, x); });
    for (int y = 0; y < mask.height; ++y) {
      for (int x = 0; x < mask.width; ++x) {
        if (done.contains({y, x}) || outside.contains({y, x})) continue;
        const bool set = is_set(mask, y, x);
        const auto in_mask = [&](int py, int px) {
          return py >= 0 && px >= 0 && py < mask.height && px < mask.width && is_set(mask, py, px) == set;
        };
        const Pixels component = flood(mask, {y, x}, set, in_mask);
        done.insert(component.begin(), component.end());
        if (!set) {
          holes.insert(component);
          continue;
        }
        // All that cannot be reached from the frame without crossing the component.
        const Pixels around =
            flood(mask, {-1, -1}, false, [&](int py, int px) { return !component.contains({py, px}); });
        Pixels filled;
        for (int py = 0; py < mask.height; ++py) {
          for (int px = 0; px < mask.width; ++px) {
            if (!around.contains({py, px})) filled.insert({py, px});
          }
        }
        outer.insert(filled);
      }
    }
    std::set<Pixels> traced_outer;
    size_t traced_holes = 0;
    for (const Border& border : borders) {
      const Pixels pixels = pixels_of(inside(border));
      for (size_t i = 0; i < border.points.size(); ++i) {
        const Point a = border.points[i];
        const Point b = border.points[(i + 1) % border.points.size()];
        EXPECT_TRUE(is_set(mask, a.y, a.x));
        EXPECT_LE(std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)), 1);
      }
      if (!border.hole) {
        EXPECT_TRUE(traced_outer.insert(pixels).second) << "an outer border comes twice";
        continue;
      }
      ++traced_holes;
      size_t enclosed = 0;
      for (const Pixels& hole : holes) enclosed += std::ranges::includes(pixels, hole);
      EXPECT_GE(enclosed, 1u);
    }
    EXPECT_EQ(traced_outer, outer);
    EXPECT_EQ(traced_holes, holes.size());
    holes_seen += static_cast<int>(holes.size());
  }
  EXPECT_GT(holes_seen, 500);
}

TEST(Components, DilationReachesRightAndDown) {
  const Mask result = dilate_2x2(mask_of({"#...", "....", "...#"}));
  EXPECT_EQ(result.pixels, mask_of({"##..", "##..", "...#"}).pixels);
}

}  // namespace
}  // namespace weir::cli
