// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolution of channels-last float32 images in one or two spatial dimensions: any kernel,
// stride, padding and group, with an epilogue. See conv_transpose.h for the phases.
#include "kernels/cpu/conv/conv_transpose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/each_isa.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace {

// Planning visits each phase, of which there are as many as the product of the strides.
constexpr int64_t kMaxStride = 16;

// Taps of a phase along one axis.
int64_t phase_taps(int64_t kernel, int64_t stride, int64_t phase) {
  return phase < kernel ? ceil_div(kernel - phase, stride) : 0;
}

Support supported(const OpDesc& desc) {
  if (const Support support = supports_conv(desc); !support.ok()) return support;
  for (const int64_t dilation : std::get<ConvAttributes>(*desc.attributes).dilations) {
    if (dilation != 1) return {"the dilation is not 1"};
  }
  for (const int64_t stride : std::get<ConvAttributes>(*desc.attributes).strides) {
    if (stride > kMaxStride) return {"a stride is more than 16"};
  }
  return {};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kChannelsDense);
}

// Group by group, phase by phase: [panel][tap][channel][16 columns], taps from the last to the first, which
// read the input from top to bottom.
std::vector<PackRequest> pack(const OpDesc& desc) {
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  const TensorType& w = *desc.inputs[1];
  const int64_t group = attributes.group;
  const int64_t channels = w.shape[0].constant() / group;
  const int64_t columns = w.shape[1].constant();
  const bool flat = w.rank() == 3;
  const std::array<int64_t, 2> kernel{flat ? 1 : w.shape[2].constant(), w.shape.back().constant()};
  const std::array<int64_t, 2> stride{flat ? 1 : attributes.strides[0], attributes.strides.back()};
  PackRequest request;
  request.input = 1;
  request.id = fmt::format("f32.panel16.transpose.g{}.w{}x{}.s{}x{}.k{}.n{}{}", group, kernel[0], kernel[1],
                           stride[0], stride[1], channels, columns, stride_suffix(w, "_"));
  request.bytes =
      group * kernel[0] * kernel[1] * channels * align_up(columns, kPanelWidth) * int64_t{sizeof(float)};
  request.write = [=](const TensorView& source, std::byte* target) {
    const int64_t row_stride = flat ? 0 : source.strides[2];
    const int64_t column_stride = source.strides[source.rank - 1];
    float* to = reinterpret_cast<float*>(target);
    for (int64_t g = 0; g < group; ++g) {
      for (int64_t phase = 0; phase < stride[0] * stride[1]; ++phase) {
        const int64_t py = phase / stride[1];
        const int64_t px = phase % stride[1];
        for (int64_t panel = 0; panel < columns; panel += kPanelWidth) {
          for (int64_t ty = phase_taps(kernel[0], stride[0], py) - 1; ty >= 0; --ty) {
            for (int64_t tx = phase_taps(kernel[1], stride[1], px) - 1; tx >= 0; --tx) {
              const float* tap = source.as<const float>() + (py + ty * stride[0]) * row_stride +
                                 (px + tx * stride[1]) * column_stride;
              for (int64_t c = 0; c < channels; ++c) {
                const float* from = tap + (g * channels + c) * source.strides[0];
                for (int64_t i = panel; i < panel + kPanelWidth; ++i) {
                  *to++ = i < columns ? from[i * source.strides[1]] : 0.0f;
                }
              }
            }
          }
        }
      }
    }
  };
  return {std::move(request)};
}

