// SPDX-License-Identifier: Apache-2.0
//
// Runs the tiles of a GemmProblem: per-target code, see targets.h.
//
// A participant's range of grid tiles is cut into rectangles (whole column blocks where it can), each
// rectangle into blocks of at most `block_tiles` micro-tiles. A block makes one pass over its columns a K
// block:
//
//   for each K block
//     for each group of columns (its part of B stays in L1/L2)
//       for each micro-tile (A streams)
//
// so B is read once a block. Where K has several blocks the sums wait in C.
#include "kernels/cpu/gemm/finish-inl.h"
#include "kernels/cpu/gemm/tile-inl.h"

#if defined(WEIR_KERNELS_CPU_GEMM_DRIVER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_GEMM_DRIVER_INL_H_
#undef WEIR_KERNELS_CPU_GEMM_DRIVER_INL_H_
#else
#define WEIR_KERNELS_CPU_GEMM_DRIVER_INL_H_
#endif

#include <cstring>

#include "kernels/cpu/gemm/problem.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

// Where the operands of one batch lie.
struct GemmOperands {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  const float* extra[kMaxExtras] = {};
};

// One micro-tile of a block. Its rows are equally far apart (`regular`, all taps inside the image), or listed
// in tables.
struct GemmTileRecord {
  const float* a = nullptr;
  float* c = nullptr;
  const float* extra[kMaxExtras] = {};
  const GemmRun* runs = nullptr;
  const int32_t* run_begin = nullptr;  // [tap]: the first run of that tap or a later one; taps + 1
  int32_t row = 0;                     // in the block
  int32_t rows = 0;
  int32_t run_length = 0;  // where K is not cut within a tap
  bool regular = true;
};
static_assert(sizeof(GemmTileRecord) <= kTileRecordBytes);

// In scratch. Pointers and runs are written for micro-tiles that are not regular only.
struct GemmTables {
  GemmTileRecord* tiles = nullptr;
  const float** a = nullptr;
  float** c = nullptr;
  const float** extra[kMaxExtras] = {};
  const float** taps = nullptr;  // [tap][row]
  GemmRun* runs = nullptr;       // [tile][…]; the last of them: those of all regular micro-tiles
  int32_t* run_begin = nullptr;  // [tile][tap]
};

//   GemmDriver(problem, invocation).run();
class GemmDriver {
 public:
  GemmDriver(const GemmProblem& problem, const CpuInvocation& invocation)
      : problem_(problem), invocation_(invocation), scratch_(invocation.scratch) {
    if (problem.padded) {
      zeros_ = reinterpret_cast<float*>(scratch_ + problem.zeros_offset);
      std::memset(scratch_ + problem.zeros_offset, 0, static_cast<size_t>(problem.k) * sizeof(float));
    }
    const int64_t rows = problem.block_tiles * problem.tile_rows;
    tables_.tiles = reinterpret_cast<GemmTileRecord*>(scratch_ + problem.tiles_offset);
    auto* pointers = reinterpret_cast<const float**>(scratch_ + problem.rows_offset);
    tables_.a = pointers;
    tables_.c = const_cast<float**>(pointers + rows);
    for (int e = 0; e < problem.finish.extra_count; ++e) tables_.extra[e] = pointers + (2 + e) * rows;
    tables_.taps = pointers + (2 + problem.finish.extra_count) * rows;
    tables_.runs = reinterpret_cast<GemmRun*>(scratch_ + problem.runs_offset);
    tables_.run_begin = reinterpret_cast<int32_t*>(tables_.runs + (problem.block_tiles + 1) * problem.taps);
    make_regular_runs();
  }

  void run() {
    const int64_t per_batch = problem_.column_blocks * problem_.row_blocks;
    int64_t tile = invocation_.tile_begin;
    while (tile < invocation_.tile_end) {
      const int64_t batch = tile / per_batch;
      const int64_t first = tile % per_batch;
      const int64_t last = HWY_MIN(per_batch, first + invocation_.tile_end - tile);
      set_batch(batch);
      if (problem_.packs_b) pack_b(first / problem_.row_blocks, (last - 1) / problem_.row_blocks + 1);
      run_batch(first, last);
      tile += last - first;
    }
  }

