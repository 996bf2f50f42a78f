// SPDX-License-Identifier: Apache-2.0
//
// The decoders behind image.h. Both libraries report errors by longjmp; each of these files keeps that inside
// one function that calls C code only, so that no destructor is ever jumped over.
#pragma once

#include "tools/weir/io/image.h"

namespace weir::cli {

Result<Image> decode_png(std::span<const std::byte> bytes);
// Applies the orientation of the file's EXIF block, if any.
Result<Image> decode_jpeg(std::span<const std::byte> bytes);

// The orientation (1 to 8) in the contents of an APP1 marker, or 1.
int exif_orientation(std::span<const std::byte> app1);
// `image` turned and mirrored from `orientation` to 1.
Image upright(Image image, int orientation);

}  // namespace weir::cli
