// SPDX-License-Identifier: Apache-2.0
//
// Runs single functions of the command line's library for the Python scripts beside it, from and to .npy
// files:
//
//   cli_probe decode IMAGE OUT                      uint8 [height, width, channels]
//   cli_probe resize IMAGE WIDTH HEIGHT OUT         the same
//   cli_probe borders MASK OUT                      int32 [runs, 5]: border, is a hole's, y, first x, last x
//   cli_probe rectangles MASK OUT                   float64 [borders, 8]: corners of the least rectangle
//   cli_probe warp IMAGE MATRIX WIDTH HEIGHT OUT    uint8 [height, width, channels]
//   cli_probe detection_input IMAGE OUT             float32 [1, 3, height, width]
//   cli_probe quads PROBABILITY WIDTH HEIGHT OUT    float64 [boxes, 9]: corners, score
//   cli_probe crop IMAGE QUADS INDEX OUT            uint8 [height, width, channels]
//   cli_probe recognition_input IMAGE QUADS INDEX OUT   float32 [1, 3, 48, width]
//   cli_probe draw IMAGE QUADS OUT.png              the image with a frame around each box
//   cli_probe plan_html BLOCKS OUT.html             the drawing of a made-up network's memory
//   cli_probe plan_json BLOCKS OUT.json             the same plan as JSON
//   cli_probe text SCORES CHARSET                   prints confidence, tab, text
//
// Masks and probabilities are [height, width], matrices float64 [3, 3], images RGB.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/weir/io/file.h"
#include "tools/weir/io/image.h"
#include "tools/weir/io/npy.h"
#include "tools/weir/io/resize.h"
#include "tools/weir/ocr/components.h"
#include "tools/weir/ocr/draw.h"
#include "tools/weir/ocr/hull.h"
#include "tools/weir/ocr/perspective.h"
#include "tools/weir/ocr/rectangle.h"
#include "tools/weir/ocr/text_lines.h"
#include "tools/weir/plan_html.h"
#include "tools/weir/testing/made_up_plan.h"

