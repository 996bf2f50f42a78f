// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/image.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tools/weir/io/codecs.h"
#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

bool starts_with(std::span<const std::byte> bytes, std::span<const uint8_t> magic) {
  return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), std::as_bytes(magic));
}

}  // namespace

Result<void> check_image(int width, int height, int channels) {
  if (width < 1 || height < 1 || width > kMaxImageSide || height > kMaxImageSide ||
      int64_t{width} * height > kMaxImagePixels) {
    return fail(StatusCode::kResourceExhausted,
                "The image has ({} x {}) pixels, and sides of 1 to ({}) and ({}) pixels in all are taken.",
                width, height, kMaxImageSide, kMaxImagePixels);
  }
  if (channels != 1 && channels != 3 && channels != 4) {
    return fail(StatusCode::kInvalidArgument, "The image has ({}) channels, and 1, 3 or 4 are taken.",
                channels);
  }
  return {};
}

Result<Image> make_image(int width, int height, int channels) {
  WEIR_TRY(check_image(width, height, channels));
  Image image{width, height, channels, {}};
  image.pixels.resize(static_cast<size_t>(width) * static_cast<size_t>(height) *
                      static_cast<size_t>(channels));
  return image;
}

Result<Image> decode_image(std::span<const std::byte> bytes) {
  static constexpr std::array<uint8_t, 8> kPng = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  static constexpr std::array<uint8_t, 3> kJpeg = {0xff, 0xd8, 0xff};
  if (starts_with(bytes, kPng)) return decode_png(bytes);
  if (starts_with(bytes, kJpeg)) return decode_jpeg(bytes);
  return fail(StatusCode::kInvalidArgument, "The file is neither a PNG nor a JPEG image.");
}

Result<Image> read_image(const std::string& path) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, read_file(path, int64_t{1} << 30));
  WEIR_ASSIGN(Image image, decode_image(bytes), "while reading '{}'", path);
  return image;
}

Result<void> write_png(const std::string& path, const Image& image) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, encode_png(image), "while writing '{}'", path);
  return write_file(path, bytes);
}

Image to_rgb(Image image) {
  if (image.channels == 3) return image;
  const size_t from = static_cast<size_t>(image.channels);
  const size_t count = image.pixels.size() / from;
  Image rgb{image.width, image.height, 3, std::vector<uint8_t>(count * 3)};
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) rgb.pixels[i * 3 + c] = image.pixels[i * from + (from == 1 ? 0 : c)];
  }
  return rgb;
}

Image to_gray(Image image) {
  if (image.channels == 1) return image;
  const size_t from = static_cast<size_t>(image.channels);
  const size_t count = image.pixels.size() / from;
  Image gray{image.width, image.height, 1, std::vector<uint8_t>(count)};
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* p = image.pixels.data() + i * from;
    // The weights in units of 2^-14; they add up to 2^14.
    gray.pixels[i] = static_cast<uint8_t>((4899 * p[0] + 9617 * p[1] + 1868 * p[2] + 8192) >> 14);
  }
  return gray;
}

int exif_orientation(std::span<const std::byte> app1) {
  static constexpr std::array<uint8_t, 6> kExif = {'E', 'x', 'i', 'f', 0, 0};
  if (!starts_with(app1, kExif)) return 1;
  const std::span<const std::byte> tiff = app1.subspan(kExif.size());
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == std::byte{'I'};
  const auto number = [&](size_t offset, size_t bytes) {
    size_t value = 0;
    for (size_t i = 0; i < bytes; ++i) {
      value = value << 8 | std::to_integer<size_t>(tiff[offset + (little ? bytes - 1 - i : i)]);
    }
    return value;
  };
  const size_t directory = number(4, 4);
  if (directory > tiff.size() - 2) return 1;
  const size_t entries = number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * 12;
    if (entry + 12 > tiff.size()) return 1;
    if (number(entry, 2) == 0x0112) {
      const size_t value = number(entry + 8, 2);
      return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
    }
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool transposed = orientation >= 5;
  const bool mirror_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirror_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result{transposed ? image.height : image.width, transposed ? image.width : image.height,
               image.channels, std::vector<uint8_t>(image.pixels.size())};
  const size_t channels = static_cast<size_t>(image.channels);
  for (int y = 0; y < result.height; ++y) {
    uint8_t* to = result.row(y);
    for (int x = 0; x < result.width; ++x, to += channels) {
      int from_x = transposed ? y : x;
      int from_y = transposed ? x : y;
      if (mirror_x) from_x = image.width - 1 - from_x;
      if (mirror_y) from_y = image.height - 1 - from_y;
      std::copy_n(image.row(from_y) + static_cast<size_t>(from_x) * channels, channels, to);
    }
  }
  return result;
}

}  // namespace weir::cli
