// SPDX-License-Identifier: Apache-2.0
//
// How a strided copy is cut into blocks: the loop that Copy and every operator that only moves elements run.
#pragma once

#include "kernels/cpu/strided.h"

namespace weir {

// Operands of the loop.
inline constexpr int kCopySource = 0;
inline constexpr int kCopyTarget = 1;

// Copies `shape` elements of `element_bytes` from one view to another. Strides of the source may be negative
// or 0.
BlockedLoop<2> make_copy_loop(const Axes& shape, int rank, const Axes& source_strides,
                              const Axes& target_strides, int element_bytes);

// Blocks of `loop` that make one tile of the grid, about 32 KiB.
int64_t copy_blocks_per_tile(const BlockedLoop<2>& loop, int element_bytes);

// The axes of a reshape, refined until each is one axis of both sides: extents with the strides of the two.
// Nothing fits where the sides cut a strided axis at places that do not nest (then `nests` is false).
struct ReshapeAxes {
  bool nests = false;
  int rank = 0;
  Axes shape{};
  Axes source_strides{};
  Axes target_strides{};
};
ReshapeAxes refine_reshape(const TensorSpec& source, const TensorSpec& target);

}  // namespace weir
