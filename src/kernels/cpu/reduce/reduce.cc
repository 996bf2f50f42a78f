// SPDX-License-Identifier: Apache-2.0
//
// Mean, sum, maximum and minimum of float32 over any axes.
//
// Where a kept axis is dense (the mean over the pixels of a channels-last image) vectors run along it; where
// a reduced axis is dense (the mean over the last axis) vectors run along that one and their lanes are added
// at the end; else elements one by one. Sums are added up in blocks, so that the error of a long sum stays
// that of a short one. The order of additions follows from shapes and strides alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/reduce.cc"
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_REDUCE_CONSTANTS_
#define WEIR_KERNELS_CPU_REDUCE_CONSTANTS_
namespace weir {

enum class ReduceMode : uint8_t { kColumns, kRows, kElements };

struct ReduceConstants {
  ReduceKind kind = ReduceKind::kMean;
  ReduceMode mode = ReduceMode::kElements;
  // Outputs: those of `kept`, by the dense kept axis in columns mode, else by 1. Operands: x, y.
  StridedLoop<2> kept;
  TileGrid grid;
  int64_t y_step = 1;  // along the dense axis
  // What is added up: `reduced` times `length` along the last axis. Operand: x.
  StridedLoop<1> reduced;
  int64_t length = 1;
  int64_t step = 1;  // of x along `length`
  double count = 1;
};

// Rows of a block of a sum.
inline constexpr int64_t kReduceBlock = 64;

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace reduce_internal {

#define WEIR_UNROLL _Pragma("GCC unroll 16")

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

struct Sum {
  static constexpr bool kBlocks = true;
  static HWY_INLINE float start() { return 0; }
  static HWY_INLINE Vector add(Vector sum, Vector x) { return hn::Add(sum, x); }
  static HWY_INLINE float add(float sum, float x) { return sum + x; }
};

struct Max {
  static constexpr bool kBlocks = false;
  static HWY_INLINE float start() { return -std::numeric_limits<float>::infinity(); }
  static HWY_INLINE Vector add(Vector sum, Vector x) { return max_with_nan(sum, x); }
  static HWY_INLINE float add(float sum, float x) { return x > sum || x != x ? x : sum; }
};

struct Min {
  static constexpr bool kBlocks = false;
  static HWY_INLINE float start() { return std::numeric_limits<float>::infinity(); }
  static HWY_INLINE Vector add(Vector sum, Vector x) { return min_with_nan(sum, x); }
  static HWY_INLINE float add(float sum, float x) { return x < sum || x != x ? x : sum; }
};

// kVectors vectors along the dense kept axis, `count` elements of them used, over rows `step` apart. Rows go
// round-robin to 4 / kVectors accumulators each, to hide the latency of an addition.
template <class Kind, int kVectors, bool kPartial>
HWY_INLINE void reduce_columns(const ReduceConstants& constants, const float* x, float scale, float* y,
                               size_t count) {
  constexpr int kRows = 4 / kVectors;
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto load = [&](const float* from) HWY_ATTR {
    if constexpr (kPartial) {
      return load_n(d, from, count);
    } else {
      return hn::LoadU(d, from);
    }
  };
  const Vector start = hn::Set(d, Kind::start());
  Vector total[kVectors];
  WEIR_UNROLL for (int v = 0; v < kVectors; ++v) total[v] = start;
  LoopCursor<1> outer(constants.reduced, 1, 0);
  const int64_t outer_count = constants.reduced.count();
  for (int64_t o = 0; o < outer_count; ++o, outer.next()) {
    const float* block = x + outer.offset(0);
    for (int64_t first = 0; first < constants.length; first += kReduceBlock) {
      const int64_t rows = constants.length - first < kReduceBlock ? constants.length - first : kReduceBlock;
      const float* row = block + first * constants.step;
      Vector sums[kRows][kVectors];
      WEIR_UNROLL for (int r = 0; r < kRows; ++r) {
        WEIR_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] = start;
      }
      int64_t i = 0;
      for (; i + kRows <= rows; i += kRows) {
        WEIR_UNROLL for (int r = 0; r < kRows; ++r, row += constants.step) {
          WEIR_UNROLL for (int v = 0; v < kVectors; ++v) sums[r][v] =
              Kind::add(sums[r][v], load(row + v * kLanes));
        }
      }
      for (; i < rows; ++i, row += constants.step) {
        WEIR_UNROLL for (int v = 0; v < kVectors; ++v) sums[0][v] =
            Kind::add(sums[0][v], load(row + v * kLanes));
      }
      WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
        WEIR_UNROLL for (int r = 1; r < kRows; ++r) sums[0][v] = Kind::add(sums[0][v], sums[r][v]);
        total[v] = Kind::add(total[v], sums[0][v]);
      }
    }
  }
  if (constants.kind == ReduceKind::kMean) {
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) total[v] = hn::Div(total[v], hn::Set(d, scale));
  }
  if (constants.y_step == 1) {
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
      if constexpr (kPartial) {
        store_n(total[v], d, y, count);
      } else {
        hn::StoreU(total[v], d, y + v * kLanes);
      }
    }
  } else {
    HWY_ALIGN float lanes[kVectors * kLanes];
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) hn::Store(total[v], d, lanes + v * kLanes);
    for (size_t i = 0; i < count; ++i) y[static_cast<int64_t>(i) * constants.y_step] = lanes[i];
  }
}

