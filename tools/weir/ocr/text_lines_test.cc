// SPDX-License-Identifier: Apache-2.0
//
// Each step by itself; compare_text.py has the whole against other libraries on photos.
#include "tools/weir/ocr/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DetectionInput, HasSidesInMultiplesOf32) {
  EXPECT_EQ(detection_input_size(384, 191), (Size{1472, 736}));
  EXPECT_EQ(detection_input_size(741, 500), (Size{1088, 736}));
  EXPECT_EQ(detection_input_size(4000, 3000), (Size{4000, 3008}));  // 93.75 rounds up
  EXPECT_EQ(detection_input_size(1040, 1008), (Size{1024, 1024}));  // 32.5 and 31.5 round to even
  EXPECT_EQ(detection_input_size(1, 1), (Size{736, 736}));
}

TEST(DetectionInput, IsBlueGreenRedPlanes) {
  Image image = make_image(32, 32, 3).value();
  image.row(1)[2 * 3] = 255;      // red at (2, 1)
  image.row(1)[2 * 3 + 1] = 127;  // green
  std::vector<float> input(3 * 32 * 32);
  ASSERT_TRUE(fill_detection_input(image, {32, 32}, input).has_value());
  EXPECT_FLOAT_EQ(input[0 * 1024 + 34], -1.0f);
  EXPECT_FLOAT_EQ(input[1 * 1024 + 34], (127.0f / 255.0f - 0.5f) / 0.5f);
  EXPECT_FLOAT_EQ(input[2 * 1024 + 34], 1.0f);
  EXPECT_FLOAT_EQ(input[2 * 1024 + 33], -1.0f);
  const auto wrong = fill_detection_input(image, {32, 64}, input);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message(), "The detector's input has (3072) values, and its size needs (6144).");
}

TEST(Boxes, GrowAboutTheirCentre) {
  const Size size{100, 60};
  std::vector<float> probability(6000, 0.0f);
  for (size_t y = 20; y < 29; ++y) {
    for (size_t x = 30; x < 69; ++x) probability[y * 100 + x] = 0.8f;
  }
  const auto boxes = quads_from_probability(probability, size, 200, 60);
  ASSERT_TRUE(boxes.has_value());
  ASSERT_EQ(boxes->size(), 1u);
  // Dilated, the region is 40 by 10 pixels, their centres 39 by 9 apart from (30, 20); it grows by
  // 39 · 9 · 1.5 / (2 · 48) each way, and the image is twice as wide as the map.
  const double grow = 39.0 * 9.0 * 1.5 / 96.0;
  EXPECT_NEAR((*boxes)[0].quad[0].x, 2 * (30 - grow), 1e-9);
  EXPECT_NEAR((*boxes)[0].quad[0].y, 20 - grow, 1e-9);
  EXPECT_NEAR((*boxes)[0].quad[2].x, 2 * (69 + grow), 1e-9);
  EXPECT_NEAR((*boxes)[0].quad[2].y, 29 + grow, 1e-9);
  EXPECT_NEAR((*boxes)[0].score, 0.8 * (39.0 * 9.0) / (40.0 * 10.0), 1e-6);
}

TEST(Boxes, FaintThinAndUndefinedOnesAreLeftOut) {
  const Size size{64, 64};
  std::vector<float> faint(4096, 0.0f);
  for (size_t y = 10; y < 30; ++y) std::fill_n(faint.begin() + static_cast<ptrdiff_t>(y * 64 + 10), 40, 0.4f);
  EXPECT_TRUE(quads_from_probability(faint, size, 64, 64)->empty());
  std::vector<float> thin(4096, 0.0f);
  for (size_t y = 10; y < 12; ++y) std::fill_n(thin.begin() + static_cast<ptrdiff_t>(y * 64 + 10), 40, 0.9f);
  EXPECT_TRUE(quads_from_probability(thin, size, 64, 64)->empty());
  std::vector<float> undefined(4096, std::nanf(""));
  EXPECT_TRUE(quads_from_probability(undefined, size, 64, 64)->empty());
  for (size_t y = 10; y < 30; ++y)
    std::fill_n(undefined.begin() + static_cast<ptrdiff_t>(y * 64 + 10), 40, 0.9f);
  EXPECT_TRUE(quads_from_probability(undefined, size, 64, 64)->empty());
  EXPECT_THAT(quads_from_probability(thin, {64, 63}, 64, 64).error().message(), HasSubstr("(4096) values"));
}

