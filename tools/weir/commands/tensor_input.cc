// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/tensor_input.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "tools/weir/io/file.h"
#include "tools/weir/io/resize.h"

namespace weir::cli {
namespace {

std::string to_string(const InputType& input) {
  std::string text = fmt::format("{}[", weir::to_string(input.type));
  for (size_t i = 0; i < input.shape.size(); ++i) {
    text += i > 0 ? "," : "";
    text += input.shape[i] < 0 ? "?" : fmt::format("{}", input.shape[i]);
  }
  return text + "]";
}

struct ImageLayout {
  size_t channels = 0;  // which axis
  size_t height = 0;
  size_t width = 0;
};

// Channels first where both would do: three rows of three pixels are no picture.
std::optional<ImageLayout> image_layout(const std::vector<int64_t>& shape) {
  if (shape.size() != 3 && shape.size() != 4) return std::nullopt;
  const size_t first = shape.size() - 3;
  if (first == 1 && shape[0] != 1 && shape[0] != -1) return std::nullopt;
  const auto is_channels = [&](size_t axis) {
    return shape[axis] == 1 || shape[axis] == 3 || shape[axis] == 4;
  };
  if (is_channels(first)) return ImageLayout{first, first + 1, first + 2};
  if (is_channels(first + 2)) return ImageLayout{first + 2, first, first + 1};
  return std::nullopt;
}

Result<Image> with_channels(const Image& image, int64_t channels) {
  if (channels == 1) return to_gray(image);
  if (channels == 3) return to_rgb(image);
  Image rgba{image.width, image.height, 4, {}};
  if (image.channels == 4) return image;
  const Image rgb = to_rgb(image);
  rgba.pixels.reserve(rgb.pixels.size() / 3 * 4);
  for (size_t i = 0; i < rgb.pixels.size(); i += 3) {
    rgba.pixels.insert(rgba.pixels.end(), {rgb.pixels[i], rgb.pixels[i + 1], rgb.pixels[i + 2], 255});
  }
  return rgba;
}

bool fits(ElementType type, std::span<const int64_t> shape, const InputType& input) {
  return type == input.type && std::ranges::equal(shape, input.shape, [](int64_t extent, int64_t taken) {
           return taken < 0 || taken == extent;
         });
}

// S. Vigna's splitmix64.
uint64_t next_random(uint64_t& state) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

template <typename T, typename Make>
void fill(Array& array, uint64_t seed, Make make) {
  for (T& value : array.as<T>()) value = make(next_random(seed));
}

}  // namespace

Result<Array> tensor_from_image(const Image& image, const InputType& input, const PixelOptions& options) {
  const std::optional<ImageLayout> layout = image_layout(input.shape);
  if (!layout) {
    return fail(StatusCode::kInvalidArgument,
                "An image does not fit the input {}: a batch of 1 with 1, 3 or 4 channels, before or after "
                "height and "
                "width, is needed.",
                to_string(input));
  }
  if (input.type != ElementType::kFloat32 && input.type != ElementType::kUint8) {
    return fail(StatusCode::kUnimplemented,
                "An image does not become the input {}: float32 and uint8 are made; give an .npy file.",
                to_string(input));
  }
  const bool plain = std::ranges::all_of(options.mean, [](float v) { return v == 0; }) &&
                     std::ranges::all_of(options.scale, [](float v) { return v == 1; });
  if (input.type == ElementType::kUint8 && !plain) {
    return fail(StatusCode::kInvalidArgument,
                "The input {} takes pixels as they are, and --mean or --scale would change them.",
                to_string(input));
  }
  const int64_t channels = input.shape[layout->channels];
  for (const std::vector<float>* values : {&options.mean, &options.scale}) {
    if (values->size() != 1 && static_cast<int64_t>(values->size()) != channels) {
      return fail(
          StatusCode::kInvalidArgument,
          "The input {} has ({}) channels, and --mean or --scale has ({}) values; 1 or as many are taken.",
          to_string(input), channels, values->size());
    }
  }
  std::vector<int64_t> shape = input.shape;
  if (shape.size() == 4) shape[0] = 1;
  if (shape[layout->height] < 0) shape[layout->height] = image.height;
  if (shape[layout->width] < 0) shape[layout->width] = image.width;
  const int64_t height = shape[layout->height];
  const int64_t width = shape[layout->width];
  if (height > kMaxImageSide || width > kMaxImageSide) {
    return fail(StatusCode::kResourceExhausted, "The input {} is larger than an image may be ({} a side).",
                to_string(input), kMaxImageSide);
  }
  WEIR_ASSIGN(Image scaled, resize_bilinear(image, static_cast<int>(width), static_cast<int>(height)));
  WEIR_ASSIGN(scaled, with_channels(scaled, channels));

  WEIR_ASSIGN(Array array, make_array(input.type, shape));
  const size_t plane = static_cast<size_t>(height * width);
  const size_t count = static_cast<size_t>(channels);
  const bool channels_first = layout->channels < layout->width;
  const auto position = [&](size_t pixel, size_t c) {
    return channels_first ? c * plane + pixel : pixel * count + c;
  };
  for (size_t c = 0; c < count; ++c) {
    if (input.type == ElementType::kUint8) {
      for (size_t i = 0; i < plane; ++i) array.as<uint8_t>()[position(i, c)] = scaled.pixels[i * count + c];
      continue;
    }
    const float mean = options.mean[options.mean.size() == 1 ? 0 : c];
    const float scale = options.scale[options.scale.size() == 1 ? 0 : c];
    const std::span<float> values = array.as<float>();
    for (size_t i = 0; i < plane; ++i) {
      values[position(i, c)] = (static_cast<float>(scaled.pixels[i * count + c]) - mean) * scale;
    }
  }
  return array;
}

Result<void> check_array(const std::string& path, const Array& array, const InputType& input) {
  if (fits(array.type, array.shape, input)) {
    return {};
  }
  const std::span<const int64_t> shape = array.shape;
  const bool frames = !shape.empty() && shape[0] > 0 && fits(array.type, shape.subspan(1), input);
  std::string help;
  if (frames) {
    help = fmt::format("; with --frames each of its ({}) frames is a run", shape[0]);
  } else if (array.type != input.type && fits(input.type, shape, input)) {
    help = "; nothing is converted, so save it in that type";
  }
  return fail(StatusCode::kInvalidArgument, "File '{}' holds {}, and the input takes {}{}.", path,
              to_string(InputType{array.type, array.shape}), to_string(input), help);
}

Result<void> check_frames(const std::string& path, const Array& frames, const InputType& input) {
  const std::span<const int64_t> shape = frames.shape;
  if (!shape.empty() && shape[0] > 0 && fits(frames.type, shape.subspan(1), input)) {
    return {};
  }
  return fail(StatusCode::kInvalidArgument, "File '{}' holds {}, and frames of {} are taken, one at least.",
              path, to_string(InputType{frames.type, frames.shape}), to_string(input));
}

Result<Array> read_input(const std::string& path, const InputType& input, const PixelOptions& options) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, read_file(path));
  static constexpr std::array<uint8_t, 6> kNpy = {0x93, 'N', 'U', 'M', 'P', 'Y'};
  if (bytes.size() < kNpy.size() || std::memcmp(bytes.data(), kNpy.data(), kNpy.size()) != 0) {
    if (path.ends_with(".npy")) {
      return fail(StatusCode::kInvalidArgument,
                  "File '{}' is no .npy file: its first bytes are not '\\x93NUMPY'.", path);
    }
    WEIR_ASSIGN(const Image image, decode_image(bytes), "while reading '{}'", path);
    WEIR_ASSIGN(Array array, tensor_from_image(image, input, options), "while reading '{}'", path);
    return array;
  }
  WEIR_ASSIGN(Array array, parse_npy(bytes), "while reading '{}'", path);
  WEIR_TRY(check_array(path, array, input));
  return array;
}

