// SPDX-License-Identifier: Apache-2.0
//
// Max and average pools of float32: in vectors over channels where those are dense, else one element at a
// time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pool/pool.cc"
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_POOL_CONSTANTS_
#define WEIR_KERNELS_CPU_POOL_CONSTANTS_
namespace weir {

// Depth, height, width; axes that a tensor lacks have extent 1.
inline constexpr int kPoolAxes = 3;

struct PoolAxis {
  int64_t extent = 1;  // of the input
  int64_t output = 1;
  int64_t kernel = 1;
  int64_t step = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t x_stride = 0;
  int64_t y_stride = 0;
};

struct PoolConstants {
  std::array<PoolAxis, kPoolAxes> axes{};
  int64_t x_batch_stride = 0;
  int64_t y_batch_stride = 0;
  int64_t x_channel_stride = 1;
  int64_t y_channel_stride = 1;
  TileGrid grid;  // output pixels of all images × channels
  bool count_include_pad = false;
};

// Taps of a window along one axis that lie in the input: from `first` on, `count` of them.
struct PoolRange {
  int64_t first = 0;  // position in the input
  int64_t count = 0;
  int64_t padded = 0;  // taps that lie in the padded input
};

inline PoolRange pool_range(const PoolAxis& axis, int64_t output) {
  const int64_t start = output * axis.step - axis.pad_begin;
  // The common case, without divisions: all taps lie in the input.
  if (start >= 0 && start + (axis.kernel - 1) * axis.dilation < axis.extent) {
    return {start, axis.kernel, axis.kernel};
  }
  const int64_t skipped = start < 0 ? (-start + axis.dilation - 1) / axis.dilation : 0;
  const auto taps_before = [&](int64_t end) {  // taps at positions < end
    if (end <= start) return int64_t{0};
    const int64_t taps = (end - start + axis.dilation - 1) / axis.dilation;
    return taps < axis.kernel ? taps : axis.kernel;
  };
  PoolRange range;
  range.first = start + skipped * axis.dilation;
  range.count = taps_before(axis.extent) - skipped;
  if (range.count < 0) range.count = 0;
  range.padded = taps_before(axis.extent + axis.pad_end);
  return range;
}

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace pool_internal {

struct Max {
  static HWY_INLINE float start() { return -std::numeric_limits<float>::infinity(); }
  template <class V>
  static HWY_INLINE V add(V sum, V x) {
    return max_with_nan(sum, x);
  }
  static HWY_INLINE float add_scalar(float sum, float x) { return x > sum || x != x ? x : sum; }
};

struct Average {
  static HWY_INLINE float start() { return 0; }
  template <class V>
  static HWY_INLINE V add(V sum, V x) {
    return hn::Add(sum, x);
  }
  static HWY_INLINE float add_scalar(float sum, float x) { return sum + x; }
};

// The taps of one output pixel.
struct Window {
  std::array<PoolRange, kPoolAxes> ranges;
  int64_t offset = 0;  // of the first tap, without batch and channel
  float divisor = 1;
};

template <class Kind>
HWY_INLINE Window window_of(const PoolConstants& constants, const std::array<int64_t, kPoolAxes>& position) {
  Window window;
  int64_t inside = 1;
  int64_t padded = 1;
  for (int i = 0; i < kPoolAxes; ++i) {
    window.ranges[i] = pool_range(constants.axes[i], position[i]);
    window.offset += window.ranges[i].first * constants.axes[i].x_stride;
    inside *= window.ranges[i].count;
    padded *= window.ranges[i].padded;
  }
  if constexpr (std::is_same_v<Kind, Average>) {
    const int64_t count = constants.count_include_pad ? padded : inside;
    window.divisor = count == 0 ? 1.0f : static_cast<float>(count);
  }
  return window;
}

// Calls `tap(x)` with the address of each tap's first channel, in order.
template <class Tap>
HWY_INLINE void for_each_tap(const PoolConstants& constants, const Window& window, const float* x,
                             const Tap& tap) {
  const auto& axes = constants.axes;
  const int64_t step0 = axes[0].dilation * axes[0].x_stride;
  const int64_t step1 = axes[1].dilation * axes[1].x_stride;
  const int64_t step2 = axes[2].dilation * axes[2].x_stride;
  for (int64_t d = 0; d < window.ranges[0].count; ++d) {
    for (int64_t h = 0; h < window.ranges[1].count; ++h) {
      const float* row = x + d * step0 + h * step1;
      for (int64_t w = 0; w < window.ranges[2].count; ++w) tap(row + w * step2);
    }
  }
}

// Dense channels of one pixel.
template <class Kind>
HWY_INLINE void pool_channels(const PoolConstants& constants, const Window& window, const float* x, float* y,
                              int64_t channels) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto start = hn::Set(d, Kind::start());
  const auto finish = [&](auto sum) HWY_ATTR {
    if constexpr (std::is_same_v<Kind, Average>) {
      return hn::Div(sum, hn::Set(d, window.divisor));
    } else {
      return sum;
    }
  };
  int64_t c = 0;
  for (; c + 4 * lanes <= channels; c += 4 * lanes) {
    auto s0 = start, s1 = start, s2 = start, s3 = start;
    for_each_tap(constants, window, x + c, [&](const float* tap) HWY_ATTR {
      s0 = Kind::add(s0, hn::LoadU(d, tap));
      s1 = Kind::add(s1, hn::LoadU(d, tap + lanes));
      s2 = Kind::add(s2, hn::LoadU(d, tap + 2 * lanes));
      s3 = Kind::add(s3, hn::LoadU(d, tap + 3 * lanes));
    });
    hn::StoreU(finish(s0), d, y + c);
    hn::StoreU(finish(s1), d, y + c + lanes);
    hn::StoreU(finish(s2), d, y + c + 2 * lanes);
    hn::StoreU(finish(s3), d, y + c + 3 * lanes);
  }
  for (; c + lanes <= channels; c += lanes) {
    auto sum = start;
    for_each_tap(constants, window, x + c,
                 [&](const float* tap) HWY_ATTR { sum = Kind::add(sum, hn::LoadU(d, tap)); });
    hn::StoreU(finish(sum), d, y + c);
  }
  if (c < channels) {
    const size_t count = static_cast<size_t>(channels - c);
    auto sum = start;
    for_each_tap(constants, window, x + c,
                 [&](const float* tap) HWY_ATTR { sum = Kind::add(sum, load_n(d, tap, count)); });
    store_n(finish(sum), d, y + c, count);
  }
}

template <class Kind>
HWY_INLINE void pool_strided(const PoolConstants& constants, const Window& window, const float* x, float* y,
                             int64_t channels) {
  for (int64_t c = 0; c < channels; ++c) {
    float sum = Kind::start();
    for_each_tap(constants, window, x + c * constants.x_channel_stride,
                 [&](const float* tap) HWY_ATTR { sum = Kind::add_scalar(sum, *tap); });
    if constexpr (std::is_same_v<Kind, Average>) sum /= window.divisor;
    y[c * constants.y_channel_stride] = sum;
  }
}

template <class Kind>
HWY_INLINE void pool(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<PoolConstants>();
  const auto& axes = constants.axes;
  const float* x = reinterpret_cast<const float*>(invocation.bindings[0]);
  float* y = reinterpret_cast<float*>(invocation.bindings[1]);
  const bool dense = constants.x_channel_stride == 1 && constants.y_channel_stride == 1;
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const TileGrid::Part part = constants.grid.part(tile);
    const int64_t channel = part.column_begin;
    const int64_t channels = part.column_end - channel;
    std::array<int64_t, kPoolAxes> position;
    int64_t rest = part.row_begin;
    for (int i = kPoolAxes - 1; i >= 0; --i) {
      position[i] = rest % axes[i].output;
      rest /= axes[i].output;
    }
    int64_t batch = rest;
    for (int64_t pixel = part.row_begin; pixel < part.row_end; ++pixel) {
      const Window window = window_of<Kind>(constants, position);
      const float* from =
          x + batch * constants.x_batch_stride + channel * constants.x_channel_stride + window.offset;
      float* to = y + batch * constants.y_batch_stride + channel * constants.y_channel_stride;
      for (int i = 0; i < kPoolAxes; ++i) to += position[i] * axes[i].y_stride;
      if (dense) {
        pool_channels<Kind>(constants, window, from, to, channels);
      } else {
        pool_strided<Kind>(constants, window, from, to, channels);
      }
      for (int i = kPoolAxes - 1; i >= 0; --i) {
        if (++position[i] < axes[i].output) break;
        position[i] = 0;
        if (i == 0) ++batch;
      }
    }
  }
}

}  // namespace pool_internal

