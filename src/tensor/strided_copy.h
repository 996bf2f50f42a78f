// SPDX-License-Identifier: Apache-2.0
//
// Copying between views of any strides, on the host: what an array of a caller's goes through on its way into
// a request's tensor.
//
//   WEIR_ASSIGN(ByteRange range, byte_range(spec));      // strides from a caller may be anything
//   copy_elements(image_hwc_as_chw, input);
#pragma once

#include <cstdint>

#include "base/status.h"
#include "tensor/tensor.h"

namespace weir {

// Bytes that a view touches, relative to its element [0,…,0]: from `begin` (0 or negative) up to `end`.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// An error where the numbers do not fit in 64 bits. Elements of less than a byte count from their first
// octet.
Result<ByteRange> byte_range(const TensorSpec& spec);

// Whether no two indices share an element. Strides that leave holes between overlapping rows are told apart
// only where each axis steps over all that lies inside it; other views count as sharing.
bool has_distinct_elements(const TensorSpec& spec);

TensorSpec spec_of(const TensorView& view);

// `from` and `to` have the same element type and shape and do not overlap; elements of `to` are distinct.
// Elements of less than a byte: both are dense and row-major. Allocates nothing.
void copy_elements(const TensorView& from, const TensorView& to);

}  // namespace weir
