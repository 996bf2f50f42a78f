// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution of channels-last float32 images: one filter a channel, any kernel, stride, dilation
// and padding, with an epilogue.
//
// Vectors run over channels, registers hold a stretch of output columns, so a weight is loaded once a stretch
// and an input column once for all its taps. A tile is some output rows of a range of channels, so narrow
// that the input rows of one output row stay in the first-level cache. Stretches may overlap their neighbours
// (the same values are stored again), and so may the last vector of channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/depthwise.cc"
#include "kernels/cpu/conv/depthwise.h"

#include <cstdint>

#include "kernels/cpu/gemm/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

#define WEIR_UNROLL _Pragma("GCC unroll 32")

// A stretch of output columns of one row, channels [0, channels) from the pointers.
struct DepthwiseStretch {
  // Input column i of kernel row y: inside, x + y · row + i · column; else table[y · columns + i].
  const float* x = nullptr;
  int64_t row = 0;
  int64_t column = 0;
  const float* const* table = nullptr;
  int64_t row_begin = 0;  // kernel rows that lie in the image
  int64_t row_end = 0;
  const float* weights = nullptr;  // [kernel row][kernel column][channel]
  int64_t weight_stride = 0;       // from tap to tap
  int64_t kernel = 0;              // columns of the kernel
  int64_t step = 0;                // input columns between output columns
  int64_t spread = 0;              // input columns between kernel columns
  const float* bias = nullptr;
  float* y = nullptr;
  int64_t y_column = 0;
  int64_t channels = 0;
  // The part of the epilogue that is done in registers.
  const float* residual = nullptr;
  int64_t residual_column = 0;
  bool bounded = false;
  float low = 0;
  float high = 0;
};

// kKernel columns of the kernel, kStep input columns from output to output column, kColumns output columns.
// kKernel = 0: as many as stretch.kernel says, with any step and spread. kBorder: the table gives input
// columns. kPart: less channels than a vector has.
template <int kKernel, int kStep, int kColumns, bool kBorder, bool kPart>
void depthwise_stretch(const DepthwiseStretch& stretch) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const size_t count = static_cast<size_t>(stretch.channels);
  const auto load = [count](const float* from) HWY_ATTR {
    const hn::ScalableTag<float> tag;
    return kPart ? load_n(tag, from, count) : hn::LoadU(tag, from);
  };
  constexpr int kInputs = (kColumns - 1) * kStep + kKernel;
  const int64_t inputs = (kColumns - 1) * stretch.step + (stretch.kernel - 1) * stretch.spread + 1;
  for (int64_t at = 0; at < stretch.channels; at += lanes) {
    // The last vector overlaps the one before it.
    const int64_t c = kPart ? 0 : HWY_MIN(at, stretch.channels - lanes);
    V sum[kColumns];
    sum[0] = stretch.bias == nullptr ? hn::Zero(d) : load(stretch.bias + c);
    WEIR_UNROLL for (int o = 1; o < kColumns; ++o) sum[o] = sum[0];
    for (int64_t row = stretch.row_begin; row < stretch.row_end; ++row) {
      const float* x = stretch.x + row * stretch.row + c;
      const float* const* columns = stretch.table + row * inputs;
      const float* w = stretch.weights + row * stretch.kernel * stretch.weight_stride + c;
      if constexpr (kKernel > 0) {
        V weights[kKernel];
        WEIR_UNROLL for (int k = 0; k < kKernel; ++k) weights[k] = load(w + k * stretch.weight_stride);
        WEIR_UNROLL for (int i = 0; i < kInputs; ++i) {
          const V v = load(kBorder ? columns[i] + c : x + i * stretch.column);
          WEIR_UNROLL for (int o = 0; o < kColumns; ++o) {
            const int k = i - o * kStep;
            if (k >= 0 && k < kKernel) sum[o] = hn::MulAdd(v, weights[k], sum[o]);
          }
        }
      } else {
        for (int64_t k = 0; k < stretch.kernel; ++k) {
          const V weight = load(w + k * stretch.weight_stride);
          WEIR_UNROLL for (int o = 0; o < kColumns; ++o) {
            const int64_t i = o * stretch.step + k * stretch.spread;
            const V v = load(kBorder ? columns[i] + c : x + i * stretch.column);
            sum[o] = hn::MulAdd(v, weight, sum[o]);
          }
        }
      }
    }
    if (stretch.residual != nullptr) {
      WEIR_UNROLL for (int o = 0; o < kColumns; ++o) {
        sum[o] = hn::Add(sum[o], load(stretch.residual + o * stretch.residual_column + c));
      }
    }
    if (stretch.bounded) {
      const V low = hn::Set(d, stretch.low);
      const V high = hn::Set(d, stretch.high);
      WEIR_UNROLL for (int o = 0; o < kColumns; ++o) sum[o] = at_most(at_least(sum[o], low), high);
    }
    WEIR_UNROLL for (int o = 0; o < kColumns; ++o) {
      float* to = stretch.y + o * stretch.y_column + c;
      if (kPart) {
        store_n(sum[o], d, to, count);
      } else {
        hn::StoreU(sum[o], d, to);
      }
    }
  }
}

