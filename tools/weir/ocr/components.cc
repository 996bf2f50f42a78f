// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/components.h"

#include <algorithm>
#include <array>

namespace weir::cli {
namespace {

// Directions from east, counterclockwise as seen: E NE N NW W SW S SE.
constexpr std::array<int, 8> kDx = {1, 1, 0, -1, -1, -1, 0, 1};
constexpr std::array<int, 8> kDy = {0, -1, -1, -1, 0, 1, 1, 1};
constexpr int kEast = 0;
constexpr int kWest = 4;

// Labels of the mask, with a clear frame of one pixel around it so that no neighbour needs a check.
class Tracer {
 public:
  explicit Tracer(const Mask& mask) : width_(mask.width), height_(mask.height), stride_(mask.width + 2) {
    labels_.resize(static_cast<size_t>(stride_) * static_cast<size_t>(height_ + 2));
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        labels_[position({x, y})] =
            mask.pixels[static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x)] != 0
                ? kUnvisited
                : kClear;
      }
    }
    for (int d = 0; d < 8; ++d)
      step_[static_cast<size_t>(d)] = kDy[static_cast<size_t>(d)] * stride_ + kDx[static_cast<size_t>(d)];
  }

  std::vector<Border> run() {
    std::vector<Border> borders;
    for (int y = 0; y < height_; ++y) {
      for (int x = 0; x < width_; ++x) {
        const size_t at = position({x, y});
        if (labels_[at] == kUnvisited && labels_[at - 1] == kClear) {
          borders.push_back(follow({x, y}, false));
        } else if (labels_[at] > kClear && labels_[at + 1] == kClear) {
          borders.push_back(follow({x, y}, true));
        }
      }
    }
    return borders;
  }

 private:
  static constexpr int8_t kClear = 0;
  static constexpr int8_t kUnvisited = 1;
  static constexpr int8_t kVisited = 2;
  // Visited, and the clear pixel to its right belongs to a border that is known: no hole starts here again.
  static constexpr int8_t kRightKnown = -2;

  size_t position(Point p) const {
    return static_cast<size_t>(p.y + 1) * static_cast<size_t>(stride_) + static_cast<size_t>(p.x + 1);
  }
  int8_t neighbour(size_t at, int direction) const {
    return labels_[at + static_cast<size_t>(step_[static_cast<size_t>(direction)])];
  }

  Border follow(Point start, bool hole) {
    Border border{hole, {}};
    const size_t start_at = position(start);
    // Clockwise from the clear pixel that gave the start to the last pixel of the walk.
    const int from = hole ? kEast : kWest;
    int back = -1;
    for (int turn = 1; turn < 8 && back < 0; ++turn) {
      const int direction = (from - turn) & 7;
      if (neighbour(start_at, direction) != kClear) back = direction;
    }
    if (back < 0) {
      labels_[start_at] = kRightKnown;
      border.points.push_back(start);
      return border;
    }
    const size_t last_at = start_at + static_cast<size_t>(step_[static_cast<size_t>(back)]);
    Point here = start;
    size_t at = start_at;
    while (true) {
      // Counterclockwise from where the walk came from to the next set pixel.
      bool saw_right = false;
      int direction = (back + 1) & 7;
      while (neighbour(at, direction) == kClear) {
        saw_right |= direction == kEast;
        direction = (direction + 1) & 7;
      }
      if (saw_right) {
        labels_[at] = kRightKnown;
      } else if (labels_[at] == kUnvisited) {
        labels_[at] = kVisited;
      }
      border.points.push_back(here);
      const size_t next_at = at + static_cast<size_t>(step_[static_cast<size_t>(direction)]);
      if (next_at == start_at && at == last_at) return border;
      here = {here.x + kDx[static_cast<size_t>(direction)], here.y + kDy[static_cast<size_t>(direction)]};
      at = next_at;
      back = (direction + 4) & 7;
    }
  }

  int width_;
  int height_;
  int stride_;
  std::array<int, 8> step_{};
  std::vector<int8_t> labels_;
};

}  // namespace

std::vector<Border> trace_borders(const Mask& mask) {
  return Tracer(mask).run();
}

std::vector<PixelRun> inside(const Border& border) {
  std::vector<PixelRun> runs;
  // Where the walk crosses each row, counting an edge to the row of its upper end.
  std::vector<Point> crossings;
  for (size_t i = 0; i < border.points.size(); ++i) {
    const Point a = border.points[i];
    const Point b = border.points[i + 1 == border.points.size() ? 0 : i + 1];
    runs.push_back({a.y, a.x, a.x});
    if (a.y != b.y) crossings.push_back(a.y < b.y ? a : b);
  }
  std::ranges::sort(crossings, [](Point a, Point b) { return a.y != b.y ? a.y < b.y : a.x < b.x; });
  // A closed walk crosses a row an even number of times.
  for (size_t i = 0; i + 1 < crossings.size(); i += 2) {
    runs.push_back({crossings[i].y, crossings[i].x, crossings[i + 1].x});
  }
  std::ranges::sort(runs);
  size_t kept = 0;
  for (size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].y == runs[kept].y && runs[i].first <= runs[kept].last + 1) {
      runs[kept].last = std::max(runs[kept].last, runs[i].last);
    } else {
      runs[++kept] = runs[i];
    }
  }
  if (!runs.empty()) runs.resize(kept + 1);
  return runs;
}

Mask dilate_2x2(const Mask& mask) {
  Mask result{mask.width, mask.height, mask.pixels};
  const size_t width = static_cast<size_t>(mask.width);
  for (size_t y = 0; y < static_cast<size_t>(mask.height); ++y) {
    const uint8_t* row = mask.pixels.data() + y * width;
    const uint8_t* above = y == 0 ? row : row - width;
    uint8_t* to = result.pixels.data() + y * width;
    for (size_t x = 0; x < width; ++x) {
      const size_t left = x == 0 ? 0 : x - 1;
      to[x] = (row[x] | row[left] | above[x] | above[left]) != 0;
    }
  }
  return result;
}

}  // namespace weir::cli
