// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tools/weir/ocr/font.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;

Image flat(int width, int height, uint8_t value) {
  Image image = make_image(width, height, 3).value();
  std::ranges::fill(image.pixels, value);
  return image;
}

bool has_colour(const Image& image, int x, int y) {
  const uint8_t* p = image.row(y) + x * 3;
  return p[0] != p[1] || p[1] != p[2];
}

TEST(Draw, FramesTheLineAndListsItBelow) {
  const Image photo = flat(200, 100, 128);
  const TextLine line{{{{50, 20}, {150, 20}, {150, 40}, {50, 40}}}, "Ab", 0.876};
  const auto result = draw_result(photo, std::vector<TextLine>{line});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->width, 200);
  EXPECT_EQ(result->height, 100 + 12 + 12);
  for (int x = 50; x <= 150; ++x) {
    EXPECT_TRUE(has_colour(*result, x, 20));
    EXPECT_TRUE(has_colour(*result, x, 40));
  }
  for (int y = 20; y <= 40; ++y) EXPECT_TRUE(has_colour(*result, 150, y));
  EXPECT_EQ(result->row(30)[100 * 3], 128);  // the photo inside the frame
  EXPECT_EQ(result->row(70)[20 * 3], 128);
  // The A of the list, pixel by pixel.
  const int left = 6 + 9 * 6;
  const int top = 100 + 6 + 2;
  const Glyph& a = glyph_of('A');
  for (int y = 0; y < kGlyphHeight; ++y) {
    for (int x = 0; x < kGlyphWidth; ++x) {
      const bool ink = (a[static_cast<size_t>(y)] >> (4 - x) & 1) != 0;
      EXPECT_EQ(result->row(top + y)[(left + x) * 3] < 100, ink) << x << "," << y;
    }
  }
}

TEST(Draw, IsTheImageWhereThereAreNoLines) {
  const Image gray = Image{3, 2, 1, {1, 2, 3, 4, 5, 6}};
  const auto result = draw_result(gray, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->pixels, to_rgb(gray).pixels);
}

TEST(Draw, TakesFramesOutsideAndLongTexts) {
  const TextLine line{{{{-500, -40}, {1e7, -84}, {625, 1e7}, {-1e7, 459}}}, std::string(100000, 'x'), 1};
  const auto result = draw_result(flat(20, 10, 9), std::vector<TextLine>{line});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->width, kMaxImageSide);
}

TEST(Font, HasAGlyphForEachCharacter) {
  EXPECT_THAT(codes_of("aé中!"), ElementsAre('a', 0xfffd, 0xfffd, '!'));
  EXPECT_THAT(codes_of("\x80\xff"), ElementsAre(0xfffd, 0xfffd));
  EXPECT_EQ(glyph_of(' '), Glyph{});
  EXPECT_EQ(glyph_of(0xfffd)[0], 0x1f);
  for (uint32_t a = 0x21; a < 0x7f; ++a) {
    for (uint32_t b = 0x20; b < a; ++b) EXPECT_NE(glyph_of(a), glyph_of(b)) << char(a) << char(b);
  }
}

}  // namespace
}  // namespace weir::cli
