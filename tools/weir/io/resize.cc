// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weir::cli {
namespace {

constexpr int kWeightBits = 11;

// Where an output coordinate lies between two input ones.
struct Tap {
  int first = 0;
  int second = 0;
  int first_weight = 0;  // of 2^11; the two add up to 2^11 but for rounding
  int second_weight = 0;
};

// `clamp_weight`: beyond the border the whole weight goes to the border pixel, instead of both taps to one
// pixel.
std::vector<Tap> taps(int from, int to, bool clamp_weight) {
  std::vector<Tap> result(static_cast<size_t>(to));
  const double scale = 1.0 / (static_cast<double>(to) / from);
  for (int i = 0; i < to; ++i) {
    const float position = static_cast<float>((i + 0.5) * scale - 0.5);
    int first = static_cast<int>(std::floor(position));
    float fraction = position - static_cast<float>(first);
    if (clamp_weight && (first < 0 || first >= from - 1)) {
      first = std::clamp(first, 0, from - 1);
      fraction = 0;
    }
    result[static_cast<size_t>(i)] = {std::clamp(first, 0, from - 1), std::clamp(first + 1, 0, from - 1),
                                      static_cast<int>(std::lrint((1.0f - fraction) * (1 << kWeightBits))),
                                      static_cast<int>(std::lrint(fraction * (1 << kWeightBits)))};
  }
  return result;
}

void blend_row(const uint8_t* source, std::span<const Tap> columns, int channels, int* target) {
  for (const Tap& tap : columns) {
    const uint8_t* a = source + tap.first * channels;
    const uint8_t* b = source + tap.second * channels;
    for (int c = 0; c < channels; ++c) *target++ = a[c] * tap.first_weight + b[c] * tap.second_weight;
  }
}

Image halve(const Image& image) {
  Image result{image.width / 2, image.height / 2, image.channels, {}};
  const int channels = image.channels;
  result.pixels.resize(image.pixels.size() / 4);
  for (int y = 0; y < result.height; ++y) {
    const uint8_t* top = image.row(2 * y);
    const uint8_t* bottom = image.row(2 * y + 1);
    uint8_t* to = result.row(y);
    for (int x = 0; x < result.width; ++x, top += 2 * channels, bottom += 2 * channels) {
      for (int c = 0; c < channels; ++c) {
        *to++ =
            static_cast<uint8_t>((top[c] + top[c + channels] + bottom[c] + bottom[c + channels] + 2) >> 2);
      }
    }
  }
  return result;
}

}  // namespace

Result<Image> resize_bilinear(const Image& image, int width, int height) {
  if (width == image.width && height == image.height) return image;
  WEIR_ASSIGN(Image result, make_image(width, height, image.channels));
  if (int64_t{width} * 2 == image.width && int64_t{height} * 2 == image.height) return halve(image);
  const std::vector<Tap> columns = taps(image.width, width, true);
  const std::vector<Tap> rows = taps(image.height, height, false);
  const size_t row_values = static_cast<size_t>(width) * static_cast<size_t>(image.channels);
  // The two input rows, blended across, that the current output row lies between.
  std::vector<int> first(row_values);
  std::vector<int> second(row_values);
  int first_row = -1;
  int second_row = -1;
  for (int y = 0; y < height; ++y) {
    const Tap& tap = rows[static_cast<size_t>(y)];
    if (tap.first != first_row) {
      if (tap.first == second_row) {
        std::swap(first, second);
        std::swap(first_row, second_row);
      } else {
        blend_row(image.row(tap.first), columns, image.channels, first.data());
        first_row = tap.first;
      }
    }
    if (tap.second != second_row) {
      blend_row(image.row(tap.second), columns, image.channels, second.data());
      second_row = tap.second;
    }
    uint8_t* to = result.row(y);
    for (size_t x = 0; x < row_values; ++x) {
      // 22 bits of weight leave in three steps, each truncated as the widely used 16-bit code does it.
      const int sum =
          ((tap.first_weight * (first[x] >> 4)) >> 16) + ((tap.second_weight * (second[x] >> 4)) >> 16);
      to[x] = static_cast<uint8_t>(std::clamp((sum + 2) >> 2, 0, 255));
    }
  }
  return result;
}

}  // namespace weir::cli