 private:
  // Grid tiles [first, last) of the batch: at most a part of a column block, whole ones, a part.
  void run_batch(int64_t first, int64_t last) {
    const int64_t height = problem_.row_blocks;
    while (first < last) {
      const int64_t column = first / height;
      const int64_t row = first % height;
      if (row == 0 && last - first >= height) {
        const int64_t whole = (last - first) / height;
        run_rectangle(column, column + whole, 0, height);
        first += whole * height;
      } else {
        const int64_t rows = HWY_MIN(height - row, last - first);
        run_rectangle(column, column + 1, row, row + rows);
        first += rows;
      }
    }
  }

  void run_rectangle(int64_t column_begin, int64_t column_end, int64_t row_begin, int64_t row_end) {
    const int64_t begin = first_column(column_begin);
    const int64_t end = first_column(column_end);
    const int64_t tile_end = HWY_MIN(row_end * problem_.row_block, problem_.tile_count);
    for (int64_t tile = row_begin * problem_.row_block; tile < tile_end; tile += problem_.block_tiles) {
      run_block(tile, HWY_MIN(tile + problem_.block_tiles, tile_end), begin, end);
    }
  }

  // Of a column block, or past the last one, which takes what is left.
  int64_t first_column(int64_t block) const {
    return block == problem_.column_blocks ? problem_.columns : block * problem_.column_block;
  }

  // tile · row_count / tile_count, whose product may not fit in 64 bits.
  int64_t first_row(int64_t tile) const {
    return tile * (problem_.row_count / problem_.tile_count) +
           tile * (problem_.row_count % problem_.tile_count) / problem_.tile_count;
  }

  void set_batch(int64_t batch) {
    const auto binding = [this](int32_t index) {
      return reinterpret_cast<float*>(invocation_.bindings[static_cast<size_t>(index)]);
    };
    operands_.a = binding(problem_.a_binding);
    operands_.b = binding(problem_.b_binding) + problem_.b_begin;
    operands_.bias = problem_.bias_binding < 0 ? nullptr : binding(problem_.bias_binding);
    operands_.c = binding(problem_.c_binding) + problem_.c_begin;
    for (int e = 0; e < problem_.finish.extra_count; ++e)
      operands_.extra[e] = binding(kFixedOperands + e) + problem_.extra_begin[e];
    for (int i = problem_.batch_axes - 1; i >= 0; --i) {
      const GemmAxis& axis = problem_.batches[i];
      const int64_t index = batch % axis.extent;
      batch /= axis.extent;
      operands_.a += index * axis.a;
      operands_.b += index * axis.b;
      if (operands_.bias != nullptr) operands_.bias += index * axis.bias;
      operands_.c += index * axis.c;
      for (int e = 0; e < problem_.finish.extra_count; ++e) operands_.extra[e] += index * axis.extra[e];
    }
  }

  // Column blocks [begin, end) of the batch's B, a plain matrix, in panels.
  void pack_b(int64_t begin, int64_t end) {
    float* const panels = reinterpret_cast<float*>(scratch_ + problem_.panels_offset);
    const int64_t column_end = first_column(end);
    for (int64_t column = first_column(begin); column < column_end; column += kPanelWidth) {
      pack_panel(operands_.b + column * problem_.b_column, HWY_MIN(problem_.columns - column, kPanelWidth),
                 panels + column / kPanelWidth * problem_.panel_stride);
    }
    operands_.b = panels;
  }

