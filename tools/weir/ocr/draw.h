// SPDX-License-Identifier: Apache-2.0
//
// The picture that `weir ocr --output` writes: the photo with a numbered frame around each line of text, and
// below it the list of numbers, confidences and texts.
#pragma once

#include <span>

#include "tools/weir/io/image.h"
#include "tools/weir/ocr/text_lines.h"

namespace weir::cli {

// RGB, at least as large as `image`. Fails only where the list makes it larger than an image may be.
Result<Image> draw_result(const Image& image, std::span<const TextLine> lines);

}  // namespace weir::cli
