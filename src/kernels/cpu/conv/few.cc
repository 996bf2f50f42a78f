// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of channels-last float32 images to very few channels, each output the product of one pixel:
// kernels of 1 × 1 (a head's last layer), and transposed ones whose kernel is as large as the stride (a
// mask's last enlargement).
//
// A matrix product would fill its register tiles to a sixteenth. Here vectors run along the input channels,
// and the sums of their lanes, a row of the output after the other, get the epilogue in scratch before they
// are stored.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/conv/few.cc"
#include "kernels/cpu/conv/few.h"

#include <cstdint>

#include "kernels/cpu/gemm/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

#define WEIR_UNROLL _Pragma("GCC unroll 4")

// The sums of `pixels` pixels for kColumns columns of weights, `weight_stride` apart; those of column j of
// pixel i go to to[i · step + offsets[j]].
template <int kColumns>
void few_columns(const float* x, int64_t pixel_stride, int64_t pixels, int64_t channels, const float* weights,
                 int64_t weight_stride, const float* bias, float* to, int64_t step, const int64_t* offsets) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t whole = channels / lanes * lanes;
  const size_t rest = static_cast<size_t>(channels - whole);
  for (int64_t i = 0; i < pixels; ++i, x += pixel_stride, to += step) {
    V sum[kColumns];
    WEIR_UNROLL for (int j = 0; j < kColumns; ++j) sum[j] = hn::Zero(d);
    for (int64_t c = 0; c < whole; c += lanes) {
      const V v = hn::LoadU(d, x + c);
      WEIR_UNROLL for (int j = 0; j < kColumns; ++j) {
        sum[j] = hn::MulAdd(v, hn::Load(d, weights + j * weight_stride + c), sum[j]);
      }
    }
    if (rest != 0) {
      const V v = load_n(d, x + whole, rest);
      WEIR_UNROLL for (int j = 0; j < kColumns; ++j) {
        sum[j] = hn::MulAdd(v, hn::Load(d, weights + j * weight_stride + whole), sum[j]);
      }
    }
    WEIR_UNROLL for (int j = 0; j < kColumns; ++j) {
      to[offsets[j]] = hn::GetLane(hn::SumOfLanes(d, sum[j])) + bias[j];
    }
  }
}