namespace weir::cli {
namespace {

Array array_of(const Image& image) {
  Array array =
      make_array(ElementType::kUint8, std::vector<int64_t>{image.height, image.width, image.channels})
          .value();
  std::memcpy(array.data.data(), image.pixels.data(), image.pixels.size());
  return array;
}

Result<void> decode(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  return write_npy(arguments[1], array_of(image));
}

Result<void> resize(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  WEIR_ASSIGN(const Image result, resize_bilinear(image, std::atoi(arguments[1]), std::atoi(arguments[2])));
  return write_npy(arguments[3], array_of(result));
}

// An array of the wanted type and rank, since the functions below index it without further checks.
Result<Array> read_array(const char* path, ElementType type, size_t rank) {
  WEIR_ASSIGN(Array array, read_npy(path));
  if (array.type != type || array.shape.size() != rank) {
    return fail(StatusCode::kInvalidArgument, "Array '{}' is not {} of rank ({}).", path, to_string(type),
                rank);
  }
  return array;
}

template <typename T>
Result<void> write_table(const char* path, ElementType type, const std::vector<T>& values, int64_t columns) {
  const std::vector<int64_t> shape = {static_cast<int64_t>(values.size()) / columns, columns};
  WEIR_ASSIGN(const std::vector<std::byte> bytes, format_npy(type, shape, std::as_bytes(std::span(values))));
  return write_file(path, bytes);
}

Result<std::vector<Border>> read_borders(const char* path) {
  WEIR_ASSIGN(const Array array, read_array(path, ElementType::kUint8, 2));
  Mask mask{static_cast<int>(array.shape[1]), static_cast<int>(array.shape[0]), {}};
  mask.pixels.assign(array.as<uint8_t>().begin(), array.as<uint8_t>().end());
  return trace_borders(mask);
}

Result<void> borders(char** arguments) {
  WEIR_ASSIGN(const std::vector<Border> all, read_borders(arguments[0]));
  std::vector<int32_t> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    for (const PixelRun& run : inside(all[i])) {
      rows.insert(rows.end(), {static_cast<int32_t>(i), all[i].hole, run.y, run.first, run.last});
    }
  }
  return write_table(arguments[1], ElementType::kInt32, rows, 5);
}

Result<void> rectangles(char** arguments) {
  WEIR_ASSIGN(const std::vector<Border> all, read_borders(arguments[0]));
  std::vector<double> rows;
  for (const Border& border : all) {
    for (PointF p : corners(minimum_area_rectangle(convex_hull(border.points))))
      rows.insert(rows.end(), {p.x, p.y});
  }
  return write_table(arguments[1], ElementType::kFloat64, rows, 8);
}

Result<void> warp(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  WEIR_ASSIGN(const Array matrix, read_array(arguments[1], ElementType::kFloat64, 2));
  Transform transform;
  if (matrix.as<double>().size() != transform.size())
    return fail(StatusCode::kInvalidArgument, "No 3 x 3 matrix.");
  std::ranges::copy(matrix.as<double>(), transform.begin());
  WEIR_ASSIGN(const Image result,
              warp_perspective(image, transform, std::atoi(arguments[2]), std::atoi(arguments[3])));
  return write_npy(arguments[4], array_of(result));
}

Result<void> detection_input(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  const Size size = detection_input_size(image.width, image.height);
  WEIR_ASSIGN(Array input,
              make_array(ElementType::kFloat32, std::vector<int64_t>{1, 3, size.height, size.width}));
  WEIR_TRY(fill_detection_input(image, size, input.as<float>()));
  return write_npy(arguments[1], input);
}

Result<void> quads(char** arguments) {
  WEIR_ASSIGN(const Array probability, read_array(arguments[0], ElementType::kFloat32, 2));
  const Size size{static_cast<int>(probability.shape[1]), static_cast<int>(probability.shape[0])};
  WEIR_ASSIGN(const std::vector<TextBox> boxes,
              quads_from_probability(probability.as<float>(), size, std::atoi(arguments[1]),
                                     std::atoi(arguments[2])));
  std::vector<double> rows;
  for (const TextBox& box : boxes) {
    for (PointF p : box.quad) rows.insert(rows.end(), {p.x, p.y});
    rows.push_back(box.score);
  }
  return write_table(arguments[3], ElementType::kFloat64, rows, 9);
}

Result<Image> read_crop(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  WEIR_ASSIGN(const Array table, read_array(arguments[1], ElementType::kFloat64, 2));
  const int64_t index = std::atoi(arguments[2]);
  if (table.shape[1] != 9 || index < 0 || index >= table.shape[0]) {
    return fail(StatusCode::kOutOfRange, "There is no quadrilateral ({}).", index);
  }
  const std::span<const double> row = table.as<double>().subspan(static_cast<size_t>(index) * 9, 9);
  return crop_line(image, {{{row[0], row[1]}, {row[2], row[3]}, {row[4], row[5]}, {row[6], row[7]}}});
}

Result<void> crop(char** arguments) {
  WEIR_ASSIGN(const Image image, read_crop(arguments));
  return write_npy(arguments[3], array_of(image));
}

Result<void> recognition_input(char** arguments) {
  WEIR_ASSIGN(const Image image, read_crop(arguments));
  const int width = recognition_width(image);
  WEIR_ASSIGN(Array input,
              make_array(ElementType::kFloat32, std::vector<int64_t>{1, 3, kRecognitionHeight, width}));
  WEIR_TRY(fill_recognition_input(image, width, input.as<float>()));
  return write_npy(arguments[3], input);
}

Result<void> draw(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  WEIR_ASSIGN(const Array table, read_array(arguments[1], ElementType::kFloat64, 2));
  std::vector<TextLine> lines;
  for (std::span<const double> rest = table.as<double>(); rest.size() >= 9; rest = rest.subspan(9)) {
    lines.push_back(
        {{{{rest[0], rest[1]}, {rest[2], rest[3]}, {rest[4], rest[5]}, {rest[6], rest[7]}}},
         "Hamburgefonstiv 0123456789 {}[]()<>@&%$#?! quick brown fox jumps over lazy dog, \u4e2d\u00e9",
         rest[8]});
  }
  WEIR_ASSIGN(const Image result, draw_result(image, lines));
  return write_png(arguments[2], result);
}

Result<void> text(char** arguments) {
  WEIR_ASSIGN(const Array scores, read_array(arguments[0], ElementType::kFloat32, 2));
  WEIR_ASSIGN(const std::vector<std::byte> bytes, read_file(arguments[1]));
  const std::vector<std::string> charset =
      charset_from_metadata({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  WEIR_ASSIGN(const DecodedText decoded, ctc_decode(scores.as<float>(), scores.shape[0], charset));
  std::printf("%.9f\t%s", decoded.confidence, decoded.text.c_str());
  return {};
}

Result<void> write_plan_html(char** arguments) {
  return write_file(arguments[1], plan_html(made_up_plan(std::atoi(arguments[0]))));
}

Result<void> write_plan_json(char** arguments) {
  return write_file(arguments[1], to_json(made_up_plan(std::atoi(arguments[0]))).dump());
}

struct Command {
  std::string_view name;
  int arguments;
  Result<void> (*run)(char** arguments);
};
constexpr Command kCommands[] = {{"decode", 2, decode},
                                 {"resize", 4, resize},
                                 {"borders", 2, borders},
                                 {"rectangles", 2, rectangles},
                                 {"warp", 5, warp},
                                 {"detection_input", 2, detection_input},
                                 {"quads", 4, quads},
                                 {"crop", 4, crop},
                                 {"recognition_input", 4, recognition_input},
                                 {"draw", 3, draw},
                                 {"plan_html", 2, write_plan_html},
                                 {"plan_json", 2, write_plan_json},
                                 {"text", 2, text}};

int run(int argc, char** argv) {
  for (const Command& command : kCommands) {
    if (argc < 2 || command.name != argv[1] || command.arguments != argc - 2) continue;
    if (const auto result = command.run(argv + 2); !result) {
      std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
      return 1;
    }
    return 0;
  }
  std::fprintf(stderr, "Unknown command or wrong number of arguments.\n");
  return 2;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  return weir::cli::run(argc, argv);
}
