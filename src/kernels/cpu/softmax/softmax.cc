// SPDX-License-Identifier: Apache-2.0
//
// Softmax of float32 along any axis: in vectors along the axis where it is dense, in vectors across it where
// another axis is, else one element at a time. May run in place.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax/softmax.cc"
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_SOFTMAX_CONSTANTS_
#define WEIR_KERNELS_CPU_SOFTMAX_CONSTANTS_
namespace weir {

enum class SoftmaxMode : uint8_t {
  kRows,   // the axis is dense
  kLanes,  // another axis is: vectors take softmaxes side by side
};

struct SoftmaxConstants {
  SoftmaxMode mode = SoftmaxMode::kRows;
  StridedLoop<2> outer;  // x, y; without the axis, and without the dense one in lanes mode
  int64_t length = 0;    // of the axis
  int64_t x_step = 1;    // along it
  int64_t y_step = 1;
  // Softmaxes: those of `outer` by the dense axis across, in lanes mode; 1 where there is none.
  TileGrid grid;
};

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace softmax_internal {

#define WEIR_UNROLL _Pragma("GCC unroll 16")

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// y may be x.
HWY_INLINE void row(const float* x, float* y, int64_t length) {
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  // A NaN is not the greatest, but makes the sum NaN.
  Vector m0 = hn::Set(d, -std::numeric_limits<float>::infinity());
  Vector m1 = m0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    m0 = hn::Max(hn::LoadU(d, x + i), m0);
    m1 = hn::Max(hn::LoadU(d, x + i + kLanes), m1);
  }
  if (i + kLanes <= length) {
    m0 = hn::Max(hn::LoadU(d, x + i), m0);
    i += kLanes;
  }
  const size_t rest = static_cast<size_t>(length - i);
  const auto in_row = hn::FirstN(d, rest);
  if (rest > 0) m1 = hn::IfThenElse(in_row, hn::Max(load_n(d, x + i, rest), m1), m1);
  const Vector greatest = hn::MaxOfLanes(d, hn::Max(m0, m1));

  Vector s0 = hn::Zero(d);
  Vector s1 = s0;
  i = 0;
  for (; i + 2 * kLanes <= length; i += 2 * kLanes) {
    const Vector e0 = exp32(d, hn::Sub(hn::LoadU(d, x + i), greatest));
    const Vector e1 = exp32(d, hn::Sub(hn::LoadU(d, x + i + kLanes), greatest));
    hn::StoreU(e0, d, y + i);
    hn::StoreU(e1, d, y + i + kLanes);
    s0 = hn::Add(s0, e0);
    s1 = hn::Add(s1, e1);
  }
  if (i + kLanes <= length) {
    const Vector e0 = exp32(d, hn::Sub(hn::LoadU(d, x + i), greatest));
    hn::StoreU(e0, d, y + i);
    s0 = hn::Add(s0, e0);
    i += kLanes;
  }
  if (rest > 0) {
    const Vector e1 = exp32(d, hn::Sub(load_n(d, x + i, rest), greatest));
    store_n(e1, d, y + i, rest);
    s1 = hn::Add(s1, hn::IfThenElseZero(in_row, e1));
  }
  const Vector scale = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, hn::Add(s0, s1)));
  i = 0;
  for (; i + kLanes <= length; i += kLanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), scale), d, y + i);
  if (rest > 0) store_n(hn::Mul(load_n(d, y + i, rest), scale), d, y + i, rest);
}

// kVectors vectors of softmaxes side by side, or `count` lanes of one.
template <int kVectors, bool kPartial>
HWY_INLINE void columns(const SoftmaxConstants& constants, const float* x, float* y, size_t count) {
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto load = [&](const float* from) HWY_ATTR {
    if constexpr (kPartial) {
      return load_n(d, from, count);
    } else {
      return hn::LoadU(d, from);
    }
  };
  const auto store = [&](Vector v, float* to) HWY_ATTR {
    if constexpr (kPartial) {
      store_n(v, d, to, count);
    } else {
      hn::StoreU(v, d, to);
    }
  };
  Vector greatest[kVectors];
  Vector sum[kVectors];
  WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
    greatest[v] = hn::Set(d, -std::numeric_limits<float>::infinity());
    sum[v] = hn::Zero(d);
  }
  for (int64_t i = 0; i < constants.length; ++i) {
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
      greatest[v] = hn::Max(load(x + i * constants.x_step + v * kLanes), greatest[v]);
    }
  }
  for (int64_t i = 0; i < constants.length; ++i) {
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
      const Vector e = exp32(d, hn::Sub(load(x + i * constants.x_step + v * kLanes), greatest[v]));
      store(e, y + i * constants.y_step + v * kLanes);
      sum[v] = hn::Add(sum[v], e);
    }
  }
  WEIR_UNROLL for (int v = 0; v < kVectors; ++v) sum[v] = hn::Div(hn::Set(d, 1.0f), sum[v]);
  for (int64_t i = 0; i < constants.length; ++i) {
    WEIR_UNROLL for (int v = 0; v < kVectors; ++v) {
      float* to = y + i * constants.y_step + v * kLanes;
      store(hn::Mul(load(to), sum[v]), to);
    }
  }
}

