// SPDX-License-Identifier: Apache-2.0
//
// Seeds that are no models: expressions, pictures and arrays.
#include <cstddef>
#include <cstdio>
// jpeglib.h uses FILE and size_t without including them.
#include <jpeglib.h>

#include <cstdlib>
#include <random>
#include <span>

#include "seeds.h"
#include "tools/weir/io/image.h"
#include "tools/weir/io/npy.h"

namespace weir::fuzz {
namespace {

cli::Image picture(int width, int height, int channels) {
  cli::Image image{width, height, channels, {}};
  for (int i = 0; i < width * height * channels; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(i * 37 % 251));
  }
  return image;
}

std::vector<std::byte> jpeg(const cli::Image& image, bool progressive, int orientation) {
  jpeg_compress_struct encoder;
  jpeg_error_mgr errors;
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* target = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &target, &size);
  encoder.image_width = static_cast<JDIMENSION>(image.width);
  encoder.image_height = static_cast<JDIMENSION>(image.height);
  encoder.input_components = image.channels;
  encoder.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&encoder);
  if (progressive) {
    jpeg_simple_progression(&encoder);
  }
  jpeg_start_compress(&encoder, TRUE);
  if (orientation > 1) {
    const unsigned char exif[] = {'E', 'x',  'i', 'f', 0,
                                  0,   'I',  'I', 42,  0,
                                  8,   0,    0,   0,   1,
                                  0,   0x12, 1,   3,   0,
                                  1,   0,    0,   0,   static_cast<unsigned char>(orientation),
                                  0,   0,    0,   0,   0,
                                  0,   0};
    jpeg_write_marker(&encoder, JPEG_APP0 + 1, exif, sizeof(exif));
  }
  for (int y = 0; y < image.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(image.row(y));
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  const auto bytes = std::as_bytes(std::span(target, size));
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  jpeg_destroy_compress(&encoder);
  std::free(target);
  return result;
}

}  // namespace

std::vector<Seed> dim_seeds() {
  std::vector<Seed> seeds;
  std::mt19937 random(3);
  for (int n = 0; n < 12; ++n) {
    Seed& seed = seeds.emplace_back(Seed{"expression" + std::to_string(n), {}});
    for (int i = 0; i < 40 + n * 8; ++i) {
      seed.bytes.push_back(static_cast<std::byte>(random()));
    }
  }
  return seeds;
}

std::vector<Seed> image_seeds() {
  std::vector<Seed> seeds;
  for (const int channels : {1, 3, 4}) {
    if (auto png = cli::encode_png(picture(7, 5, channels))) {
      seeds.push_back({"channels" + std::to_string(channels) + ".png", *std::move(png)});
    }
  }
  seeds.push_back({"gray.jpg", jpeg(picture(9, 8, 1), false, 1)});
  seeds.push_back({"colour.jpg", jpeg(picture(17, 9, 3), false, 6)});
  seeds.push_back({"progressive.jpg", jpeg(picture(16, 16, 3), true, 3)});
  return seeds;
}

std::vector<Seed> npy_seeds() {
  std::vector<Seed> seeds;
  const auto add = [&](const char* name, ElementType type, std::vector<int64_t> shape) {
    Result<cli::Array> array = cli::make_array(type, shape);
    if (array) {
      for (size_t i = 0; i < array->data.size(); ++i) {
        array->data[i] = static_cast<std::byte>(type == ElementType::kBool ? i % 2 : i);
      }
      if (auto bytes = cli::format_npy(type, shape, array->data)) {
        seeds.push_back({std::string(name) + ".npy", *std::move(bytes)});
      }
    }
  };
  add("scalar", ElementType::kFloat32, {});
  add("matrix", ElementType::kFloat64, {2, 3});
  add("empty", ElementType::kInt64, {0, 4});
  add("flags", ElementType::kBool, {5});
  add("half", ElementType::kFloat16, {1, 2, 3, 1});
  return seeds;
}

}  // namespace weir::fuzz
