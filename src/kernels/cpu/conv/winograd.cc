// SPDX-License-Identifier: Apache-2.0
//
// 3 × 3 convolution with stride 1 of channels-last float32 images by the Cook-Toom (Winograd) method: see
// winograd.h.
//
// A grid tile is a block of image tiles and a block of output channels. The block's input is transformed into
// n² planes that stay in the second-level cache; then, 32 or 48 channels at a time, n² products go to planes
// of their own and are transformed back into the output. Ranges of a participant that share a block of image
// tiles transform it once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/winograd.cc"
#include "kernels/cpu/conv/winograd.h"

#include <cstdint>

#include "kernels/cpu/gemm/finish-inl.h"
#include "kernels/cpu/gemm/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

#define WEIR_UNROLL _Pragma("GCC unroll 8")

inline constexpr int64_t kWinogradLanes = HWY_TARGET == HWY_AVX3 ? 16 : HWY_TARGET == HWY_AVX2 ? 8 : 4;
using WinogradTag = hn::ScalableTag<float>;
using WinogradVector = hn::Vec<WinogradTag>;

// One dimension of the transforms for tiles of kSize.
template <int kSize>
struct WinogradTransform;

template <>
struct WinogradTransform<2> {
  using V = WinogradVector;
  static HWY_INLINE void input(const V (&d)[4], V (&v)[4]) {
    v[0] = hn::Sub(d[2], d[0]);
    v[1] = hn::Add(d[2], d[1]);
    v[2] = hn::Sub(d[2], d[1]);
    v[3] = hn::Sub(d[3], d[1]);
  }
  static HWY_INLINE void output(const V (&m)[4], V (&y)[2]) {
    y[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    y[1] = hn::Add(m[3], hn::Sub(m[1], m[2]));
  }
};

template <>
struct WinogradTransform<4> {
  using V = WinogradVector;
  static constexpr float kA = static_cast<float>(kWinograd4A);
  static constexpr float kB = static_cast<float>(kWinograd4B);
  // Row by row: (x² − a²)(x² − b²), x(x ± a)(x² − b²), x(x ± b)(x² − a²), x(x² − a²)(x² − b²).
  static HWY_INLINE void input(const V (&d)[6], V (&v)[6]) {
    const WinogradTag t;
    const V a = hn::Set(t, kA);
    const V b = hn::Set(t, kB);
    const V a2 = hn::Set(t, kA * kA);
    const V b2 = hn::Set(t, kB * kB);
    const V sum = hn::Set(t, kA * kA + kB * kB);
    const V product = hn::Set(t, kA * kA * kB * kB);
    v[0] = hn::MulAdd(product, d[0], hn::NegMulAdd(sum, d[2], d[4]));
    const V even_a = hn::NegMulAdd(b2, d[2], d[4]);
    const V odd_a = hn::NegMulAdd(b2, d[1], d[3]);
    v[1] = hn::MulAdd(a, odd_a, even_a);
    v[2] = hn::NegMulAdd(a, odd_a, even_a);
    const V even_b = hn::NegMulAdd(a2, d[2], d[4]);
    const V odd_b = hn::NegMulAdd(a2, d[1], d[3]);
    v[3] = hn::MulAdd(b, odd_b, even_b);
    v[4] = hn::NegMulAdd(b, odd_b, even_b);
    v[5] = hn::MulAdd(product, d[1], hn::NegMulAdd(sum, d[3], d[5]));
  }
  static HWY_INLINE void output(const V (&m)[6], V (&y)[4]) {
    const WinogradTag t;
    const V p = hn::Add(m[1], m[2]);
    const V q = hn::Sub(m[1], m[2]);
    const V r = hn::Add(m[3], m[4]);
    const V s = hn::Sub(m[3], m[4]);
    y[0] = hn::Add(m[0], hn::Add(p, r));
    y[1] = hn::MulAdd(hn::Set(t, kB), s, hn::Mul(hn::Set(t, kA), q));
    y[2] = hn::MulAdd(hn::Set(t, kB * kB), r, hn::Mul(hn::Set(t, kA * kA), p));
    y[3] = hn::MulAdd(hn::Set(t, kB * kB * kB), s, hn::MulAdd(hn::Set(t, kA * kA * kA), q, m[5]));
  }
};

template <int kSize>
class WinogradDriver {
 public:
  static constexpr int kInput = kSize + 2;
  static constexpr int kPoints = kInput * kInput;

