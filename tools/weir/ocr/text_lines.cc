// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/ocr/text_lines.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tools/weir/io/resize.h"
#include "tools/weir/ocr/components.h"
#include "tools/weir/ocr/hull.h"
#include "tools/weir/ocr/perspective.h"
#include "tools/weir/ocr/rectangle.h"

namespace weir::cli {
namespace {

constexpr int kShorterSide = 736;
constexpr int kLeastRecognitionWidth = 320;
constexpr double kLeastLineSide = 3;

std::array<float, 256> normalised_values() {
  std::array<float, 256> values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<float>(i) / 255.0f - 0.5f) / 0.5f;
  return values;
}

// Blue, green and red planes of `row_stride · height` values each, filled up to the image's width.
void fill_planes(const Image& rgb, size_t row_stride, std::span<float> target) {
  const std::array<float, 256> values = normalised_values();
  const size_t plane = row_stride * static_cast<size_t>(rgb.height);
  for (int y = 0; y < rgb.height; ++y) {
    const uint8_t* from = rgb.row(y);
    for (size_t c = 0; c < 3; ++c) {
      float* to = target.data() + c * plane + static_cast<size_t>(y) * row_stride;
      for (int x = 0; x < rgb.width; ++x) to[x] = values[from[static_cast<size_t>(x) * 3 + 2 - c]];
    }
  }
}

Result<void> check_values(std::string_view what, size_t has, int64_t needs) {
  if (static_cast<int64_t>(has) == needs) return {};
  return fail(StatusCode::kInvalidArgument, "The {} has ({}) values, and its size needs ({}).", what, has,
              needs);
}

double distance(PointF a, PointF b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

int columns_at_recognition_height(const Image& crop) {
  return std::max(
      16, static_cast<int>(std::ceil(static_cast<double>(kRecognitionHeight) * crop.width / crop.height)));
}

}  // namespace

Size detection_input_size(int width, int height) {
  const double scale = std::max(1.0, static_cast<double>(kShorterSide) / std::min(width, height));
  // nearbyint rounds halves to even.
  const auto side = [scale](int value) {
    return std::max(32, static_cast<int>(std::nearbyint(value * scale / 32) * 32));
  };
  return {side(width), side(height)};
}

Result<void> fill_detection_input(const Image& image, Size size, std::span<float> target) {
  WEIR_TRY(check_values("detector's input", target.size(), int64_t{3} * size.width * size.height));
  WEIR_ASSIGN(const Image scaled, resize_bilinear(to_rgb(image), size.width, size.height),
              "while filling the detector's input");
  fill_planes(scaled, static_cast<size_t>(size.width), target);
  return {};
}

Result<std::vector<TextBox>> quads_from_probability(std::span<const float> probability, Size size,
                                                    int image_width, int image_height,
                                                    const DetectionOptions& options) {
  WEIR_TRY(check_values("probability map", probability.size(), int64_t{size.width} * size.height));
  Mask mask{size.width, size.height, std::vector<uint8_t>(probability.size())};
  std::ranges::transform(probability, mask.pixels.begin(),
                         [&](float p) { return p > options.pixel_threshold; });
  const double scale_x = static_cast<double>(image_width) / size.width;
  const double scale_y = static_cast<double>(image_height) / size.height;
  std::vector<TextBox> boxes;
  for (const Border& border : trace_borders(dilate_2x2(mask))) {
    OrientedRectangle rectangle = minimum_area_rectangle(convex_hull(border.points));
    if (std::min(rectangle.width, rectangle.height) < options.least_side) continue;
    double sum = 0;
    int64_t count = 0;
    for (const PixelRun& run : inside(border)) {
      const float* row = probability.data() + static_cast<size_t>(run.y) * static_cast<size_t>(size.width);
      for (int x = run.first; x <= run.last; ++x) sum += row[x];
      count += run.last - run.first + 1;
    }
    const double score = sum / static_cast<double>(count);
    // So written, a mean that is no number is refused.
    if (!(score >= options.box_threshold)) continue;
    const double grow =
        rectangle.width * rectangle.height * options.grow / (2 * (rectangle.width + rectangle.height));
    rectangle.width += 2 * grow;
    rectangle.height += 2 * grow;
    std::array<PointF, 4> points = corners(rectangle);
    for (PointF& p : points) p = {p.x * scale_x, p.y * scale_y};
    boxes.push_back({in_reading_order(points), score});
  }
  return boxes;
}

Result<Image> crop_line(const Image& image, const Quad& quad) {
  const double width = std::max(distance(quad[0], quad[1]), distance(quad[2], quad[3]));
  const double height = std::max(distance(quad[0], quad[3]), distance(quad[1], quad[2]));
  if (!(width >= kLeastLineSide && height >= kLeastLineSide && width <= kMaxImageSide &&
        height <= kMaxImageSide)) {
    return fail(StatusCode::kOutOfRange,
                "The line of text has ({:.1f} x {:.1f}) pixels, and sides of ({}) to ({}) "
                "are taken.",
                width, height, kLeastLineSide, kMaxImageSide);
  }
  const Quad target = {{{0, 0}, {width, 0}, {width, height}, {0, height}}};
  WEIR_ASSIGN(const Transform transform, perspective_transform(quad, target),
              "while cropping a line of text");
  WEIR_ASSIGN(Image crop,
              warp_perspective(image, transform, static_cast<int>(width), static_cast<int>(height)),
              "while cropping a line of text");
  if (crop.height < 1.5 * crop.width) return crop;
  // A quarter counterclockwise: the right column becomes the top row.
  Image turned{crop.height, crop.width, crop.channels, std::vector<uint8_t>(crop.pixels.size())};
  const size_t channels = static_cast<size_t>(crop.channels);
  for (int y = 0; y < turned.height; ++y) {
    for (int x = 0; x < turned.width; ++x) {
      std::copy_n(crop.row(x) + static_cast<size_t>(crop.width - 1 - y) * channels, channels,
                  turned.row(y) + static_cast<size_t>(x) * channels);
    }
  }
  return turned;
}

int recognition_width(const Image& crop) {
  return std::max(kLeastRecognitionWidth, columns_at_recognition_height(crop));
}

Result<void> fill_recognition_input(const Image& crop, int width, std::span<float> target) {
  const int columns = columns_at_recognition_height(crop);
  if (width < columns) {
    return fail(StatusCode::kInvalidArgument, "The recogniser's input is ({}) wide, and the line needs ({}).",
                width, columns);
  }
  WEIR_TRY(check_values("recogniser's input", target.size(), int64_t{3} * kRecognitionHeight * width));
  WEIR_ASSIGN(const Image scaled, resize_bilinear(to_rgb(crop), columns, kRecognitionHeight),
              "while filling the recogniser's input");
  std::ranges::fill(target, 0.0f);
  fill_planes(scaled, static_cast<size_t>(width), target);
  return {};
}

std::vector<std::string> charset_from_metadata(std::string_view characters) {
  std::vector<std::string> charset = {""};
  while (true) {
    const size_t end = characters.find('\n');
    charset.emplace_back(characters.substr(0, end));
    if (end == std::string_view::npos) break;
    characters.remove_prefix(end + 1);
  }
  charset.emplace_back(" ");
  return charset;
}

Result<DecodedText> ctc_decode(std::span<const float> scores, int64_t steps,
                               std::span<const std::string> charset) {
  const int64_t classes = static_cast<int64_t>(charset.size());
  if (classes == 0 || steps < 0 || static_cast<int64_t>(scores.size()) / classes != steps ||
      static_cast<int64_t>(scores.size()) % classes != 0) {
    return fail(StatusCode::kInvalidArgument,
                "The recogniser gives ({}) scores, and ({}) steps of ({}) characters are needed; the charset "
                "may belong "
                "to another network.",
                scores.size(), steps, classes);
  }
  DecodedText result;
  double sum = 0;
  int64_t kept = 0;
  int64_t previous = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const std::span<const float> row = scores.subspan(static_cast<size_t>(step * classes), charset.size());
    const int64_t best = std::ranges::max_element(row) - row.begin();
    if (best != 0 && best != previous) {
      result.text += charset[static_cast<size_t>(best)];
      sum += row[static_cast<size_t>(best)];
      ++kept;
    }
    previous = best;
  }
  if (kept > 0) result.confidence = sum / static_cast<double>(kept);
  return result;
}

void sort_lines(std::vector<TextLine>& lines) {
  const auto top = [](const TextLine& line) { return std::ranges::min(line.quad, {}, &PointF::y).y; };
  std::ranges::stable_sort(lines, [&](const TextLine& a, const TextLine& b) {
    return top(a) != top(b) ? top(a) < top(b) : a.text < b.text;
  });
}

}  // namespace weir::cli
