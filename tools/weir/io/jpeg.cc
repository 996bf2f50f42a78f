// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdio>
// jpeglib.h uses FILE and size_t without including them.
#include <jerror.h>
#include <jpeglib.h>

#include <csetjmp>
#include <memory>

#include "tools/weir/io/codecs.h"

namespace weir::cli {
namespace {

// A progressive file may hold any number of scans of all its pixels; real ones have about ten.
constexpr int kMaxScans = 100;

// Plain data: longjmp passes over functions that use it.
struct Decoder {
  jpeg_decompress_struct jpeg;  // first, so that the library's pointers lead back here
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf failed;
  char message[JMSG_LENGTH_MAX];
  bool created;
  bool truncated;
  bool no_memory;
  const unsigned char* source;
  size_t source_bytes;
  uint8_t* pixels;
};

Decoder* decoder_of(j_common_ptr jpeg) {
  return reinterpret_cast<Decoder*>(jpeg);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  Decoder* decoder = decoder_of(jpeg);
  decoder->no_memory = jpeg->err->msg_code == JERR_OUT_OF_MEMORY;
  jpeg->err->format_message(jpeg, decoder->message);
  std::longjmp(decoder->failed, 1);
}

void on_message(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code == JWRN_JPEG_EOF) decoder_of(jpeg)->truncated = true;
}

void on_progress(j_common_ptr jpeg) {
  Decoder* decoder = decoder_of(jpeg);
  if (decoder->jpeg.input_scan_number > kMaxScans) {
    std::snprintf(decoder->message, sizeof(decoder->message), "more than %d scans", kMaxScans);
    std::longjmp(decoder->failed, 1);
  }
}

// Runs `body`, C code only; false when the library reported an error.
bool guarded(Decoder* decoder, void (*body)(Decoder*)) {
  if (setjmp(decoder->failed) != 0) return false;
  body(decoder);
  return true;
}

void read_header(Decoder* decoder) {
  jpeg_decompress_struct* jpeg = &decoder->jpeg;
  jpeg_create_decompress(jpeg);
  decoder->created = true;
  jpeg->progress = &decoder->progress;
  jpeg_mem_src(jpeg, decoder->source, decoder->source_bytes);
  jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(jpeg, TRUE);
  jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg->dct_method = JDCT_ISLOW;
}

void read_rows(Decoder* decoder) {
  jpeg_decompress_struct* jpeg = &decoder->jpeg;
  jpeg_start_decompress(jpeg);
  const size_t row_bytes =
      static_cast<size_t>(jpeg->output_width) * static_cast<size_t>(jpeg->output_components);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW row = decoder->pixels + jpeg->output_scanline * row_bytes;
    jpeg_read_scanlines(jpeg, &row, 1);
  }
  jpeg_finish_decompress(jpeg);
}

// What ended a body of guarded().
std::unexpected<Status> failure(const Decoder& decoder, std::string_view damaged) {
  if (decoder.no_memory) {
    return fail(StatusCode::kResourceExhausted, "There is no memory to decode a JPEG image of ({}) bytes.",
                decoder.source_bytes);
  }
  return fail(StatusCode::kDataLoss, "The JPEG image has {} ({}).", damaged, decoder.message);
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> bytes) {
  Decoder decoder{};
  decoder.jpeg.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.progress.progress_monitor = on_progress;
  decoder.source = reinterpret_cast<const unsigned char*>(bytes.data());
  decoder.source_bytes = bytes.size();
  const auto release = [](Decoder* d) {
    if (d->created) jpeg_destroy_decompress(&d->jpeg);
  };
  const std::unique_ptr<Decoder, decltype(release)> guard(&decoder, release);
  if (!guarded(&decoder, read_header)) {
    return failure(decoder, "a damaged header");
  }
  const int components = decoder.jpeg.num_components;
  if (components != 1 && components != 3) {
    return fail(
        StatusCode::kUnimplemented,
        "The JPEG image has ({}) colour components, and 1 (gray) or 3 (colour) are read; save it as RGB.",
        components);
  }
  int orientation = 1;
  for (jpeg_saved_marker_ptr marker = decoder.jpeg.marker_list; marker != nullptr && orientation == 1;
       marker = marker->next) {
    orientation = exif_orientation(std::as_bytes(std::span(marker->data, marker->data_length)));
  }
  // Each block of 8 × 8 takes a bit or more, so memory is bounded by the size of the file.
  const int64_t pixels = int64_t{decoder.jpeg.image_width} * int64_t{decoder.jpeg.image_height};
  if (pixels / 64 / 8 > static_cast<int64_t>(bytes.size())) {
    return fail(StatusCode::kDataLoss,
                "The JPEG image is cut off: its file of ({}) bytes is too small for ({} x {}) pixels.",
                bytes.size(), decoder.jpeg.image_width, decoder.jpeg.image_height);
  }
  WEIR_ASSIGN(Image image, make_image(static_cast<int>(decoder.jpeg.image_width),
                                      static_cast<int>(decoder.jpeg.image_height), components));
  decoder.pixels = image.pixels.data();
  if (!guarded(&decoder, read_rows)) {
    return failure(decoder, "damaged data");
  }
  if (decoder.truncated) {
    return fail(StatusCode::kDataLoss,
                "The JPEG image is cut off: its file of ({}) bytes ends before its last row.", bytes.size());
  }
  return upright(std::move(image), orientation);
}

}  // namespace weir::cli
