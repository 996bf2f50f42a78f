// SPDX-License-Identifier: Apache-2.0
//
// The meaning of every scalar operation.
#include "kernels/reference/tile_interpreter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace weir::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double sigmoid(double a) {
  return 1 / (1 + std::exp(-a));
}

double min_or_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : std::min(a, b);
}

double max_or_nan(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kNaN : std::max(a, b);
}

double clamp_or_nan(double a, double low, double high) {
  return min_or_nan(max_or_nan(a, low), high);
}

double real_result(const TileInstruction& instruction, double a, double b) {
  const auto [v0, v1] = instruction.value;
  switch (instruction.op) {
    case ScalarOp::kImmediate:
      return v0;
    case ScalarOp::kAdd:
      return a + b;
    case ScalarOp::kSub:
      return a - b;
    case ScalarOp::kMul:
      return a * b;
    case ScalarOp::kDiv:
      return a / b;
    case ScalarOp::kPow:
      return std::pow(a, b);
    case ScalarOp::kMin:
      return min_or_nan(a, b);
    case ScalarOp::kMax:
      return max_or_nan(a, b);
    case ScalarOp::kSqrt:
      return std::sqrt(a);
    case ScalarOp::kErf:
      return std::erf(a);
    case ScalarOp::kExp:
      return std::exp(a);
    case ScalarOp::kLog:
      return std::log(a);
    case ScalarOp::kTanh:
      return std::tanh(a);
    case ScalarOp::kNeg:
      return -a;
    case ScalarOp::kAbs:
      return std::fabs(a);
    case ScalarOp::kReciprocal:
      return 1 / a;
    case ScalarOp::kFloor:
      return std::floor(a);
    case ScalarOp::kCeil:
      return std::ceil(a);
    case ScalarOp::kRound:
      return std::nearbyint(a);
    case ScalarOp::kRelu:
      return max_or_nan(a, 0);
    case ScalarOp::kClip:
      return clamp_or_nan(a, v0, v1);
    case ScalarOp::kSigmoid:
      return sigmoid(a);
    case ScalarOp::kHardSigmoid:
      return clamp_or_nan(v0 * a + v1, 0, 1);
    case ScalarOp::kHardSwish:
      return a * clamp_or_nan(a / 6 + 0.5, 0, 1);
    case ScalarOp::kSilu:
      return a * sigmoid(a);
    case ScalarOp::kGelu:
      return a / 2 * (1 + std::erf(a * (std::numbers::sqrt2 / 2)));
    case ScalarOp::kLeakyRelu:
      return a >= 0 ? a : v0 * a;
    default:
      return kNaN;
  }
}

// In unsigned arithmetic, which wraps.
template <typename T>
T integer_power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>) {
    if (exponent < 0) {
      return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
    }
  }
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(base);
  for (auto left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    result *= (left & 1) != 0 ? factor : 1;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <typename T>
T integer_quotient(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {  // the least value has no negative
      return static_cast<T>(-static_cast<uint64_t>(a));
    }
  }
  return static_cast<T>(a / b);
}

template <typename T>
T integer_result(const TileInstruction& instruction, T a, T b) {
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  switch (instruction.op) {
    case ScalarOp::kImmediate:
      return truncate_to<T>(instruction.value[0]);
    case ScalarOp::kAdd:
      return static_cast<T>(ua + ub);
    case ScalarOp::kSub:
      return static_cast<T>(ua - ub);
    case ScalarOp::kMul:
      return static_cast<T>(ua * ub);
    case ScalarOp::kDiv:
      return integer_quotient(a, b);
    case ScalarOp::kPow:
      return integer_power(a, b);
    case ScalarOp::kMin:
      return std::min(a, b);
    case ScalarOp::kMax:
      return std::max(a, b);
    case ScalarOp::kNeg:
      return static_cast<T>(-ua);
    case ScalarOp::kAbs:
      return a < 0 ? static_cast<T>(-ua) : a;
    case ScalarOp::kRelu:
      return std::max(a, T{0});
    case ScalarOp::kClip:
      return std::min(std::max(a, truncate_to<T>(instruction.value[0])),
                      truncate_to<T>(instruction.value[1]));
    default:
      return 0;
  }
}

template <typename T>
bool compare(ScalarOp op, T a, T b) {
  switch (op) {
    case ScalarOp::kEqual:
      return a == b;
    case ScalarOp::kLess:
      return a < b;
    case ScalarOp::kLessOrEqual:
      return a <= b;
    case ScalarOp::kGreater:
      return a > b;
    case ScalarOp::kGreaterOrEqual:
      return a >= b;
    default:
      return false;
  }
}

