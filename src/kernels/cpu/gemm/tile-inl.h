// SPDX-License-Identifier: Apache-2.0
//
// The micro-kernels of gemm/tile.h. A register tile is 8 × 48 or 10 × 32 with AVX-512, 6 × 16 with AVX2, 4 ×
// 8 (half a panel) with SSE4. More rows would need more general registers than there are for the row
// pointers: the compiler then keeps some in vector registers, and moving them back costs multiplier slots.
//
//   GemmTileFunction f = gemm_tile_function(rows, vectors);
#include "kernels/cpu/math-inl.h"

#if defined(WEIR_KERNELS_CPU_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_GEMM_TILE_INL_H_
#undef WEIR_KERNELS_CPU_GEMM_TILE_INL_H_
#else
#define WEIR_KERNELS_CPU_GEMM_TILE_INL_H_
#endif

#include "kernels/cpu/gemm/tile.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

using GemmTag = hn::ScalableTag<float>;
using GemmVector = hn::Vec<GemmTag>;
inline constexpr int64_t kLanes = HWY_TARGET == HWY_AVX3 ? 16 : HWY_TARGET == HWY_AVX2 ? 8 : 4;

#define WEIR_UNROLL _Pragma("GCC unroll 16")

// The address of vector j of step 0 of a tile's panels.
HWY_INLINE const float* gemm_vector_address(const float* b, int64_t panel_stride, int j) {
  return b + (j * kLanes / kPanelWidth) * panel_stride + j * kLanes % kPanelWidth;
}

// What lives outside the innermost loop is kept in memory, not in registers: the compiler would move it to
// vector registers and spill sums instead.
#define WEIR_FORGET() asm volatile("" : : : "memory")

template <int kRows, int kVectors>
HWY_INLINE void gemm_runs(const GemmTile& tile, GemmVector (&sum)[kRows][kVectors]) {
  const GemmTag d;
  constexpr int kPanels = static_cast<int>((kVectors * kLanes + kPanelWidth - 1) / kPanelWidth);
  const char* ahead[2] = {tile.prefetch, nullptr};
  asm volatile("" : : "r"(ahead) : "memory");
  for (int64_t r = 0; r < tile.run_count; ++r) {
    const GemmRun& run = tile.runs[r];
    const int64_t length = tile.run_length * int64_t{sizeof(float)};
    const int64_t stride = tile.panel_stride;
    const float* b = tile.b + run.b_offset + tile.k_offset * kPanelWidth;
    // The rows' ends, so that one index counts up to zero for all of them.
    const char* rows[kRows];
    const int64_t offset = (run.offset + tile.k_offset) * int64_t{sizeof(float)} + length;
    if (run.rows == nullptr) {
      const char* row = reinterpret_cast<const char*>(tile.a) + offset;
      WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
        rows[i] = row;
        row += tile.a_step * int64_t{sizeof(float)};
      }
    } else {
      WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
        rows[i] = reinterpret_cast<const char*>(run.rows[i]) + offset;
      }
    }
    ahead[1] = reinterpret_cast<const char*>(tile.prefetch_a + run.offset);
    int64_t k = -length;
    do {
      const int64_t end = HWY_MIN(k + int64_t{16 * sizeof(float)}, int64_t{0});
      for (int64_t line = 0; line < tile.prefetch_lines; ++line) {
        WEIR_UNROLL for (int panel = 0; panel < kPanels; ++panel) {
          __builtin_prefetch(ahead[0] + panel * stride * int64_t{sizeof(float)}, 0, 2);
        }
        ahead[0] += 64;
      }
      for (int64_t line = 0; line < tile.prefetch_a_lines; ++line) {
        __builtin_prefetch(ahead[1], 0, 3);
        ahead[1] += 64;
      }
      do {
        GemmVector columns[kVectors];
        WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
          columns[j] = hn::LoadU(d, gemm_vector_address(b, stride, j));
        }
        WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
          const GemmVector a = hn::Set(d, *reinterpret_cast<const float*>(rows[i] + k));
          WEIR_UNROLL for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(a, columns[j], sum[i][j]);
        }
        b += kPanelWidth;
        k += sizeof(float);
      } while (k < end);
      WEIR_FORGET();
    } while (k < 0);
    WEIR_FORGET();
  }
}

