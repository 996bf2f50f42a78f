// SPDX-License-Identifier: Apache-2.0
//
// LSTM in either or both directions, with initial states and sequence lengths. A tile is one sequence of the
// batch in one direction; its state is kept in double precision in scratch. What lies past a sequence's
// length is zero, and so are the final states of an empty one.
#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace weir {
namespace reference {
namespace {

enum Operand : size_t { kX, kW, kR, kB, kLengths, kH0, kC0, kOperands };
enum Result : size_t { kY, kH, kC, kResults };

struct LstmConstants {
  std::array<TensorSpec, kOperands> in;  // rank −1 where absent
  std::array<TensorSpec, kResults> out;
  LstmDirection direction = LstmDirection::kForward;
  int32_t inputs = 0;
  int64_t hidden = 0;
  int64_t batch = 0;
  int64_t steps = 0;
};

Support supported(const OpDesc& desc) {
  constexpr std::array<int, kOperands> kRanks = {3, 3, 3, 2, 1, 3, 3};
  constexpr std::array<int, kResults> kOutputRanks = {4, 3, 3};
  for (size_t i : {kX, kW, kR}) {
    if (input(desc, i) == nullptr) {
      return {"an operand is missing"};
    }
  }
  const ElementType type = input(desc, kX)->element_type;
  if (!is_reference_float(type)) {
    return {"the operands are not floating point"};
  }
  for (size_t i = 0; i < kOperands; ++i) {
    const TensorType* operand = input(desc, i);
    if (operand == nullptr) {
      continue;
    }
    const bool fits = i == kLengths ? operand->element_type == ElementType::kInt32 ||
                                          operand->element_type == ElementType::kInt64
                                    : operand->element_type == type;
    if (!fits || operand->rank() != kRanks[i]) {
      return {"an operand has another type or rank"};
    }
  }
  for (size_t i = 0; i < kResults; ++i) {
    const TensorType* result = output(desc, i);
    if (result != nullptr && (result->element_type != type || result->rank() != kOutputRanks[i])) {
      return {"an output has another type or rank"};
    }
  }
  return kYes;
}

Plan plan(const ConcreteOp& op) {
  // h, c and the four gates.
  const int64_t hidden = op.get<LstmAttributes>().hidden_size;
  return {.workspace_bytes = 0, .scratch_bytes = 6 * hidden * static_cast<int64_t>(sizeof(double))};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  LstmConstants constants;
  for (size_t i = 0; i < kOperands; ++i) {
    constants.in[i] = op.has_input(i) ? op.inputs[i] : absent_operand();
  }
  for (size_t i = 0; i < kResults; ++i) {
    constants.out[i] = i < op.outputs.size() ? op.outputs[i] : absent_operand();
  }
  constants.direction = op.get<LstmAttributes>().direction;
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  constants.hidden = op.get<LstmAttributes>().hidden_size;
  constants.steps = op.inputs[kX].shape[0];
  constants.batch = op.inputs[kX].shape[1];
  const int64_t directions = constants.direction == LstmDirection::kBidirectional ? 2 : 1;
  return record(constants, directions * constants.batch, target);
}

double sigmoid(double a) {
  return 1 / (1 + std::exp(-a));
}

template <typename T>
class Sequence {
 public:
  Sequence(const CpuInvocation& invocation, int64_t direction, int64_t item)
      : invocation_(invocation),
        c_(invocation.constants_as<LstmConstants>()),
        direction_(direction),
        item_(item),
        h_(reinterpret_cast<double*>(invocation.scratch)),
        cell_(h_ + c_.hidden),
        gates_(cell_ + c_.hidden) {}

