// SPDX-License-Identifier: Apache-2.0
//
// The borders of the connected components of a mask, and the pixels inside them.
//
//   for (const Border& border : trace_borders(mask)) {
//     for (const PixelRun& run : inside(border)) sum over row(run.y)[run.first..run.last];
//   }
//
// Set pixels are 8-connected, clear ones 4-connected. Every component has an outer border, and one more
// around each of its holes, as pixels of the component: a hole is listed too, because a text detector may
// ring a word. Source: S. Suzuki, K. Abe, "Topological structural analysis of digitized binary images by
// border following", 1985.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/weir/ocr/geometry.h"

namespace weir::cli {

// One byte a pixel: 0 clear, else set. width · height bytes, rows from the top.
struct Mask {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;
};

// A closed walk from pixel to neighbouring pixel; a pixel may come up more than once.
struct Border {
  bool hole = false;
  std::vector<Point> points;
};

// Sorted by row, then column of the pixel where a scan first meets them. Linear in pixels and border lengths.
std::vector<Border> trace_borders(const Mask& mask);

// Pixels first..last, both included, of row y.
struct PixelRun {
  int y = 0;
  int first = 0;
  int last = 0;
  friend auto operator<=>(const PixelRun&, const PixelRun&) = default;
};

// What the walk encloses by the even-odd rule, and the walk itself. Disjoint runs, sorted.
std::vector<PixelRun> inside(const Border& border);

// Sets each pixel that has a set pixel at itself, above, left or above left.
Mask dilate_2x2(const Mask& mask);

}  // namespace weir::cli
