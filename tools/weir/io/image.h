// SPDX-License-Identifier: Apache-2.0
//
// Photos in and out: PNG and JPEG become 8-bit gray, RGB or RGBA; PNG is written.
//
//   WEIR_ASSIGN(Image image, read_image("photo.jpg"));      // upright: the camera's orientation is applied
//   image = to_rgb(std::move(image));
//   WEIR_TRY(write_png("copy.png", image));
//
// Sixteen bits a channel become their high eight, palettes and fewer bits become eight, and transparency
// becomes a fourth channel. Colour profiles and gamma are not applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace weir::cli {

// Rows from the top, pixels from the left, channels interleaved, no padding.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;  // 1 gray, 3 RGB, 4 RGBA
  std::vector<uint8_t> pixels;

  const uint8_t* row(int y) const {
    return pixels.data() +
           static_cast<size_t>(y) * static_cast<size_t>(width) * static_cast<size_t>(channels);
  }
  uint8_t* row(int y) {
    return pixels.data() +
           static_cast<size_t>(y) * static_cast<size_t>(width) * static_cast<size_t>(channels);
  }
};

// A file that says it is larger is an error before anything of its size is allocated.
inline constexpr int kMaxImageSide = 32768;
inline constexpr int64_t kMaxImagePixels = int64_t{64} * 1000 * 1000;

// Sides of 1 to the limits above, and 1, 3 or 4 channels.
Result<void> check_image(int width, int height, int channels);
// All zero.
Result<Image> make_image(int width, int height, int channels);

// `bytes` is a whole PNG or JPEG file. Damaged and truncated files are errors, not half an image.
Result<Image> decode_image(std::span<const std::byte> bytes);
Result<Image> read_image(const std::string& path);

Result<std::vector<std::byte>> encode_png(const Image& image);
Result<void> write_png(const std::string& path, const Image& image);

// Gray becomes three equal channels; a fourth channel is dropped, not blended.
Image to_rgb(Image image);
// Y = 0.299 R + 0.587 G + 0.114 B, rounded.
Image to_gray(Image image);

}  // namespace weir::cli
