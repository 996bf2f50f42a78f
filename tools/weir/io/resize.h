// SPDX-License-Identifier: Apache-2.0
//
// Bilinear resizing of 8-bit images in fixed point: weights of 11 bits across and down, as the usual
// preprocessing of networks has it, so that a network sees the same bytes as it did in training. Pixel
// centres lie at halves; nothing is averaged when the image gets smaller, except for exactly half the size
// each way (the mean of four).
//
//   WEIR_ASSIGN(Image small, resize_bilinear(image, 224, 224));
#pragma once

#include "tools/weir/io/image.h"

namespace weir::cli {

Result<Image> resize_bilinear(const Image& image, int width, int height);

}  // namespace weir::cli
