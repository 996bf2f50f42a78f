// SPDX-License-Identifier: Apache-2.0
//
// Convolution of channels-last float32 images in one or two spatial dimensions as an implicit matrix product
// (gemm/problem.h): any kernel, stride, dilation, padding and group, with an epilogue. 1 × 1 kernels are
// plain products over pixels.
#include "kernels/cpu/conv/conv.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/cpu/each_isa.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/gemm/tile.h"

namespace weir {
namespace {

Support supported(const OpDesc& desc) {
  return supports_conv(desc);
}

std::vector<PackRequest> pack(const OpDesc& desc) {
  return {pack_conv_weights(*desc.inputs[1], std::get<ConvAttributes>(*desc.attributes).group)};
}

std::vector<LayoutRule> layouts(const OpDesc& desc) {
  return conv_layouts(desc, LayoutRule::kChannelsDense);
}

GemmProblem make_problem(const ConcreteOp& op, Isa isa) {
  const auto& attributes = op.get<ConvAttributes>();
  const ConvShape shape = conv_shape(op);
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& y = op.outputs[0];
  GemmProblem problem;
  problem.k = shape.channels;
  problem.taps = shape.kernel[0] * shape.kernel[1];
  problem.columns = shape.columns;

  GemmAxisMap map;
  problem.row_axes = 3;
  problem.rows[0].extent = y.shape[0];
  problem.rows[0].a = x.strides[0];
  problem.rows[0].c = y.strides[0];
  map.row_axis[0] = 0;
  for (int i = 0; i < 2; ++i) {
    problem.rows[1 + i].extent = shape.output[i];
    problem.rows[1 + i].c = shape.y[i];
    map.row_axis[1 + i] = shape.axis[i];
  }
  // Whether some window reaches past the input: padding at the end shows in the number of windows only.
  for (int i = 0; i < 2; ++i) {
    const int64_t last =
        (shape.output[i] - 1) * shape.stride[i] - shape.pad[i] + (shape.kernel[i] - 1) * shape.dilation[i];
    problem.padded |= shape.pad[i] > 0 || last >= shape.input[i];
  }
  if (problem.taps == 1 && !problem.padded && shape.pad[0] == 0 && shape.pad[1] == 0) {
    for (int i = 0; i < 2; ++i) problem.rows[1 + i].a = shape.x[i] * shape.stride[i];
  } else {
    problem.windowed = true;
    problem.window = {.kernel = shape.kernel,
                      .stride = shape.stride,
                      .dilation = shape.dilation,
                      .pad = shape.pad,
                      .input = shape.input,
                      .a = shape.x};
  }
  if (attributes.group > 1) {
    problem.batch_axes = 1;
    GemmAxis& groups = problem.batches[0];
    groups.extent = attributes.group;
    groups.a = shape.channels;
    groups.b = align_up(shape.columns, kPanelWidth) * problem.taps * problem.k;
    groups.bias = shape.columns;
    groups.c = shape.columns;
    map.batch_axis[0] = 1;
    map.batch_step[0] = shape.columns;
  }
  if (op.has_input(2)) problem.bias_binding = 2;
  problem.c_binding = static_cast<int32_t>(op.inputs.size());
  add_epilogue(problem, op, map);
  finish_problem(problem, isa);
  return problem;
}

template <Isa kIsa>
GemmProblem problem_on(const ConcreteOp& op) {
  return make_problem(op, kIsa);
}

template <Isa kIsa>
constexpr Implementation base = {.op = Op::kConv,
                                 .supported = supported,
                                 .layouts = layouts,
                                 .in_place = residual_in_place,
                                 .pack = pack,
                                 .plan = plan_problem<problem_on<kIsa>>,
                                 .extent = extent_problem<problem_on<kIsa>>};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(ConvGemm, "conv.gemm", base<isa>, run_gemm)

}  // namespace weir