bool is_comparison(ScalarOp op) {
  return op >= ScalarOp::kEqual && op <= ScalarOp::kGreaterOrEqual;
}

bool compare_scalars(ScalarOp op, ElementType type, Scalar a, Scalar b) {
  if (is_reference_float(type)) {
    return compare(op, a.real, b.real);
  }
  if (type == ElementType::kUint64) {
    return compare(op, static_cast<uint64_t>(a.integer), static_cast<uint64_t>(b.integer));
  }
  return compare(op, a.integer, b.integer);
}

Scalar cast(ElementType from, ElementType to, Scalar a) {
  Scalar result;
  if (to == ElementType::kBool) {
    result.integer = is_reference_float(from) ? (a.real != 0 ? 1 : 0) : (a.integer != 0 ? 1 : 0);
    return result;
  }
  if (is_reference_float(to)) {
    if (is_reference_float(from)) {
      result.real = a.real;
    } else if (to == ElementType::kFloat32) {  // in one rounding
      result.real = from == ElementType::kUint64 ? static_cast<float>(static_cast<uint64_t>(a.integer))
                                                 : static_cast<float>(a.integer);
    } else {
      result.real = from == ElementType::kUint64 ? static_cast<double>(static_cast<uint64_t>(a.integer))
                                                 : static_cast<double>(a.integer);
    }
    return narrow(to, result);
  }
  if (!is_reference_float(from)) {
    return narrow(to, a);
  }
  with_integer(to, [&]<typename T>() { result.integer = static_cast<int64_t>(truncate_to<T>(a.real)); });
  return result;
}

}  // namespace

TileConstants tile_constants(const TileProgram& program) {
  TileConstants result;
  result.inputs = program.input_count();
  result.instructions = static_cast<int32_t>(program.instructions().size());
  std::ranges::copy(program.input_types(), result.types.begin());
  std::ranges::copy(program.instructions(), result.list.begin());
  return result;
}

Scalar load(ElementType type, const std::byte* base, int64_t element) {
  Scalar value;
  if (type == ElementType::kBool) {
    value.integer = reinterpret_cast<const uint8_t*>(base)[element] != 0 ? 1 : 0;
  } else if (is_reference_integer(type)) {
    with_integer(type, [&]<typename T>() {
      value.integer = static_cast<int64_t>(reinterpret_cast<const T*>(base)[element]);
    });
  } else {
    with_floating(type, [&]<typename T>() { value.real = reinterpret_cast<const T*>(base)[element]; });
  }
  return value;
}

void store(ElementType type, std::byte* base, int64_t element, Scalar value) {
  if (type == ElementType::kBool) {
    reinterpret_cast<uint8_t*>(base)[element] = value.integer != 0 ? 1 : 0;
  } else if (is_reference_integer(type)) {
    with_integer(type,
                 [&]<typename T>() { reinterpret_cast<T*>(base)[element] = static_cast<T>(value.integer); });
  } else {
    with_floating(type,
                  [&]<typename T>() { reinterpret_cast<T*>(base)[element] = static_cast<T>(value.real); });
  }
}

Scalar narrow(ElementType type, Scalar value) {
  if (is_reference_integer(type)) {
    with_integer(type,
                 [&]<typename T>() { value.integer = static_cast<int64_t>(static_cast<T>(value.integer)); });
  } else {
    with_floating(type, [&]<typename T>() { value.real = static_cast<double>(static_cast<T>(value.real)); });
  }
  return value;
}

Scalar interpret(const TileConstants& program, const Scalar* inputs) {
  std::array<Scalar, kMaxTileInputs + kMaxTileInstructions> values;
  std::copy_n(inputs, program.inputs, values.begin());
  const auto type_of = [&](int operand) {
    return operand < program.inputs ? program.types[operand] : program.list[operand - program.inputs].type;
  };
  for (int i = 0; i < program.instructions; ++i) {
    const TileInstruction& instruction = program.list[i];
    // What the operation does not read may name anything.
    const int operands = arity(instruction.op);
    const auto operand = [&](int k) { return k < operands ? values[instruction.operands[k]] : Scalar{}; };
    Scalar& result = values[program.inputs + i];
    result = {};
    if (is_comparison(instruction.op)) {
      result.integer =
          compare_scalars(instruction.op, type_of(instruction.operands[0]), operand(0), operand(1)) ? 1 : 0;
    } else if (instruction.op == ScalarOp::kCast) {
      result = cast(type_of(instruction.operands[0]), instruction.type, operand(0));
    } else if (instruction.op == ScalarOp::kWhere) {
      result = operand(operand(0).integer != 0 ? 1 : 2);
    } else if (instruction.type == ElementType::kBool) {
      const bool a = operand(0).integer != 0;
      const bool b = operand(1).integer != 0;
      switch (instruction.op) {
        case ScalarOp::kAnd:
          result.integer = a && b ? 1 : 0;
          break;
        case ScalarOp::kOr:
          result.integer = a || b ? 1 : 0;
          break;
        case ScalarOp::kNot:
          result.integer = a ? 0 : 1;
          break;
        default:  // kImmediate
          result.integer = instruction.value[0] != 0 ? 1 : 0;
          break;
      }
    } else if (is_reference_integer(instruction.type)) {
      with_integer(instruction.type, [&]<typename T>() {
        result.integer = static_cast<int64_t>(integer_result(instruction, static_cast<T>(operand(0).integer),
                                                             static_cast<T>(operand(1).integer)));
      });
    } else {
      result.real = real_result(instruction, operand(0).real, operand(1).real);
      result = narrow(instruction.type, result);
    }
  }
  return program.instructions == 0 ? values[0] : values[program.inputs + program.instructions - 1];
}

