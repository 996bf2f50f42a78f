// SPDX-License-Identifier: Apache-2.0
//
// Perspective transforms: the matrix between two quadrilaterals, and an image seen through it, by cubic
// sampling.
//
//   WEIR_ASSIGN(Transform to_page, perspective_transform(quad, page));
//   WEIR_ASSIGN(Image page_image, warp_perspective(image, to_page, 640, 48));
#pragma once

#include <array>

#include "base/status.h"
#include "tools/weir/io/image.h"
#include "tools/weir/ocr/geometry.h"

namespace weir::cli {

// Row-major 3 × 3, acting on (x, y, 1).
using Transform = std::array<double, 9>;

// Takes from[i] to to[i]. Three corners on a line are an error.
Result<Transform> perspective_transform(const Quad& from, const Quad& to);

// Pixel (x, y) of the result is `image` at the point that `transform` takes to (x, y), sampled by bicubic
// interpolation (a = −0.75); outside, the border's pixels go on.
Result<Image> warp_perspective(const Image& image, const Transform& transform, int width, int height);

}  // namespace weir::cli