template <class Kind>
HWY_INLINE void reduce_width(const ReduceConstants& constants, const float* x, float* y, int64_t width) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
  const float scale = static_cast<float>(constants.count);
  int64_t c = 0;
  for (; c + 4 * kLanes <= width; c += 4 * kLanes) {
    reduce_columns<Kind, 4, false>(constants, x + c, scale, y + c * constants.y_step, 4 * kLanes);
  }
  if (c + 2 * kLanes <= width) {
    reduce_columns<Kind, 2, false>(constants, x + c, scale, y + c * constants.y_step, 2 * kLanes);
    c += 2 * kLanes;
  }
  if (c + kLanes <= width) {
    reduce_columns<Kind, 1, false>(constants, x + c, scale, y + c * constants.y_step, kLanes);
    c += kLanes;
  }
  if (c < width) {
    reduce_columns<Kind, 1, true>(constants, x + c, scale, y + c * constants.y_step,
                                  static_cast<size_t>(width - c));
  }
}

// All elements of dense rows.
template <class Kind>
HWY_INLINE float reduce_rows(const ReduceConstants& constants, const float* x) {
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const Vector start = hn::Set(d, Kind::start());
  Vector total = start;
  LoopCursor<1> outer(constants.reduced, 1, 0);
  const int64_t outer_count = constants.reduced.count();
  for (int64_t o = 0; o < outer_count; ++o, outer.next()) {
    const float* row = x + outer.offset(0);
    for (int64_t first = 0; first < constants.length; first += 4 * kLanes * kReduceBlock) {
      const int64_t left = constants.length - first;
      const int64_t count = left < 4 * kLanes * kReduceBlock ? left : 4 * kLanes * kReduceBlock;
      const float* from = row + first;
      Vector s0 = start, s1 = start, s2 = start, s3 = start;
      int64_t i = 0;
      for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        s0 = Kind::add(s0, hn::LoadU(d, from + i));
        s1 = Kind::add(s1, hn::LoadU(d, from + i + kLanes));
        s2 = Kind::add(s2, hn::LoadU(d, from + i + 2 * kLanes));
        s3 = Kind::add(s3, hn::LoadU(d, from + i + 3 * kLanes));
      }
      for (; i + kLanes <= count; i += kLanes) s0 = Kind::add(s0, hn::LoadU(d, from + i));
      if (i < count) {
        const size_t rest = static_cast<size_t>(count - i);
        const auto mask = hn::FirstN(d, rest);
        s1 = hn::IfThenElse(mask, Kind::add(s1, load_n(d, from + i, rest)), s1);
      }
      total = Kind::add(total, Kind::add(Kind::add(s0, s1), Kind::add(s2, s3)));
    }
  }
  float result;
  if constexpr (Kind::kBlocks) {
    result = hn::GetLane(hn::SumOfLanes(d, total));
  } else {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(total, d, lanes);
    for (int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (int64_t i = 0; i < half; ++i) lanes[i] = Kind::add(lanes[i], lanes[i + half]);
    }
    result = lanes[0];
  }
  return constants.kind == ReduceKind::kMean ? result / static_cast<float>(constants.count) : result;
}

template <class Kind>
HWY_INLINE float reduce_elements(const ReduceConstants& constants, const float* x) {
  LoopCursor<1> outer(constants.reduced, 1, 0);
  const int64_t outer_count = constants.reduced.count();
  if constexpr (Kind::kBlocks) {
    double sum = 0;
    for (int64_t o = 0; o < outer_count; ++o, outer.next()) {
      const float* row = x + outer.offset(0);
      for (int64_t i = 0; i < constants.length; ++i) sum += static_cast<double>(row[i * constants.step]);
    }
    return static_cast<float>(constants.kind == ReduceKind::kMean ? sum / constants.count : sum);
  } else {
    float best = Kind::start();
    for (int64_t o = 0; o < outer_count; ++o, outer.next()) {
      const float* row = x + outer.offset(0);
      for (int64_t i = 0; i < constants.length; ++i) best = Kind::add(best, row[i * constants.step]);
    }
    return best;
  }
}