using DepthwiseFunction = void (*)(const DepthwiseStretch& stretch);

// Stretches of 8, 7, 4 and 1 columns: sizes of common images are multiples of 7 or of 4.
template <int kKernel, int kStep, bool kBorder>
DepthwiseFunction depthwise_of_size(int64_t columns) {
  return columns == 8   ? &depthwise_stretch<kKernel, kStep, 8, kBorder, false>
         : columns == 7 ? &depthwise_stretch<kKernel, kStep, 7, kBorder, false>
         : columns == 4 ? &depthwise_stretch<kKernel, kStep, 4, kBorder, false>
                        : &depthwise_stretch<kKernel, kStep, 1, kBorder, false>;
}

template <bool kBorder>
DepthwiseFunction depthwise_function(const DepthwiseProblem& problem, int64_t columns) {
  const int64_t kernel = problem.kernel[1];
  const int64_t step = problem.stride[1];
  if (problem.dilation[1] == 1) {
    if (kernel == 3 && step == 1) return depthwise_of_size<3, 1, kBorder>(columns);
    if (kernel == 3 && step == 2) return depthwise_of_size<3, 2, kBorder>(columns);
    if (kernel == 5 && step == 1) return depthwise_of_size<5, 1, kBorder>(columns);
    if (kernel == 5 && step == 2) return depthwise_of_size<5, 2, kBorder>(columns);
    if (kernel == 7 && step == 1) return depthwise_of_size<7, 1, kBorder>(columns);
  }
  return depthwise_of_size<0, 1, kBorder>(columns);
}

class DepthwiseDriver {
 public:
  DepthwiseDriver(const DepthwiseProblem& problem, const CpuInvocation& invocation)
      : problem_(problem), invocation_(invocation) {
    zeros_ = reinterpret_cast<float*>(invocation.scratch + problem.zeros_offset);
    for (int64_t c = 0; c < problem.group; ++c) zeros_[c] = 0;
    table_ = reinterpret_cast<const float**>(invocation.scratch + problem.table_offset);
    const hn::ScalableTag<float> d;
    part_ = problem.group < static_cast<int64_t>(hn::Lanes(d));
  }

  void run() {
    for (int64_t tile = invocation_.tile_begin; tile < invocation_.tile_end; ++tile) {
      const int64_t range = tile % problem_.channel_blocks;
      const int64_t rows = tile / problem_.channel_blocks % problem_.row_blocks;
      const int64_t image = tile / problem_.channel_blocks / problem_.row_blocks;
      channel_ = range * problem_.channel_block;
      channels_ = range + 1 == problem_.channel_blocks ? problem_.group - channel_ : problem_.channel_block;
      const int64_t end = HWY_MIN((rows + 1) * problem_.row_block, problem_.output[0]);
      for (int64_t column = 0; column < problem_.output[1];) {
        int64_t stop = HWY_MIN(column + problem_.strip, problem_.output[1]);
        if (problem_.output[1] - stop < problem_.strip / 2) stop = problem_.output[1];
        for (int64_t row = rows * problem_.row_block; row < end; ++row) run_row(image, row, column, stop);
        column = stop;
      }
    }
  }

 private:
  const float* binding(int64_t index) const {
    return reinterpret_cast<const float*>(invocation_.bindings[static_cast<size_t>(index)]);
  }