Result<Array> random_array(ElementType type, const std::vector<int64_t>& shape, uint64_t seed) {
  WEIR_ASSIGN(Array array, make_array(type, shape));
  const auto bit = [](uint64_t r) { return r >> 63; };
  switch (type) {
    case ElementType::kFloat32:
      // 24 bits, as many as a float holds, so that 1 never comes.
      fill<float>(array, seed, [](uint64_t r) { return static_cast<float>(r >> 40) * 0x1p-23f - 1.0f; });
      return array;
    case ElementType::kFloat64:
      fill<double>(array, seed, [](uint64_t r) { return static_cast<double>(r >> 11) * 0x1p-52 - 1.0; });
      return array;
    case ElementType::kInt8:
    case ElementType::kUint8:
      fill<uint8_t>(array, seed, [](uint64_t r) { return static_cast<uint8_t>(r >> 56); });
      return array;
    case ElementType::kBool:
      fill<uint8_t>(array, seed, bit);
      return array;
    case ElementType::kInt16:
    case ElementType::kUint16:
      fill<uint16_t>(array, seed, bit);
      return array;
    case ElementType::kInt32:
    case ElementType::kUint32:
      fill<uint32_t>(array, seed, bit);
      return array;
    case ElementType::kInt64:
    case ElementType::kUint64:
      fill<uint64_t>(array, seed, bit);
      return array;
    default:
      return fail(StatusCode::kUnimplemented, "Random numbers of type ({}) are not made; give an .npy file.",
                  weir::to_string(type));
  }
}

}  // namespace weir::cli
