// SPDX-License-Identifier: Apache-2.0
//
// Pad in any mode, row by row of the innermost axis: a run of padding, a copy, a run of padding. With a
// constant, an axis takes in the contiguous ones inside it that are not padded, so that rows are long.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pad/pad.cc"
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/copy/block_copy-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_PAD_CONSTANTS_
#define WEIR_KERNELS_CPU_PAD_CONSTANTS_
namespace weir {

struct PadAxis {
  int64_t output = 1;
  int64_t pad = 0;     // elements before the input's first
  int64_t extent = 1;  // of the input, less what is cropped
  int64_t x_stride = 0;
  int64_t y_stride = 0;
};

struct PadConstants {
  PadMode mode = PadMode::kConstant;
  int32_t element_bytes = 4;
  int32_t rank = 0;    // the last axis is a row
  uint64_t value = 0;  // the bits of one element
  int64_t x_offset = 0;
  std::array<PadAxis, kMaxRank> axes{};
  int64_t rows = 0;
  int64_t rows_per_tile = 1;
};

// The position in the input that `position` of the output shows; −1 for the constant.
inline int64_t pad_source(PadMode mode, const PadAxis& axis, int64_t position) {
  const int64_t extent = axis.extent;
  position -= axis.pad;
  if (position >= 0 && position < extent) return position;
  if (extent == 0) return -1;
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return position < 0 ? 0 : extent - 1;
    case PadMode::kWrap:
      return (position % extent + extent) % extent;
    case PadMode::kReflect: {
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t phase = (position % period + period) % period;
      return phase < extent ? phase : period - phase;
    }
  }
  return -1;
}

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace pad_internal {

template <typename T>
HWY_INLINE void fill_run(T value, T* to, int64_t stride, int64_t count) {
  if (stride == 1) {
    fill_dense(value, to, count);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * stride] = value;
  }
}

// `x` null: a row of padding only.
template <typename T>
HWY_INLINE void pad_row(const PadConstants& constants, const T* x, T* y) {
  const PadAxis& axis = constants.axes[constants.rank - 1];
  const T value = static_cast<T>(constants.value);
  if (x == nullptr) return fill_run(value, y, axis.y_stride, axis.output);
  const int64_t begin = axis.pad < axis.output ? axis.pad : axis.output;
  const int64_t end = begin + (axis.extent < axis.output - begin ? axis.extent : axis.output - begin);
  if (constants.mode == PadMode::kConstant) {
    fill_run(value, y, axis.y_stride, begin);
    fill_run(value, y + end * axis.y_stride, axis.y_stride, axis.output - end);
  } else {
    const auto fold = [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const int64_t source = pad_source(constants.mode, axis, i);
        y[i * axis.y_stride] = source < 0 ? value : x[source * axis.x_stride];
      }
    };
    fold(0, begin);
    fold(end, axis.output);
  }
  if (axis.x_stride == 1 && axis.y_stride == 1) {
    copy_dense(x, y + begin, end - begin);
  } else {
    for (int64_t i = begin; i < end; ++i) y[i * axis.y_stride] = x[(i - begin) * axis.x_stride];
  }
}

template <typename T>
HWY_INLINE void pad_rows(const CpuInvocation& invocation, const PadConstants& constants) {
  const T* x = reinterpret_cast<const T*>(invocation.bindings[0]) + constants.x_offset;
  T* y = reinterpret_cast<T*>(invocation.bindings[1]);
  const int64_t begin = invocation.tile_begin * constants.rows_per_tile;
  int64_t end = invocation.tile_end * constants.rows_per_tile;
  if (end > constants.rows) end = constants.rows;
  const int outer = constants.rank - 1;
  Axes index{};
  int64_t rest = begin;
  for (int i = outer - 1; i >= 0; --i) {
    index[i] = rest % constants.axes[i].output;
    rest /= constants.axes[i].output;
  }
  for (int64_t row = begin; row < end; ++row) {
    const T* from = x;
    T* to = y;
    for (int i = 0; i < outer; ++i) {
      const PadAxis& axis = constants.axes[i];
      const int64_t source = pad_source(constants.mode, axis, index[i]);
      if (source < 0) from = nullptr;
      if (from != nullptr) from += source * axis.x_stride;
      to += index[i] * axis.y_stride;
    }
    pad_row(constants, from, to);
    for (int i = outer - 1; i >= 0; --i) {
      if (++index[i] < constants.axes[i].output) break;
      index[i] = 0;
    }
  }
}

}  // namespace pad_internal

