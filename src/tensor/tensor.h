// SPDX-License-Identifier: Apache-2.0
//
// TensorType says what a tensor is while compiling; TensorView is where its elements lie while running.
//
// Strides are in elements, outermost axis first like the shape, and belong to no convention: a channels-last
// image is a tensor of shape [N,C,H,W] with strides [H·W·C, 1, W·C, C]. Every kernel takes views, so a slice,
// a transpose and a channel range of a concatenation are views too, not copies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shape/dim.h"
#include "tensor/element_type.h"

namespace weir {

inline constexpr int kMaxRank = 8;

struct TensorType {
  ElementType element_type = ElementType::kFloat32;
  Dims shape;
  // One stride an axis, in elements, or empty: dense in row-major order.
  Dims strides;

  int rank() const { return static_cast<int>(shape.size()); }
  Dim element_count() const { return product(shape); }
  std::string to_string() const;  // "float32[batch, 3, 224, 224]"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

// Strides of a dense tensor whose axes lie in memory in `order`, outermost first ({0,2,3,1}: channels last).
Dims dense_strides(std::span<const Dim> shape, std::span<const int> order);
// Row-major.
Dims dense_strides(std::span<const Dim> shape);

// Where the elements of a concrete tensor lie. Does not own them. Plain data: kernels copy it freely.
struct TensorView {
  std::byte* data = nullptr;  // element [0,…,0]
  ElementType type = ElementType::kFloat32;
  int32_t rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> strides{};  // in elements; may be 0 (broadcast) or negative

  int64_t element_count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// The shape and strides of a view without its data: what kernels are configured with before memory is bound.
struct TensorSpec {
  ElementType type = ElementType::kFloat32;
  int32_t rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> strides{};

  // Row-major; the product of the extents fits in 63 bits, as every checked shape's does.
  static TensorSpec dense(ElementType type, std::span<const int64_t> shape);
  int64_t element_count() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
  // Bytes from the first to past the last element touched (dense: the size). 0 when empty. Strides must be ≥
  // 0.
  int64_t extent_bytes() const;
  bool is_dense_row_major() const;  // axes of extent 1 do not count
  TensorView at(std::byte* data) const { return {data, type, rank, shape, strides}; }
  std::string to_string() const;  // "float32[1,3,224,224]", with strides where not dense
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

}  // namespace weir
