// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "tools/weir/ocr/font.h"

namespace weir::cli {
namespace {

using Colour = std::array<uint8_t, 3>;
constexpr Colour kBackground = {250, 250, 248};
constexpr Colour kText = {32, 34, 38};
constexpr Colour kFaint = {120, 124, 130};
constexpr Colour kWhite = {255, 255, 255};
// Distinct in hue, and dark enough for white numbers.
constexpr std::array<Colour, 6> kFrames = {
    {{0, 114, 178}, {200, 70, 0}, {0, 130, 96}, {170, 60, 130}, {120, 100, 0}, {70, 80, 200}}};

class Canvas {
 public:
  // `unit` is the size of a font pixel.
  Canvas(Image& image, int unit) : image_(image), unit_(unit) {}

  void fill(int x, int y, int width, int height, Colour colour) {
    const int right = std::min(x + width, image_.width);
    const int bottom = std::min(y + height, image_.height);
    for (int py = std::max(y, 0); py < bottom; ++py) {
      for (int px = std::max(x, 0); px < right; ++px) std::ranges::copy(colour, image_.row(py) + px * 3);
    }
  }

  void line(PointF a, PointF b, Colour colour) {
    // A frame's corners may lie far outside: only the part near the image is walked.
    const double length = std::max(std::abs(b.x - a.x), std::abs(b.y - a.y));
    const int steps = static_cast<int>(std::min(length, 4.0 * kMaxImageSide)) + 1;
    for (int i = 0; i <= steps; ++i) {
      const double t = static_cast<double>(i) / steps;
      const double x = a.x + t * (b.x - a.x);
      const double y = a.y + t * (b.y - a.y);
      if (x < -unit_ || y < -unit_ || x > image_.width + unit_ || y > image_.height + unit_) continue;
      fill(static_cast<int>(std::lrint(x)) - unit_ / 2, static_cast<int>(std::lrint(y)) - unit_ / 2, unit_,
           unit_, colour);
    }
  }

  // The x past the text.
  int text(int x, int y, std::string_view utf8, Colour colour) {
    for (uint32_t code : codes_of(utf8)) {
      const Glyph& glyph = glyph_of(code);
      for (int row = 0; row < kGlyphHeight; ++row) {
        for (int column = 0; column < kGlyphWidth; ++column) {
          if ((glyph[static_cast<size_t>(row)] >> (kGlyphWidth - 1 - column) & 1) != 0) {
            fill(x + column * unit_, y + row * unit_, unit_, unit_, colour);
          }
        }
      }
      x += (kGlyphWidth + 1) * unit_;
    }
    return x;
  }

 private:
  Image& image_;
  int unit_;
};

}  // namespace

Result<Image> draw_result(const Image& image, std::span<const TextLine> lines) {
  Image rgb = to_rgb(image);
  if (lines.empty()) return rgb;
  const int unit = std::max(1, std::min(image.width, image.height) / 300);
  const int advance = (kGlyphWidth + 1) * unit;
  const int row_height = (kGlyphHeight + 3) * unit;
  const int margin = 6 * unit;
  size_t longest = 0;
  for (const TextLine& line : lines) longest = std::max(longest, codes_of(line.text).size());
  const int list_width =
      static_cast<int>(std::min<size_t>(longest + 10, kMaxImageSide)) * advance + 2 * margin;
  const int list_height = static_cast<int>(lines.size()) * row_height + 2 * margin;
  WEIR_ASSIGN(
      Image result,
      make_image(std::max(rgb.width, std::min(list_width, kMaxImageSide)), rgb.height + list_height, 3),
      "while drawing the lines of text");
  Canvas canvas(result, unit);
  canvas.fill(0, 0, result.width, result.height, kBackground);
  for (int y = 0; y < rgb.height; ++y) std::copy_n(rgb.row(y), rgb.width * 3, result.row(y));

  for (size_t i = 0; i < lines.size(); ++i) {
    const Colour colour = kFrames[i % kFrames.size()];
    const Quad& quad = lines[i].quad;
    for (size_t k = 0; k < 4; ++k) canvas.line(quad[k], quad[(k + 1) % 4], colour);
  }
  // The list's background hides what frames have drawn below the photo.
  canvas.fill(0, rgb.height, result.width, list_height, kBackground);
  canvas.fill(rgb.width, 0, result.width - rgb.width, rgb.height, kBackground);
  for (size_t i = 0; i < lines.size(); ++i) {
    const Colour colour = kFrames[i % kFrames.size()];
    const std::string number = std::to_string(i + 1);
    const int tag_width = static_cast<int>(number.size()) * advance + unit;
    const int tag_height = kGlyphHeight * unit;
    const PointF corner = lines[i].quad[0];
    const auto inside = [](double value, int most) {
      return static_cast<int>(std::lrint(std::clamp(value, 0.0, static_cast<double>(std::max(0, most)))));
    };
    // Left of the line where there is room, so that it hides no text.
    const int tag_x = inside(corner.x - tag_width, rgb.width - tag_width);
    const int tag_y = inside(corner.y, rgb.height - tag_height);
    canvas.fill(tag_x, tag_y, tag_width, tag_height, colour);
    canvas.text(tag_x + unit, tag_y + unit, number, kWhite);

    const int y = rgb.height + margin + static_cast<int>(i) * row_height + 2 * unit;
    canvas.fill(margin - unit, y - unit, tag_width, tag_height, colour);
    canvas.text(margin, y, number, kWhite);
    canvas.text(margin + 4 * advance, y, fmt::format("{:.2f}", lines[i].confidence), kFaint);
    canvas.text(margin + 9 * advance, y, lines[i].text, kText);
  }
  return result;
}

}  // namespace weir::cli
