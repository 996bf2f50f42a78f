// SPDX-License-Identifier: Apache-2.0
//
// Constant weights in panels of 16 columns ("f32.panel16…"): for each batch, for each panel, for each k, 16
// floats; columns that the last panel lacks are zeros. The same for all instruction sets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/implementation.h"

namespace weir {

// A weight tensor seen as [batch][tap][k][column], strides in its own elements.
struct PanelShape {
  int64_t batches = 1;
  int64_t taps = 1;
  int64_t k = 1;
  int64_t columns = 1;

  int64_t panels() const { return (columns + 15) / 16; }
  int64_t floats_per_batch() const { return panels() * 16 * taps * k; }
  int64_t bytes() const { return batches * floats_per_batch() * 4; }
};

// For the id of a PackRequest: `before` and the strides where `type` is not dense in row-major order, since
// the same bytes then mean another tensor; else nothing.
std::string stride_suffix(const TensorType& type, std::string_view before);

// The weights [M, C/group, kernel…] of a convolution: a batch a group, a column an output channel, taps in
// row-major order.
PackRequest pack_conv_weights(const TensorType& weights, int64_t group);

// A constant matrix [batch…, K, N] of a matrix product.
PackRequest pack_matrix(const TensorType& matrix);

}  // namespace weir