template <class Kind>
HWY_INLINE void reduce_kind(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<ReduceConstants>();
  const float* x = reinterpret_cast<const float*>(invocation.bindings[0]);
  float* y = reinterpret_cast<float*>(invocation.bindings[1]);
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const TileGrid::Part part = constants.grid.part(tile);
    LoopCursor<2> cursor(constants.kept, 2, part.row_begin);
    for (int64_t i = part.row_begin; i < part.row_end; ++i, cursor.next()) {
      const float* from = x + cursor.offset(0) + part.column_begin;
      float* to = y + cursor.offset(1) + part.column_begin * constants.y_step;
      switch (constants.mode) {
        case ReduceMode::kColumns:
          reduce_width<Kind>(constants, from, to, part.column_end - part.column_begin);
          break;
        case ReduceMode::kRows:
          *to = reduce_rows<Kind>(constants, from);
          break;
        case ReduceMode::kElements:
          *to = reduce_elements<Kind>(constants, from);
          break;
      }
    }
  }
}

}  // namespace reduce_internal

void reduce(const CpuInvocation& invocation) {
  switch (invocation.constants_as<ReduceConstants>().kind) {
    case ReduceKind::kMean:
    case ReduceKind::kSum:
      return reduce_internal::reduce_kind<reduce_internal::Sum>(invocation);
    case ReduceKind::kMax:
      return reduce_internal::reduce_kind<reduce_internal::Max>(invocation);
    case ReduceKind::kMin:
      return reduce_internal::reduce_kind<reduce_internal::Min>(invocation);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

constexpr int64_t kTileReads = 32768;

Support supported(const OpDesc& desc) {
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.outputs[0] == nullptr) {
    return {"the reduction does not have one input and one output"};
  }
  if (desc.inputs[0]->element_type != ElementType::kFloat32 ||
      desc.outputs[0]->element_type != ElementType::kFloat32) {
    return {"the element type is not float32"};
  }
  const auto& attributes = std::get<ReduceAttributes>(*desc.attributes);
  const int removed = attributes.keep_dims ? 0 : static_cast<int>(attributes.axes.size());
  if (desc.outputs[0]->rank() != desc.inputs[0]->rank() - removed ||
      (!attributes.axes.empty() && attributes.axes.back() >= desc.inputs[0]->rank())) {
    return {"the axes and operands differ in rank"};
  }
  return {};
}

template <size_t kOperands>
int dense_axis(const StridedLoop<kOperands>& loop) {
  for (int i = 0; i < loop.rank; ++i) {
    if (loop.strides[0][i] == 1) return i;
  }
  return -1;
}

ReduceConstants make_constants(const ConcreteOp& op) {
  const auto& attributes = op.get<ReduceAttributes>();
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  ReduceConstants constants;
  constants.kind = attributes.kind;
  Axes kept_shape{};
  Axes kept_x{};
  Axes kept_y{};
  Axes reduced_shape{};
  Axes reduced_x{};
  int kept = 0;
  int reduced = 0;
  int y_axis = 0;
  for (int i = 0; i < x.rank; ++i) {
    if (std::find(attributes.axes.begin(), attributes.axes.end(), i) != attributes.axes.end()) {
      reduced_shape[reduced] = x.shape[i];
      reduced_x[reduced++] = x.strides[i];
      constants.count *= static_cast<double>(x.shape[i]);
      if (attributes.keep_dims) ++y_axis;
    } else {
      kept_shape[kept] = x.shape[i];
      kept_x[kept] = x.strides[i];
      kept_y[kept++] = y.strides[y_axis++];
    }
  }
  constants.kept = make_strided_loop<2>(kept_shape, kept, {kept_x, kept_y}, 2, 0);
  constants.reduced = make_strided_loop<1>(reduced_shape, reduced, {reduced_x}, 1, 0);
  const int64_t reads = constants.reduced.count();
  if (constants.reduced.empty) {
    // Nothing to add up: one loop of no rows.
    constants.reduced = {};
    constants.length = 0;
  }
  // One axis of what is added up is the inner loop: the dense one, or the last.
  const int dense_reduced = dense_axis(constants.reduced);
  const int dense_kept = dense_axis(constants.kept);
  if (constants.reduced.rank > 0) {
    const int inner = dense_reduced >= 0 ? dense_reduced : constants.reduced.rank - 1;
    constants.length = constants.reduced.shape[inner];
    constants.step = constants.reduced.strides[0][inner];
    remove_axis(constants.reduced, inner);
  }
  int64_t width = 1;
  if (dense_reduced >= 0) {
    constants.mode = ReduceMode::kRows;
  } else if (dense_kept >= 0) {
    constants.mode = ReduceMode::kColumns;
    width = constants.kept.shape[dense_kept];
    constants.y_step = constants.kept.strides[1][dense_kept];
    remove_axis(constants.kept, dense_kept);
  }
  // Few outputs of many elements each are shared out by whole cache lines of columns.
  const int64_t outputs = std::max<int64_t>(kTileReads / std::max<int64_t>(reads, 1), 1);
  constants.grid = make_tile_grid(constants.kept.count(), width, align_up(outputs, 16), outputs);
  return constants;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const ReduceConstants constants = make_constants(op);
  return record(constants, constants.grid.tiles(), target);
}

constexpr Implementation kBase = {.op = Op::kReduce, .supported = supported, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Reduce, "reduce.vector", kBase, reduce)

}  // namespace weir
#endif
