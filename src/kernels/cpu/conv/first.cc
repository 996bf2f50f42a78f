// SPDX-License-Identifier: Apache-2.0
//
// Convolution of an image with few channels (the first of a network), in any layout, to channels last.
//
// A tile is some output rows. Their input rows are copied to a patch in scratch, padded with zeros and with
// the columns sorted by their phase in the stride, so that the micro-kernel finds the pixels of a register
// tile next to each other for every k, and needs one pointer where gemm/tile-inl.h has one a row.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/first.cc"
#include "kernels/cpu/conv/first.h"

#include <cstdint>

#include "kernels/cpu/gemm/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

#define WEIR_UNROLL _Pragma("GCC unroll 32")

struct FirstTile {
  const float* patch = nullptr;  // of the tile's first pixel
  const int64_t* offsets = nullptr;
  int64_t k = 0;
  const float* b = nullptr;  // the first panel, or a part of it
  int64_t panel_stride = 0;
  const float* bias = nullptr;
  float* y = nullptr;  // of the first pixel and column
  int64_t y_step = 0;
  int64_t rows = 0;     // pixels to store
  int64_t columns = 0;  // to store
  const float* residual = nullptr;
  int64_t residual_step = 0;
  bool bounded = false;
  float low = 0;
  float high = 0;
};

inline constexpr int64_t kFirstLanes = HWY_TARGET == HWY_AVX3 ? 16 : HWY_TARGET == HWY_AVX2 ? 8 : 4;

template <int kRows, int kVectors>
void first_tile(const FirstTile& tile) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const bool whole = tile.columns >= kVectors * kFirstLanes;
  const auto count = [&tile](int j) {
    return static_cast<size_t>(HWY_MIN(HWY_MAX(tile.columns - j * kFirstLanes, int64_t{0}), kFirstLanes));
  };
  V sum[kRows][kVectors];
  WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
    sum[0][j] = tile.bias == nullptr ? hn::Zero(d)
                : whole              ? hn::LoadU(d, tile.bias + j * kFirstLanes)
                                     : load_n(d, tile.bias + j * kFirstLanes, count(j));
  }
  WEIR_UNROLL for (int i = 1; i < kRows; ++i) {
    WEIR_UNROLL for (int j = 0; j < kVectors; ++j) sum[i][j] = sum[0][j];
  }
  const float* b = tile.b;
  for (int64_t k = 0; k < tile.k; ++k) {
    const float* a = tile.patch + tile.offsets[k];
    V columns[kVectors];
    WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
      columns[j] = hn::LoadU(d, b + (j * kFirstLanes / 16) * tile.panel_stride + j * kFirstLanes % 16);
    }
    WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
      const V x = hn::Set(d, a[i]);
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(x, columns[j], sum[i][j]);
    }
    b += 16;
  }
  const V low = hn::Set(d, tile.low);
  const V high = hn::Set(d, tile.high);
  WEIR_UNROLL for (int i = 0; i < kRows; ++i) {
    if (i < tile.rows) {
      float* to = tile.y + i * tile.y_step;
      const float* residual = tile.residual + i * tile.residual_step;
      WEIR_UNROLL for (int j = 0; j < kVectors; ++j) {
        V v = sum[i][j];
        if (tile.residual != nullptr) {
          v = hn::Add(v, whole ? hn::LoadU(d, residual + j * kFirstLanes)
                               : load_n(d, residual + j * kFirstLanes, count(j)));
        }
        if (tile.bounded) v = at_most(at_least(v, low), high);
        if (whole) {
          hn::StoreU(v, d, to + j * kFirstLanes);
        } else {
          store_n(v, d, to + j * kFirstLanes, count(j));
        }
      }
    }
  }
}

using FirstFunction = void (*)(const FirstTile& tile);

