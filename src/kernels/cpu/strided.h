// SPDX-License-Identifier: Apache-2.0
//
// Loop nests over several strided operands, with as few axes as their strides allow.
//
//   StridedLoop<2> loop = make_strided_loop<2>(shape, rank, {in_strides, out_strides}, /*key=*/1);
//   // loop.shape, innermost axis last, and loop.strides[operand]
//
// Axes of extent 1 go, axes are put in the order of the key operand's memory (largest stride first), and
// neighbours over which every operand is contiguous are joined. Plain data; kernels keep it in their
// constants.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace weir {

using Axes = std::array<int64_t, kMaxRank>;

template <size_t kOperands>
struct StridedLoop {
  int32_t rank = 0;
  bool empty = false;  // some axis has extent 0
  Axes shape{};        // of the `rank` axes
  std::array<Axes, kOperands> strides{};

  int64_t count() const {
    int64_t count = empty ? 0 : 1;
    for (int i = 0; i < rank; ++i) count *= shape[i];
    return count;
  }
};

// `count` operands of the loop are used. `key` names the operand whose order in memory the axes take. With
// `reorder` false the axes keep their order.
template <size_t kOperands>
StridedLoop<kOperands> make_strided_loop(const Axes& shape, int rank,
                                         const std::array<Axes, kOperands>& strides, int count, int key,
                                         bool reorder = true) {
  StridedLoop<kOperands> loop;
  std::array<int, kMaxRank> order{};
  int kept = 0;
  for (int i = 0; i < rank; ++i) {
    if (shape[i] == 0) loop.empty = true;
    if (shape[i] != 1) order[kept++] = i;
  }
  const auto magnitude = [&](int axis) {
    const int64_t stride = strides[key][axis];
    return stride < 0 ? -stride : stride;
  };
  if (reorder) {
    // Insertion sort: stable, and allocates nothing.
    for (int i = 1; i < kept; ++i) {
      for (int j = i; j > 0 && magnitude(order[j - 1]) < magnitude(order[j]); --j)
        std::swap(order[j - 1], order[j]);
    }
  }
  for (int i = 0; i < kept; ++i) {
    const int axis = order[i];
    bool joins = loop.rank > 0;
    for (int k = 0; k < count && joins; ++k) {
      joins = loop.strides[k][loop.rank - 1] == strides[k][axis] * shape[axis];
    }
    if (joins) {
      loop.shape[loop.rank - 1] *= shape[axis];
    } else {
      loop.shape[loop.rank++] = shape[axis];
    }
    for (int k = 0; k < count; ++k) loop.strides[k][loop.rank - 1] = strides[k][axis];
  }
  return loop;
}

// Takes axis `axis` out of `loop`.
template <size_t kOperands>
void remove_axis(StridedLoop<kOperands>& loop, int axis) {
  for (int i = axis; i + 1 < loop.rank; ++i) {
    loop.shape[i] = loop.shape[i + 1];
    for (Axes& strides : loop.strides) strides[i] = strides[i + 1];
  }
  --loop.rank;
}

// Rows × columns of results, cut into tiles in both directions, columns fastest.
struct TileGrid {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t rows_per_tile = 1;  // but for the last ones
  int64_t columns_per_tile = 1;
  int64_t column_tiles = 0;

  int64_t tiles() const { return (rows + rows_per_tile - 1) / rows_per_tile * column_tiles; }

  struct Part {
    int64_t row_begin;
    int64_t row_end;
    int64_t column_begin;
    int64_t column_end;
  };
  Part part(int64_t tile) const {
    const int64_t row = tile / column_tiles * rows_per_tile;
    const int64_t column = tile % column_tiles * columns_per_tile;
    return {row, std::min(row + rows_per_tile, rows), column, std::min(column + columns_per_tile, columns)};
  }
};

// Tiles of at most that many columns (1 or more), and of as many rows as make about `elements` with them.
inline TileGrid make_tile_grid(int64_t rows, int64_t columns, int64_t columns_per_tile, int64_t elements) {
  TileGrid grid;
  grid.rows = rows;
  grid.columns = columns;
  grid.columns_per_tile = std::min(columns_per_tile, std::max<int64_t>(columns, 1));
  grid.column_tiles = (columns + grid.columns_per_tile - 1) / grid.columns_per_tile;
  grid.rows_per_tile = std::max<int64_t>(1, elements / grid.columns_per_tile);
  return grid;
}

// Walks a loop element by element, the last axis fastest. Offsets are in elements.
template <size_t kOperands>
class LoopCursor {
 public:
  LoopCursor(const StridedLoop<kOperands>& loop, int operands, int64_t position)
      : loop_(loop), operands_(operands) {
    for (int i = loop.rank - 1; i >= 0; --i) {
      index_[i] = position % loop.shape[i];
      position /= loop.shape[i];
      for (int k = 0; k < operands; ++k) offsets_[k] += index_[i] * loop.strides[k][i];
    }
  }
  int64_t offset(int operand) const { return offsets_[operand]; }
  void next() {
    for (int i = loop_.rank - 1; i >= 0; --i) {
      for (int k = 0; k < operands_; ++k) offsets_[k] += loop_.strides[k][i];
      if (++index_[i] < loop_.shape[i]) return;
      for (int k = 0; k < operands_; ++k) offsets_[k] -= loop_.shape[i] * loop_.strides[k][i];
      index_[i] = 0;
    }
  }

