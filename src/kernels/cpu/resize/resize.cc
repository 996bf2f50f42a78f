// SPDX-License-Identifier: Apache-2.0
//
// Resize along one or two axes: nearest for elements of any size, linear for float32.
//
// The inner resized axis is called w, the outer one, if there is any, h. What each position of w reads is
// worked out once a call, into the participant's scratch. Vectors run along a dense axis that is not resized
// (the channels of a channels-last image), else along w: there a row of linear is first blended from two rows
// of the input.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/resize/resize.cc"
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/copy/block_copy-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"
#include "kernels/resize_coordinates.h"

#ifndef WEIR_KERNELS_CPU_RESIZE_CONSTANTS_
#define WEIR_KERNELS_CPU_RESIZE_CONSTANTS_
namespace weir {

struct ResizeAxis {
  int64_t input = 1;
  int64_t output = 1;
  int64_t x_stride = 0;
  int64_t y_stride = 0;
  float scale = 1;
};

struct ResizeConstants {
  bool linear = false;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  int32_t element_bytes = 4;
  ResizeAxis h;
  ResizeAxis w;
  // Axes that are not resized: x, y. Without the dense one.
  StridedLoop<2> outer;
  int64_t width = 1;  // of the axis along which vectors run; 1 where w is that axis
  int64_t x_step = 1;
  int64_t y_step = 1;
  bool along_w = false;
  TileGrid grid;  // of `outer` by h × positions of w, `width` elements each
};

// What one position reads: offsets in elements along its axis, and the weight of the second.
struct ResizeTap {
  int64_t low = 0;
  int64_t high = 0;
  float fraction = 0;
};

inline ResizeTap resize_tap(const ResizeConstants& constants, const ResizeAxis& axis, int64_t position) {
  if (axis.scale == 1.0f && axis.input == axis.output) {
    return {position * axis.x_stride, position * axis.x_stride, 0};
  }
  const float coordinate =
      resize_coordinate(constants.coordinates, axis.scale, position, axis.input, axis.output);
  if (!constants.linear) {
    const int64_t source = resize_nearest(constants.nearest, coordinate, axis.input) * axis.x_stride;
    return {source, source, 0};
  }
  const LinearTaps taps = resize_linear(coordinate, axis.input);
  return {taps.low * axis.x_stride, taps.high * axis.x_stride, taps.fraction};
}

// Scratch: the taps of w, then a row of the input.
constexpr int64_t resize_row_offset(const ResizeConstants& constants) {
  return (constants.w.output * static_cast<int64_t>(sizeof(ResizeTap)) + 63) / 64 * 64;
}

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace resize_internal {

// Columns [begin, end) of a row of nearest.
template <typename T>
HWY_INLINE void nearest_row(const ResizeConstants& constants, const ResizeTap* taps, const T* x, T* y,
                            int64_t begin, int64_t end) {
  const int64_t y_stride = constants.w.y_stride;
  const int64_t width = constants.width;
  if (constants.along_w) {
    for (int64_t w = begin; w < end; ++w) y[w * y_stride] = x[taps[w].low];
  } else if (constants.x_step == 1 && constants.y_step == 1) {
    for (int64_t w = begin; w < end; ++w) copy_dense(x + taps[w].low, y + w * y_stride, width);
  } else {
    for (int64_t w = begin; w < end; ++w) {
      const T* from = x + taps[w].low;
      T* to = y + w * y_stride;
      for (int64_t c = 0; c < width; ++c) to[c * constants.y_step] = from[c * constants.x_step];
    }
  }
}

// Twice as wide, each element two times: the common case along w.
HWY_INLINE void double_row(const uint32_t* x, uint32_t* y, int64_t count) {
  const hn::ScalableTag<uint32_t> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto v = hn::LoadU(d, x + i);
    hn::StoreInterleaved2(v, v, d, y + 2 * i);
  }
  for (; i < count; ++i) y[2 * i] = y[2 * i + 1] = x[i];
}

// One pixel of linear: `width` dense channels.
HWY_INLINE void linear_pixel(const float* x00, const float* x01, const float* x10, const float* x11, float fh,
                             float fw, float* y, int64_t width) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const auto a = hn::Set(d, (1 - fh) * (1 - fw));
  const auto b = hn::Set(d, (1 - fh) * fw);
  const auto c = hn::Set(d, fh * (1 - fw));
  const auto e = hn::Set(d, fh * fw);
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    auto sum = hn::Mul(a, hn::LoadU(d, x00 + i));
    sum = hn::MulAdd(b, hn::LoadU(d, x01 + i), sum);
    sum = hn::MulAdd(c, hn::LoadU(d, x10 + i), sum);
    hn::StoreU(hn::MulAdd(e, hn::LoadU(d, x11 + i), sum), d, y + i);
  }
  if (i < width) {
    const size_t rest = static_cast<size_t>(width - i);
    auto sum = hn::Mul(a, load_n(d, x00 + i, rest));
    sum = hn::MulAdd(b, load_n(d, x01 + i, rest), sum);
    sum = hn::MulAdd(c, load_n(d, x10 + i, rest), sum);
    store_n(hn::MulAdd(e, load_n(d, x11 + i, rest), sum), d, y + i, rest);
  }
}