Support can_interpret(const TileProgram& program) {
  const auto known = [](ElementType type) {
    return is_reference_float(type) || is_reference_integer(type) || type == ElementType::kBool;
  };
  if (program.input_count() > kMaxTileInputs || program.instructions().size() > kMaxTileInstructions) {
    return {"the tile program is too long"};
  }
  for (ElementType type : program.input_types()) {
    if (!known(type)) {
      return {"the tile program has an input of a type that has no arithmetic"};
    }
  }
  for (const TileInstruction& instruction : program.instructions()) {
    if (!known(instruction.type)) {
      return {"the tile program has an instruction of a type that has no arithmetic"};
    }
  }
  return kYes;
}

std::vector<InPlacePair> epilogue_in_place(const OpDesc& desc) {
  std::vector<InPlacePair> pairs;
  const TensorType& y = *output(desc, 0);
  for (size_t i = kFixedOperands; i < desc.inputs.size(); ++i) {
    const TensorType* extra = input(desc, i);
    if (extra != nullptr && extra->shape == y.shape &&
        bit_width(extra->element_type) == bit_width(y.element_type)) {
      pairs.push_back({0, static_cast<int>(i)});
    }
  }
  return pairs;
}

Support can_run_epilogue(const OpDesc& desc, ElementType accumulated) {
  const Epilogue* epilogue = epilogue_of(*desc.attributes);
  const ElementType result = output(desc, 0)->element_type;
  if (epilogue == nullptr || (epilogue->empty() && epilogue->input_count() == 0)) {
    return result == accumulated ? kYes : Support{"the output has another type than the inputs"};
  }
  if (Support support = can_interpret(*epilogue); !support.ok()) {
    return support;
  }
  if (epilogue->input_count() == 0 || epilogue->type_of(0) != accumulated ||
      epilogue->result_type() != result) {
    return {"the epilogue's types do not fit the operands"};
  }
  for (int i = 1; i < epilogue->input_count(); ++i) {
    const TensorType* extra = input(desc, static_cast<size_t>(kFixedOperands + i - 1));
    if (extra == nullptr || extra->element_type != epilogue->type_of(i) ||
        extra->rank() > output(desc, 0)->rank()) {
      return {"an extra input of the epilogue is missing or does not fit"};
    }
  }
  return kYes;
}

EpilogueConstants epilogue_constants(const ConcreteOp& op) {
  EpilogueConstants constants;
  if (const Epilogue* epilogue = epilogue_of(*op.attributes)) {
    constants.program = tile_constants(*epilogue);
    constants.first_binding = kFixedOperands;
    for (int i = 1; i < epilogue->input_count(); ++i) {
      constants.extra[i - 1] =
          broadcast_to(op.inputs[static_cast<size_t>(kFixedOperands + i - 1)], op.outputs[0]);
    }
  }
  return constants;
}

void finish(const CpuInvocation& invocation, const EpilogueConstants& epilogue, ElementType accumulated,
            Scalar value, const Index& index, const TensorSpec& output, std::byte* target) {
  value = narrow(accumulated, value);
  if (epilogue.program.instructions > 0) {
    std::array<Scalar, kMaxTileInputs> inputs;
    inputs[0] = value;
    for (int i = 1; i < epilogue.program.inputs; ++i) {
      const TensorSpec& extra = epilogue.extra[i - 1];
      inputs[i] = load(extra.type, invocation.bindings[static_cast<size_t>(epilogue.first_binding + i - 1)],
                       offset_of(index, extra.strides, extra.rank));
    }
    value = interpret(epilogue.program, inputs.data());
  }
  store(output.type, target, offset_of(index, output.strides, output.rank), value);
}

}  // namespace weir::reference
