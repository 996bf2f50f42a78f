// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/converters.h"

#include <array>

namespace weir::onnx_import {

const Converter* find_converter(std::string_view domain, std::string_view op, int64_t version) {
  const std::array<std::span<const Converter>, 9> families = {
      elementwise_converters(), activation_converters(),    convolution_converters(),
      product_converters(),     normalisation_converters(), shape_converters(),
      selection_converters(),   resize_converters(),        composed_converters()};
  const Converter* newest = nullptr;
  for (const std::span<const Converter> family : families) {
    for (const Converter& converter : family) {
      if (converter.op == op && converter.domain == domain && converter.since <= version &&
          (newest == nullptr || converter.since > newest->since)) {
        newest = &converter;
      }
    }
  }
  return newest;
}

}  // namespace weir::onnx_import