  void pack_panel(const float* from, int64_t columns, float* to) const {
    const GemmTag d;
    const int64_t k = problem_.k;
    if (problem_.b_column == 1) {
      for (int64_t i = 0; i < k; ++i, from += problem_.b_row, to += kPanelWidth) {
        for (int64_t j = 0; j < kPanelWidth; j += kLanes) {
          const int64_t count = HWY_MIN(HWY_MAX(columns - j, int64_t{0}), kLanes);
          hn::Store(
              count == kLanes ? hn::LoadU(d, from + j) : load_n(d, from + j, static_cast<size_t>(count)), d,
              to + j);
        }
      }
      return;
    }
    // Along k the matrix may be dense (a transposed view): four columns' vectors of four steps, transposed.
    const hn::FixedTag<float, 4> d4;
    for (int64_t j = 0; j < kPanelWidth; j += 4) {
      int64_t i = 0;
      if (problem_.b_row == 1 && j + 4 <= columns) {
        const float* p = from + j * problem_.b_column;
        const int64_t s = problem_.b_column;
        for (; i + 4 <= k; i += 4) {
          const auto v0 = hn::LoadU(d4, p + i);
          const auto v1 = hn::LoadU(d4, p + s + i);
          const auto v2 = hn::LoadU(d4, p + 2 * s + i);
          const auto v3 = hn::LoadU(d4, p + 3 * s + i);
          const auto a = hn::InterleaveLower(d4, v0, v2);  // v0₀ v2₀ v0₁ v2₁
          const auto b = hn::InterleaveUpper(d4, v0, v2);
          const auto c = hn::InterleaveLower(d4, v1, v3);
          const auto e = hn::InterleaveUpper(d4, v1, v3);
          float* q = to + i * kPanelWidth + j;
          hn::StoreU(hn::InterleaveLower(d4, a, c), d4, q);
          hn::StoreU(hn::InterleaveUpper(d4, a, c), d4, q + kPanelWidth);
          hn::StoreU(hn::InterleaveLower(d4, b, e), d4, q + 2 * kPanelWidth);
          hn::StoreU(hn::InterleaveUpper(d4, b, e), d4, q + 3 * kPanelWidth);
        }
      }
      for (; i < k; ++i) {
        for (int64_t l = j; l < j + 4; ++l) {
          to[i * kPanelWidth + l] = l < columns ? from[i * problem_.b_row + l * problem_.b_column] : 0;
        }
      }
    }
  }

  // The runs of a micro-tile whose rows are equally far apart and whose taps all lie inside: offsets from
  // `a`.
  void make_regular_runs() {
    GemmRun* runs = tables_.runs + problem_.block_tiles * problem_.taps;
    int32_t* run_begin = tables_.run_begin + problem_.block_tiles * (problem_.taps + 1);
    const int64_t joined = problem_.joins_columns ? problem_.window.kernel[1] : 1;
    int32_t count = 0;
    for (int64_t tap = 0; tap < problem_.taps; tap += joined) {
      for (int64_t i = 0; i < joined; ++i) run_begin[tap + i] = count;
      runs[count++] = {nullptr, problem_.windowed ? tap_offset(tap) : 0, tap * problem_.k * kPanelWidth};
    }
    run_begin[problem_.taps] = count;
    regular_runs_ = runs;
    regular_run_begin_ = run_begin;
    regular_run_length_ = static_cast<int32_t>(joined * problem_.k);
  }