// A tile function for the next of `rows` pixels; sets `rows` to those that it stores.
template <int kVectors>
FirstFunction first_function(int64_t& rows) {
#if HWY_TARGET == HWY_AVX3
  constexpr int kSizes[] = {kVectors == 1 ? 16 : kVectors == 2 ? 12 : 8, kVectors == 3 ? 7 : 8, 7, 4};
#elif HWY_TARGET == HWY_AVX2
  constexpr int kSizes[] = {6, 5, 4, 2};
#else
  constexpr int kSizes[] = {4, 3, 2, 1};
#endif
  constexpr FirstFunction kFunctions[] = {&first_tile<kSizes[0], kVectors>, &first_tile<kSizes[1], kVectors>,
                                          &first_tile<kSizes[2], kVectors>, &first_tile<kSizes[3], kVectors>};
  int best = 0;
  if (rows < kSizes[0]) {
    while (best < 3 && kSizes[best + 1] >= rows) ++best;
  } else if (rows > kSizes[0] && rows < 2 * kSizes[0] && rows <= 2 * kSizes[2]) {
    best = rows <= 2 * kSizes[3] ? 3 : 2;  // two equal tiles
  }
  rows = HWY_MIN(rows, int64_t{kSizes[best]});
  return kFunctions[best];
}

class FirstDriver {
 public:
  FirstDriver(const FirstProblem& problem, const CpuInvocation& invocation)
      : problem_(problem), invocation_(invocation) {
    patch_ = reinterpret_cast<float*>(invocation.scratch + problem.patch_offset);
  }

  void run() {
    for (int64_t tile = invocation_.tile_begin; tile < invocation_.tile_end; ++tile) {
      const int64_t image = tile / problem_.row_blocks;
      const int64_t begin = tile % problem_.row_blocks * problem_.row_block;
      const int64_t end = HWY_MIN(begin + problem_.row_block, problem_.output[0]);
      fill_patch(image, begin, end);
      for (int64_t row = begin; row < end; ++row) {
        run_row(image, row, patch_ + (row - begin) * problem_.stride[0] * problem_.patch_row());
      }
    }
  }

 private:
  const float* binding(int64_t index) const {
    return reinterpret_cast<const float*>(invocation_.bindings[static_cast<size_t>(index)]);
  }

