// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <fmt/ranges.h>

#include <numeric>

namespace weir {

std::string TensorType::to_string() const {
  std::vector<std::string> dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) {
    dims.push_back(dim.to_string());
  }
  return fmt::format("{}[{}]", weir::to_string(element_type), fmt::join(dims, ", "));
}

Dims dense_strides(std::span<const Dim> shape, std::span<const int> order) {
  Dims strides(shape.size());
  Dim stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride = stride * shape[order[i]];
  }
  return strides;
}

Dims dense_strides(std::span<const Dim> shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  return dense_strides(shape, order);
}

TensorSpec TensorSpec::dense(ElementType type, std::span<const int64_t> shape) {
  TensorSpec spec;
  spec.type = type;
  spec.rank = static_cast<int32_t>(shape.size());
  int64_t stride = 1;
  for (int i = spec.rank - 1; i >= 0; --i) {
    spec.shape[i] = shape[i];
    spec.strides[i] = stride;
    stride *= shape[i];
  }
  return spec;
}

int64_t TensorSpec::extent_bytes() const {
  int64_t last = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      return 0;
    }
    last += (shape[i] - 1) * strides[i];
  }
  return byte_size(type, last + 1);
}

bool TensorSpec::is_dense_row_major() const {
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != stride) {
      return false;
    }
    stride *= shape[i];
  }
  return true;
}

std::string TensorSpec::to_string() const {
  std::string text = fmt::format("{}[{}]", weir::to_string(type),
                                 fmt::join(std::span(shape).first(static_cast<size_t>(rank)), ","));
  if (!is_dense_row_major()) {
    text += fmt::format(" strides ({})", fmt::join(std::span(strides).first(static_cast<size_t>(rank)), ","));
  }
  return text;
}

}  // namespace weir
