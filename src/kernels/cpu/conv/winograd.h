// SPDX-License-Identifier: Apache-2.0
//
// WinogradProblem: a 3 × 3 convolution by the Cook-Toom method as plain data, the constants of
// conv/winograd.cc.
//
// For tiles of m × m output pixels (m = 2 or 4) and n = m + 2:
//
//   Y = Aᵀ [ Σ over channels  (G g Gᵀ) ⊙ (Bᵀ d B) ] A
//
// so that the sums over channels are n² matrix products, each of tiles × channels by channels × columns: 16
// instead of 36 multiplications for m = 2, 36 instead of 144 for m = 4. Interpolation points 0, ±1, ∞ for m =
// 2 and 0, ±11/16, ±3/2, ∞ for m = 4: with these the rounding errors are about 0.6 and 1.8 times those of
// adding the products up in order (the usual 0, ±1, ±2, ∞: 4 times).
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/conv/conv.h"

namespace weir {

// a and b of the points ±a, ±b; m = 2 has ±a only.
inline constexpr double kWinograd2A = 1.0;
inline constexpr double kWinograd4A = 11.0 / 16;
inline constexpr double kWinograd4B = 3.0 / 2;

// Strides in floats; arrays: rows, columns.
struct WinogradProblem : ConvProblem {
  int64_t size = 4;  // m

  // Tiles of all images, image by image, row by row.
  std::array<int64_t, 2> tiles{1, 1};
  int64_t tile_count = 0;
  // Grid: blocks of tiles × blocks of columns, the last fastest. Blocks differ by one tile at most.
  int64_t blocks = 1;
  int64_t block_tiles = 1;  // of the largest
  int64_t column_block = 0;
  int64_t column_blocks = 1;

  // The transformed input of a block of tiles, and the products of a group of columns: n² planes of tile ×
  // channel, and of tile × column, in floats.
  int64_t input_plane = 0;
  int64_t product_plane = 0;

  int64_t zeros_offset = 0;  // bytes in a participant's scratch
  int64_t input_offset = 0;
  int64_t product_offset = 0;
  int64_t finish_offset = 0;
  int64_t scratch_bytes = 0;

  int64_t grid() const { return blocks * column_blocks; }
};

}  // namespace weir