  WinogradDriver(const WinogradProblem& problem, const CpuInvocation& invocation)
      : problem_(problem), invocation_(invocation) {
    zeros_ = reinterpret_cast<float*>(invocation.scratch + problem.zeros_offset);
    for (int64_t c = 0; c < problem.channels + kWinogradLanes; ++c) zeros_[c] = 0;
    inputs_ = reinterpret_cast<float*>(invocation.scratch + problem.input_offset);
    products_ = reinterpret_cast<float*>(invocation.scratch + problem.product_offset);
    input_row_ = (problem.channels + 15) / 16 * 16;
  }

  void run() {
    int64_t transformed = -1;
    for (int64_t tile = invocation_.tile_begin; tile < invocation_.tile_end; ++tile) {
      const int64_t block = tile / problem_.column_blocks;
      first_ = block * problem_.tile_count / problem_.blocks;
      count_ = (block + 1) * problem_.tile_count / problem_.blocks - first_;
      if (block != transformed) {
        for (int64_t i = 0; i < count_; ++i) transform_input(i);
        transformed = block;
      }
      const int64_t begin = tile % problem_.column_blocks * problem_.column_block;
      const int64_t end = HWY_MIN(begin + problem_.column_block, problem_.columns);
      int64_t vectors = 0;
      for (int64_t column = begin; column < end; column += vectors * kWinogradLanes) {
        const int64_t left = (end - column + kWinogradLanes - 1) / kWinogradLanes;
        vectors = gemm_next_vectors_of(left);
        const int64_t columns = HWY_MIN(end - column, vectors * kWinogradLanes);
        multiply(column, static_cast<int>(vectors));
        for (int64_t i = 0; i < count_; ++i) transform_output(i, column, columns);
      }
    }
  }

 private:
  struct Place {
    int64_t image;
    int64_t y;  // of its first output pixel
    int64_t x;
  };
  Place place(int64_t i) const {
    const int64_t tile = first_ + i;
    const int64_t in_image = tile % (problem_.tiles[0] * problem_.tiles[1]);
    return {tile / (problem_.tiles[0] * problem_.tiles[1]), in_image / problem_.tiles[1] * kSize,
            in_image % problem_.tiles[1] * kSize};
  }

  const float* binding(int64_t index) const {
    return reinterpret_cast<const float*>(invocation_.bindings[static_cast<size_t>(index)]);
  }

  // Writes tile i of the block to the planes.
  void transform_input(int64_t i) {
    const Place at = place(i);
    const int64_t top = at.y - problem_.pad[0];
    const int64_t left = at.x - problem_.pad[1];
    const float* x = binding(0) + at.image * problem_.x_image + top * problem_.x[0] + left * problem_.x[1];
    const bool inside =
        top >= 0 && left >= 0 && top + kInput <= problem_.input[0] && left + kInput <= problem_.input[1];
    const float* pixels[kPoints];
    for (int r = 0; r < kInput; ++r) {
      for (int c = 0; c < kInput; ++c) {
        const bool here = inside || (top + r >= 0 && top + r < problem_.input[0] && left + c >= 0 &&
                                     left + c < problem_.input[1]);
        pixels[r * kInput + c] = here ? x + r * problem_.x[0] + c * problem_.x[1] : zeros_;
      }
    }
    float* to = inputs_ + i * input_row_;
    const int64_t whole = problem_.channels / kWinogradLanes * kWinogradLanes;
    for (int64_t c = 0; c < whole; c += kWinogradLanes)
      transform_vector<false>(pixels, c, kWinogradLanes, to + c);
    if (whole < problem_.channels)
      transform_vector<true>(pixels, whole, problem_.channels - whole, to + whole);
  }