template <int kRows, int kVectors>
void gemm_tile(const GemmTile& tile) {
  const GemmTag d;
  const bool whole = tile.columns >= kVectors * kLanes;
  GemmVector sum[kRows][kVectors];
  // Columns that exist in vector j.
  const auto count = [&tile](int j) {
    return static_cast<size_t>(HWY_MIN(HWY_MAX(tile.columns - j * kLanes, int64_t{0}), kLanes));
  };
  if (tile.accumulate) {
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      const float* from = tile.c.row(i) + tile.column;
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
        sum[i][j] = whole ? hn::LoadU(d, from + j * kLanes) : load_n(d, from + j * kLanes, count(j));
      }
    }
  } else {
    WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
      sum[0][j] = tile.bias == nullptr ? hn::Zero(d)
                  : whole              ? hn::LoadU(d, tile.bias + j * kLanes)
                                       : load_n(d, tile.bias + j * kLanes, count(j));
    }
    WEIR_UNROLL for (int i = 1; i < kRows; ++i) {
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) sum[i][j] = sum[0][j];
    }
  }

  gemm_runs<kRows, kVectors>(tile, sum);

  if (tile.has_residual) {
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      const float* from = tile.residual.row(i) + tile.column;
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
        sum[i][j] = hn::Add(sum[i][j],
                            whole ? hn::LoadU(d, from + j * kLanes) : load_n(d, from + j * kLanes, count(j)));
      }
    }
  }
  if (tile.bounded) {
    const GemmVector low = hn::Set(d, tile.low);
    const GemmVector high = hn::Set(d, tile.high);
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) sum[i][j] = at_most(at_least(sum[i][j], low), high);
    }
  }
  if (whole) {
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      float* to = tile.c.row(i) + tile.column;
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) hn::StoreU(sum[i][j], d, to + j * kLanes);
    }
  } else {
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      float* to = tile.c.row(i) + tile.column;
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) store_n(sum[i][j], d, to + j * kLanes, count(j));
    }
  }
}

// The tile function for `rows` (1 … gemm_max_rows(vectors)) and `vectors`.
inline constexpr int kMaxTileVectors = HWY_TARGET == HWY_AVX3 ? 3 : 2;
inline constexpr int64_t gemm_max_rows(int vectors) {
  return HWY_TARGET == HWY_AVX3 ? (vectors == 3 ? 8 : 10) : HWY_TARGET == HWY_AVX2 ? 6 : 4;
}

// Vectors of the next register tile where `left` vectors of columns are left: three where the rest is no
// single one.
HWY_INLINE int gemm_next_vectors(int64_t left) {
  if (kMaxTileVectors == 3 && left >= 3 && left != 4) return 3;
  return static_cast<int>(HWY_MIN(left, int64_t{2}));
}

template <int kVectors, int... kRowsLessOne>
inline GemmTileFunction gemm_select(int64_t rows, std::integer_sequence<int, kRowsLessOne...>) {
  static constexpr GemmTileFunction kFunctions[] = {&gemm_tile<kRowsLessOne + 1, kVectors>...};
  return kFunctions[rows - 1];
}

inline GemmTileFunction gemm_tile_function(int64_t rows, int vectors) {
#if HWY_TARGET == HWY_AVX3
  if (vectors == 3) return gemm_select<3>(rows, std::make_integer_sequence<int, 8>());
#endif
  constexpr int kMost = static_cast<int>(gemm_max_rows(1));
  if (vectors == 2) return gemm_select<2>(rows, std::make_integer_sequence<int, kMost>());
  return gemm_select<1>(rows, std::make_integer_sequence<int, kMost>());
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
