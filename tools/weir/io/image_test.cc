// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
// jpeglib.h uses FILE and size_t without including them.
#include <fmt/format.h>
#include <jpeglib.h>

#include <random>

#include "tools/weir/io/codecs.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

Image gradient(int width, int height, int channels) {
  Image image = make_image(width, height, channels).value();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        image.row(y)[x * channels + c] = static_cast<uint8_t>(x * 150 / width * (c == 0) + y + c * 20);
      }
    }
  }
  return image;
}

// `scans`: of a progressive image, where they are not to be the library's own.
std::vector<std::byte> encode_jpeg(const Image& image, bool progressive,
                                   std::span<const jpeg_scan_info> scans = {}) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : image.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  if (!scans.empty()) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = const_cast<uint8_t*>(image.row(static_cast<int>(jpeg.next_scanline)));
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  const auto bytes = std::as_bytes(std::span(buffer, size));
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  std::free(buffer);
  return result;
}

double mean_difference(const Image& a, const Image& b) {
  double sum = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(int{a.pixels[i]} - int{b.pixels[i]});
  return sum / static_cast<double>(a.pixels.size());
}

template <typename T>
std::string message_of(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

TEST(Image, PngSurvives) {
  for (int channels : {1, 3, 4}) {
    for (int width : {1, 7, 64}) {
      const Image image = gradient(width, 5, channels);
      const auto bytes = encode_png(image);
      ASSERT_TRUE(bytes.has_value());
      const auto back = decode_image(*bytes);
      ASSERT_TRUE(back.has_value()) << back.error().to_string();
      EXPECT_EQ(back->channels, channels);
      EXPECT_EQ(back->width, width);
      EXPECT_EQ(back->pixels, image.pixels);
    }
  }
}

TEST(Image, JpegIsDecoded) {
  for (int channels : {1, 3}) {
    for (bool progressive : {false, true}) {
      const Image image = gradient(61, 43, channels);
      const auto back = decode_image(encode_jpeg(image, progressive));
      ASSERT_TRUE(back.has_value()) << back.error().to_string();
      ASSERT_EQ(back->pixels.size(), image.pixels.size());
      EXPECT_LT(mean_difference(*back, image), 2.5);
    }
  }
}

TEST(Image, RefusesInSentences) {
  EXPECT_EQ(message_of(decode_image({})), "The file is neither a PNG nor a JPEG image.");
  EXPECT_EQ(message_of(decode_image(encode_jpeg(gradient(8, 8, 4), false))),
            "The JPEG image has (4) colour components, and 1 (gray) or 3 (colour) are read; save it as RGB.");
  std::vector<std::byte> png = encode_png(gradient(40, 40, 3)).value();
  std::vector<std::byte> large = png;
  large[16] = std::byte{0x7f};  // the width's high byte: the checksum is wrong too
  EXPECT_THAT(message_of(decode_image(large)), StartsWith("The PNG image has a damaged header ("));
  png.resize(png.size() / 2);
  EXPECT_EQ(message_of(decode_image(png)), "The PNG image has damaged data (the file ends too early).");
  std::vector<std::byte> jpeg = encode_jpeg(gradient(64, 64, 3), false);
  jpeg.resize(jpeg.size() * 3 / 4);
  EXPECT_EQ(message_of(decode_image(jpeg)),
            fmt::format("The JPEG image is cut off: its file of ({}) bytes ends before its last row.",
                        jpeg.size()));
  jpeg.resize(3);
  EXPECT_THAT(message_of(decode_image(jpeg)), StartsWith("The JPEG image has a damaged header ("));
  EXPECT_EQ(message_of(read_image("no-such.png")),
            "File 'no-such.png' cannot be opened (No such file or directory).");
}

TEST(Image, LimitsComeBeforeAllocation) {
  struct Case {
    int width;
    int height;
    int channels;
    std::string message;
  };
  const auto sides = [](const char* given) {
    return fmt::format(
        "The image has ({}) pixels, and sides of 1 to (32768) and (64000000) pixels in all are taken.",
        given);
  };
  for (const Case& c : {Case{32768, 32768, 3, sides("32768 x 32768")}, Case{0, 4, 3, sides("0 x 4")},
                        Case{4, -1, 3, sides("4 x -1")}, Case{32769, 1, 1, sides("32769 x 1")},
                        Case{4, 4, 2, "The image has (2) channels, and 1, 3 or 4 are taken."},
                        Case{4, 4, 5, "The image has (5) channels, and 1, 3 or 4 are taken."}}) {
    EXPECT_EQ(message_of(make_image(c.width, c.height, c.channels)), c.message);
  }
  const Image odd{4, 4, 2, {}};
  EXPECT_EQ(message_of(write_png("odd.png", odd)),
            "The image has (2) channels, and 1, 3 or 4 are taken.\n  - while writing 'odd.png'");
  // A JPEG header for 65500 x 65500 pixels, without data behind it.
  std::vector<std::byte> jpeg = encode_jpeg(gradient(8, 8, 3), false);
  for (size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] == std::byte{0xff} && jpeg[i + 1] == std::byte{0xc0}) {
      for (size_t k : {5, 6, 7, 8}) jpeg[i + k] = k % 2 == 1 ? std::byte{0xff} : std::byte{0xdc};
    }
  }
  EXPECT_EQ(message_of(decode_image(jpeg)),
            fmt::format(
                "The JPEG image is cut off: its file of ({}) bytes is too small for (65500 x 65500) pixels.",
                jpeg.size()));
}