  // Describes micro-tiles [begin, end).
  void make_tables(int64_t begin, int64_t end) {
    const int axes = problem_.row_axes;
    const GemmAxis& inner = problem_.rows[axes - 1];
    const GemmWindow& window = problem_.window;
    a_step_ = problem_.windowed ? window.stride[1] * window.a[1] : inner.a;
    const int64_t row_begin = first_row(begin);
    int64_t index[kGemmMaxAxes];
    int64_t rest = row_begin;
    for (int i = axes - 1; i >= 0; --i) {
      index[i] = rest % problem_.rows[i].extent;
      rest /= problem_.rows[i].extent;
    }
    int64_t row = row_begin;
    int64_t tile_stop = row_begin;
    for (int64_t t = begin; t < end; ++t) {
      GemmTileRecord& tile = tables_.tiles[t - begin];
      tile.row = static_cast<int32_t>(row - row_begin);
      tile_stop = first_row(t + 1);
      tile.rows = static_cast<int32_t>(tile_stop - row);
      tile.regular = true;
      while (row < tile_stop) {
        // The stretch along the innermost axis, within the micro-tile.
        const int64_t count = HWY_MIN(tile_stop - row, inner.extent - index[axes - 1]);
        int64_t a = 0;
        int64_t c = 0;
        for (int i = 0; i < axes; ++i) {
          a += index[i] * problem_.rows[i].a;
          c += index[i] * problem_.rows[i].c;
        }
        int64_t y = 0;
        int64_t x = 0;
        if (problem_.windowed) {
          y = index[axes - 2] * window.stride[0] - window.pad[0];
          x = index[axes - 1] * window.stride[1] - window.pad[1];
          a += y * window.a[0] + x * window.a[1];
        }
        const bool regular = count == tile.rows && (!problem_.padded || inside(y, x, count));
        if (regular) {
          tile.a = operands_.a + a;
          tile.c = operands_.c + c;
          for (int e = 0; e < problem_.finish.extra_count; ++e) {
            tile.extra[e] = operands_.extra[e] + extra_offset(e, index);
          }
          tile.runs = regular_runs_;
          tile.run_begin = regular_run_begin_;
          tile.run_length = regular_run_length_;
        } else {
          tile.regular = false;
          const int64_t at = row - row_begin;
          for (int64_t i = 0; i < count; ++i) {
            tables_.a[at + i] = operands_.a + (a + i * a_step_);
            tables_.c[at + i] = operands_.c + (c + i * inner.c);
          }
          for (int e = 0; e < problem_.finish.extra_count; ++e) {
            const int64_t offset = extra_offset(e, index);
            for (int64_t i = 0; i < count; ++i) {
              tables_.extra[e][at + i] = operands_.extra[e] + (offset + i * inner.extra[e]);
            }
          }
          if (problem_.padded) border_pointers(at, count, y, x);
        }
        row += count;
        index[axes - 1] += count;
        for (int i = axes - 1; i > 0 && index[i] == problem_.rows[i].extent; --i) {
          index[i] = 0;
          ++index[i - 1];
        }
      }
      if (!tile.regular) make_runs(tile, t - begin);
    }
  }

  // Whether all taps of `count` neighbours whose first has its first tap at (y, x) lie in the image.
  bool inside(int64_t y, int64_t x, int64_t count) const {
    const GemmWindow& window = problem_.window;
    const int64_t last = x + (count - 1) * window.stride[1] + (window.kernel[1] - 1) * window.dilation[1];
    return y >= 0 && x >= 0 && y + (window.kernel[0] - 1) * window.dilation[0] < window.input[0] &&
           last < window.input[1];
  }

  int64_t extra_offset(int e, const int64_t* index) const {
    int64_t offset = 0;
    for (int i = 0; i < problem_.row_axes; ++i) offset += index[i] * problem_.rows[i].extra[e];
    return offset;
  }

  int64_t tap_offset(int64_t tap) const {
    const GemmWindow& window = problem_.window;
    return tap / window.kernel[1] * window.dilation[0] * window.a[0] +
           tap % window.kernel[1] * window.dilation[1] * window.a[1];
  }

  // For `count` rows from `at`, pixels next to each other whose first tap lies at (y, x): a pointer a tap.
  void border_pointers(int64_t at, int64_t count, int64_t y, int64_t x) {
    const GemmWindow& window = problem_.window;
    const int64_t capacity = problem_.block_tiles * problem_.tile_rows;
    int64_t tap = 0;
    for (int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const int64_t yy = y + ky * window.dilation[0];
      const bool row_inside = yy >= 0 && yy < window.input[0];
      for (int64_t kx = 0; kx < window.kernel[1]; ++kx, ++tap) {
        const int64_t offset = tap_offset(tap);
        const float** pointers = tables_.taps + tap * capacity + at;
        int64_t xx = x + kx * window.dilation[1];
        for (int64_t i = 0; i < count; ++i, xx += window.stride[1]) {
          pointers[i] = row_inside && xx >= 0 && xx < window.input[1] ? tables_.a[at + i] + offset : zeros_;
        }
      }
    }
  }