  // Output columns [begin, end) of a row.
  void run_row(int64_t image, int64_t row, int64_t begin, int64_t end) {
    DepthwiseStretch stretch;
    // Kernel rows whose input row lies in the image.
    const int64_t top = row * problem_.stride[0] - problem_.pad[0];
    const int64_t spread = problem_.dilation[0];
    stretch.row_begin = top >= 0 ? 0 : HWY_MIN((-top + spread - 1) / spread, problem_.kernel[0]);
    stretch.row_end = top >= problem_.input[0]
                          ? 0
                          : HWY_MIN((problem_.input[0] - top + spread - 1) / spread, problem_.kernel[0]);
    stretch.row_end = HWY_MAX(stretch.row_begin, stretch.row_end);
    stretch.row = spread * problem_.x[0];
    stretch.column = problem_.x[1];
    stretch.weights = binding(1) + channel_;
    stretch.weight_stride = problem_.group;
    stretch.kernel = problem_.kernel[1];
    stretch.step = problem_.stride[1];
    stretch.spread = problem_.dilation[1];
    stretch.bias = problem_.has_bias ? binding(2) + channel_ : nullptr;
    stretch.y_column = problem_.y[1];
    stretch.channels = channels_;
    stretch.table = table_;
    const Finish& finish = problem_.finish;
    if (finish.kind == FinishKind::kStore && finish.activation == Activation::kBounds) {
      stretch.bounded = true;
      stretch.low = finish.low;
      stretch.high = finish.high;
    }
    const float* x = binding(0) + image * problem_.x_image + top * problem_.x[0] + channel_;
    float* y =
        const_cast<float*>(binding(problem_.y_binding)) + image * problem_.y_image + row * problem_.y[0];
    for (int64_t column = begin; column < end;) {
      const int64_t columns = part_ ? 1 : stretch_columns(end - column, end - begin);
      // Back over columns that are done, where fewer are left.
      const int64_t first = HWY_MIN(column, end - columns);
      run_stretch(stretch, x, y, image, row, first, columns);
      column = first + columns;
    }
  }

  static int64_t stretch_columns(int64_t left, int64_t width) {
    if (left >= 8) return left % 8 != 0 && left % 7 == 0 ? 7 : 8;
    if (left == 7 || (left > 4 && width >= 7)) return 7;
    if (left == 4 || (left > 1 && width >= 4)) return 4;
    return 1;
  }

  void run_stretch(DepthwiseStretch& stretch, const float* x, float* y, int64_t image, int64_t row,
                   int64_t first, int64_t columns) {
    const int64_t left = first * problem_.stride[1] - problem_.pad[1];
    const int64_t inputs = (columns - 1) * stretch.step + (stretch.kernel - 1) * stretch.spread + 1;
    const bool border = left < 0 || left + inputs > problem_.input[1];
    stretch.x = x + left * problem_.x[1];
    stretch.y = y + first * problem_.y[1] + channel_;
    if (border || part_) {
      for (int64_t k = stretch.row_begin; k < stretch.row_end; ++k) {
        const float* from = stretch.x + k * stretch.row;
        for (int64_t i = 0; i < inputs; ++i) {
          const bool inside = left + i >= 0 && left + i < problem_.input[1];
          table_[k * inputs + i] = inside ? from + i * problem_.x[1] : zeros_;
        }
      }
    }
    const Finish& finish = problem_.finish;
    const auto extra = [&](int e, int64_t column) {
      const auto& strides = problem_.extra[e];
      return binding(kFixedOperands + e) + image * strides[0] + row * strides[1] + column * strides[2];
    };
    if (finish.kind == FinishKind::kStore && finish.before.kind != FinishStep::Kind::kNone) {
      stretch.residual = extra(finish.before.extra, first) + channel_;
      stretch.residual_column = problem_.extra[finish.before.extra][2];
    }
    if (part_) {
      depthwise_stretch<0, 1, 1, true, true>(stretch);
    } else if (border) {
      depthwise_function<true>(problem_, columns)(stretch);
    } else {
      depthwise_function<false>(problem_, columns)(stretch);
    }
    if (finish.kind == FinishKind::kStore) return;
    float* rows[8];
    const float* extra_rows[kMaxExtras][8];
    const float* const* extras[kMaxExtras];
    for (int64_t i = 0; i < columns; ++i) rows[i] = y + (first + i) * problem_.y[1];
    for (int e = 0; e < finish.extra_count; ++e) {
      for (int64_t i = 0; i < columns; ++i) extra_rows[e][i] = extra(e, first + i);
      extras[e] = extra_rows[e];
    }
    finish_rows(finish, rows, extras, columns, channel_, channels_,
                invocation_.scratch + problem_.finish_offset);
  }

  const DepthwiseProblem& problem_;
  const CpuInvocation& invocation_;
  float* zeros_ = nullptr;
  const float** table_ = nullptr;
  bool part_ = false;
  int64_t channel_ = 0;
  int64_t channels_ = 0;
};