HWY_INLINE void lanes(const SoftmaxConstants& constants, const float* x, float* y, int64_t width) {
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(Tag()));
  int64_t c = 0;
  for (; c + 4 * kLanes <= width; c += 4 * kLanes) columns<4, false>(constants, x + c, y + c, 0);
  for (; c + kLanes <= width; c += kLanes) columns<1, false>(constants, x + c, y + c, 0);
  if (c < width) columns<1, true>(constants, x + c, y + c, static_cast<size_t>(width - c));
}

}  // namespace softmax_internal

void softmax(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<SoftmaxConstants>();
  const float* x = reinterpret_cast<const float*>(invocation.bindings[0]);
  float* y = reinterpret_cast<float*>(invocation.bindings[1]);
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const TileGrid::Part part = constants.grid.part(tile);
    LoopCursor<2> cursor(constants.outer, 2, part.row_begin);
    for (int64_t i = part.row_begin; i < part.row_end; ++i, cursor.next()) {
      const float* from = x + cursor.offset(0) + part.column_begin;
      float* to = y + cursor.offset(1) + part.column_begin;
      if (constants.mode == SoftmaxMode::kRows) {
        softmax_internal::row(from, to, constants.length);
      } else {
        softmax_internal::lanes(constants, from, to, part.column_end - part.column_begin);
      }
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

constexpr int64_t kTileElements = 8192;

Support supported(const OpDesc& desc) {
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.outputs[0] == nullptr) {
    return {"the softmax does not have one input and one output"};
  }
  if (desc.inputs[0]->element_type != ElementType::kFloat32 ||
      desc.outputs[0]->element_type != ElementType::kFloat32) {
    return {"the element type is not float32"};
  }
  if (desc.inputs[0]->rank() != desc.outputs[0]->rank() ||
      std::get<SoftmaxAttributes>(*desc.attributes).axis >= desc.inputs[0]->rank()) {
    return {"the axis and operands differ in rank"};
  }
  return {};
}

// A softmax reads all of its elements before it writes the first, then each again before it is written.
std::vector<InPlacePair> in_place(const OpDesc&) {
  return {{0, 0}};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  const int axis = static_cast<int>(op.get<SoftmaxAttributes>().axis);
  SoftmaxConstants constants;
  constants.length = x.shape[axis];
  constants.x_step = x.strides[axis];
  constants.y_step = y.strides[axis];
  Axes shape = x.shape;
  shape[axis] = 1;
  constants.outer = make_strided_loop<2>(shape, x.rank, {x.strides, y.strides}, 2, 1);
  int64_t width = 1;
  if ((constants.x_step != 1 || constants.y_step != 1) && constants.length > 1) {
    constants.mode = SoftmaxMode::kLanes;
    StridedLoop<2>& loop = constants.outer;
    for (int i = 0; i < loop.rank; ++i) {
      if (loop.strides[0][i] != 1 || loop.strides[1][i] != 1) continue;
      width = loop.shape[i];
      remove_axis(loop, i);
      break;
    }
  }
  const int64_t softmaxes = std::max<int64_t>(kTileElements / std::max<int64_t>(constants.length, 1), 1);
  constants.grid = make_tile_grid(constants.length == 0 ? 0 : constants.outer.count(), width,
                                  align_up(softmaxes, 64), softmaxes);
  return record(constants, constants.grid.tiles(), target);
}

constexpr Implementation kBase = {
    .op = Op::kSoftmax, .supported = supported, .in_place = in_place, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Softmax, "softmax.vector", kBase, softmax)

}  // namespace weir
#endif
