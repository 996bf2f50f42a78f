// SPDX-License-Identifier: Apache-2.0
//
// What the convolutions share.
#include "kernels/cpu/conv/conv.h"

namespace weir {

ConvShape conv_shape(const ConcreteOp& op) {
  const auto& attributes = op.get<ConvAttributes>();
  const TensorSpec& x = op.inputs[0];
  const TensorSpec& w = op.inputs[1];
  const TensorSpec& y = op.outputs[0];
  ConvShape shape;
  shape.batch = x.shape[0];
  shape.group = attributes.group;
  shape.channels = x.shape[1] / attributes.group;
  shape.columns = y.shape[1] / attributes.group;
  const int spatial = x.rank - 2;
  for (int i = 0; i < spatial; ++i) {
    const auto at = static_cast<size_t>(i);
    const size_t slot = at + 2 - static_cast<size_t>(spatial);
    shape.kernel[slot] = w.shape[2 + i];
    shape.stride[slot] = attributes.strides[at];
    shape.dilation[slot] = attributes.dilations[at];
    shape.pad[slot] = attributes.pads_begin[at].constant();
    shape.input[slot] = x.shape[2 + i];
    shape.output[slot] = y.shape[2 + i];
    shape.x[slot] = x.strides[2 + i];
    shape.y[slot] = y.strides[2 + i];
    shape.axis[slot] = 2 + i;
  }
  return shape;
}

ConvProblem conv_problem(const ConcreteOp& op) {
  ConvProblem problem{conv_shape(op)};
  problem.x_image = op.inputs[0].strides[0];
  problem.x_channel = op.inputs[0].strides[1];
  problem.y_image = op.outputs[0].strides[0];
  problem.has_bias = op.has_input(2);
  problem.y_binding = static_cast<int32_t>(op.inputs.size());
  problem.finish = make_finish(op, 1);
  for (int e = 0; e < problem.finish.extra_count; ++e) {
    problem.extra[static_cast<size_t>(e)] = {extra_stride(op, e, 0),
                                             problem.axis[0] == 0 ? 0 : extra_stride(op, e, problem.axis[0]),
                                             extra_stride(op, e, problem.axis[1])};
  }
  return problem;
}

Support supports_conv(const OpDesc& desc) {
  if (desc.inputs.size() < 2 || desc.inputs[0] == nullptr || desc.inputs[1] == nullptr) {
    return {"an operand is missing"};
  }
  const TensorType& x = *desc.inputs[0];
  const TensorType& w = *desc.inputs[1];
  const TensorType& y = *desc.outputs[0];
  if (x.rank() != 3 && x.rank() != 4) return {"the rank is neither 3 nor 4"};
  if (w.rank() != x.rank() || y.rank() != x.rank()) return {"the operands differ in rank"};
  for (const TensorType* type : {&x, &w, &y}) {
    if (type->element_type != ElementType::kFloat32) return {"an operand is not float32"};
  }
  const TensorType* bias = desc.inputs.size() > 2 ? desc.inputs[2] : nullptr;
  if (bias != nullptr && (bias->element_type != ElementType::kFloat32 || bias->rank() != 1)) {
    return {"the bias is not a float32 vector"};
  }
  if (desc.constant.size() < 2 || !desc.constant[1]) return {"the weights are not constant"};
  for (const Dim& dim : w.shape) {
    if (!dim.is_constant()) return {"the weights' shape is not known"};
  }
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  if (attributes.group < 1 || w.shape[0].constant() % attributes.group != 0) {
    return {"the group does not divide the output channels"};
  }
  return supports_finish(desc);
}

std::vector<LayoutRule> conv_layouts(const OpDesc& desc, LayoutRule input) {
  std::vector<LayoutRule> rules(desc.inputs.size() + 1, LayoutRule::kAny);
  rules[0] = input;
  if (rules.size() > 3) rules[2] = LayoutRule::kRowMajor;
  rules.back() = LayoutRule::kChannelsDense;
  return rules;
}

}  // namespace weir