  // The input rows of output rows [begin, end).
  void fill_patch(int64_t image, int64_t begin, int64_t end) {
    const int64_t top = begin * problem_.stride[0] - problem_.pad[0];
    const int64_t rows =
        (end - begin - 1) * problem_.stride[0] + (problem_.kernel[0] - 1) * problem_.dilation[0] + 1;
    const float* x = binding(0) + image * problem_.x_image;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = top + i;
      for (int64_t c = 0; c < problem_.channels; ++c) {
        float* to = patch_ + i * problem_.patch_row() + c * problem_.stride[1] * problem_.patch_width;
        if (row < 0 || row >= problem_.input[0]) {
          for (int64_t j = 0; j < problem_.stride[1] * problem_.patch_width; ++j) to[j] = 0;
        } else {
          fill_row(x + row * problem_.x[0] + c * problem_.x_channel, to);
        }
      }
    }
  }

  // One input row of one channel, all phases. Place j of phase p is input column j · stride + p − pad.
  void fill_row(const float* from, float* to) const {
    const int64_t width = problem_.patch_width;
    const int64_t stride = problem_.stride[1];
    const int64_t step = problem_.x[1];
    // Places [first, last) of all phases lie inside.
    const int64_t pad = problem_.pad[1];
    const int64_t first = HWY_MIN(HWY_MAX((pad + stride - 1) / stride, int64_t{0}), width);
    const int64_t last = HWY_MAX(first, HWY_MIN((problem_.input[1] + pad) / stride, width));
    const auto one_by_one = [&](int64_t begin, int64_t end) {
      for (int64_t p = 0; p < stride; ++p) {
        for (int64_t j = begin; j < end; ++j) {
          const int64_t column = j * stride + p - pad;
          to[p * width + j] = column >= 0 && column < problem_.input[1] ? from[column * step] : 0;
        }
      }
    };
    one_by_one(0, first);
    int64_t j = first;
    if (step == 1) {
      const hn::ScalableTag<float> d;
      const float* source = from + first * stride - pad;
      if (stride == 1) {
        for (; j + kFirstLanes <= last; j += kFirstLanes, source += kFirstLanes) {
          hn::StoreU(hn::LoadU(d, source), d, to + j);
        }
      } else if (stride == 2) {
        for (; j + kFirstLanes <= last; j += kFirstLanes, source += 2 * kFirstLanes) {
          const auto low = hn::LoadU(d, source);
          const auto high = hn::LoadU(d, source + kFirstLanes);
          hn::StoreU(hn::ConcatEven(d, high, low), d, to + j);
          hn::StoreU(hn::ConcatOdd(d, high, low), d, to + width + j);
        }
      } else if (stride == 4) {
        for (; j + kFirstLanes <= last; j += kFirstLanes, source += 4 * kFirstLanes) {
          const auto v0 = hn::LoadU(d, source);
          const auto v1 = hn::LoadU(d, source + kFirstLanes);
          const auto v2 = hn::LoadU(d, source + 2 * kFirstLanes);
          const auto v3 = hn::LoadU(d, source + 3 * kFirstLanes);
          const auto even0 = hn::ConcatEven(d, v1, v0);
          const auto odd0 = hn::ConcatOdd(d, v1, v0);
          const auto even1 = hn::ConcatEven(d, v3, v2);
          const auto odd1 = hn::ConcatOdd(d, v3, v2);
          hn::StoreU(hn::ConcatEven(d, even1, even0), d, to + j);
          hn::StoreU(hn::ConcatEven(d, odd1, odd0), d, to + width + j);
          hn::StoreU(hn::ConcatOdd(d, even1, even0), d, to + 2 * width + j);
          hn::StoreU(hn::ConcatOdd(d, odd1, odd0), d, to + 3 * width + j);
        }
      }
    }
    one_by_one(j, width);
  }

  void run_row(int64_t image, int64_t row, const float* patch) {
    FirstTile tile;
    tile.offsets = problem_.offsets.data();
    tile.k = problem_.k;
    tile.panel_stride = 16 * problem_.k;
    tile.y_step = problem_.y[1];
    const Finish& finish = problem_.finish;
    if (finish.kind == FinishKind::kStore && finish.activation == Activation::kBounds) {
      tile.bounded = true;
      tile.low = finish.low;
      tile.high = finish.high;
    }
    float* y =
        const_cast<float*>(binding(problem_.y_binding)) + image * problem_.y_image + row * problem_.y[0];
    const int64_t all = (problem_.columns + kFirstLanes - 1) / kFirstLanes;
    int64_t vectors = 0;
    for (int64_t v = 0; v < all; v += vectors) {
      vectors = HWY_TARGET == HWY_AVX3 && all - v == 3 ? 3 : HWY_MIN(all - v, int64_t{2});
      const int64_t column = v * kFirstLanes;
      tile.b = binding(1) + column / 16 * tile.panel_stride + column % 16;
      tile.bias = problem_.has_bias ? binding(2) + column : nullptr;
      tile.columns = HWY_MIN(problem_.columns - column, vectors * kFirstLanes);
      for (int64_t pixel = 0; pixel < problem_.output[1]; pixel += tile.rows) {
        tile.rows = problem_.output[1] - pixel;
        FirstFunction function = nullptr;
#if HWY_TARGET == HWY_AVX3
        if (vectors == 3) function = first_function<3>(tile.rows);
#endif
        if (vectors == 2) function = first_function<2>(tile.rows);
        if (vectors == 1) function = first_function<1>(tile.rows);
        tile.patch = patch + pixel;
        tile.y = y + pixel * problem_.y[1] + column;
        run_tile_at(tile, function, image, row, y, pixel, column);
      }
    }
  }

  void run_tile_at(FirstTile& tile, FirstFunction function, int64_t image, int64_t row, float* y,
                   int64_t pixel, int64_t column) {
    const Finish& finish = problem_.finish;
    const auto extra = [&](int e, int64_t at) {
      const auto& strides = problem_.extra[e];
      return binding(kFixedOperands + e) + image * strides[0] + row * strides[1] + at * strides[2];
    };
    if (finish.kind == FinishKind::kStore && finish.before.kind != FinishStep::Kind::kNone) {
      tile.residual = extra(finish.before.extra, pixel) + column;
      tile.residual_step = problem_.extra[finish.before.extra][2];
    }
    function(tile);
    if (finish.kind == FinishKind::kStore) return;
    float* c[kFirstMostRows];
    const float* extra_rows[kMaxExtras][kFirstMostRows];
    const float* const* extras[kMaxExtras];
    for (int64_t i = 0; i < tile.rows; ++i) c[i] = y + (pixel + i) * problem_.y[1];
    for (int e = 0; e < finish.extra_count; ++e) {
      for (int64_t i = 0; i < tile.rows; ++i) extra_rows[e][i] = extra(e, pixel + i);
      extras[e] = extra_rows[e];
    }
    finish_rows(finish, c, extras, tile.rows, column, tile.columns,
                invocation_.scratch + problem_.finish_offset);
  }

  const FirstProblem& problem_;
  const CpuInvocation& invocation_;
  float* patch_ = nullptr;
};