void depthwise(const CpuInvocation& invocation) {
  DepthwiseDriver(invocation.constants_as<DepthwiseProblem>(), invocation).run();
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/gemm/pack.h"

namespace weir {
namespace {

// Of the first-level cache, for the input rows of one output row.
constexpr int64_t kRowBytes = 32 * 1024;
// The grid: enough tiles for 16 threads to balance, none below about 1 µs.
constexpr int64_t kGridTiles = 64;
constexpr int64_t kLeastOperations = 40'000;
constexpr int64_t kMostStretch = 8;

Support supported(const OpDesc& desc) {
  if (const Support support = supports_conv(desc); !support.ok()) return support;
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  const TensorType& w = *desc.inputs[1];
  if (attributes.group == 1 || !w.shape[1].is_constant(1) || w.shape[0].constant() != attributes.group) {
    return {"it is not one filter a channel"};
  }
  return {};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kChannelsDense);
}

// Tap by tap, all channels.
std::vector<PackRequest> pack(const OpDesc& desc) {
  const TensorType& w = *desc.inputs[1];
  const int64_t channels = w.shape[0].constant();
  int64_t taps = 1;
  for (size_t i = 2; i < w.shape.size(); ++i) taps *= w.shape[i].constant();
  PackRequest request;
  request.input = 1;
  request.id = fmt::format("f32.depthwise.t{}.c{}{}", taps, channels, stride_suffix(w, "_"));
  request.bytes = taps * channels * int64_t{sizeof(float)};
  request.write = [](const TensorView& source, std::byte* target) {
    float* to = reinterpret_cast<float*>(target);
    const int64_t rows = source.rank > 3 ? source.shape[2] : 1;
    const int64_t row_stride = source.rank > 3 ? source.strides[2] : 0;
    const int64_t columns = source.shape[source.rank - 1];
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < columns; ++x) {
        const float* from = source.as<const float>() + y * row_stride + x * source.strides[source.rank - 1];
        for (int64_t c = 0; c < source.shape[0]; ++c) *to++ = from[c * source.strides[0]];
      }
    }
  };
  return {std::move(request)};
}

DepthwiseProblem make_problem(const ConcreteOp& op) {
  DepthwiseProblem problem{conv_problem(op)};
  // Channel ranges: as many as fit the first-level cache over the whole width, but not less than 4 lines a
  // pixel, or 2 where kernels are tall; wider images go in strips.
  const int64_t least = problem.kernel[0] <= 3 ? 64 : 32;
  const int64_t row_bytes = problem.kernel[0] * problem.input[1] * int64_t{sizeof(float)};
  const int64_t most = std::clamp<int64_t>(kRowBytes / std::max<int64_t>(row_bytes, 1) / 16 * 16, least, 256);
  const int64_t ranges = std::max<int64_t>(1, problem.group / most);
  problem.channel_block = align_up(ceil_div(std::max<int64_t>(problem.group, 1), ranges), 16);
  problem.channel_blocks = std::max<int64_t>(1, problem.group / problem.channel_block);
  const int64_t fitting = kRowBytes / (problem.kernel[0] * problem.channel_block * int64_t{sizeof(float)});
  const int64_t strip = (fitting - (problem.kernel[1] - 1) * problem.dilation[1]) / problem.stride[1];
  problem.strip = std::max<int64_t>(16, strip / 8 * 8);
  const double operations = 2.0 * static_cast<double>(problem.batch * problem.output[0] * problem.output[1]) *
                            static_cast<double>(problem.group * problem.kernel[0] * problem.kernel[1]);
  const int64_t worth = static_cast<int64_t>(std::min(operations / kLeastOperations, double{kGridTiles}));
  const int64_t wanted = ceil_div(std::clamp<int64_t>(worth, 1, kGridTiles),
                                  std::max<int64_t>(1, problem.batch * problem.channel_blocks));
  problem.row_block = std::max<int64_t>(1, problem.output[0] / wanted);
  problem.row_blocks = ceil_div(problem.output[0], problem.row_block);
  if (problem.group == 0 || problem.output[1] <= 0) problem.row_blocks = 0;

  int64_t offset = 0;
  const auto reserve = [&offset](int64_t bytes) {
    const int64_t at = offset;
    offset = align_up(offset + bytes, 64);
    return at;
  };
  problem.zeros_offset = reserve(problem.group * int64_t{sizeof(float)});
  const int64_t inputs =
      (kMostStretch - 1) * problem.stride[1] + (problem.kernel[1] - 1) * problem.dilation[1] + 1;
  problem.table_offset = reserve(problem.kernel[0] * inputs * int64_t{sizeof(float*)});
  problem.finish_offset =
      reserve(finish_scratch_bytes(problem.finish, kMostStretch, problem.channel_block * 2));
  problem.scratch_bytes = offset;
  return problem;
}

constexpr Implementation kBase = {.op = Op::kConv,
                                  .supported = supported,
                                  .layouts = layouts,
                                  .in_place = residual_in_place,
                                  .pack = pack,
                                  .plan = plan_problem<make_problem>,
                                  .extent = extent_problem<make_problem>};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(ConvDepthwise, "conv.depthwise", kBase, depthwise)

}  // namespace weir
#endif
