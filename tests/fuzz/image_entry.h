// SPDX-License-Identifier: Apache-2.0
//
// What --input and `weir ocr` do with the bytes of a PNG or JPEG file.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>

#include "run_program.h"
#include "tools/weir/io/codecs.h"
#include "tools/weir/io/image.h"

namespace weir::fuzz {

// Larger pictures are only decoded.
inline constexpr size_t kMaxEncoded = size_t{1} << 18;

// A picture that reads has the pixels that its sides say; as RGB it is written and read again, and is the
// same then.
inline bool entry(std::span<const std::byte> bytes) {
  (void)cli::exif_orientation(bytes);
  Result<cli::Image> image = cli::decode_image(bytes);
  if (!image) {
    expect_explained(image.error());
    return false;
  }
  const auto pixels = static_cast<size_t>(image->width) * static_cast<size_t>(image->height);
  if (pixels == 0 || image->pixels.size() != pixels * static_cast<size_t>(image->channels)) {
    std::abort();
  }
  if (pixels > kMaxEncoded) {
    return true;
  }
  const cli::Image rgb = cli::to_rgb(*std::move(image));
  const Result<std::vector<std::byte>> written = cli::encode_png(rgb);
  const Result<cli::Image> again = written ? cli::decode_image(*written) : std::unexpected(written.error());
  if (!again || again->width != rgb.width || again->height != rgb.height || again->pixels != rgb.pixels) {
    std::abort();
  }
  return true;
}

}  // namespace weir::fuzz