  template <bool kPart>
  HWY_INLINE void transform_vector(const float* const* pixels, int64_t c, int64_t count, float* to) {
    const WinogradTag d;
    WinogradVector middle[kInput][kInput];
    WEIR_UNROLL for (int column = 0; column < kInput; ++column) {
      WinogradVector from[kInput];
      WinogradVector v[kInput];
      WEIR_UNROLL for (int r = 0; r < kInput; ++r) {
        const float* pixel = pixels[r * kInput + column] + c;
        from[r] = kPart ? load_n(d, pixel, static_cast<size_t>(count)) : hn::LoadU(d, pixel);
      }
      WinogradTransform<kSize>::input(from, v);
      WEIR_UNROLL for (int r = 0; r < kInput; ++r) middle[r][column] = v[r];
    }
    WEIR_UNROLL for (int r = 0; r < kInput; ++r) {
      WinogradVector v[kInput];
      WinogradTransform<kSize>::input(middle[r], v);
      WEIR_UNROLL for (int column = 0; column < kInput; ++column) {
        hn::StoreU(v[column], d, to + (r * kInput + column) * problem_.input_plane);
      }
    }
  }

  // The products of all planes with the weights of `vectors` vectors of columns.
  void multiply(int64_t column, int vectors) {
    const int64_t k = problem_.channels;
    GemmRun run;
    GemmTile tile;
    tile.runs = &run;
    tile.run_count = 1;
    tile.run_length = k;
    tile.a_step = input_row_;
    tile.panel_stride = kPoints * k * 16;
    tile.c.step = vectors * kWinogradLanes;
    tile.columns = vectors * kWinogradLanes;
    const float* b = binding(1) + column / 16 * tile.panel_stride + column % 16;
    const int64_t most = gemm_tile_rows_of(vectors);
    const int64_t parts = (count_ + most - 1) / most;
    for (int point = 0; point < kPoints; ++point) {
      tile.b = b + point * k * 16;
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t row = part * count_ / parts;
        const int64_t rows = (part + 1) * count_ / parts - row;
        tile.a = inputs_ + point * problem_.input_plane + row * input_row_;
        tile.c.base = products_ + point * problem_.product_plane + row * tile.c.step;
        gemm_tile_function_of(rows, vectors)(tile);
      }
    }
    product_row_ = tile.c.step;
  }

