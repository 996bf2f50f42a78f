// SPDX-License-Identifier: Apache-2.0
//
// Copies a block of rows × columns between any strides: rows as vectors where both sides are dense along one
// axis, transposed in registers where the dense axes differ. Per-target code, see targets.h.
//
//   copy_block(src, {1, 3136}, dst, {64, 1}, rows, columns);  // NCHW to NHWC: rows are pixels
//
// T is an unsigned integer of the elements' size. Strides are in elements, of a row and of a column. Source
// and target do not overlap.
#include "kernels/cpu/math-inl.h"

#if defined(WEIR_KERNELS_CPU_COPY_BLOCK_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_KERNELS_CPU_COPY_BLOCK_COPY_INL_H_
#undef WEIR_KERNELS_CPU_COPY_BLOCK_COPY_INL_H_
#else
#define WEIR_KERNELS_CPU_COPY_BLOCK_COPY_INL_H_
#endif

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

struct BlockStrides {
  int64_t row = 0;
  int64_t column = 1;
};

template <typename T>
HWY_INLINE void copy_dense(const T* from, T* to, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  if (count * static_cast<int64_t>(sizeof(T)) >= 1024) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  // The last vector overlaps the one before it.
  hn::StoreU(hn::LoadU(d, from + count - lanes), d, to + count - lanes);
}

template <typename T>
HWY_INLINE void fill_dense(T value, T* to, int64_t count) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (count < lanes) {
    for (int64_t i = 0; i < count; ++i) to[i] = value;
    return;
  }
  const auto v = hn::Set(d, value);
  for (int64_t i = 0; i + lanes <= count; i += lanes) hn::StoreU(v, d, to + i);
  hn::StoreU(v, d, to + count - lanes);
}

namespace copy_internal {

// Lane block b (16 bytes) of the result: the 16 bytes at from + b·stride.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t stride) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> dh;
    const int64_t half_blocks = static_cast<int64_t>(hn::MaxLanes(dh) * sizeof(T) / 16);
    return hn::Combine(d, load_blocks(dh, from + half_blocks * stride, stride),
                       load_blocks(dh, from, stride));
  }
}

// Reads from[column·stride + row] for 4 rows (2 of 8 bytes) and as many columns as d has lanes.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void transpose_vectors(D d, const T* from, int64_t stride, T* to, int64_t to_row) {
  if constexpr (sizeof(T) == 4) {
    const hn::Repartition<uint64_t, D> d64;
    const auto v0 = load_blocks(d, from, 4 * stride);
    const auto v1 = load_blocks(d, from + stride, 4 * stride);
    const auto v2 = load_blocks(d, from + 2 * stride, 4 * stride);
    const auto v3 = load_blocks(d, from + 3 * stride, 4 * stride);
    const auto low01 = hn::BitCast(d64, hn::InterleaveLower(d, v0, v1));
    const auto low23 = hn::BitCast(d64, hn::InterleaveLower(d, v2, v3));
    const auto high01 = hn::BitCast(d64, hn::InterleaveUpper(d, v0, v1));
    const auto high23 = hn::BitCast(d64, hn::InterleaveUpper(d, v2, v3));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, low01, low23)), d, to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, low01, low23)), d, to + to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d64, high01, high23)), d, to + 2 * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d64, high01, high23)), d, to + 3 * to_row);
  } else {
    static_assert(sizeof(T) == 8);
    const auto v0 = load_blocks(d, from, 2 * stride);
    const auto v1 = load_blocks(d, from + stride, 2 * stride);
    hn::StoreU(hn::InterleaveLower(d, v0, v1), d, to);
    hn::StoreU(hn::InterleaveUpper(d, v0, v1), d, to + to_row);
  }
}

template <typename T>
HWY_INLINE void transpose_scalars(const T* from, int64_t from_column, T* to, int64_t to_row, int64_t rows,
                                  int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[r * to_row + c] = from[c * from_column + r];
  }
}

// A strip of columns, as wide as d, over `rows` rows.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void transpose_strip(D d, const T* from, int64_t from_column, T* to, int64_t to_row,
                                int64_t rows) {
  constexpr int64_t kRows = static_cast<int64_t>(16 / sizeof(T));
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    transpose_vectors(d, from + r, from_column, to + r * to_row, to_row);
  }
  transpose_scalars(from + r, from_column, to + r * to_row, to_row, rows - r,
                    static_cast<int64_t>(hn::MaxLanes(d)));
}

// Columns 2, 3 or 4 to a row, rows one after another: pixels of an image.
template <typename T>
HWY_INLINE bool interleave(const T* from, int64_t from_column, T* to, int64_t rows, int64_t columns) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t r = 0;
  if (columns == 3) {
    for (; r + lanes <= rows; r += lanes) {
      hn::StoreInterleaved3(hn::LoadU(d, from + r), hn::LoadU(d, from + from_column + r),
                            hn::LoadU(d, from + 2 * from_column + r), d, to + 3 * r);
    }
  } else if (columns == 2) {
    for (; r + lanes <= rows; r += lanes) {
      hn::StoreInterleaved2(hn::LoadU(d, from + r), hn::LoadU(d, from + from_column + r), d, to + 2 * r);
    }
  } else if (columns == 4) {
    for (; r + lanes <= rows; r += lanes) {
      hn::StoreInterleaved4(hn::LoadU(d, from + r), hn::LoadU(d, from + from_column + r),
                            hn::LoadU(d, from + 2 * from_column + r),
                            hn::LoadU(d, from + 3 * from_column + r), d, to + 4 * r);
    }
  } else {
    return false;
  }
  transpose_scalars(from + r, from_column, to + r * columns, columns, rows - r, columns);
  return true;
}

