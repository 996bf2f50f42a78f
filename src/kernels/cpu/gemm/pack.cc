// SPDX-License-Identifier: Apache-2.0
//
// Writes panels of 16 columns.
#include "kernels/cpu/gemm/pack.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace {

// `offsets` of batches and taps, in elements from the source's first.
void write_panels(const PanelShape& shape, const float* source, const std::vector<int64_t>& batch_offsets,
                  const std::vector<int64_t>& tap_offsets, int64_t k_stride, int64_t column_stride,
                  float* target) {
  for (const int64_t batch : batch_offsets) {
    for (int64_t column = 0; column < shape.columns; column += kPanelWidth) {
      for (const int64_t tap : tap_offsets) {
        for (int64_t k = 0; k < shape.k; ++k) {
          const float* from = source + batch + tap + k * k_stride + column * column_stride;
          for (int64_t i = 0; i < kPanelWidth; ++i) {
            *target++ = column + i < shape.columns ? from[i * column_stride] : 0.0f;
          }
        }
      }
    }
  }
}

// Offsets of all positions of axes [begin, end), in row-major order.
std::vector<int64_t> positions(const TensorView& view, int begin, int end) {
  std::vector<int64_t> offsets{0};
  for (int axis = begin; axis < end; ++axis) {
    std::vector<int64_t> next;
    for (const int64_t offset : offsets) {
      for (int64_t i = 0; i < view.shape[axis]; ++i) next.push_back(offset + i * view.strides[axis]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

}  // namespace

std::string stride_suffix(const TensorType& type, std::string_view before) {
  if (type.strides.empty() || type.strides == dense_strides(type.shape)) return "";
  std::string text(before);
  for (size_t i = 0; i < type.strides.size(); ++i) {
    text += (i == 0 ? "" : "_") + type.strides[i].to_string();
  }
  return text;
}

PackRequest pack_conv_weights(const TensorType& weights, int64_t group) {
  PanelShape shape;
  shape.batches = group;
  shape.columns = weights.shape[0].constant() / group;
  shape.k = weights.shape[1].constant();
  for (size_t i = 2; i < weights.shape.size(); ++i) shape.taps *= weights.shape[i].constant();
  PackRequest request;
  request.input = 1;
  request.id = fmt::format("f32.panel16.conv.g{}.t{}.k{}.n{}{}", shape.batches, shape.taps, shape.k,
                           shape.columns, stride_suffix(weights, ".s"));
  request.bytes = shape.bytes();
  request.write = [shape](const TensorView& source, std::byte* target) {
    std::vector<int64_t> groups;
    for (int64_t g = 0; g < shape.batches; ++g) groups.push_back(g * shape.columns * source.strides[0]);
    write_panels(shape, source.as<const float>(), groups, positions(source, 2, source.rank),
                 source.strides[1], source.strides[0], reinterpret_cast<float*>(target));
  };
  return request;
}

PackRequest pack_matrix(const TensorType& matrix) {
  const int rank = matrix.rank();
  PanelShape shape;
  for (int i = 0; i < rank - 2; ++i) shape.batches *= matrix.shape[i].constant();
  shape.k = matrix.shape[rank - 2].constant();
  shape.columns = matrix.shape[rank - 1].constant();
  PackRequest request;
  request.input = 1;
  request.id = fmt::format("f32.panel16.matmul.b{}.k{}.n{}{}", shape.batches, shape.k, shape.columns,
                           stride_suffix(matrix, ".s"));
  request.bytes = shape.bytes();
  request.write = [shape](const TensorView& source, std::byte* target) {
    const int axes = source.rank;
    write_panels(shape, source.as<const float>(), positions(source, 0, axes - 2), {0},
                 source.strides[axes - 2], source.strides[axes - 1], reinterpret_cast<float*>(target));
  };
  return request;
}

}  // namespace weir
