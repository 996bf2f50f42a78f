// SPDX-License-Identifier: Apache-2.0
//
// Recognises common epilogues.
#include "kernels/cpu/gemm/finish.h"

#include <limits>
#include <optional>

namespace weir {
namespace {

// Walks an epilogue that is a chain on input 0.
class Chain {
 public:
  explicit Chain(const Epilogue& epilogue, const Finish& finish) : epilogue_(epilogue), finish_(finish) {}

  bool done() const { return next_ == epilogue_.instructions().size(); }

  // value + extra or value · extra, in either order, of an extra that is read in vectors.
  std::optional<FinishStep> take_step() {
    if (done()) return std::nullopt;
    const TileInstruction& instruction = epilogue_.instructions()[next_];
    const bool add = instruction.op == ScalarOp::kAdd;
    if (!add && instruction.op != ScalarOp::kMul) return std::nullopt;
    const int other = instruction.operands[0] == value_   ? instruction.operands[1]
                      : instruction.operands[1] == value_ ? instruction.operands[0]
                                                          : -1;
    if (other < 1 || other >= epilogue_.input_count()) return std::nullopt;
    if (finish_.column_stride[static_cast<size_t>(other - 1)] != 1) return std::nullopt;
    advance();
    return FinishStep{add ? FinishStep::Kind::kAdd : FinishStep::Kind::kMultiply,
                      static_cast<int8_t>(other - 1)};
  }

  bool take_activation(Finish& finish) {
    if (done()) return false;
    const TileInstruction& instruction = epilogue_.instructions()[next_];
    if (instruction.operands[0] != value_) return false;
    const float v0 = static_cast<float>(instruction.value[0]);
    const float v1 = static_cast<float>(instruction.value[1]);
    const auto set = [&](Activation activation, float low = 0, float high = 0) {
      finish.activation = activation;
      finish.low = low;
      finish.high = high;
      advance();
      return true;
    };
    switch (instruction.op) {
      case ScalarOp::kRelu:
        return set(Activation::kBounds, 0, std::numeric_limits<float>::infinity());
      case ScalarOp::kClip:
        return set(Activation::kBounds, v0, v1);
      case ScalarOp::kSilu:
        return set(Activation::kSilu);
      case ScalarOp::kSigmoid:
        return set(Activation::kSigmoid);
      case ScalarOp::kGelu:
        return set(Activation::kGelu);
      case ScalarOp::kTanh:
        return set(Activation::kTanh);
      case ScalarOp::kHardSwish:
        return set(Activation::kHardSwish);
      case ScalarOp::kHardSigmoid:
        return set(Activation::kHardSigmoid, v0, v1);
      case ScalarOp::kLeakyRelu:
        return set(Activation::kLeaky, v0);
      default:
        return false;
    }
  }

 private:
  void advance() {
    value_ = epilogue_.input_count() + static_cast<int>(next_);
    ++next_;
  }

  const Epilogue& epilogue_;
  const Finish& finish_;
  size_t next_ = 0;
  int value_ = 0;
};

bool recognise(const Epilogue& epilogue, Finish& finish) {
  Chain chain(epilogue, finish);
  if (const auto step = chain.take_step()) finish.before = *step;
  const bool active = chain.take_activation(finish);
  size_t after = 0;
  while (after < finish.after.size()) {
    const auto step = chain.take_step();
    if (!step) break;
    finish.after[after++] = *step;
  }
  if (!chain.done()) return false;
  const bool in_registers = after == 0 && finish.before.kind != FinishStep::Kind::kMultiply &&
                            (!active || finish.activation == Activation::kBounds);
  finish.kind = in_registers ? FinishKind::kStore : FinishKind::kActivation;
  return true;
}

}  // namespace

int64_t extra_stride(const ConcreteOp& op, int e, int axis) {
  const TensorSpec& extra = op.inputs[static_cast<size_t>(kFixedOperands) + static_cast<size_t>(e)];
  const int own = axis - (op.outputs[0].rank - extra.rank);
  return own < 0 || extra.shape[own] == 1 ? 0 : extra.strides[own];
}

Support supports_finish(const OpDesc& desc) {
  const Epilogue* epilogue = epilogue_of(*desc.attributes);
  if (epilogue == nullptr || epilogue->empty()) return {};
  for (const ElementType type : epilogue->input_types()) {
    if (type != ElementType::kFloat32) return {"an operand of the epilogue is not float32"};
  }
  if (epilogue->result_type() != ElementType::kFloat32) return {"the epilogue's result is not float32"};
  return supports_tile_program(*epilogue);
}

Finish make_finish(const ConcreteOp& op, int column_axis) {
  Finish finish;
  const Epilogue* epilogue = epilogue_of(*op.attributes);
  if (epilogue == nullptr || epilogue->empty()) return finish;
  finish.extra_count = epilogue->input_count() - 1;
  for (int e = 0; e < finish.extra_count; ++e) {
    finish.column_stride[static_cast<size_t>(e)] =
        op.outputs[0].shape[column_axis] == 1 ? 1 : extra_stride(op, e, column_axis);
  }
  Finish recognised = finish;
  if (recognise(*epilogue, recognised)) return recognised;
  finish.kind = FinishKind::kProgram;
  finish.code = make_tile_code(*epilogue);
  return finish;
}

std::vector<InPlacePair> residual_in_place(const OpDesc& desc) {
  const Epilogue* epilogue = epilogue_of(*desc.attributes);
  if (epilogue == nullptr || epilogue->empty()) return {};
  Finish finish;
  finish.extra_count = epilogue->input_count() - 1;
  finish.column_stride.fill(1);  // of a residual with the output's own view
  if (!recognise(*epilogue, finish) || finish.kind != FinishKind::kStore ||
      finish.before.kind == FinishStep::Kind::kNone) {
    return {};
  }
  const int input = kFixedOperands + finish.before.extra;
  const TensorType* residual = desc.inputs[static_cast<size_t>(input)];
  if (residual == nullptr || residual->shape != desc.outputs[0]->shape) return {};
  return {{0, input}};
}

int64_t finish_scratch_bytes(const Finish& finish, int64_t rows, int64_t columns) {
  if (finish.kind != FinishKind::kProgram) return 0;
  return (1 + finish.extra_count) * rows * columns * int64_t{sizeof(float)} +
         tile_register_bytes(finish.code, rows * columns) + 64;
}

}  // namespace weir
