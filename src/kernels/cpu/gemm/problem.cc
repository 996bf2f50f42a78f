// SPDX-License-Identifier: Apache-2.0
//
// Blocking, grid and epilogue of matrix products and convolutions.
#include "kernels/cpu/gemm/problem.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace {

// Steps of K that a pass over B keeps: 48 columns of them are 144 KiB, which stay in the second-level cache
// next to the rows of A. (256, 400, 512: slower for K = 768 to 3072.)
constexpr int64_t kBlockSteps = 768;
// Rows that share such a pass: a 14 × 14 image, or the tokens of a vision transformer.
constexpr int64_t kBlockRows = 208;
// Bytes of sums that wait for the next K block.
constexpr int64_t kWaitingBytes = 256 * 1024;
// Bytes of row pointers a block may take; kernels with many taps get smaller blocks.
constexpr int64_t kPointerBytes = 48 * 1024;
// B is fetched ahead where it will not stay in the second-level cache.
constexpr int64_t kPrefetchBytes = 384 * 1024;
// The grid: enough tiles for 16 threads to balance, none below about 1 µs.
constexpr int64_t kGridTiles = 64;
constexpr int64_t kLeastOperations = 150'000;

constexpr int64_t kWidestTile = 48;  // columns

// Joins neighbouring row axes over which every operand is contiguous.
void join_rows(GemmProblem& problem) {
  int kept = 0;
  for (int i = 1; i < problem.row_axes; ++i) {
    GemmAxis& outer = problem.rows[kept];
    const GemmAxis& inner = problem.rows[i];
    const auto follows = [&](int64_t outer_stride, int64_t inner_stride) {
      return outer_stride == inner_stride * inner.extent;
    };
    bool joins = follows(outer.a, inner.a) && follows(outer.c, inner.c);
    for (int e = 0; e < problem.finish.extra_count; ++e) joins &= follows(outer.extra[e], inner.extra[e]);
    if (joins || outer.extent == 1) {
      const int64_t extent = outer.extent * inner.extent;
      outer = inner;
      outer.extent = extent;
    } else {
      problem.rows[++kept] = inner;
    }
  }
  problem.row_axes = kept + 1;
}

}  // namespace

void add_epilogue(GemmProblem& problem, const ConcreteOp& op, const GemmAxisMap& map) {
  problem.finish = make_finish(op, map.column_axis);
  for (int e = 0; e < problem.finish.extra_count; ++e) {
    for (int i = 0; i < problem.row_axes; ++i)
      problem.rows[i].extra[e] = extra_stride(op, e, map.row_axis[i]);
    for (int i = 0; i < problem.batch_axes; ++i) {
      problem.batches[i].extra[e] = extra_stride(op, e, map.batch_axis[i]) * map.batch_step[i];
    }
  }
}

int64_t gemm_tile_rows(Isa isa, int64_t columns) {
  switch (isa) {
    case Isa::kAvx512: {
      const int64_t panels = ceil_div(columns, kPanelWidth);
      return panels == 3 || panels >= 5 ? 8 : 10;
    }
    case Isa::kAvx2:
      return 6;
    case Isa::kBaseline:
      break;
  }
  return 4;
}

