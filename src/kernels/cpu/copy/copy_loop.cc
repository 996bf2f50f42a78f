// SPDX-License-Identifier: Apache-2.0
//
// Cutting strided copies into blocks.
#include "kernels/cpu/copy/copy_loop.h"

#include <cstdlib>

namespace weir {
namespace {

// Source and target of a block fit the first-level cache together.
constexpr int64_t kBlockBytes = 16384;
constexpr int64_t kTileBytes = 32768;

}  // namespace

BlockedLoop<2> make_copy_loop(const Axes& shape, int rank, const Axes& source_strides,
                              const Axes& target_strides, int element_bytes) {
  auto loop = make_strided_loop<2>(shape, rank, {source_strides, target_strides}, 2, kCopyTarget);
  int row_axis = loop.rank - 2;
  bool transposes = false;
  if (loop.rank >= 2) {
    const int64_t inner = loop.strides[kCopySource][loop.rank - 1];
    if (inner != 1 && inner != 0) {
      for (int axis = 0; axis + 1 < loop.rank; ++axis) {
        if (loop.strides[kCopySource][axis] == 1) {
          row_axis = axis;
          transposes = true;
        }
      }
    }
  }
  set_row_axis(loop, row_axis);
  const int64_t height = std::max<int64_t>(loop.shape[loop.rank - 2], 1);
  const int64_t width = std::max<int64_t>(loop.shape[loop.rank - 1], 1);
  const int64_t elements = kBlockBytes / element_bytes;
  int64_t rows;
  int64_t columns;
  if (transposes) {
    // Bands of whole cache lines of both sides. With few rows or columns (an image's colours) long strips.
    const int64_t line = 64 / element_bytes;
    columns = std::min(width, std::max(elements / height, 4 * line));
    rows = std::min(height, std::max(elements / columns / line * line, line));
  } else {
    columns = std::min(width, elements);
    rows = std::min(height, std::max<int64_t>(elements / columns, 1));
  }
  return make_blocked_loop(loop, rows, columns);
}

int64_t copy_blocks_per_tile(const BlockedLoop<2>& loop, int element_bytes) {
  return std::max<int64_t>(1, kTileBytes / (loop.rows * loop.columns * element_bytes));
}

ReshapeAxes refine_reshape(const TensorSpec& source, const TensorSpec& target) {
  // Each side's own contiguous axes joined, innermost last.
  const auto joined = [](const TensorSpec& spec) {
    return make_strided_loop<1>(spec.shape, spec.rank, {spec.strides}, 1, 0, /*reorder=*/false);
  };
  const StridedLoop<1> from = joined(source);
  const StridedLoop<1> to = joined(target);
  ReshapeAxes result;
  if (from.empty || to.empty) {
    result.nests = true;
    result.rank = 1;
    result.shape[0] = 0;
    return result;
  }
  // From the innermost axes outwards: the lesser of the two extents is an axis of both, if it divides the
  // other.
  int i = from.rank - 1;
  int j = to.rank - 1;
  int64_t left_from = i >= 0 ? from.shape[i] : 1;
  int64_t left_to = j >= 0 ? to.shape[j] : 1;
  int64_t stride_from = i >= 0 ? from.strides[0][i] : 0;
  int64_t stride_to = j >= 0 ? to.strides[0][j] : 0;
  Axes shape{};
  Axes source_strides{};
  Axes target_strides{};
  int rank = 0;
  while (i >= 0 && j >= 0) {
    const int64_t extent = std::min(left_from, left_to);
    if (left_from % extent != 0 || left_to % extent != 0 || rank == kMaxRank) return result;
    shape[rank] = extent;
    source_strides[rank] = stride_from;
    target_strides[rank] = stride_to;
    ++rank;
    left_from /= extent;
    left_to /= extent;
    stride_from *= extent;
    stride_to *= extent;
    if (left_from == 1 && --i >= 0) {
      left_from = from.shape[i];
      stride_from = from.strides[0][i];
    }
    if (left_to == 1 && --j >= 0) {
      left_to = to.shape[j];
      stride_to = to.strides[0][j];
    }
  }
  result.nests = true;
  result.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    result.shape[axis] = shape[rank - 1 - axis];
    result.source_strides[axis] = source_strides[rank - 1 - axis];
    result.target_strides[axis] = target_strides[rank - 1 - axis];
  }
  return result;
}

}  // namespace weir