  void run() {
    for (int64_t j = 0; j < c_.hidden; ++j) {
      h_[j] = c_.in[kH0].rank < 0 ? 0 : in(kH0, {direction_, item_, j});
      cell_[j] = c_.in[kC0].rank < 0 ? 0 : in(kC0, {direction_, item_, j});
    }
    const int64_t length = read_length();
    const bool reverse = c_.direction == LstmDirection::kReverse || direction_ == 1;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = reverse ? length - 1 - i : i;
      step(t);
      for (int64_t j = 0; j < c_.hidden; ++j) {
        put(kY, {t, direction_, item_, j}, h_[j]);
      }
    }
    for (int64_t t = length; t < c_.steps; ++t) {
      for (int64_t j = 0; j < c_.hidden; ++j) {
        put(kY, {t, direction_, item_, j}, 0);
      }
    }
    for (int64_t j = 0; j < c_.hidden; ++j) {
      put(kH, {direction_, item_, j}, length == 0 ? 0 : h_[j]);
      put(kC, {direction_, item_, j}, length == 0 ? 0 : cell_[j]);
    }
  }

 private:
  double in(Operand operand, const Index& index) const {
    const TensorSpec& spec = c_.in[operand];
    return reinterpret_cast<const T*>(
        invocation_.bindings[operand])[offset_of(index, spec.strides, spec.rank)];
  }

  void put(Result result, const Index& index, double value) const {
    const TensorSpec& spec = c_.out[result];
    if (spec.rank >= 0) {
      reinterpret_cast<T*>(invocation_.bindings[static_cast<size_t>(c_.inputs) + result])[offset_of(
          index, spec.strides, spec.rank)] = static_cast<T>(value);
    }
  }

  int64_t read_length() const {
    const TensorSpec& spec = c_.in[kLengths];
    if (spec.rank < 0) {
      return c_.steps;
    }
    const std::byte* base = invocation_.bindings[kLengths];
    const int64_t element = item_ * spec.strides[0];
    const int64_t length = spec.type == ElementType::kInt32
                               ? int64_t{reinterpret_cast<const int32_t*>(base)[element]}
                               : reinterpret_cast<const int64_t*>(base)[element];
    if (length >= 0 && length <= c_.steps) {
      return length;
    }
    invocation_.status->set(invocation_.step, StatusRecord::Code::kIndexOutOfRange, length, c_.steps + 1);
    return std::clamp<int64_t>(length, 0, c_.steps);
  }

  // h and c from those of the step before and x at time `t`.
  void step(int64_t t) {
    const int64_t hidden = c_.hidden;
    const int64_t features = c_.in[kX].shape[2];
    for (int64_t g = 0; g < 4 * hidden; ++g) {
      double sum = 0;
      for (int64_t i = 0; i < features; ++i) {
        sum += in(kX, {t, item_, i}) * in(kW, {direction_, g, i});
      }
      for (int64_t j = 0; j < hidden; ++j) {
        sum += h_[j] * in(kR, {direction_, g, j});
      }
      if (c_.in[kB].rank >= 0) {
        sum += in(kB, {direction_, g}) + in(kB, {direction_, 4 * hidden + g});
      }
      gates_[g] = sum;
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const double input_gate = sigmoid(gates_[j]);
      const double output_gate = sigmoid(gates_[hidden + j]);
      const double forget_gate = sigmoid(gates_[2 * hidden + j]);
      const double candidate = std::tanh(gates_[3 * hidden + j]);
      cell_[j] = forget_gate * cell_[j] + input_gate * candidate;
      h_[j] = output_gate * std::tanh(cell_[j]);
    }
  }

  const CpuInvocation& invocation_;
  const LstmConstants& c_;
  const int64_t direction_;
  const int64_t item_;
  double* const h_;
  double* const cell_;
  double* const gates_;
};

void run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<LstmConstants>();
  with_floating(c.in[kX].type, [&]<typename T>() {
    for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
      Sequence<T>(invocation, tile / c.batch, tile % c.batch).run();
    }
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceLstm = {
    .name = "reference.lstm",
    .op = Op::kLstm,
    .reference = true,
    .supported = reference::supported,
    .plan = reference::plan,
    .extent = reference::extent,
    .kernel = reference::run,
};

}  // namespace weir
