// SPDX-License-Identifier: Apache-2.0
//
// GemmProblem: a convolution or matrix product as plain data, which the kernels of gemm/ and conv/ keep in
// their constants. Both are
//
//   C[batch, row, column] = Σ over taps, Σ over k:  A[batch, row, tap, k] · B[batch, tap, k, column]
//
// A row is an output pixel (axes N, OH, OW) or a row of a matrix product (its leading axes and M); columns
// are channels, or N. A batch is what has a B of its own: a group of a convolution, a head of attention. A
// lies in place: its rows are addressed through strides, and a tap adds an offset, or reads zeros where it
// falls outside the image.
//
//   GemmProblem problem = …;         // axes, taps, operands: conv/conv.cc, gemm/matmul.cc
//   add_epilogue(problem, op, map);
//   finish_problem(problem, isa);    // grid, blocking, scratch
//
// Rows are cut into micro-tiles of at most `tile_rows`, equal but for one row; tile boundaries are a function
// of the problem alone, never of the range that a participant runs, and K is always added up in order, so a
// result does not depend on the partition.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/gemm/finish.h"
#include "kernels/implementation.h"

namespace weir {

inline constexpr int kGemmMaxAxes = kMaxRank;
// What a block of micro-tiles keeps of each, at most (gemm/driver-inl.h).
inline constexpr int64_t kTileRecordBytes = 128;

// Strides in floats.
struct GemmAxis {
  int64_t extent = 1;
  int64_t a = 0;
  int64_t b = 0;     // batches only
  int64_t bias = 0;  // batches only
  int64_t c = 0;
  std::array<int64_t, kMaxExtras> extra{};
};

// The two spatial axes of a convolution, of A and of the kernel. The last two row axes walk its output.
struct GemmWindow {
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> pad{0, 0};  // before
  std::array<int64_t, 2> input{1, 1};
  std::array<int64_t, 2> a{0, 0};  // strides of A
};

struct GemmProblem {
  int32_t row_axes = 0;
  int32_t batch_axes = 0;
  std::array<GemmAxis, kGemmMaxAxes> rows;
  std::array<GemmAxis, kGemmMaxAxes> batches;
  int64_t row_count = 0;
  int64_t batch_count = 1;
  int64_t columns = 0;
  int64_t k = 0;  // of one tap
  int64_t taps = 1;
  bool windowed = false;  // rows are addressed through `window`
  bool padded = false;    // some tap of some row falls outside
  // Taps of one kernel row lie next to each other in A: micro-tiles inside the image read a kernel row as one
  // run.
  bool joins_columns = false;
  GemmWindow window;
  int64_t panel_stride = 0;  // floats of one panel: 16 · taps · k

  int32_t a_binding = 0;
  int32_t b_binding = 1;
  int32_t bias_binding = -1;
  int32_t c_binding = 3;
  // Where the product begins in its operands, in floats.
  int64_t b_begin = 0;
  int64_t c_begin = 0;
  std::array<int64_t, kMaxExtras> extra_begin{};

  // B is a plain matrix, packed by the kernel for each batch; else panels that `pack` wrote.
  bool packs_b = false;
  int64_t b_row = 0;  // strides of the plain matrix, along k and along the columns
  int64_t b_column = 0;

  Finish finish;

  // Blocking: see finish_problem.
  int64_t tile_rows = 1;
  int64_t tile_count = 1;   // micro-tiles of the rows
  int64_t block_tiles = 1;  // that share a pass over B
  int64_t k_block = 0;      // of a tap
  int64_t tap_block = 1;
  int64_t column_pass = 0;    // columns of a pass over K
  bool prefetches = false;    // B, which is read from memory
  bool prefetches_a = false;  // A, likewise
  // Grid: batches × column blocks × row blocks, the last fastest.
  int64_t column_block = 0;  // columns, a multiple of the widest tile
  int64_t column_blocks = 1;
  int64_t row_block = 1;  // micro-tiles
  int64_t row_blocks = 1;

  // Byte offsets in a participant's scratch.
  int64_t zeros_offset = 0;
  int64_t tiles_offset = 0;
  int64_t rows_offset = 0;  // pointers
  int64_t runs_offset = 0;
  int64_t finish_offset = 0;
  int64_t panels_offset = 0;
  int64_t scratch_bytes = 0;

  int64_t grid() const { return batch_count * column_blocks * row_blocks; }
};
static_assert(sizeof(GemmProblem) <= kMaxKernelConstants);

// Reads the epilogue of `op`: its extra operands, seen as views of the output, through the axes of `problem`,
// where row axis i is axis `row_axis[i]` of the output, batch axis i `batch_axis[i]` in steps of
// `batch_step[i]`, and the columns `column_axis`.
struct GemmAxisMap {
  std::array<int, kGemmMaxAxes> row_axis{};
  std::array<int, kGemmMaxAxes> batch_axis{};
  std::array<int64_t, kGemmMaxAxes> batch_step{};
  int column_axis = 1;
};
void add_epilogue(GemmProblem& problem, const ConcreteOp& op, const GemmAxisMap& map);

// Fills in blocking, grid and scratch from the rest.
void finish_problem(GemmProblem& problem, Isa isa);

// The largest micro-tile that `isa` has for this number of columns (gemm/tile-inl.h).
int64_t gemm_tile_rows(Isa isa, int64_t columns);

}  // namespace weir