void pad(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<PadConstants>();
  switch (constants.element_bytes) {
    case 1:
      return pad_internal::pad_rows<uint8_t>(invocation, constants);
    case 2:
      return pad_internal::pad_rows<uint16_t>(invocation, constants);
    case 4:
      return pad_internal::pad_rows<uint32_t>(invocation, constants);
    default:
      return pad_internal::pad_rows<uint64_t>(invocation, constants);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

constexpr int64_t kTileBytes = 32768;

// Truncated towards zero and into the range of T; NaN becomes 0.
template <typename T>
T integer_of(double value) {
  if (std::isnan(value)) return 0;
  if (value >= std::ldexp(1.0, std::numeric_limits<T>::digits)) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

// The bits of `value` as one element.
uint64_t bits_of(ElementType type, double value) {
  const auto bits = [](auto element) {
    uint64_t result = 0;
    std::memcpy(&result, &element, sizeof(element));
    return result;
  };
  switch (type) {
    case ElementType::kFloat32:
      return bits(static_cast<float>(value));
    case ElementType::kFloat64:
      return bits(value);
    case ElementType::kInt8:
      return bits(integer_of<int8_t>(value));
    case ElementType::kUint8:
      return bits(integer_of<uint8_t>(value));
    case ElementType::kInt16:
      return bits(integer_of<int16_t>(value));
    case ElementType::kInt32:
      return bits(integer_of<int32_t>(value));
    case ElementType::kInt64:
      return bits(integer_of<int64_t>(value));
    default:
      return value != 0 ? 1 : 0;  // bool
  }
}

Support supported(const OpDesc& desc) {
  const auto& attributes = std::get<PadAttributes>(*desc.attributes);
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.outputs[0] == nullptr) {
    return {"the pad does not have one input and one output"};
  }
  const TensorType& x = *desc.inputs[0];
  if (x.element_type != desc.outputs[0]->element_type) return {"the operands differ in type"};
  switch (x.element_type) {
    case ElementType::kFloat32:
    case ElementType::kFloat64:
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kInt64:
    case ElementType::kBool:
      break;
    default:
      return {"the element type is none of float32, float64, int8, uint8, int16, int32, int64, bool"};
  }
  const size_t rank = x.shape.size();
  if (attributes.begin.size() != rank || attributes.end.size() != rank ||
      desc.outputs[0]->shape.size() != rank) {
    return {"the pads and operands differ in rank"};
  }
  return {};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<PadAttributes>();
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  PadConstants constants;
  constants.mode = attributes.mode;
  constants.element_bytes = bit_width(x.type) / 8;
  constants.value = bits_of(x.type, attributes.value);
  std::array<PadAxis, kMaxRank> axes{};
  for (int i = 0; i < x.rank; ++i) {
    const int64_t begin = attributes.begin[static_cast<size_t>(i)].constant();
    const int64_t end = attributes.end[static_cast<size_t>(i)].constant();
    const int64_t crop = std::clamp<int64_t>(-begin, 0, x.shape[i]);
    constants.x_offset += crop * x.strides[i];
    axes[i] = {.output = y.shape[i],
               .pad = std::max<int64_t>(begin, 0),
               .extent = std::max<int64_t>(x.shape[i] - crop + std::min<int64_t>(end, 0), 0),
               .x_stride = x.strides[i],
               .y_stride = y.strides[i]};
  }
  std::stable_sort(axes.begin(), axes.begin() + x.rank,
                   [](const PadAxis& a, const PadAxis& b) { return a.y_stride > b.y_stride; });
  const auto is_padded = [](const PadAxis& axis) { return axis.output != axis.extent || axis.pad != 0; };
  for (int i = 0; i < x.rank; ++i) {
    const PadAxis& axis = axes[i];
    if (axis.output == 1 && !is_padded(axis)) continue;
    if (constants.rank > 0) {
      PadAxis& outer = constants.axes[constants.rank - 1];
      const bool joins = !is_padded(axis) && outer.x_stride == axis.x_stride * axis.extent &&
                         outer.y_stride == axis.y_stride * axis.output &&
                         (attributes.mode == PadMode::kConstant || !is_padded(outer));
      if (joins) {
        outer = {.output = outer.output * axis.output,
                 .pad = outer.pad * axis.output,
                 .extent = outer.extent * axis.extent,
                 .x_stride = axis.x_stride,
                 .y_stride = axis.y_stride};
        continue;
      }
    }
    constants.axes[constants.rank++] = axis;
  }
  if (constants.rank == 0) constants.axes[constants.rank++] = {.x_stride = 1, .y_stride = 1};
  constants.rows = y.element_count() == 0 ? 0 : 1;
  for (int i = 0; i + 1 < constants.rank; ++i) constants.rows *= constants.axes[i].output;
  const int64_t row_bytes =
      std::max<int64_t>(constants.axes[constants.rank - 1].output, 1) * constants.element_bytes;
  constants.rows_per_tile = std::max<int64_t>(1, kTileBytes / row_bytes);
  return record(constants, ceil_div(constants.rows, constants.rows_per_tile), target);
}

constexpr Implementation kBase = {.op = Op::kPad, .supported = supported, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Pad, "pad.rows", kBase, pad)

}  // namespace weir
#endif
