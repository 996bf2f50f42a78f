// SPDX-License-Identifier: Apache-2.0
//
// Against the definition in double precision; bit for bit against another library in compare_with_opencv.py.
#include "tools/weir/io/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace weir::cli {
namespace {

Image noise(int width, int height, int channels) {
  std::mt19937 random(static_cast<unsigned>(width * 131 + height));
  Image image = make_image(width, height, channels).value();
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random());
  return image;
}

double exact(const Image& image, int x, int y, int c, int width, int height) {
  const double fx = std::clamp((x + 0.5) * image.width / width - 0.5, 0.0, image.width - 1.0);
  const double fy = std::clamp((y + 0.5) * image.height / height - 0.5, 0.0, image.height - 1.0);
  const int x0 = static_cast<int>(fx);
  const int y0 = static_cast<int>(fy);
  const auto at = [&](int px, int py) {
    return double{static_cast<double>(
        image.row(std::min(py, image.height - 1))[std::min(px, image.width - 1) * image.channels + c])};
  };
  const double ax = fx - x0;
  const double ay = fy - y0;
  return (1 - ay) * ((1 - ax) * at(x0, y0) + ax * at(x0 + 1, y0)) +
         ay * ((1 - ax) * at(x0, y0 + 1) + ax * at(x0 + 1, y0 + 1));
}

TEST(Resize, AgreesWithTheDefinition) {
  const int sizes[][4] = {{1, 1, 5, 7},    {5, 7, 1, 1},   {13, 9, 27, 30}, {64, 48, 32, 24},
                          {31, 33, 8, 60}, {40, 3, 39, 2}, {9, 1, 4, 1},    {300, 200, 224, 224}};
  for (const auto& [width, height, to_width, to_height] : sizes) {
    for (int channels : {1, 3, 4}) {
      const Image image = noise(width, height, channels);
      const auto result = resize_bilinear(image, to_width, to_height);
      ASSERT_TRUE(result.has_value());
      double worst = 0;
      for (int y = 0; y < to_height; ++y) {
        for (int x = 0; x < to_width; ++x) {
          for (int c = 0; c < channels; ++c) {
            worst = std::max(worst, std::abs(result->row(y)[x * channels + c] -
                                             exact(image, x, y, c, to_width, to_height)));
          }
        }
      }
      // Weights are rounded to 2^-11 twice, and the result to a whole number.
      EXPECT_LT(worst, 1.0) << width << "x" << height << " to " << to_width << "x" << to_height;
    }
  }
}

TEST(Resize, SameSizeIsACopyAndConstantsStay) {
  const Image image = noise(17, 5, 3);
  EXPECT_EQ(resize_bilinear(image, 17, 5)->pixels, image.pixels);
  Image flat = make_image(10, 10, 1).value();
  std::ranges::fill(flat.pixels, 255);
  EXPECT_THAT(resize_bilinear(flat, 33, 7)->pixels, testing::Each(255));
}

TEST(Resize, RefusesSizesBeyondTheLimits) {
  const auto result = resize_bilinear(noise(4, 4, 1), 0, 10);
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), testing::HasSubstr("(0 x 10) pixels"));
}

}  // namespace
}  // namespace weir::cli