TEST(Crop, IsThePartOfTheImage) {
  Image image = make_image(40, 30, 1).value();
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) image.row(y)[x] = static_cast<uint8_t>(x * 3 + y * 4);
  }
  const auto crop = crop_line(image, {{{5, 6}, {25, 6}, {25, 16}, {5, 16}}});
  ASSERT_TRUE(crop.has_value()) << crop.error().to_string();
  ASSERT_EQ(crop->width, 20);
  ASSERT_EQ(crop->height, 10);
  for (int y = 0; y < 10; ++y) {
    for (int x = 0; x < 20; ++x) EXPECT_EQ(crop->row(y)[x], image.row(y + 6)[x + 5]);
  }
  // Higher than wide: turned counterclockwise, so the right column becomes the top row.
  const auto tall = crop_line(image, {{{5, 6}, {15, 6}, {15, 26}, {5, 26}}});
  ASSERT_TRUE(tall.has_value());
  ASSERT_EQ(tall->width, 20);
  ASSERT_EQ(tall->height, 10);
  EXPECT_EQ(tall->row(0)[0], image.row(6)[14]);
  EXPECT_EQ(tall->row(9)[19], image.row(25)[5]);
  // Beyond the border its pixels go on.
  const auto beyond = crop_line(image, {{{-20, 4}, {0, 4}, {0, 14}, {-20, 14}}});
  ASSERT_TRUE(beyond.has_value());
  EXPECT_EQ(beyond->row(3)[7], image.row(7)[0]);
}

TEST(Crop, RefusesInSentences) {
  const Image image = make_image(40, 30, 3).value();
  EXPECT_EQ(crop_line(image, {{{5, 5}, {25, 5}, {25, 7}, {5, 7}}}).error().message(),
            "The line of text has (20.0 x 2.0) pixels, and sides of (3) to (32768) are taken.");
  EXPECT_THAT(
      crop_line(image, {{{0, 0}, {10, 10}, {20, 20}, {0, 10}}}).error().message(),
      HasSubstr("(20, 20) and (0, 10) make no perspective transform: three of four may not lie on a line."));
  EXPECT_THAT(crop_line(image, {{{0, 0}, {1e6, 0}, {1e6, 10}, {0, 10}}}).error().message(),
              HasSubstr("(1000000.0 x"));
  EXPECT_FALSE(crop_line(image, {{{std::nan(""), 0}, {9, 0}, {9, 9}, {0, 9}}}).has_value());
}

TEST(RecognitionInput, IsPaddedWithZeros) {
  Image crop = make_image(96, 48, 3).value();
  EXPECT_EQ(recognition_width(crop), 320);
  EXPECT_EQ(recognition_width(make_image(401, 48, 3).value()), 401);
  EXPECT_EQ(recognition_width(make_image(101, 12, 3).value()), 404);
  std::vector<float> input(3 * 48 * 320, 7.0f);
  ASSERT_TRUE(fill_recognition_input(crop, 320, input).has_value());
  EXPECT_EQ(input[95], -1.0f);
  EXPECT_EQ(input[96], 0.0f);
  EXPECT_EQ(input[319], 0.0f);
  EXPECT_EQ(input[3 * 48 * 320 - 1], 0.0f);
  EXPECT_EQ(fill_recognition_input(crop, 95, input).error().message(),
            "The recogniser's input is (95) wide, and the line needs (96).");
}

TEST(Ctc, DropsBlanksAndRepeats) {
  const std::vector<std::string> charset = charset_from_metadata("a\nb\nß");
  EXPECT_THAT(charset, ElementsAre("", "a", "b", "ß", " "));
  const int best[] = {1, 1, 0, 1, 2, 2, 4, 3, 0};
  std::vector<float> scores(9 * 5, 0.01f);
  for (size_t i = 0; i < 9; ++i)
    scores[i * 5 + static_cast<size_t>(best[i])] = 0.5f + 0.05f * static_cast<float>(i);
  const auto text = ctc_decode(scores, 9, charset);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->text, "aab ß");
  // Steps 0, 3, 4, 6 and 7 count.
  EXPECT_NEAR(text->confidence, 0.5 + 0.05 * (0 + 3 + 4 + 6 + 7) / 5, 1e-6);
}

TEST(Ctc, OfNothingIsNothing) {
  const std::vector<std::string> charset = charset_from_metadata("a");
  const std::vector<float> blanks = {1, 0, 0, 1, 0, 0};
  const auto text = ctc_decode(blanks, 2, charset);
  ASSERT_TRUE(text.has_value());
  EXPECT_EQ(text->text, "");
  EXPECT_EQ(text->confidence, 0);
  EXPECT_THAT(ctc_decode(blanks, 3, charset).error().message(),
              HasSubstr("The recogniser gives (6) scores, and (3) steps of (3) characters are needed; the "
                        "charset may belong to another network."));
}

TEST(Lines, AreSortedFromTheTop) {
  std::vector<TextLine> lines(3);
  lines[0] = {{{{0, 9}, {5, 8}, {5, 12}, {0, 13}}}, "second", 1};
  lines[1] = {{{{0, 20}, {5, 20}, {5, 30}, {0, 30}}}, "third", 1};
  lines[2] = {{{{50, 2}, {60, 3}, {60, 9}, {50, 8}}}, "first", 1};
  sort_lines(lines);
  EXPECT_EQ(lines[0].text + lines[1].text + lines[2].text, "firstsecondthird");
}

}  // namespace
}  // namespace weir::cli
