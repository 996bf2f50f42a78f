// SPDX-License-Identifier: Apache-2.0
#include "program/operands.h"

#include <algorithm>

#include "op/custom_operator.h"

namespace weir::internal {
namespace {

// Operands from `needed` on may be absent; those of an epilogue may not.
struct Arity {
  size_t needed = 1;
  size_t most = 1;
  size_t most_outputs = 1;
  bool outputs_needed = true;
};

Arity arity_of(const Step& step, const Attributes& attributes) {
  switch (step.op) {
    case Op::kElementwise: {
      const auto inputs =
          static_cast<size_t>(std::get<ElementwiseAttributes>(attributes).program.input_count());
      return {inputs, inputs};
    }
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kMatMul: {
      const Epilogue* epilogue = epilogue_of(attributes);
      const int extra = epilogue == nullptr ? 0 : std::max(0, epilogue->input_count() - 1);
      return {2, static_cast<size_t>(kFixedOperands + extra)};
    }
    case Op::kLstm:
      return {3, 7, 3, false};
    case Op::kLayerNormalization:
      return {2, 3};
    case Op::kGather:
      return {2, 2};
    case Op::kConcat:
      return {1, 1 << 16};
    case Op::kFill:
    case Op::kRange:
    case Op::kDimTensor:
      return {0, 0};
    case Op::kCustom:
      return {0, kMaxCustomTensors, static_cast<size_t>(std::get<CustomAttributes>(attributes).outputs)};
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kReduce:
    case Op::kSoftmax:
    case Op::kResize:
    case Op::kPad:
    case Op::kReshape:
    case Op::kTranspose:
    case Op::kSlice:
    case Op::kExpand:
    case Op::kCopy:
      return {1, 1};
  }
  return {};
}

}  // namespace

Result<void> check_operands(const Step& step, const Attributes& attributes) {
  const Arity arity = arity_of(step, attributes);
  const size_t inputs = step.inputs.size();
  const bool has_extras =
      arity.most > static_cast<size_t>(kFixedOperands) && epilogue_of(attributes) != nullptr;
  const size_t least = has_extras ? arity.most : arity.needed;
  if (inputs < least || inputs > arity.most) {
    return fail(StatusCode::kInvalidArgument, "The step has ({}) inputs, and {} takes ({}) to ({}).", inputs,
                to_string(step.op), least, arity.most);
  }
  for (size_t i = 0; i < inputs; ++i) {
    const bool may_be_absent = i >= arity.needed &&
                               !(has_extras && i >= static_cast<size_t>(kFixedOperands)) &&
                               step.op != Op::kConcat;
    if (step.inputs[i] == -1 && !may_be_absent) {
      return fail(StatusCode::kInvalidArgument, "The step lacks input ({}), and {} needs it.", i,
                  to_string(step.op));
    }
  }
  const size_t outputs = step.outputs.size();
  if (outputs < 1 || outputs > arity.most_outputs) {
    return fail(StatusCode::kInvalidArgument, "The step has ({}) outputs, and {} gives (1) to ({}).", outputs,
                to_string(step.op), arity.most_outputs);
  }
  if (std::ranges::count(step.outputs, -1) > (arity.outputs_needed ? 0 : std::ssize(step.outputs) - 1)) {
    return fail(StatusCode::kInvalidArgument, "The step lacks an output, and {} needs {}.",
                to_string(step.op), arity.outputs_needed ? "it" : "at least one");
  }
  return {};
}

}  // namespace weir::internal
