// SPDX-License-Identifier: Apache-2.0
//
// What the reference kernels share: how they record their constants and walk over elements.
//
// A reference kernel is plain scalar code that shows what an operator means. Its `extent` copies a trivially
// copyable struct, which holds the operands' TensorSpecs and the attributes as numbers, and its tiles are
// chunks of output elements in row-major order. Each output element is computed alone, so that the bits do
// not depend on the partition. Floating-point sums are in double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "kernels/implementation.h"
#include "kernels/record.h"

namespace weir::reference {

inline constexpr int64_t kChunk = 256;  // output elements a tile

// Spatial axes are brought to three by leading axes of extent 1.
inline constexpr int kSpatial = 3;

inline int64_t chunks(int64_t elements) {
  return (elements + kChunk - 1) / kChunk;
}

using Index = std::array<int64_t, kMaxRank>;

// Element `linear` of a row-major walk over `shape`.
inline Index unravel(int64_t linear, std::span<const int64_t> shape) {
  Index index{};
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = linear % shape[i];
    linear /= shape[i];
  }
  return index;
}

inline int64_t offset_of(const Index& index, const std::array<int64_t, kMaxRank>& strides, int rank) {
  int64_t offset = 0;
  for (int i = 0; i < rank; ++i) {
    offset += index[i] * strides[i];
  }
  return offset;
}

inline std::span<const int64_t> shape_of(const TensorSpec& spec) {
  return std::span(spec.shape).first(static_cast<size_t>(spec.rank));
}

// Moves to the next element in row-major order.
inline void next_element(Index& index, std::span<const int64_t> shape) {
  for (size_t i = shape.size(); i-- > 0;) {
    if (++index[i] < shape[i]) {
      return;
    }
    index[i] = 0;
  }
}

// Calls `visit(index)` for the output elements of the invocation's tiles.
template <typename F>
void for_each_output(const CpuInvocation& invocation, const TensorSpec& output, const F& visit) {
  const int64_t begin = invocation.tile_begin * kChunk;
  const int64_t end = std::min(invocation.tile_end * kChunk, output.element_count());
  if (begin >= end) {
    return;
  }
  Index index = unravel(begin, shape_of(output));
  for (int64_t i = begin; i < end; ++i) {
    visit(static_cast<const Index&>(index));
    next_element(index, shape_of(output));
  }
}

// `input` as a view of the output's rank and shape: axes align at the right; extent 1 repeats with stride 0.
inline TensorSpec broadcast_to(const TensorSpec& input, const TensorSpec& output) {
  TensorSpec result = output;
  result.type = input.type;
  for (int i = 0; i < output.rank; ++i) {
    const int axis = i - (output.rank - input.rank);
    const bool repeats = axis < 0 || (input.shape[axis] == 1 && output.shape[i] != 1);
    result.strides[i] = repeats ? 0 : input.strides[axis];
  }
  return result;
}

// Attributes with numbers instead of Dims, as an array.
template <typename Container>
std::array<int64_t, kMaxRank> numbers(const Container& values) {
  std::array<int64_t, kMaxRank> result{};
  size_t i = 0;
  for (const auto& value : values) {
    if (i == result.size()) {
      break;
    }
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Dim>) {
      result[i++] = value.constant();
    } else {
      result[i++] = value;
    }
  }
  return result;
}

// Answers shared by several `supported` functions.
inline constexpr Support kYes{};

inline const TensorType* input(const OpDesc& desc, size_t i) {
  return i < desc.inputs.size() ? desc.inputs[i] : nullptr;
}
inline const TensorType* output(const OpDesc& desc, size_t i) {
  return i < desc.outputs.size() ? desc.outputs[i] : nullptr;
}

}  // namespace weir::reference