void finish_problem(GemmProblem& problem, Isa isa) {
  problem.panel_stride = kPanelWidth * problem.taps * problem.k;
  problem.row_count = 1;
  for (int i = 0; i < problem.row_axes; ++i) problem.row_count *= problem.rows[i].extent;
  if (!problem.windowed && problem.row_count > 0) join_rows(problem);
  problem.batch_count = 1;
  for (int i = 0; i < problem.batch_axes; ++i) problem.batch_count *= problem.batches[i].extent;
  if (problem.row_count == 0 || problem.columns == 0) problem.batch_count = 0;

  problem.tile_rows = gemm_tile_rows(isa, problem.columns);
  problem.tile_count = std::max<int64_t>(1, ceil_div(problem.row_count, problem.tile_rows));
  problem.block_tiles = std::clamp<int64_t>(kPointerBytes / (8 * problem.tile_rows * (problem.taps + 3)), 1,
                                            kBlockRows / problem.tile_rows);

  // K in blocks of equal length.
  const int64_t k_blocks = std::max<int64_t>(1, ceil_div(problem.k, kBlockSteps));
  problem.k_block = std::max<int64_t>(1, ceil_div(problem.k, k_blocks));
  problem.tap_block = 1;
  if (k_blocks == 1 && problem.k > 0) {
    const int64_t tap_blocks = ceil_div(problem.taps * problem.k, kBlockSteps);
    problem.tap_block = ceil_div(problem.taps, std::min(tap_blocks, problem.taps));
    const int64_t width = problem.window.kernel[1];
    problem.joins_columns = problem.windowed && width > 1 && problem.window.dilation[1] == 1 &&
                            problem.window.a[1] == problem.k && problem.tap_block >= width;
    if (problem.joins_columns) problem.tap_block = problem.tap_block / width * width;
  }

  // Sums that wait for the next K block stay in the second-level cache.
  const bool one_block = k_blocks == 1 && problem.tap_block >= problem.taps;
  const int64_t block_rows = std::min(problem.block_tiles, problem.tile_count) * problem.tile_rows;
  const int64_t pass = kWaitingBytes / (block_rows * int64_t{sizeof(float)}) / kWidestTile * kWidestTile;
  problem.column_pass =
      one_block ? align_up(problem.columns, kPanelWidth) : std::max<int64_t>(pass, 2 * kWidestTile);

  const int64_t panels = ceil_div(problem.columns, kPanelWidth);
  const int64_t b_bytes = panels * problem.panel_stride * int64_t{sizeof(float)};
  const int64_t a_bytes = problem.row_count * problem.k * int64_t{sizeof(float)};
  problem.prefetches = b_bytes > kPrefetchBytes && !problem.packs_b;

  // Rows that follow each other with few gaps, of an image that does not stay in the second-level cache.
  const GemmAxis& inner = problem.rows[problem.row_axes - 1];
  const int64_t step = problem.windowed ? problem.window.stride[1] * problem.window.a[1] : inner.a;
  problem.prefetches_a = a_bytes > kPrefetchBytes && step > 0 && step <= 2 * problem.k;

  // The grid. Rows are split first, columns first where B is the larger operand: each participant then reads
  // its own part of B once.
  const int64_t batches = std::max<int64_t>(1, problem.batch_count);
  const double operations = 2.0 * static_cast<double>(problem.row_count) *
                            static_cast<double>(problem.columns) *
                            static_cast<double>(problem.k * problem.taps) * static_cast<double>(batches);
  const int64_t worth = static_cast<int64_t>(std::min(operations / kLeastOperations, double{kGridTiles}));
  const int64_t wanted = ceil_div(std::clamp<int64_t>(worth, 1, kGridTiles), batches);
  // In units of the register tile's columns; what is left over joins the last block.
  const int64_t unit = panels >= 5 ? 3 : 2;
  const int64_t groups = std::max<int64_t>(1, panels / unit);
  int64_t row_blocks = 1;
  int64_t column_blocks = 1;
  if (b_bytes > a_bytes) {
    column_blocks = std::min(groups, wanted);
    row_blocks = std::min(problem.tile_count, ceil_div(wanted, column_blocks));
  } else {
    row_blocks = std::min(problem.tile_count, wanted);
    column_blocks = std::min(groups, ceil_div(wanted, row_blocks));
  }
  problem.row_block = ceil_div(problem.tile_count, row_blocks);
  problem.row_blocks = ceil_div(problem.tile_count, problem.row_block);
  const int64_t block_groups = ceil_div(groups, column_blocks);
  problem.column_block = block_groups * unit * kPanelWidth;
  problem.column_blocks = std::max<int64_t>(1, ceil_div(groups, block_groups));

  int64_t offset = 0;
  const auto reserve = [&offset](int64_t bytes) {
    const int64_t at = offset;
    offset = align_up(offset + bytes, 64);
    return at;
  };
  const int64_t pointer_bytes = problem.block_tiles * problem.tile_rows * int64_t{sizeof(void*)};
  problem.zeros_offset = reserve(problem.padded ? problem.k * int64_t{sizeof(float)} : 0);
  problem.rows_offset =
      reserve(pointer_bytes * ((problem.padded ? problem.taps : 0) + 2 + problem.finish.extra_count));
  problem.tiles_offset = reserve(problem.block_tiles * kTileRecordBytes);
  problem.runs_offset = reserve((problem.block_tiles + 1) * (problem.taps * int64_t{sizeof(GemmRun)} +
                                                             (problem.taps + 1) * int64_t{sizeof(int32_t)}));
  problem.finish_offset = reserve(finish_scratch_bytes(problem.finish, problem.tile_rows, kWidestTile));
  problem.panels_offset = reserve(problem.packs_b ? b_bytes : 0);
  problem.scratch_bytes = offset;
}

}  // namespace weir
