// SPDX-License-Identifier: Apache-2.0
//
// What the comparison with OpenCV (compare_with_opencv.py) does not show: exact corners, and errors.
#include "tools/weir/ocr/perspective.h"

#include <gtest/gtest.h>

#include "base/testing/results.h"

namespace weir::cli {
namespace {

constexpr Quad kSquare = {{{0, 0}, {4, 0}, {4, 4}, {0, 4}}};

PointF moved(const Transform& m, PointF p) {
  const double w = m[6] * p.x + m[7] * p.y + m[8];
  return {(m[0] * p.x + m[1] * p.y + m[2]) / w, (m[3] * p.x + m[4] * p.y + m[5]) / w};
}

TEST(Perspective, TakesCornersToCorners) {
  const Quad crooked = {{{1, 2}, {9, 0}, {8, 7}, {0, 5}}};
  const Transform transform = must(perspective_transform(crooked, kSquare));
  for (size_t i = 0; i < 4; ++i) {
    const PointF corner = moved(transform, crooked[i]);
    EXPECT_NEAR(corner.x, kSquare[i].x, 1e-9);
    EXPECT_NEAR(corner.y, kSquare[i].y, 1e-9);
  }
}

TEST(Perspective, OfNothingIsTheImage) {
  const Image image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const Transform same = must(perspective_transform(kSquare, kSquare));
  EXPECT_EQ(must(warp_perspective(image, same, 3, 2)).pixels, image.pixels);
}

TEST(Perspective, NeedsFourCornersAndAnInverse) {
  EXPECT_ERROR(
      perspective_transform({{{0, 0}, {1, 1}, {2, 2}, {0, 4.5}}}, kSquare), StatusCode::kInvalidArgument,
      "The corners (0, 0), (1, 1), (2, 2) and (0, 4.5) make no perspective transform: three of four may "
      "not lie on a line.");
  const Image image{1, 1, 1, {7}};
  EXPECT_ERROR(warp_perspective(image, {1, 2, 3, 2, 4, 6, 0, 0, 1}, 1, 1), StatusCode::kInvalidArgument,
               "The perspective transform (1, 2, 3, 2, 4, 6, 0, 0, 1) has no inverse.");
}

}  // namespace
}  // namespace weir::cli