// The reverse: `from` holds columns × 2, 3 or 4 rows, rows next to each other.
template <typename T>
HWY_INLINE bool deinterleave(const T* from, T* to, int64_t to_row, int64_t rows, int64_t columns) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  if (rows == 3) {
    for (; c + lanes <= columns; c += lanes) {
      hn::Vec<decltype(d)> v0, v1, v2;
      hn::LoadInterleaved3(d, from + 3 * c, v0, v1, v2);
      hn::StoreU(v0, d, to + c);
      hn::StoreU(v1, d, to + to_row + c);
      hn::StoreU(v2, d, to + 2 * to_row + c);
    }
  } else if (rows == 2) {
    for (; c + lanes <= columns; c += lanes) {
      hn::Vec<decltype(d)> v0, v1;
      hn::LoadInterleaved2(d, from + 2 * c, v0, v1);
      hn::StoreU(v0, d, to + c);
      hn::StoreU(v1, d, to + to_row + c);
    }
  } else if (rows == 4) {
    for (; c + lanes <= columns; c += lanes) {
      hn::Vec<decltype(d)> v0, v1, v2, v3;
      hn::LoadInterleaved4(d, from + 4 * c, v0, v1, v2, v3);
      hn::StoreU(v0, d, to + c);
      hn::StoreU(v1, d, to + to_row + c);
      hn::StoreU(v2, d, to + 2 * to_row + c);
      hn::StoreU(v3, d, to + 3 * to_row + c);
    }
  } else {
    return false;
  }
  transpose_scalars(from + c * rows, rows, to + c, to_row, rows, columns - c);
  return true;
}

// from[row + column·from_column] → to[row·to_row + column]
template <typename T>
inline void transpose_block(const T* from, int64_t from_column, T* to, int64_t to_row, int64_t rows,
                            int64_t columns) {
  if (to_row == columns && interleave(from, from_column, to, rows, columns)) return;
  if (from_column == rows && deinterleave(from, to, to_row, rows, columns)) return;
  // Bands of rows that fill a cache line of the source; their columns' lines stay in the first-level cache
  // while they are used up.
  constexpr int64_t kBand = static_cast<int64_t>(64 / sizeof(T));
  for (int64_t r = 0; r < rows; r += kBand) {
    const int64_t height = rows - r < kBand ? rows - r : kBand;
    const T* source = from + r;
    T* target = to + r * to_row;
    int64_t c = 0;
    if constexpr (sizeof(T) >= 4) {
      const hn::ScalableTag<T> d;
      constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
      for (; c + kLanes <= columns; c += kLanes) {
        transpose_strip(d, source + c * from_column, from_column, target + c, to_row, height);
      }
      // The remainder in 16-byte vectors.
      const hn::CappedTag<T, 16 / sizeof(T)> dq;
      constexpr int64_t kQuad = static_cast<int64_t>(hn::MaxLanes(dq));
      for (; c + kQuad <= columns; c += kQuad) {
        transpose_strip(dq, source + c * from_column, from_column, target + c, to_row, height);
      }
    }
    // Small elements, and the last columns: squares of scalars.
    constexpr int64_t kSquare = 16;
    for (; c < columns; c += kSquare) {
      transpose_scalars(source + c * from_column, from_column, target + c, to_row, height,
                        columns - c < kSquare ? columns - c : kSquare);
    }
  }
}

}  // namespace copy_internal

template <typename T>
inline void copy_block(const T* from, BlockStrides from_strides, T* to, BlockStrides to_strides, int64_t rows,
                       int64_t columns) {
  if (to_strides.column == 1) {
    if (from_strides.column == 1) {
      for (int64_t r = 0; r < rows; ++r)
        copy_dense(from + r * from_strides.row, to + r * to_strides.row, columns);
      return;
    }
    if (from_strides.column == 0) {
      for (int64_t r = 0; r < rows; ++r)
        fill_dense(from[r * from_strides.row], to + r * to_strides.row, columns);
      return;
    }
    if (from_strides.row == 1 && rows > 1) {
      copy_internal::transpose_block(from, from_strides.column, to, to_strides.row, rows, columns);
      return;
    }
  } else if (to_strides.row == 1 && from_strides.column == 1 && columns > 1) {
    copy_internal::transpose_block(from, from_strides.row, to, to_strides.column, columns, rows);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    const T* source = from + r * from_strides.row;
    T* target = to + r * to_strides.row;
    for (int64_t c = 0; c < columns; ++c) target[c * to_strides.column] = source[c * from_strides.column];
  }
}

// The same for elements of 1, 2, 4 or 8 bytes.
inline void copy_block(int element_bytes, const std::byte* from, BlockStrides from_strides, std::byte* to,
                       BlockStrides to_strides, int64_t rows, int64_t columns) {
  const auto run = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    copy_block(reinterpret_cast<const T*>(from), from_strides, reinterpret_cast<T*>(to), to_strides, rows,
               columns);
  };
  switch (element_bytes) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // WEIR_KERNELS_CPU_COPY_BLOCK_COPY_INL_H_