  // The runs of a micro-tile that is not regular; a tap that is outside for all of its rows is left out.
  void make_runs(GemmTileRecord& tile, int64_t slot) {
    const int64_t capacity = problem_.block_tiles * problem_.tile_rows;
    GemmRun* runs = tables_.runs + slot * problem_.taps;
    int32_t* run_begin = tables_.run_begin + slot * (problem_.taps + 1);
    int32_t count = 0;
    tile.run_length = static_cast<int32_t>(problem_.k);
    if (!problem_.padded) {
      // As in a regular micro-tile, but for the rows.
      for (int64_t tap = 0; tap < problem_.taps; ++tap) run_begin[tap] = regular_run_begin_[tap];
      count = regular_run_begin_[problem_.taps];
      for (int32_t i = 0; i < count; ++i) {
        runs[i] = regular_runs_[i];
        runs[i].rows = tables_.a + tile.row;
      }
      tile.run_length = regular_run_length_;
    } else {
      for (int64_t tap = 0; tap < problem_.taps; ++tap) {
        run_begin[tap] = count;
        const float* const* rows = tables_.taps + tap * capacity + tile.row;
        bool any = false;
        for (int32_t i = 0; i < tile.rows; ++i) any |= rows[i] != zeros_;
        if (any) runs[count++] = {rows, 0, tap * problem_.k * kPanelWidth};
      }
    }
    run_begin[problem_.taps] = count;
    tile.runs = runs;
    tile.run_begin = run_begin;
  }

  // Micro-tiles [begin, end), columns [column_begin, column_end): in stretches of columns whose sums stay in
  // the second-level cache from K block to K block.
  void run_block(int64_t begin, int64_t end, int64_t column_begin, int64_t column_end) {
    make_tables(begin, end);
    for (int64_t column = column_begin; column < column_end;) {
      int64_t stop = HWY_MIN(column + problem_.column_pass, column_end);
      // What is left over is no pass of its own.
      if (column_end - stop < 2 * kPanelWidth) stop = column_end;
      run_pass(begin, end, column, stop);
      column = stop;
    }
  }

  void run_pass(int64_t begin, int64_t end, int64_t column_begin, int64_t column_end) {
    const int64_t vector_end = (column_end - column_begin + kLanes - 1) / kLanes;
    const float* b_begin = operands_.b + column_begin / kPanelWidth * problem_.panel_stride;
    GemmTile tile;
    tile.panel_stride = problem_.panel_stride;
    for (int64_t tap = 0; tap < problem_.taps; tap += problem_.tap_block) {
      const int64_t tap_end = HWY_MIN(tap + problem_.tap_block, problem_.taps);
      for (int64_t k = 0;; k += problem_.k_block) {
        const int64_t length = HWY_MIN(problem_.k_block, problem_.k - k);
        const bool first = tap == 0 && k == 0;
        const bool last = tap_end == problem_.taps && k + length >= problem_.k;
        const int64_t b_offset = (tap * problem_.k + k) * kPanelWidth;
        const int64_t b_length = problem_.tap_block * problem_.k_block * kPanelWidth;
        tile.run_length = length;
        tile.k_offset = k;
        tile.accumulate = !first;
        int vectors = 0;
        for (int64_t v = 0; v < vector_end; v += vectors) {
          vectors = gemm_next_vectors(vector_end - v);
          const int64_t column = column_begin + v * kLanes;
          tile.column = column;
          tile.columns = HWY_MIN(column_end - column, vectors * kLanes);
          tile.b = operands_.b + column / kPanelWidth * problem_.panel_stride + column % kPanelWidth;
          tile.bias = operands_.bias == nullptr ? nullptr : operands_.bias + column;
          // The part of B that comes after this one: the next columns', or the next K block's.
          const float* ahead = nullptr;
          if (problem_.prefetches) {
            ahead = v + vectors < vector_end
                        ? tile.b + b_offset + vectors * kLanes / kPanelWidth * problem_.panel_stride
                    : last ? operands_.b + column_end / kPanelWidth * problem_.panel_stride
                           : b_begin + b_offset + b_length;
          }
          for (int64_t t = begin; t < end; ++t) {
            run_tile_at(tile, t - begin, tap, tap_end, length == problem_.k, vectors, last, ahead,
                        end - begin, v == 0);
          }
        }
        if (k + length >= problem_.k) break;
      }
    }
  }