// One of the means of all blocks, and one for each further coefficient of a colour.
TEST(Image, JpegHasNoMoreScansThanItsLimit) {
  std::vector<jpeg_scan_info> scans = {{.comps_in_scan = 3, .component_index = {0, 1, 2}}};
  for (int colour = 0; colour < 3; ++colour) {
    for (int k = 1; k < 64 && scans.size() < 101; ++k) {
      scans.push_back({.comps_in_scan = 1, .component_index = {colour}, .Ss = k, .Se = k});
    }
  }
  const Image image = gradient(24, 16, 3);
  const auto most = decode_image(encode_jpeg(image, true, std::span(scans).first(100)));
  ASSERT_TRUE(most.has_value()) << most.error().to_string();
  EXPECT_LT(mean_difference(*most, image), 20);
  const auto refused = decode_image(encode_jpeg(image, true, scans));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kDataLoss);
  EXPECT_EQ(message_of(refused), "The JPEG image has damaged data (more than 100 scans).");
}

TEST(Image, MutationsNeverCrash) {
  std::mt19937 random(3);
  const std::vector<std::vector<std::byte>> seeds = {encode_png(gradient(24, 16, 4)).value(),
                                                     encode_jpeg(gradient(24, 16, 3), false),
                                                     encode_jpeg(gradient(24, 16, 1), true)};
  int errors = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> bytes = seeds[static_cast<size_t>(round) % seeds.size()];
    for (int i = 0; i < 1 + round % 4; ++i) bytes[random() % bytes.size()] = std::byte(random());
    if (round % 7 == 0) bytes.resize(random() % bytes.size());
    const auto image = decode_image(bytes);
    if (image) {
      ASSERT_EQ(image->pixels.size(), static_cast<size_t>(image->width) * static_cast<size_t>(image->height) *
                                          static_cast<size_t>(image->channels));
    } else {
      ++errors;
    }
  }
  EXPECT_GT(errors, 1000);
}

TEST(Image, OrientationIsUndone) {
  // 1 2 3 / 4 5 6 as seen upright, stored in each of the eight ways.
  const std::vector<std::vector<uint8_t>> stored = {
      {1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1}, {4, 5, 6, 1, 2, 3},
      {1, 4, 2, 5, 3, 6}, {3, 6, 2, 5, 1, 4}, {6, 3, 5, 2, 4, 1}, {4, 1, 5, 2, 6, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const bool transposed = orientation >= 5;
    Image image{transposed ? 2 : 3, transposed ? 3 : 2, 1, stored[static_cast<size_t>(orientation) - 1]};
    const Image result = upright(std::move(image), orientation);
    EXPECT_EQ(result.width, 3);
    EXPECT_THAT(result.pixels, ElementsAre(1, 2, 3, 4, 5, 6)) << "orientation " << orientation;
  }
}

TEST(Image, ExifOrientationIsFound) {
  using namespace std::string_literals;
  std::string little = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;
  const std::string big = "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"s;
  const auto of = [](const std::string& text) { return exif_orientation(std::as_bytes(std::span(text))); };
  EXPECT_EQ(of(little), 6);
  EXPECT_EQ(of(big), 8);
  for (size_t length = 0; length < little.size(); ++length) EXPECT_EQ(of(little.substr(0, length)), 1);
  little[10] = '\xff';
  EXPECT_EQ(of(little), 1);
}

TEST(Image, ColoursConvert) {
  EXPECT_THAT(to_rgb(Image{2, 1, 1, {5, 9}}).pixels, ElementsAre(5, 5, 5, 9, 9, 9));
  EXPECT_THAT(to_rgb(Image{2, 1, 4, {1, 2, 3, 0, 4, 5, 6, 255}}).pixels, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(to_gray(Image{3, 1, 3, {255, 0, 0, 0, 255, 0, 255, 255, 255}}).pixels,
              ElementsAre(76, 150, 255));
}

}  // namespace
}  // namespace weir::cli
