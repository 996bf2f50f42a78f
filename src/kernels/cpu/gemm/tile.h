// SPDX-License-Identifier: Apache-2.0
//
// What a matrix product's micro-kernel is told. It computes one register tile
//
//   C[0…rows)[0…columns) = epilogue(C or bias + Σ over runs, Σ over k:  A_row[k] · B[k][column])
//
// where A is a list of row pointers, so that a convolution reads its input in place, and B lies in panels of
// 16 columns: k by k, 16 floats each, the last panel filled up with zeros. K is cut into runs of equal length
// (a convolution's taps); within a run the elements of an A row are consecutive.
#pragma once

#include <cstdint>

namespace weir {

inline constexpr int64_t kPanelWidth = 16;

// A stretch of K. Row i's elements lie at rows[i] + offset, or, where `rows` is null, at the tile's a + i ·
// a_step + offset.
struct GemmRun {
  const float* const* rows = nullptr;
  int64_t offset = 0;    // in floats
  int64_t b_offset = 0;  // floats from the start of a panel
};

// Rows that begin at rows[i], or, where `rows` is null, at base + i · step.
template <typename T>
struct GemmRows {
  T* base = nullptr;
  int64_t step = 0;
  T* const* rows = nullptr;

  T* row(int64_t i) const { return rows != nullptr ? rows[i] : base + i * step; }
};

struct GemmTile {
  const GemmRun* runs = nullptr;
  int64_t run_count = 0;
  int64_t run_length = 0;  // > 0
  int64_t k_offset = 0;    // first k of each run

  const float* a = nullptr;
  int64_t a_step = 0;

  const float* b = nullptr;  // the tile's first panel (or half of it)
  int64_t panel_stride = 0;  // floats from panel to panel

  // Row i of the result begins at c.row(i) + column.
  GemmRows<float> c;
  int64_t column = 0;
  int64_t columns = 0;  // that exist; nothing is written beyond them

  bool accumulate = false;      // start from C, otherwise from the bias
  const float* bias = nullptr;  // of the tile's first column; null: zero

  // The fused part of the epilogue, after the last k: + residual, then the bounds.
  bool has_residual = false;
  GemmRows<const float> residual;
  bool bounded = false;
  float low = 0;
  float high = 0;

  // Lines of each panel to fetch into the second-level cache meanwhile: `prefetch_lines` every 16 steps of k,
  // from this address in the first panel on.
  const char* prefetch = nullptr;
  int64_t prefetch_lines = 0;
  // The same for A into the first-level cache: the rows of the next tile, whose `a` this is, follow each
  // other.
  const float* prefetch_a = nullptr;
  int64_t prefetch_a_lines = 0;
};

using GemmTileFunction = void (*)(const GemmTile& tile);

}  // namespace weir