  // Writes columns [column, column + columns) of tile i of the block to the output.
  void transform_output(int64_t i, int64_t column, int64_t columns) {
    const Place at = place(i);
    const Finish& finish = problem_.finish;
    const int64_t height = HWY_MIN(problem_.output[0] - at.y, int64_t{kSize});
    const int64_t width = HWY_MIN(problem_.output[1] - at.x, int64_t{kSize});
    float* y = const_cast<float*>(binding(problem_.y_binding)) + at.image * problem_.y_image +
               at.y * problem_.y[0] + at.x * problem_.y[1];
    const auto extra = [&](int e) {
      const auto& strides = problem_.extra[e];
      return binding(kFixedOperands + e) + at.image * strides[0] + at.y * strides[1] + at.x * strides[2];
    };
    const bool in_registers = finish.kind == FinishKind::kStore;
    const bool adds = in_registers && finish.before.kind != FinishStep::Kind::kNone;
    const float* residual = adds ? extra(finish.before.extra) : nullptr;
    const auto& residual_strides = problem_.extra[adds ? finish.before.extra : 0];
    const bool bounded = in_registers && finish.activation == Activation::kBounds;
    const WinogradTag d;
    for (int64_t j = 0; j < columns; j += kWinogradLanes) {
      const int64_t count = HWY_MIN(columns - j, kWinogradLanes);
      const bool whole = count == kWinogradLanes;
      const float* from = products_ + i * product_row_ + j;
      WinogradVector middle[kSize][kInput];
      WEIR_UNROLL for (int c = 0; c < kInput; ++c) {
        WinogradVector m[kInput];
        WinogradVector v[kSize];
        WEIR_UNROLL for (int r = 0; r < kInput; ++r) {
          m[r] = hn::LoadU(d, from + (r * kInput + c) * problem_.product_plane);
        }
        WinogradTransform<kSize>::output(m, v);
        WEIR_UNROLL for (int r = 0; r < kSize; ++r) middle[r][c] = v[r];
      }
      WinogradVector bias = hn::Zero(d);
      if (problem_.has_bias) {
        const float* bias_from = binding(2) + column + j;
        bias = whole ? hn::LoadU(d, bias_from) : load_n(d, bias_from, static_cast<size_t>(count));
      }
      const WinogradVector low = hn::Set(d, finish.low);
      const WinogradVector high = hn::Set(d, finish.high);
      WEIR_UNROLL for (int r = 0; r < kSize; ++r) {
        WinogradVector v[kSize];
        WinogradTransform<kSize>::output(middle[r], v);
        if (r >= height) continue;
        WEIR_UNROLL for (int c = 0; c < kSize; ++c) {
          if (c >= width) continue;
          WinogradVector value = hn::Add(v[c], bias);
          if (adds) {
            const float* p = residual + r * residual_strides[1] + c * residual_strides[2] + column + j;
            value = hn::Add(value, whole ? hn::LoadU(d, p) : load_n(d, p, static_cast<size_t>(count)));
          }
          if (bounded) value = at_most(at_least(value, low), high);
          float* to = y + r * problem_.y[0] + c * problem_.y[1] + column + j;
          if (whole) {
            hn::StoreU(value, d, to);
          } else {
            store_n(value, d, to, static_cast<size_t>(count));
          }
        }
      }
    }
    if (in_registers) return;
    float* rows[kSize * kSize];
    const float* extra_rows[kMaxExtras][kSize * kSize];
    const float* const* extras[kMaxExtras];
    for (int64_t r = 0; r < height; ++r) {
      for (int64_t c = 0; c < width; ++c) rows[r * width + c] = y + r * problem_.y[0] + c * problem_.y[1];
    }
    for (int e = 0; e < finish.extra_count; ++e) {
      const float* base = extra(e);
      for (int64_t r = 0; r < height; ++r) {
        for (int64_t c = 0; c < width; ++c) {
          extra_rows[e][r * width + c] = base + r * problem_.extra[e][1] + c * problem_.extra[e][2];
        }
      }
      extras[e] = extra_rows[e];
    }
    finish_rows(finish, rows, extras, height * width, column, columns,
                invocation_.scratch + problem_.finish_offset);
  }

  const WinogradProblem& problem_;
  const CpuInvocation& invocation_;
  float* zeros_ = nullptr;
  float* inputs_ = nullptr;
  float* products_ = nullptr;
  int64_t input_row_ = 0;
  int64_t product_row_ = 0;
  int64_t first_ = 0;  // tile of the block
  int64_t count_ = 0;
};