HWY_INLINE void linear_row(const ResizeConstants& constants, const ResizeTap* taps, const ResizeTap& h,
                           const float* x, float* y, float* blended, int64_t begin, int64_t end) {
  const float* low = x + h.low;
  const float* high = x + h.high;
  const int64_t y_stride = constants.w.y_stride;
  if (constants.along_w) {
    // Blend the two rows, then pick neighbours of the result.
    const hn::ScalableTag<float> d;
    constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
    const auto fraction = hn::Set(d, h.fraction);
    const auto rest = hn::Set(d, 1 - h.fraction);
    const int64_t input = constants.w.input;
    int64_t i = 0;
    for (; i + kLanes <= input; i += kLanes) {
      hn::StoreU(hn::MulAdd(fraction, hn::LoadU(d, high + i), hn::Mul(rest, hn::LoadU(d, low + i))), d,
                 blended + i);
    }
    for (; i < input; ++i) blended[i] = (1 - h.fraction) * low[i] + h.fraction * high[i];
    for (int64_t w = begin; w < end; ++w) {
      const ResizeTap& tap = taps[w];
      y[w] = (1 - tap.fraction) * blended[tap.low] + tap.fraction * blended[tap.high];
    }
    return;
  }
  for (int64_t w = begin; w < end; ++w) {
    const ResizeTap& tap = taps[w];
    float* to = y + w * y_stride;
    if (constants.x_step == 1 && constants.y_step == 1) {
      linear_pixel(low + tap.low, low + tap.high, high + tap.low, high + tap.high, h.fraction, tap.fraction,
                   to, constants.width);
      continue;
    }
    for (int64_t c = 0; c < constants.width; ++c) {
      const int64_t at = c * constants.x_step;
      const float upper = (1 - tap.fraction) * low[tap.low + at] + tap.fraction * low[tap.high + at];
      const float lower = (1 - tap.fraction) * high[tap.low + at] + tap.fraction * high[tap.high + at];
      to[c * constants.y_step] = (1 - h.fraction) * upper + h.fraction * lower;
    }
  }
}

}  // namespace resize_internal