TransposeProblem make_problem(const ConcreteOp& op, Isa isa) {
  const ConvShape shape = conv_shape(op);
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  TransposeProblem problem;
  problem.kernel = shape.kernel;
  problem.stride = shape.stride;
  problem.pad = shape.pad;
  problem.output = shape.output;
  problem.isa = isa;
  GemmProblem& base = problem.base;
  base.k = shape.channels;
  base.columns = shape.columns;
  GemmAxisMap map;
  base.row_axes = 3;
  base.rows[0].extent = y.shape[0];
  base.rows[0].a = x.strides[0];
  base.rows[0].c = y.strides[0];
  for (int i = 0; i < 2; ++i) {
    base.rows[1 + i].c = shape.y[i];
    map.row_axis[1 + i] = shape.axis[i];
  }
  base.windowed = true;
  base.window.input = shape.input;
  base.window.a = shape.x;
  if (shape.group > 1) {
    base.batch_axes = 1;
    GemmAxis& groups = base.batches[0];
    groups.extent = shape.group;
    groups.a = shape.channels;
    groups.b = align_up(shape.columns, kPanelWidth) * shape.kernel[0] * shape.kernel[1] * shape.channels;
    groups.bias = shape.columns;
    groups.c = shape.columns;
    map.batch_axis[0] = 1;
    map.batch_step[0] = shape.columns;
  }
  if (op.has_input(2)) base.bias_binding = 2;
  base.c_binding = static_cast<int32_t>(op.inputs.size());
  add_epilogue(base, op, map);
  return problem;
}

template <Isa kIsa>
Plan plan(const ConcreteOp& op) {
  const TransposeProblem problem = make_problem(op, kIsa);
  int64_t bytes = 0;
  for (int64_t phase = 0; phase < problem.phases(); ++phase) {
    bytes = std::max(bytes, phase_problem(problem, phase).scratch_bytes);
  }
  return {.workspace_bytes = 0, .scratch_bytes = bytes};
}

template <Isa kIsa>
Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const TransposeProblem problem = make_problem(op, kIsa);
  int64_t tiles = 0;
  for (int64_t phase = 0; phase < problem.phases(); ++phase) tiles += phase_problem(problem, phase).grid();
  return record(problem, tiles, target);
}

template <Isa kIsa>
constexpr Implementation kBase = {.op = Op::kConvTranspose,
                                  .supported = supported,
                                  .layouts = layouts,
                                  .pack = pack,
                                  .plan = plan<kIsa>,
                                  .extent = extent<kIsa>};

}  // namespace

GemmProblem phase_problem(const TransposeProblem& problem, int64_t phase) {
  GemmProblem result = problem.base;
  const std::array<int64_t, 2> place{phase / problem.stride[1], phase % problem.stride[1]};
  const int64_t floats = align_up(result.columns, kPanelWidth) * result.k;
  // Panels of the phases before.
  for (int64_t before = 0; before < phase; ++before) {
    result.b_begin += floats * phase_taps(problem.kernel[0], problem.stride[0], before / problem.stride[1]) *
                      phase_taps(problem.kernel[1], problem.stride[1], before % problem.stride[1]);
  }
  for (size_t i = 0; i < 2; ++i) {
    const int64_t stride = problem.stride[i];
    // The phase's first pixel, and the input pixel that its first tap reads.
    const int64_t first = ((place[i] - problem.pad[i]) % stride + stride) % stride;
    const int64_t source = (first + problem.pad[i] - place[i]) / stride;  // exact, also below 0
    const int64_t count = first < problem.output[i] ? ceil_div(problem.output[i] - first, stride) : 0;
    const int64_t taps = phase_taps(problem.kernel[i], stride, place[i]);
    GemmAxis& axis = result.rows[1 + i];
    axis.extent = count;
    result.c_begin += first * axis.c;
    axis.c *= stride;
    for (int e = 0; e < result.finish.extra_count; ++e) {
      const auto extra = static_cast<size_t>(e);
      result.extra_begin[extra] += first * axis.extra[extra];
      axis.extra[extra] *= stride;
    }
    result.window.kernel[i] = std::max<int64_t>(taps, 1);
    result.window.pad[i] = taps - 1 - source;
    result.padded |=
        result.window.pad[i] > 0 || count - 1 + taps - 1 - result.window.pad[i] >= result.window.input[i];
    if (taps == 0) {
      // Only the bias.
      result.k = 0;
      result.padded = false;
    }
  }
  result.taps = result.k == 0 ? 1 : result.window.kernel[0] * result.window.kernel[1];
  if (result.k == 0) {
    result.window.kernel = {1, 1};
    result.padded = false;
  }
  finish_problem(result, problem.isa);
  return result;
}

WEIR_IMPLEMENT_EACH_ISA(ConvTranspose, "conv_transpose.gemm", kBase<isa>, run_conv_transpose)

}  // namespace weir