void winograd(const CpuInvocation& invocation) {
  const auto& problem = invocation.constants_as<WinogradProblem>();
  if (problem.size == 2) {
    WinogradDriver<2>(problem, invocation).run();
  } else {
    WinogradDriver<4>(problem, invocation).run();
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "kernels/cpu/gemm/pack.h"

namespace weir {
namespace {

// Of the second-level cache, for the transformed input of a block.
constexpr int64_t kInputBytes = 384 * 1024;
constexpr int64_t kMostBlockTiles = 30;
// Transformed weights that do not stay in the second-level cache, and what blocks may take then.
constexpr int64_t kHeavyBytes = 768 * 1024;
constexpr int64_t kHeavyInputBytes = 1024 * 1024;
constexpr int64_t kMostHeavyTiles = 64;
// With less tiles a pass over the transformed weights, which are 4 (m = 4) or 1.8 times the weights, is not
// worth it.
constexpr int64_t kLeastTiles4 = 25;
constexpr int64_t kLeastTiles2 = 36;
constexpr int64_t kWidestTile = 48;

// What an axis of an image whose extent is not known while compiling is taken to have.
constexpr int64_t kUnknownExtent = 64;

// Whether tiles of `size` pay for the output.
bool pays(const TensorType& output, int64_t size) {
  const int64_t height = output.shape[2].as_constant().value_or(kUnknownExtent);
  const int64_t width = output.shape[3].as_constant().value_or(kUnknownExtent);
  if (height < 1 || width < 1) return false;
  const int64_t tiles = ceil_div(height, size) * ceil_div(width, size);
  // Pixels that tiles of 4 compute beyond the image's end, at most a third.
  return size == 4 ? tiles >= kLeastTiles4 && 3 * tiles * 16 <= 4 * height * width : tiles >= kLeastTiles2;
}

template <int64_t kSize>
Support supported(const OpDesc& desc) {
  if (const Support support = supports_conv(desc); !support.ok()) return support;
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  const TensorType& w = *desc.inputs[1];
  if (w.rank() != 4 || !w.shape[2].is_constant(3) || !w.shape[3].is_constant(3))
    return {"the kernel is not 3 × 3"};
  if (attributes.group != 1) return {"it has groups"};
  for (const auto& list : {attributes.strides, attributes.dilations}) {
    if (list[0] != 1 || list[1] != 1) return {"the stride or dilation is not 1"};
  }
  if (w.shape[0].constant() < 16 || w.shape[1].constant() < 16) return {"there are less than 16 channels"};
  if (!pays(*desc.outputs[0], kSize)) return {"the image is too small for its method"};
  return {};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kChannelsDense);
}

// Rows of G: (1, p, p²) / Π (p − q) over the other points q; (0, 0, 1) for infinity.
std::vector<std::array<double, 3>> weight_rows(int64_t size) {
  std::vector<double> points{0};
  for (const double p :
       size == 2 ? std::vector<double>{kWinograd2A} : std::vector<double>{kWinograd4A, kWinograd4B}) {
    points.push_back(p);
    points.push_back(-p);
  }
  std::vector<std::array<double, 3>> rows;
  for (const double p : points) {
    double divisor = 1;
    for (const double q : points) {
      if (p != q) divisor *= p - q;
    }
    rows.push_back({1 / divisor, p / divisor, p * p / divisor});
  }
  rows.push_back({0, 0, 1});
  return rows;
}

// [panel][point][channel][16 columns]
template <int64_t kSize>
std::vector<PackRequest> pack(const OpDesc& desc) {
  const TensorType& w = *desc.inputs[1];
  const int64_t columns = w.shape[0].constant();
  const int64_t channels = w.shape[1].constant();
  constexpr int64_t size = kSize;
  const int64_t panels = ceil_div(columns, 16);
  PackRequest request;
  request.input = 1;
  request.id =
      fmt::format("f32.winograd{}.panel16.k{}.n{}{}", size, channels, columns, stride_suffix(w, "_"));
  request.bytes = (size + 2) * (size + 2) * panels * 16 * channels * int64_t{sizeof(float)};
  request.write = [channels, columns, panels](const TensorView& source, std::byte* target) {
    const auto rows = weight_rows(size);
    const size_t points = rows.size();
    float* to = reinterpret_cast<float*>(target);
    for (int64_t panel = 0; panel < panels; ++panel) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t i = 0; i < 16; ++i) {
          const int64_t column = panel * 16 + i;
          double g[3][3] = {};
          if (column < columns) {
            const float* from = source.as<const float>() + column * source.strides[0] + c * source.strides[1];
            for (int y = 0; y < 3; ++y) {
              for (int x = 0; x < 3; ++x) g[y][x] = from[y * source.strides[2] + x * source.strides[3]];
            }
          }
          for (size_t py = 0; py < points; ++py) {
            for (size_t px = 0; px < points; ++px) {
              double sum = 0;
              for (size_t y = 0; y < 3; ++y) {
                for (size_t x = 0; x < 3; ++x) sum += rows[py][y] * g[y][x] * rows[px][x];
              }
              const auto point = static_cast<int64_t>(py * points + px);
              to[((panel * static_cast<int64_t>(points * points) + point) * channels + c) * 16 + i] =
                  static_cast<float>(sum);
            }
          }
        }
      }
    }
  };
  return {std::move(request)};
}

