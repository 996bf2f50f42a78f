// SPDX-License-Identifier: Apache-2.0
//
// Files and random numbers as inputs of a model.
//
//   WEIR_ASSIGN(Array x, read_input("photo.png", {ElementType::kFloat32, {1, 3, -1, -1}}, {.mean = {127},
//   .scale = {1.0f / 128}}));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/weir/io/image.h"
#include "tools/weir/io/npy.h"

namespace weir::cli {

// What the model takes. −1: any extent.
struct InputType {
  ElementType type = ElementType::kFloat32;
  std::vector<int64_t> shape;
};

// A pixel's value v becomes (v − mean) · scale, for each channel or for all alike. Integer inputs take pixels
// as they are, and mean and scale must be the ones below.
struct PixelOptions {
  std::vector<float> mean = {0};
  std::vector<float> scale = {1};
};

// The image in the input's layout: [N,C,H,W] or [N,H,W,C] with N = 1, or without N; 1, 3 or 4 channels;
// resized to the input's height and width where those are fixed. Element types float32 and uint8.
Result<Array> tensor_from_image(const Image& image, const InputType& input, const PixelOptions& options);

// Whether the array of a file has the input's type and shape.
Result<void> check_array(const std::string& path, const Array& array, const InputType& input);
// The same of an array with one axis more, in front: a frame for each of several runs.
Result<void> check_frames(const std::string& path, const Array& frames, const InputType& input);

// An .npy file, whose type and shape must be the input's, or a PNG or JPEG image.
Result<Array> read_input(const std::string& path, const InputType& input, const PixelOptions& options);

// The same numbers for the same seed on every machine: floats in [−1, 1), uint8 and int8 of any value, wider
// integers and bools 0 or 1, so that they are in range as indices and masks.
Result<Array> random_array(ElementType type, const std::vector<int64_t>& shape, uint64_t seed);

}  // namespace weir::cli