void resize(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<ResizeConstants>();
  const int64_t bytes = constants.element_bytes;
  ResizeTap* const taps = reinterpret_cast<ResizeTap*>(invocation.scratch);
  float* const blended = reinterpret_cast<float*>(invocation.scratch + resize_row_offset(constants));
  bool doubles = constants.along_w && !constants.linear && bytes == 4 &&
                 constants.w.output == 2 * constants.w.input && constants.grid.column_tiles == 1;
  for (int64_t w = 0; w < constants.w.output; ++w) {
    taps[w] = resize_tap(constants, constants.w, w);
    doubles = doubles && taps[w].low == w / 2;
  }
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const TileGrid::Part part = constants.grid.part(tile);
    const int64_t begin = part.column_begin;
    const int64_t end = part.column_end;
    int64_t h = part.row_begin % constants.h.output;
    LoopCursor<2> cursor(constants.outer, 2, part.row_begin / constants.h.output);
    for (int64_t r = part.row_begin; r < part.row_end; ++r) {
      const ResizeTap tap = resize_tap(constants, constants.h, h);
      const std::byte* x = invocation.bindings[0] + cursor.offset(0) * bytes;
      std::byte* y = invocation.bindings[1] + (cursor.offset(1) + h * constants.h.y_stride) * bytes;
      const std::byte* x_row = x + tap.low * bytes;
      if (constants.linear) {
        resize_internal::linear_row(constants, taps, tap, reinterpret_cast<const float*>(x),
                                    reinterpret_cast<float*>(y), blended, begin, end);
      } else if (doubles) {
        resize_internal::double_row(reinterpret_cast<const uint32_t*>(x_row), reinterpret_cast<uint32_t*>(y),
                                    constants.w.input);
      } else if (bytes == 4) {
        resize_internal::nearest_row(constants, taps, reinterpret_cast<const uint32_t*>(x_row),
                                     reinterpret_cast<uint32_t*>(y), begin, end);
      } else if (bytes == 1) {
        resize_internal::nearest_row(constants, taps, reinterpret_cast<const uint8_t*>(x_row),
                                     reinterpret_cast<uint8_t*>(y), begin, end);
      } else if (bytes == 2) {
        resize_internal::nearest_row(constants, taps, reinterpret_cast<const uint16_t*>(x_row),
                                     reinterpret_cast<uint16_t*>(y), begin, end);
      } else {
        resize_internal::nearest_row(constants, taps, reinterpret_cast<const uint64_t*>(x_row),
                                     reinterpret_cast<uint64_t*>(y), begin, end);
      }
      if (++h == constants.h.output) {
        h = 0;
        cursor.next();
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

bool is_kept(const ResizeAttributes& attributes, const TensorType& x, const TensorType& y, size_t axis) {
  return x.shape[axis] == y.shape[axis] && (attributes.scales.empty() || attributes.scales[axis] == 1);
}

Support supported(const OpDesc& desc) {
  const auto& attributes = std::get<ResizeAttributes>(*desc.attributes);
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.outputs[0] == nullptr) {
    return {"the resize does not have one input and one output"};
  }
  const TensorType& x = *desc.inputs[0];
  const TensorType& y = *desc.outputs[0];
  if (x.rank() != y.rank() || x.element_type != y.element_type ||
      (!attributes.scales.empty() && attributes.scales.size() != x.shape.size())) {
    return {"the scales and operands differ in rank or type"};
  }
  if (attributes.mode == ResizeMode::kCubic) return {"the mode is cubic"};
  if (attributes.mode == ResizeMode::kLinear && x.element_type != ElementType::kFloat32) {
    return {"the mode is linear and the type not float32"};
  }
  if (bit_width(x.element_type) < 8) return {"elements are narrower than a byte"};
  int resized = 0;
  for (size_t i = 0; i < x.shape.size(); ++i) resized += is_kept(attributes, x, y, i) ? 0 : 1;
  if (resized > 2) return {"more than two axes are resized"};
  return {};
}

ResizeConstants make_constants(const ConcreteOp& op) {
  const auto& attributes = op.get<ResizeAttributes>();
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  ResizeConstants constants;
  constants.linear = attributes.mode == ResizeMode::kLinear;
  constants.coordinates = attributes.coordinates;
  constants.nearest = attributes.nearest;
  constants.element_bytes = bit_width(x.type) / 8;
  // From the last axis on, the first that is resized is w and the next h.
  Axes kept = y.shape;
  ResizeAxis* next = &constants.w;
  for (int i = x.rank - 1; i >= 0; --i) {
    const float scale = resize_scale(attributes, static_cast<size_t>(i), x.shape[i], y.shape[i]);
    if (x.shape[i] == y.shape[i] && scale == 1.0f) continue;
    *next = {x.shape[i], y.shape[i], x.strides[i], y.strides[i], scale};
    next = &constants.h;
    kept[i] = y.shape[i] == 0 ? 0 : 1;
  }
  StridedLoop<2> loop = make_strided_loop<2>(kept, x.rank, {x.strides, y.strides}, 2, 1);
  const int64_t outer = x.element_count() == 0 ? 0 : loop.count();
  constants.along_w = constants.w.x_stride == 1 && constants.w.y_stride == 1;
  if (!constants.along_w && loop.rank > 0) {
    int dense = loop.rank - 1;
    for (int i = 0; i < loop.rank; ++i) {
      if (loop.strides[0][i] == 1 && loop.strides[1][i] == 1) dense = i;
    }
    constants.width = loop.shape[dense];
    constants.x_step = loop.strides[0][dense];
    constants.y_step = loop.strides[1][dense];
    remove_axis(loop, dense);
  }
  constants.outer = loop;
  const int64_t width = std::max<int64_t>(constants.width, 1);
  const int64_t rows = outer / width * constants.h.output;
  // Few rows are shared out by columns, too.
  const int64_t positions = std::max<int64_t>(kTileElements / width, 1);
  constants.grid = make_tile_grid(
      rows, constants.w.output,
      std::max<int64_t>(rows < 16 ? std::max<int64_t>(positions, 16) : constants.w.output, 1), positions);
  return constants;
}

Plan plan(const ConcreteOp& op) {
  const ResizeConstants constants = make_constants(op);
  return {.workspace_bytes = 0, .scratch_bytes = resize_row_offset(constants) + constants.w.input * 4};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const ResizeConstants constants = make_constants(op);
  return record(constants, constants.grid.tiles(), target);
}

constexpr Implementation kBase = {.op = Op::kResize, .supported = supported, .plan = plan, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Resize, "resize.two_axes", kBase, resize)

}  // namespace weir
#endif