template <int64_t kSize>
WinogradProblem make_problem(const ConcreteOp& op) {
  constexpr int64_t size = kSize;
  WinogradProblem problem{conv_problem(op)};
  problem.size = size;
  problem.tiles = {ceil_div(problem.output[0], size), ceil_div(problem.output[1], size)};
  problem.tile_count = problem.batch * problem.tiles[0] * problem.tiles[1];

  const int64_t points = (size + 2) * (size + 2);
  const int64_t row = align_up(problem.channels, 16);
  const int64_t panels = ceil_div(problem.columns, 16);
  const int64_t tile_bytes = points * row * int64_t{sizeof(float)};
  const int64_t weight_bytes = tile_bytes * panels * 16;
  const int64_t tiles = std::max<int64_t>(problem.tile_count, 1);
  int64_t ranges = 1;
  if (weight_bytes > kHeavyBytes) {
    // Few, large blocks, since each reads all of its columns' weights; participants share out columns, and
    // transform the input of a block more than once.
    const int64_t most = std::clamp<int64_t>(kHeavyInputBytes / tile_bytes, 10, kMostHeavyTiles);
    const int64_t most_ranges = std::max<int64_t>(1, panels / 2);
    problem.blocks = ceil_div(tiles, most);
    while (problem.blocks * most_ranges < 8 && tiles / (problem.blocks + 1) >= 10) ++problem.blocks;
    ranges = std::min(most_ranges, ceil_div(int64_t{16}, problem.blocks));
  } else {
    // An even number, so that two threads share them evenly.
    const int64_t most = std::clamp<int64_t>(kInputBytes / tile_bytes, 10, kMostBlockTiles);
    problem.blocks = align_up(ceil_div(tiles, most), 2);
    while (problem.blocks < 8 && tiles / (problem.blocks + 2) >= 12) problem.blocks += 2;
    problem.blocks = std::min(problem.blocks, tiles);
    ranges = std::clamp<int64_t>(ceil_div(int64_t{32}, problem.blocks), 1, std::max<int64_t>(1, panels / 4));
  }
  problem.block_tiles = ceil_div(tiles, problem.blocks);
  problem.column_block = std::max<int64_t>(2, ceil_div(panels, ranges)) * 16;
  problem.column_blocks = ceil_div(panels * 16, problem.column_block);
  if (problem.tile_count == 0) problem.blocks = 0;

  // A line more than a plane has: planes a multiple of 4 KiB apart would share cache sets.
  problem.input_plane = problem.block_tiles * row + 16;
  problem.product_plane = problem.block_tiles * kWidestTile + 16;
  int64_t offset = 0;
  const auto reserve = [&offset](int64_t floats) {
    const int64_t at = offset;
    offset = align_up(offset + floats * int64_t{sizeof(float)}, 64);
    return at;
  };
  problem.zeros_offset = reserve(problem.channels + 16);
  problem.input_offset = reserve(points * problem.input_plane);
  problem.product_offset = reserve(points * problem.product_plane);
  problem.finish_offset = offset;
  problem.scratch_bytes =
      align_up(offset + finish_scratch_bytes(problem.finish, size * size, kWidestTile), 64);
  return problem;
}

template <int64_t kSize>
constexpr Implementation kBase = {.op = Op::kConv,
                                  .supported = supported<kSize>,
                                  .layouts = layouts,
                                  .pack = pack<kSize>,
                                  .plan = plan_problem<make_problem<kSize>>,
                                  .extent = extent_problem<make_problem<kSize>>};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(ConvWinograd4, "conv.winograd4", kBase<4>, winograd)
WEIR_IMPLEMENT_EACH_ISA(ConvWinograd2, "conv.winograd2", kBase<2>, winograd)

}  // namespace weir
#endif
