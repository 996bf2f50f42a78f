// SPDX-License-Identifier: Apache-2.0
//
// What comes before, between and after the two networks that read text on a photo: the first gives the
// probability of text at each pixel, the second a row of characters for the picture of one line. Pure
// functions; the networks run elsewhere.
//
//   const Size size = detection_input_size(image.width, image.height);
//   WEIR_TRY(fill_detection_input(image, size, input));                     // float [1, 3, height, width]
//   … run the detector: probability [1, 1, height, width] …
//   for (const TextBox& box : quads_from_probability(probability, size, image.width, image.height)) {
//     WEIR_ASSIGN(Image crop, crop_line(image, box.quad));
//     const int width = recognition_width(crop);
//     WEIR_TRY(fill_recognition_input(crop, width, input));                 // float [1, 3, 48, width]
//     … run the recogniser: scores [1, steps, charset.size()] …
//     WEIR_ASSIGN(DecodedText text, ctc_decode(scores, steps, charset));
//   }
//
// Images are RGB; the networks take blue, green, red planes of (x / 255 − 0.5) / 0.5.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/weir/io/image.h"
#include "tools/weir/ocr/geometry.h"

namespace weir::cli {

struct Size {
  int width = 0;
  int height = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

struct DetectionOptions {
  float pixel_threshold = 0.3f;  // a pixel is text above it
  double box_threshold = 0.5;    // a box is kept whose mean probability is at least that
  double grow = 1.5;  // the ratio of area to perimeter by which a box grows, since the map has shrunken text
  double least_side = 3;  // of a box in the map, in pixels
};

struct TextBox {
  Quad quad;         // in pixels of the image; may reach beyond its borders
  double score = 0;  // mean probability inside
};

// The shorter side up to 736 (never down), both sides multiples of 32 and at least 32.
Size detection_input_size(int width, int height);

// `target` has 3 · height · width places.
Result<void> fill_detection_input(const Image& image, Size size, std::span<float> target);

// `probability` has a value for each pixel of `size`, which is the image scaled.
Result<std::vector<TextBox>> quads_from_probability(std::span<const float> probability, Size size,
                                                    int image_width, int image_height,
                                                    const DetectionOptions& options = {});

// The part of the image in the quadrilateral, upright; turned by a quarter counterclockwise where it is at
// least 1.5 times as high as wide. Less than 3 pixels wide or high is an error.
Result<Image> crop_line(const Image& image, const Quad& quad);

inline constexpr int kRecognitionHeight = 48;

// Of the recogniser's input: what the crop needs at height 48, at least 320.
int recognition_width(const Image& crop);

// `target` has 3 · 48 · width places; what lies right of the crop is 0. `width` is at least
// recognition_width(crop).
Result<void> fill_recognition_input(const Image& crop, int width, std::span<float> target);

// The characters of a recogniser, from its metadata entry 'character': one a line, the blank (here an empty
// string) before them and the space after them.
std::vector<std::string> charset_from_metadata(std::string_view characters);

struct DecodedText {
  std::string text;       // UTF-8
  double confidence = 0;  // mean score of the characters; 0 where there are none
};

// `scores` has `steps` rows of charset.size() values. The best of each row; repeats and blanks fall away.
Result<DecodedText> ctc_decode(std::span<const float> scores, int64_t steps,
                               std::span<const std::string> charset);

struct TextLine {
  Quad quad;
  std::string text;
  double confidence = 0;
};

// Lines below this confidence are not worth showing.
inline constexpr double kLeastConfidence = 0.5;

// From the top down, by the highest corner.
void sort_lines(std::vector<TextLine>& lines);

}  // namespace weir::cli