void max_pool(const CpuInvocation& invocation) {
  pool_internal::pool<pool_internal::Max>(invocation);
}

void average_pool(const CpuInvocation& invocation) {
  pool_internal::pool<pool_internal::Average>(invocation);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

// Elements that one tile reads, about.
constexpr int64_t kTileReads = 32768;

Support supported(const OpDesc& desc) {
  const auto& attributes = std::get<PoolAttributes>(*desc.attributes);
  if (desc.inputs.size() != 1 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.outputs[0] == nullptr) {
    return {"the pool does not have one input and one output"};
  }
  const TensorType& x = *desc.inputs[0];
  if (x.element_type != ElementType::kFloat32 || desc.outputs[0]->element_type != ElementType::kFloat32) {
    return {"the element type is not float32"};
  }
  if (x.rank() < 3 || x.rank() > 2 + kPoolAxes || desc.outputs[0]->rank() != x.rank()) {
    return {"the rank is not 3, 4 or 5"};
  }
  const size_t spatial = static_cast<size_t>(x.rank() - 2);
  if (attributes.kernel.size() != spatial || attributes.strides.size() != spatial ||
      attributes.dilations.size() != spatial || attributes.pads_begin.size() != spatial ||
      attributes.pads_end.size() != spatial) {
    return {"the attributes and operands differ in rank"};
  }
  return {};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<PoolAttributes>();
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  PoolConstants constants;
  constants.x_batch_stride = x.strides[0];
  constants.y_batch_stride = y.strides[0];
  constants.x_channel_stride = x.strides[1];
  constants.y_channel_stride = y.strides[1];
  constants.count_include_pad = attributes.count_include_pad;
  int64_t pixels = x.shape[0];
  int64_t taps = 1;
  for (int i = 2; i < x.rank; ++i) {
    const size_t k = static_cast<size_t>(i - 2);
    constants.axes[kPoolAxes - x.rank + i] = {.extent = x.shape[i],
                                              .output = y.shape[i],
                                              .kernel = attributes.kernel[k],
                                              .step = attributes.strides[k],
                                              .dilation = attributes.dilations[k],
                                              .pad_begin = attributes.pads_begin[k].constant(),
                                              .pad_end = attributes.pads_end[k].constant(),
                                              .x_stride = x.strides[i],
                                              .y_stride = y.strides[i]};
    pixels *= y.shape[i];
    // More than a tile reads counts as that many: their product may not fit in 64 bits.
    taps = std::min(taps * std::min(attributes.kernel[k], kTileReads), kTileReads);
  }
  // Few windows, perhaps large ones, are shared out by channels, too: whole cache lines of them.
  const int64_t channels = x.shape[1];
  const int64_t outputs = kTileReads / taps;
  constants.grid = make_tile_grid(
      pixels, channels, pixels < 16 ? align_up(outputs, 64) : std::max<int64_t>(channels, 1), outputs);
  return record(constants, constants.grid.tiles(), target);
}

constexpr Implementation base(Op op) {
  return {.op = op, .supported = supported, .extent = extent};
}

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(MaxPool, "max_pool.channels", base(Op::kMaxPool), max_pool)
WEIR_IMPLEMENT_EACH_ISA(AveragePool, "average_pool.channels", base(Op::kAveragePool), average_pool)

}  // namespace weir
#endif
