// SPDX-License-Identifier: Apache-2.0
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tools/weir/io/codecs.h"

namespace weir::cli {
namespace {

// What both directions share with libpng's callbacks. Plain data: longjmp passes over functions that use it.
struct Codec {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf failed;
  char message[160] = "";
  bool no_memory = false;

  // Reading.
  const std::byte* source = nullptr;
  size_t source_left = 0;
  int width = 0;
  int height = 0;
  int channels = 0;
  int passes = 0;

  // Writing. From malloc, because a C++ exception may not pass through libpng.
  uint8_t* sink = nullptr;
  size_t sink_size = 0;
  size_t sink_capacity = 0;

  uint8_t* pixels = nullptr;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  Codec* codec = static_cast<Codec*>(png_get_error_ptr(png));
  std::snprintf(codec->message, sizeof(codec->message), "%s", message);
  std::longjmp(codec->failed, 1);
}

void on_warning(png_structp, png_const_charp) {}

png_voidp on_allocate(png_structp png, png_alloc_size_t bytes) {
  void* block = std::malloc(bytes);
  static_cast<Codec*>(png_get_mem_ptr(png))->no_memory |= block == nullptr;
  return block;
}

void on_free(png_structp, png_voidp block) {
  std::free(block);
}

void on_read(png_structp png, png_bytep target, size_t count) {
  Codec* codec = static_cast<Codec*>(png_get_io_ptr(png));
  if (count > codec->source_left) png_error(png, "the file ends too early");
  std::memcpy(target, codec->source, count);
  codec->source += count;
  codec->source_left -= count;
}

void on_write(png_structp png, png_bytep source, size_t count) {
  Codec* codec = static_cast<Codec*>(png_get_io_ptr(png));
  if (count > codec->sink_capacity - codec->sink_size) {
    const size_t capacity = (codec->sink_size + count) * 2;
    void* grown = std::realloc(codec->sink, capacity);
    if (grown == nullptr) {
      codec->no_memory = true;
      png_error(png, "no memory is left");
    }
    codec->sink = static_cast<uint8_t*>(grown);
    codec->sink_capacity = capacity;
  }
  std::memcpy(codec->sink + codec->sink_size, source, count);
  codec->sink_size += count;
}

void on_flush(png_structp) {}

// Runs `body`, C code only; false when libpng reported an error.
bool guarded(Codec* codec, void (*body)(Codec*)) {
  if (setjmp(codec->failed) != 0) return false;
  body(codec);
  return true;
}

void read_header(Codec* codec) {
  png_structp png = codec->png;
  png_set_read_fn(png, codec, on_read);
  png_set_user_limits(png, kMaxImageSide, kMaxImageSide);
  png_set_chunk_cache_max(png, 64);
  png_set_chunk_malloc_max(png, 8 << 20);
  png_read_info(png, codec->info);
  const int depth = png_get_bit_depth(png, codec->info);
  const int colour = png_get_color_type(png, codec->info);
  if (depth == 16) png_set_strip_16(png);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  const bool transparent = png_get_valid(png, codec->info, PNG_INFO_tRNS) != 0;
  if (transparent) png_set_tRNS_to_alpha(png);
  if (colour == PNG_COLOR_TYPE_GRAY_ALPHA || (colour == PNG_COLOR_TYPE_GRAY && transparent)) {
    png_set_gray_to_rgb(png);
  }
  codec->passes = png_set_interlace_handling(png);
  png_read_update_info(png, codec->info);
  codec->width = static_cast<int>(png_get_image_width(png, codec->info));
  codec->height = static_cast<int>(png_get_image_height(png, codec->info));
  codec->channels = png_get_channels(png, codec->info);
  if (png_get_bit_depth(png, codec->info) != 8 ||
      png_get_rowbytes(png, codec->info) !=
          static_cast<size_t>(codec->width) * static_cast<size_t>(codec->channels)) {
    png_error(png, "the pixels do not become 8 bits a channel");
  }
}

void read_rows(Codec* codec) {
  const size_t row_bytes = static_cast<size_t>(codec->width) * static_cast<size_t>(codec->channels);
  for (int pass = 0; pass < codec->passes; ++pass) {
    for (int y = 0; y < codec->height; ++y) {
      png_read_row(codec->png, codec->pixels + static_cast<size_t>(y) * row_bytes, nullptr);
    }
  }
  png_read_end(codec->png, nullptr);
}

void write_all(Codec* codec) {
  png_structp png = codec->png;
  png_set_write_fn(png, codec, on_write, on_flush);
  const int colour = codec->channels == 1   ? PNG_COLOR_TYPE_GRAY
                     : codec->channels == 3 ? PNG_COLOR_TYPE_RGB
                                            : PNG_COLOR_TYPE_RGBA;
  png_set_IHDR(png, codec->info, static_cast<png_uint_32>(codec->width),
               static_cast<png_uint_32>(codec->height), 8, colour, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, codec->info);
  const size_t row_bytes = static_cast<size_t>(codec->width) * static_cast<size_t>(codec->channels);
  for (int y = 0; y < codec->height; ++y) {
    png_write_row(png, codec->pixels + static_cast<size_t>(y) * row_bytes);
  }
  png_write_end(png, codec->info);
}

// What ended a body of guarded(), or kept the library from making its structures.
std::unexpected<Status> failure(const Codec& codec, std::string_view damaged, size_t bytes) {
  if (codec.no_memory) {
    return fail(StatusCode::kResourceExhausted, "There is no memory to decode a PNG image of ({}) bytes.",
                bytes);
  }
  return fail(StatusCode::kDataLoss, "The PNG image has {} ({}).", damaged, codec.message);
}

}  // namespace

Result<Image> decode_png(std::span<const std::byte> bytes) {
  Codec codec;
  codec.source = bytes.data();
  codec.source_left = bytes.size();
  codec.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning, &codec,
                                       on_allocate, on_free);
  if (codec.png != nullptr) codec.info = png_create_info_struct(codec.png);
  const auto release = [](Codec* c) { png_destroy_read_struct(&c->png, &c->info, nullptr); };
  const std::unique_ptr<Codec, decltype(release)> guard(&codec, release);
  if (codec.info == nullptr || !guarded(&codec, read_header)) {
    return failure(codec, "a damaged header", bytes.size());
  }
  // A byte becomes at most 1032 by decompression, of which each holds at most 8 pixels: memory is bounded by
  // the size of the file.
  if (int64_t{codec.width} * codec.height / (1032 * 8) > static_cast<int64_t>(bytes.size())) {
    return fail(StatusCode::kDataLoss,
                "The PNG image is cut off: its file of ({}) bytes is too small for ({} x {}) pixels.",
                bytes.size(), codec.width, codec.height);
  }
  WEIR_ASSIGN(Image image, make_image(codec.width, codec.height, codec.channels));
  codec.pixels = image.pixels.data();
  if (!guarded(&codec, read_rows)) {
    return failure(codec, "damaged data", bytes.size());
  }
  return image;
}

Result<std::vector<std::byte>> encode_png(const Image& image) {
  WEIR_TRY(check_image(image.width, image.height, image.channels));
  Codec codec;
  codec.width = image.width;
  codec.height = image.height;
  codec.channels = image.channels;
  codec.pixels = const_cast<uint8_t*>(image.pixels.data());  // png_write_row only reads
  codec.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &codec, on_error, on_warning, &codec,
                                        on_allocate, on_free);
  if (codec.png != nullptr) codec.info = png_create_info_struct(codec.png);
  const auto release = [](Codec* c) {
    png_destroy_write_struct(&c->png, &c->info);
    std::free(c->sink);
  };
  const std::unique_ptr<Codec, decltype(release)> guard(&codec, release);
  if (codec.info == nullptr || !guarded(&codec, write_all)) {
    // Whatever else the library objects to was looked at above.
    return fail(StatusCode::kResourceExhausted,
                "There is no memory to encode a PNG image of ({} x {}) pixels.", image.width, image.height);
  }
  const auto* begin = reinterpret_cast<const std::byte*>(codec.sink);
  return std::vector<std::byte>(begin, begin + codec.sink_size);
}

}  // namespace weir::cli