void conv_first(const CpuInvocation& invocation) {
  FirstDriver(invocation.constants_as<FirstProblem>(), invocation).run();
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/gemm/pack.h"

namespace weir {
namespace {

// Few channels: with more, gemm/ reads the image in place without loss.
constexpr int64_t kMostChannels = 4;
// Of the second-level cache.
constexpr int64_t kPatchBytes = 128 * 1024;
constexpr int64_t kGridTiles = 64;

Support supported(const OpDesc& desc) {
  if (const Support support = supports_conv(desc); !support.ok()) return support;
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  const TensorType& w = *desc.inputs[1];
  if (attributes.group != 1) return {"it has groups"};
  int64_t k = 1;
  for (size_t i = 1; i < w.shape.size(); ++i) k *= w.shape[i].constant();
  if (w.shape[1].constant() > kMostChannels || k > kFirstMaxK)
    return {"the image has more than a few channels"};
  if (attributes.strides.back() > 4) return {"the stride is larger than 4"};
  return {};
}

std::vector<PackRequest> pack(const OpDesc& desc) {
  return {pack_conv_weights(*desc.inputs[1], 1)};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kAny);
}

FirstProblem make_problem(const ConcreteOp& op) {
  FirstProblem problem{conv_problem(op)};
  const int64_t reach = (problem.kernel[1] - 1) * problem.dilation[1] / problem.stride[1];
  problem.patch_width = align_up(problem.output[1] + reach + kFirstMostRows, 16);
  for (int64_t y = 0; y < problem.kernel[0]; ++y) {
    for (int64_t i = 0; i < problem.kernel[1]; ++i) {
      const int64_t at = i * problem.dilation[1];
      for (int64_t c = 0; c < problem.channels; ++c) {
        problem.offsets[static_cast<size_t>(problem.k++)] =
            y * problem.dilation[0] * problem.patch_row() +
            (c * problem.stride[1] + at % problem.stride[1]) * problem.patch_width + at / problem.stride[1];
      }
    }
  }

  // Several rows share most of their patch.
  const int64_t reach_rows = (problem.kernel[0] - 1) * problem.dilation[0] + 1;
  const int64_t row_bytes = problem.patch_row() * int64_t{sizeof(float)};
  const int64_t fitting =
      (kPatchBytes / std::max<int64_t>(row_bytes, 1) - reach_rows) / problem.stride[0] + 1;
  const int64_t fair = problem.batch * problem.output[0] / kGridTiles;
  problem.row_block =
      std::clamp<int64_t>(fair, std::min<int64_t>(4, problem.output[0]), std::max<int64_t>(4, fitting));
  problem.row_block = std::max<int64_t>(problem.row_block, 1);
  problem.row_blocks = ceil_div(std::max<int64_t>(problem.output[0], 0), problem.row_block);
  problem.patch_rows = (problem.row_block - 1) * problem.stride[0] + reach_rows;
  if (problem.output[1] <= 0 || problem.columns == 0) problem.row_blocks = 0;

  problem.patch_offset = 0;
  problem.finish_offset = align_up(problem.patch_rows * row_bytes, 64);
  problem.scratch_bytes =
      problem.finish_offset + align_up(finish_scratch_bytes(problem.finish, kFirstMostRows, 48), 64);
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

WEIR_IMPLEMENT_EACH_ISA(ConvFirst, "conv.first", kBase, conv_first)

}  // namespace weir
#endif