void conv_few(const CpuInvocation& invocation) {
  const auto& problem = invocation.constants_as<FewProblem>();
  const auto binding = [&](int32_t index) {
    return reinterpret_cast<float*>(invocation.bindings[static_cast<size_t>(index)]);
  };
  const int64_t outputs = problem.columns;
  const int64_t columns = problem.kernel[0] * problem.kernel[1] * outputs;
  // A row of values in scratch: all that kFewChunk input pixels give in one output row.
  const int64_t row = kFewChunk * problem.kernel[1] * outputs;
  float* values = reinterpret_cast<float*>(invocation.scratch);
  float bias[kFewMostColumns];
  int64_t offsets[kFewMostColumns];
  for (int64_t j = 0; j < columns; ++j) {
    const int64_t output = j % outputs;
    bias[j] = problem.has_bias ? binding(2)[output] : 0.0f;
    offsets[j] = j / (problem.kernel[1] * outputs) * row + j % (problem.kernel[1] * outputs);
  }
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const int64_t chunk = tile % problem.chunks;
    const int64_t line = tile / problem.chunks % problem.input[0];
    const int64_t image = tile / problem.chunks / problem.input[0];
    const int64_t first = chunk * kFewChunk;
    const int64_t pixels = HWY_MIN(problem.input[1] - first, kFewChunk);
    const float* x = binding(0) + image * problem.x_image + line * problem.x[0] + first * problem.x[1];
    const float* weights = binding(1);
    for (int64_t j = 0; j < columns;) {
      const int64_t step = problem.kernel[1] * outputs;
      const float* w = weights + j * problem.weight_stride;
      if (columns - j >= 4) {
        few_columns<4>(x, problem.x[1], pixels, problem.channels, w, problem.weight_stride, bias + j, values,
                       step, offsets + j);
        j += 4;
      } else if (columns - j >= 2) {
        few_columns<2>(x, problem.x[1], pixels, problem.channels, w, problem.weight_stride, bias + j, values,
                       step, offsets + j);
        j += 2;
      } else {
        few_columns<1>(x, problem.x[1], pixels, problem.channels, w, problem.weight_stride, bias + j, values,
                       step, offsets + j);
        j += 1;
      }
    }
    const int64_t wide = pixels * problem.kernel[1];  // output pixels
    for (int64_t ky = 0; ky < problem.kernel[0]; ++ky) {
      float* from = values + ky * row;
      const Finish& finish = problem.finish;
      if (finish.kind == FinishKind::kActivation || finish.activation != Activation::kNone) {
        // Bounds, which other kernels apply in registers, too.
        finish_rows(finish, &from, nullptr, 1, 0, wide * outputs, nullptr);
      }
      float* y = binding(problem.y_binding) + image * problem.y_image +
                 (line * problem.kernel[0] + ky) * problem.y[0] + first * problem.kernel[1] * problem.y[1];
      if (problem.y[1] == outputs) {
        finish_internal::copy_row(from, 1, wide * outputs, y);
      } else {
        for (int64_t i = 0; i < wide; ++i) {
          for (int64_t m = 0; m < outputs; ++m) y[i * problem.y[1] + m] = from[i * outputs + m];
        }
      }
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "kernels/cpu/gemm/pack.h"

namespace weir {
namespace {

// More columns fill the register tiles of a matrix product well enough.
constexpr int64_t kMostOutputs = 4;
constexpr int64_t kMostTransposedOutputs = 2;

// Bounds and activations are applied to a row of values; operands of the epilogue are not read.
Support supports_epilogue(const OpDesc& desc) {
  const Epilogue* epilogue = epilogue_of(*desc.attributes);
  if (epilogue == nullptr || epilogue->empty()) return {};
  if (epilogue->input_count() > 1) return {"the epilogue has operands"};
  if (epilogue->instructions().size() > 1) return {"the epilogue is no single activation"};
  switch (epilogue->instructions()[0].op) {
    case ScalarOp::kRelu:
    case ScalarOp::kClip:
    case ScalarOp::kSigmoid:
    case ScalarOp::kTanh:
    case ScalarOp::kSilu:
    case ScalarOp::kGelu:
    case ScalarOp::kHardSigmoid:
    case ScalarOp::kHardSwish:
      return {};
    default:
      return {"the epilogue is no common activation"};
  }
}

Support supported(const OpDesc& desc) {
  if (const Support support = supports_conv(desc); !support.ok()) return support;
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  const TensorType& w = *desc.inputs[1];
  const bool transposed = desc.op == Op::kConvTranspose;
  if (attributes.group != 1) return {"it has groups"};
  int64_t taps = 1;
  for (size_t i = 0; i < attributes.strides.size(); ++i) {
    const int64_t kernel = w.shape[2 + i].constant();
    taps *= kernel;
    if (transposed ? kernel != attributes.strides[i] : kernel != 1 || attributes.strides[i] != 1) {
      return {"an output is not the product of one pixel"};
    }
    if (!attributes.pads_begin[i].is_constant(0) || !attributes.pads_end[i].is_constant(0))
      return {"it has padding"};
    // Output padding would leave pixels without a source.
    const Dim wanted = transposed ? desc.inputs[0]->shape[2 + i] * kernel : desc.inputs[0]->shape[2 + i];
    if (!(desc.outputs[0]->shape[2 + i] == wanted)) return {"the output is larger than its sources"};
  }
  const int64_t outputs = w.shape[transposed ? 1 : 0].constant();
  if (outputs > (transposed ? kMostTransposedOutputs : kMostOutputs) || outputs * taps > kFewMostColumns) {
    return {"it has more than a few output channels"};
  }
  return supports_epilogue(desc);
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kChannelsDense);
}

// [kernel row][kernel column][output][channels, to a multiple of 16]
std::vector<PackRequest> pack(const OpDesc& desc) {
  const TensorType& w = *desc.inputs[1];
  const bool transposed = desc.op == Op::kConvTranspose;
  const int64_t channels = w.shape[transposed ? 0 : 1].constant();
  const int64_t outputs = w.shape[transposed ? 1 : 0].constant();
  int64_t taps = 1;
  for (size_t i = 2; i < w.shape.size(); ++i) taps *= w.shape[i].constant();
  PackRequest request;
  request.input = 1;
  request.id = fmt::format("f32.rows{}.t{}.n{}.k{}{}", transposed ? ".transpose" : "", taps, outputs,
                           channels, stride_suffix(w, "_"));
  request.bytes = taps * outputs * align_up(channels, 16) * int64_t{sizeof(float)};
  request.write = [transposed, channels, outputs](const TensorView& source, std::byte* target) {
    float* to = reinterpret_cast<float*>(target);
    const int64_t rows = source.rank > 3 ? source.shape[2] : 1;
    const int64_t columns = source.shape[source.rank - 1];
    const int64_t row_stride = source.rank > 3 ? source.strides[2] : 0;
    const int64_t channel_stride = source.strides[transposed ? 0 : 1];
    const int64_t output_stride = source.strides[transposed ? 1 : 0];
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < columns; ++x) {
        for (int64_t m = 0; m < outputs; ++m) {
          const float* from = source.as<const float>() + y * row_stride +
                              x * source.strides[source.rank - 1] + m * output_stride;
          for (int64_t c = 0; c < align_up(channels, 16); ++c)
            *to++ = c < channels ? from[c * channel_stride] : 0.0f;
        }
      }
    }
  };
  return {std::move(request)};
}

FewProblem make_problem(const ConcreteOp& op) {
  FewProblem problem{conv_problem(op)};
  problem.weight_stride = align_up(problem.channels, 16);
  problem.chunks = ceil_div(problem.input[1], kFewChunk);
  problem.scratch_bytes =
      problem.kernel[0] * problem.kernel[1] * problem.columns * kFewChunk * int64_t{sizeof(float)};
  return problem;
}

template <Op kOp>
constexpr Implementation kBase = {.op = kOp,
                                  .supported = supported,
                                  .layouts = layouts,
                                  .pack = pack,
                                  .plan = plan_problem<make_problem>,
                                  .extent = extent_problem<make_problem>};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(ConvFew, "conv.few", kBase<Op::kConv>, conv_few)
WEIR_IMPLEMENT_EACH_ISA(ConvTransposeFew, "conv_transpose.few", kBase<Op::kConvTranspose>, conv_few)

}  // namespace weir
#endif