  // Micro-tile `t` of the block's `tiles`.
  HWY_INLINE void run_tile_at(GemmTile& tile, int64_t t, int64_t tap, int64_t tap_end, bool whole_taps,
                              int vectors, bool last, const float* ahead, int64_t tiles, bool first_columns) {
    const GemmTileRecord& record = tables_.tiles[t];
    const GemmAxis& inner = problem_.rows[problem_.row_axes - 1];
    tile.runs = record.runs + record.run_begin[tap];
    if (whole_taps) tile.run_length = record.run_length;
    tile.run_count = tile.run_length > 0 ? record.run_begin[tap_end] - record.run_begin[tap] : 0;
    tile.a = record.a;
    tile.a_step = a_step_;
    tile.c = record.regular ? GemmRows<float>{record.c, inner.c, nullptr}
                            : GemmRows<float>{nullptr, 0, tables_.c + record.row};
    tile.prefetch_lines = 0;
    if (ahead != nullptr) {
      // Each micro-tile fetches its share, a line a step and panel being all of it.
      tile.prefetch_lines = (16 + tiles - 1) / tiles;
      const int64_t share = tile.run_count * ((tile.run_length + 15) / 16) * tile.prefetch_lines * 16;
      tile.prefetch = reinterpret_cast<const char*>(ahead + t * share);
    }
    tile.prefetch_a_lines = 0;
    if (first_columns && problem_.prefetches_a && record.regular && t + 1 < tiles &&
        tables_.tiles[t + 1].regular) {
      const int64_t bytes = record.rows * a_step_ * int64_t{sizeof(float)};
      const int64_t chunks = (tile.run_length + 15) / 16;
      tile.prefetch_a = tables_.tiles[t + 1].a;
      tile.prefetch_a_lines = (bytes + 64 * chunks - 1) / (64 * chunks);
    }
    const Finish& finish = problem_.finish;
    // The first pass over K takes the residual in, so that it may lie where the sums are kept between passes.
    tile.has_residual = finish.kind == FinishKind::kStore && finish.before.kind != FinishStep::Kind::kNone &&
                        !tile.accumulate;
    if (tile.has_residual) {
      const int e = finish.before.extra;
      tile.residual = record.regular ? GemmRows<const float>{record.extra[e], inner.extra[e], nullptr}
                                     : GemmRows<const float>{nullptr, 0, tables_.extra[e] + record.row};
    }
    tile.bounded = false;
    const GemmTileFunction function = gemm_tile_function(record.rows, vectors);
    if (!last) {
      function(tile);
      return;
    }
    if (finish.kind == FinishKind::kStore) {
      tile.bounded = finish.activation == Activation::kBounds;
      tile.low = finish.low;
      tile.high = finish.high;
      function(tile);
      return;
    }
    function(tile);
    finish_tile(tile, record);
  }

  // The epilogue over the micro-tile's result, which the micro-kernel has just stored.
  void finish_tile(const GemmTile& tile, const GemmTileRecord& record) {
    const Finish& finish = problem_.finish;
    const GemmAxis& inner = problem_.rows[problem_.row_axes - 1];
    float* const* c = tables_.c + record.row;
    const float* const* extra[kMaxExtras];
    for (int e = 0; e < finish.extra_count; ++e) extra[e] = tables_.extra[e] + record.row;
    if (record.regular) {
      for (int32_t i = 0; i < record.rows; ++i) tables_.c[record.row + i] = record.c + i * inner.c;
      for (int e = 0; e < finish.extra_count; ++e) {
        for (int32_t i = 0; i < record.rows; ++i) {
          tables_.extra[e][record.row + i] = record.extra[e] + i * inner.extra[e];
        }
      }
    }
    finish_rows(finish, c, extra, record.rows, tile.column, tile.columns, scratch_ + problem_.finish_offset);
  }

  const GemmProblem& problem_;
  const CpuInvocation& invocation_;
  std::byte* scratch_;
  float* zeros_ = nullptr;
  GemmTables tables_;
  GemmOperands operands_;
  int64_t a_step_ = 0;
  const GemmRun* regular_runs_ = nullptr;
  const int32_t* regular_run_begin_ = nullptr;
  int32_t regular_run_length_ = 0;
};

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