 private:
  const StridedLoop<kOperands>& loop_;
  int operands_;
  Axes index_{};
  std::array<int64_t, kOperands> offsets_{};
};

// A loop cut into blocks of rows × columns: columns run along the last axis, rows along the one before it.
// Blocks are numbered, columns fastest, then rows, then the outer axes.
template <size_t kOperands>
struct BlockedLoop {
  StridedLoop<kOperands> loop;  // of rank ≥ 2
  int64_t rows = 1;             // of one block, but for the last ones
  int64_t columns = 1;
  int64_t row_blocks = 1;
  int64_t column_blocks = 1;
  int64_t block_count = 0;
};

// Makes `row_axis` the second to last of `loop`; where the loop has less than two axes, puts axes of extent 1
// before them.
template <size_t kOperands>
void set_row_axis(StridedLoop<kOperands>& loop, int row_axis) {
  while (loop.rank < 2) {
    for (int i = loop.rank; i > 0; --i) loop.shape[i] = loop.shape[i - 1];
    loop.shape[0] = 1;
    for (Axes& strides : loop.strides) {
      for (int i = loop.rank; i > 0; --i) strides[i] = strides[i - 1];
      strides[0] = 0;
    }
    // The only element of an axis of extent 1 is where any stride puts it; 1 counts as dense.
    if (loop.rank == 0) {
      for (Axes& strides : loop.strides) strides[0] = 1;
    }
    ++loop.rank;
    row_axis = loop.rank - 2;
  }
  const auto rotate = [&](Axes& axes) {
    const int64_t moved = axes[row_axis];
    for (int i = row_axis; i + 2 < loop.rank; ++i) axes[i] = axes[i + 1];
    axes[loop.rank - 2] = moved;
  };
  rotate(loop.shape);
  for (Axes& strides : loop.strides) rotate(strides);
}

// `loop` in blocks of at most `rows` × `columns`.
template <size_t kOperands>
BlockedLoop<kOperands> make_blocked_loop(const StridedLoop<kOperands>& loop, int64_t rows, int64_t columns) {
  BlockedLoop<kOperands> blocked;
  blocked.loop = loop;
  blocked.rows = rows;
  blocked.columns = columns;
  if (loop.empty) return blocked;
  blocked.row_blocks = (loop.shape[loop.rank - 2] + rows - 1) / rows;
  blocked.column_blocks = (loop.shape[loop.rank - 1] + columns - 1) / columns;
  blocked.block_count = blocked.row_blocks * blocked.column_blocks;
  for (int i = 0; i + 2 < loop.rank; ++i) blocked.block_count *= loop.shape[i];
  return blocked;
}

// Walks blocks in order. The offsets are those of a block's first element, in elements.
template <size_t kOperands>
class BlockCursor {
 public:
  BlockCursor(const BlockedLoop<kOperands>& blocked, int operands, int64_t block)
      : blocked_(blocked), operands_(operands) {
    const StridedLoop<kOperands>& loop = blocked.loop;
    column_ = block % blocked.column_blocks;
    block /= blocked.column_blocks;
    row_ = block % blocked.row_blocks;
    block /= blocked.row_blocks;
    for (int i = loop.rank - 3; i >= 0; --i) {
      index_[i] = block % loop.shape[i];
      block /= loop.shape[i];
    }
    locate();
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t offset(int operand) const { return offsets_[operand]; }

  void next() {
    if (++column_ == blocked_.column_blocks) {
      column_ = 0;
      if (++row_ == blocked_.row_blocks) {
        row_ = 0;
        for (int i = blocked_.loop.rank - 3; i >= 0; --i) {
          if (++index_[i] < blocked_.loop.shape[i]) break;
          index_[i] = 0;
        }
      }
    }
    locate();
  }

 private:
  void locate() {
    const StridedLoop<kOperands>& loop = blocked_.loop;
    const int64_t row = row_ * blocked_.rows;
    const int64_t column = column_ * blocked_.columns;
    rows_ = std::min(blocked_.rows, loop.shape[loop.rank - 2] - row);
    columns_ = std::min(blocked_.columns, loop.shape[loop.rank - 1] - column);
    for (int k = 0; k < operands_; ++k) {
      const Axes& strides = loop.strides[k];
      int64_t offset = row * strides[loop.rank - 2] + column * strides[loop.rank - 1];
      for (int i = 0; i + 2 < loop.rank; ++i) offset += index_[i] * strides[i];
      offsets_[k] = offset;
    }
  }

  const BlockedLoop<kOperands>& blocked_;
  int operands_;
  int64_t row_ = 0;
  int64_t column_ = 0;
  int64_t rows_ = 0;
  int64_t columns_ = 0;
  Axes index_{};
  std::array<int64_t, kOperands> offsets_{};
};

// Strides of `operand` seen as one of `shape` with `rank` axes: aligned at the last axis, 0 where it is
// broadcast.
inline Axes broadcast_strides(const TensorSpec& operand, std::span<const int64_t> shape) {
  Axes strides{};
  const int rank = static_cast<int>(shape.size());
  for (int i = 0; i < operand.rank; ++i) {
    const int axis = rank - operand.rank + i;
    if (axis >= 0 && operand.shape[i] != 1) strides[axis] = operand.strides[i];
  }
  return strides;
}

}  // namespace weir
