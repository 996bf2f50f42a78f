// SPDX-License-Identifier: Apache-2.0
//
// Preparing tile programs, and the steps that run without vectors.
#include "kernels/cpu/elementwise/tile_code.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weir {
namespace {

bool has_arithmetic(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kInt32:
    case ElementType::kInt64:
      return true;
    default:
      return false;
  }
}

bool is_held(ElementType type) {
  return has_arithmetic(type) || type == ElementType::kBool || type == ElementType::kFloat64;
}

int32_t cost_of(const TileStep& step) {
  if (step.from != ElementType::kFloat32 && step.op != ScalarOp::kWhere) return 4;
  switch (step.op) {
    case ScalarOp::kPow:
      return 24;
    case ScalarOp::kErf:
    case ScalarOp::kExp:
    case ScalarOp::kLog:
    case ScalarOp::kTanh:
    case ScalarOp::kSigmoid:
    case ScalarOp::kSilu:
    case ScalarOp::kGelu:
      return 8;
    case ScalarOp::kDiv:
    case ScalarOp::kSqrt:
    case ScalarOp::kReciprocal:
      return 2;
    default:
      return 1;
  }
}

// Values of the C++ types below are what memory holds; bool is a byte of 0 or 1.
template <typename Function>
void with_type(ElementType type, const Function& function) {
  switch (type) {
    case ElementType::kFloat32:
      return function(float{});
    case ElementType::kFloat64:
      return function(double{});
    case ElementType::kInt8:
      return function(int8_t{});
    case ElementType::kUint8:
      return function(uint8_t{});
    case ElementType::kInt32:
      return function(int32_t{});
    case ElementType::kInt64:
      return function(int64_t{});
    case ElementType::kBool:
      return function(bool{});
    default:
      return;
  }
}

// Truncates towards zero; what does not fit becomes the nearest value that does, NaN becomes 0.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    // 2^(bits − 1) or 2^bits: exact in floating point, unlike the greatest value itself.
    const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value <= (std::is_signed_v<To> ? -limit : From{0})) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Reads element i of an operand, or the one that it repeats.
template <typename T>
struct Source {
  explicit Source(const TileOperand& operand)
      : data(reinterpret_cast<const T*>(operand.data)), step(operand.dense ? 1 : 0) {}
  T operator[](int64_t i) const { return data[i * step]; }
  const T* data;
  int64_t step;
};

template <typename T, typename Result, typename Function>
void for_unary(const TileOperand& a, std::byte* output, int64_t count, const Function& function) {
  const Source<T> x(a);
  Result* y = reinterpret_cast<Result*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = function(x[i]);
}

template <typename T, typename Result, typename Function>
void for_binary(const TileOperand* operands, const TileStep& step, std::byte* output, int64_t count,
                const Function& function) {
  const Source<T> a(operands[step.operands[0]]);
  const Source<T> b(operands[step.operands[1]]);
  Result* y = reinterpret_cast<Result*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = function(a[i], b[i]);
}

// Integers wrap; a quotient by zero is 0.
template <typename T>
T divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}

// Negative exponents truncate towards zero; 0 to a negative power is 0.
template <typename T>
T integer_power(T base, T exponent) {
  using U = std::make_unsigned_t<T>;
  if (exponent < 0) {
    if (base == 1) return 1;
    if constexpr (std::is_signed_v<T>) {
      if (base == -1) return exponent % 2 == 0 ? T{1} : T{-1};
    }
    return 0;
  }
  uint64_t result = 1;
  uint64_t factor = static_cast<uint64_t>(static_cast<int64_t>(base));
  for (uint64_t left = static_cast<uint64_t>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(static_cast<U>(result));
}

template <typename T>
void compare_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count) {
  const auto run = [&](const auto& function) {
    for_binary<T, uint8_t>(operands, step, output, count, function);
  };
  switch (step.op) {
    case ScalarOp::kEqual:
      return run([](T a, T b) -> uint8_t { return a == b; });
    case ScalarOp::kLess:
      return run([](T a, T b) -> uint8_t { return a < b; });
    case ScalarOp::kLessOrEqual:
      return run([](T a, T b) -> uint8_t { return a <= b; });
    case ScalarOp::kGreater:
      return run([](T a, T b) -> uint8_t { return a > b; });
    default:
      return run([](T a, T b) -> uint8_t { return a >= b; });
  }
}

template <typename T>
void integer_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count) {
  // Arithmetic in 64 unsigned bits, so that overflow wraps in every width.
  const auto wrap = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  const auto unary = [&](const auto& function) {
    for_unary<T, T>(operands[step.operands[0]], output, count, function);
  };
  const auto binary = [&](const auto& function) {
    for_binary<T, T>(operands, step, output, count, function);
  };
  switch (step.op) {
    case ScalarOp::kAdd:
      return binary([&](T a, T b) { return static_cast<T>(wrap(a) + wrap(b)); });
    case ScalarOp::kSub:
      return binary([&](T a, T b) { return static_cast<T>(wrap(a) - wrap(b)); });
    case ScalarOp::kMul:
      return binary([&](T a, T b) { return static_cast<T>(wrap(a) * wrap(b)); });
    case ScalarOp::kDiv:
      return binary([](T a, T b) { return divide(a, b); });
    case ScalarOp::kPow:
      return binary([](T a, T b) { return integer_power(a, b); });
    case ScalarOp::kMin:
      return binary([](T a, T b) { return a < b ? a : b; });
    case ScalarOp::kMax:
      return binary([](T a, T b) { return a < b ? b : a; });
    case ScalarOp::kNeg:
      return unary([&](T a) { return static_cast<T>(-wrap(a)); });
    case ScalarOp::kAbs:
      return unary([&](T a) { return a < 0 ? static_cast<T>(-wrap(a)) : a; });
    case ScalarOp::kRelu:
      return unary([](T a) { return a < 0 ? T{0} : a; });
    case ScalarOp::kClip: {
      const T low = convert<T>(std::ceil(step.value[0]));
      const T high = convert<T>(std::floor(step.value[1]));
      return unary([&](T a) {
        const T bounded = a < low ? low : a;
        return bounded > high ? high : bounded;
      });
    }
    default:
      return;
  }
}

void logic_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count) {
  const auto binary = [&](const auto& function) {
    for_binary<uint8_t, uint8_t>(operands, step, output, count, function);
  };
  switch (step.op) {
    case ScalarOp::kAnd:
      return binary([](uint8_t a, uint8_t b) -> uint8_t { return a & b; });
    case ScalarOp::kOr:
      return binary([](uint8_t a, uint8_t b) -> uint8_t { return a | b; });
    default:
      return for_unary<uint8_t, uint8_t>(operands[step.operands[0]], output, count,
                                         [](uint8_t a) -> uint8_t { return a == 0; });
  }
}

template <typename T>
void where_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count) {
  const Source<uint8_t> condition(operands[step.operands[0]]);
  const Source<T> a(operands[step.operands[1]]);
  const Source<T> b(operands[step.operands[2]]);
  T* y = reinterpret_cast<T*>(output);
  for (int64_t i = 0; i < count; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

}  // namespace

Support supports_tile_program(const TileProgram& program) {
  if (program.empty() && program.input_count() == 0)
    return {"the program has neither inputs nor instructions"};
  for (ElementType type : program.input_types()) {
    if (!is_held(type))
      return {"an input has a type other than float32, float64, int8, uint8, int32, int64, bool"};
  }
  for (const TileInstruction& instruction : program.instructions()) {
    const bool moves = instruction.op == ScalarOp::kCast || instruction.op == ScalarOp::kWhere ||
                       instruction.op == ScalarOp::kImmediate;
    if (!is_held(instruction.type)) {
      return {"an instruction gives a type other than float32, float64, int8, uint8, int32, int64, bool"};
    }
    const ElementType from =
        arity(instruction.op) > 0 && !moves ? program.type_of(instruction.operands[0]) : instruction.type;
    if (!moves && from != ElementType::kBool && !has_arithmetic(from)) {
      return {"an instruction computes in float64"};
    }
  }
  return {};
}

TileCode make_tile_code(const TileProgram& program) {
  TileCode code;
  const int inputs = program.input_count();
  code.input_count = static_cast<uint8_t>(inputs);
  code.result_type = program.result_type();
  int widest = 1;

  // Immediates first: they are written once.
  const auto add = [&](TileStep step, int operand) {
    code.step_operand[code.step_count] = static_cast<uint8_t>(operand);
    code.steps[code.step_count++] = step;
  };
  const std::span<const TileInstruction> instructions = program.instructions();
  std::array<int, kMaxTileInputs + kMaxTileInstructions> last_reader{};
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].op != ScalarOp::kImmediate) {
      for (int k = 0; k < arity(instructions[i].op); ++k)
        last_reader[instructions[i].operands[k]] = static_cast<int>(i);
      continue;
    }
    TileStep step;
    step.type = step.from = instructions[i].type;
    step.value = instructions[i].value;
    step.slot = code.immediate_count++;
    add(step, inputs + static_cast<int>(i));
  }

  std::array<uint8_t, kMaxTileInputs + kMaxTileInstructions> slot_of{};
  std::array<bool, kMaxTileInstructions> taken{};
  const auto take = [&]() {
    uint8_t slot = 0;
    while (taken[slot]) ++slot;
    taken[slot] = true;
    if (slot >= code.slot_count) code.slot_count = static_cast<uint8_t>(slot + 1);
    return slot;
  };
  code.cost = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const TileInstruction& instruction = instructions[i];
    if (instruction.op == ScalarOp::kImmediate) continue;
    const int operand = inputs + static_cast<int>(i);
    TileStep step;
    step.op = instruction.op;
    step.type = instruction.type;
    step.operands = instruction.operands;
    step.from = program.type_of(instruction.operands[instruction.op == ScalarOp::kWhere ? 1 : 0]);
    step.value = instruction.value;
    const int exponent = instruction.operands[1] - inputs;
    if (step.op == ScalarOp::kPow && exponent >= 0 && instructions[exponent].op == ScalarOp::kImmediate &&
        instructions[exponent].value[0] == 2) {
      step.op = ScalarOp::kMul;
      step.operands[1] = step.operands[0];
    }
    const auto release = [&] {
      for (int k = 0; k < arity(instruction.op); ++k) {
        const int read = instruction.operands[k];
        if (read >= inputs && instructions[read - inputs].op != ScalarOp::kImmediate &&
            last_reader[read] == static_cast<int>(i)) {
          taken[slot_of[read]] = false;
        }
      }
    };
    // A step may write over what it reads where both have elements of one size.
    const bool same_size = bit_width(step.from) == bit_width(step.type) && step.op != ScalarOp::kWhere;
    if (same_size) release();
    const bool last = i + 1 == instructions.size();
    if (!last) {
      step.slot = slot_of[operand] = take();
      widest = std::max(widest, bit_width(step.type) / 8);
    }
    if (!same_size) release();
    code.cost += cost_of(step);
    add(step, operand);
  }

  // A program that only passes a value through still has a step that writes the output.
  if (instructions.empty() || instructions.back().op == ScalarOp::kImmediate) {
    TileStep step;
    step.op = ScalarOp::kCast;
    step.type = step.from = code.result_type;
    step.operands[0] = static_cast<uint8_t>(instructions.empty() ? 0 : inputs + instructions.size() - 1);
    add(step, step.operands[0]);
    code.cost += 1;
  }
  code.slot_bytes = static_cast<uint8_t>(widest);
  return code;
}

TileRegisters::TileRegisters(const TileCode& code, std::byte* memory, int64_t elements) {
  for (int i = 0; i < code.immediate_count; ++i) {
    const TileStep& step = code.steps[i];
    std::byte* target = memory + step.slot * kSplatBytes;
    with_type(step.type, [&](auto zero) {
      using T = decltype(zero);
      const T value = convert<T>(step.value[0]);
      std::byte element[sizeof(T)];
      std::memcpy(element, &value, sizeof(T));
      splat_element(sizeof(T), element, target);
    });
    operands[code.step_operand[i]] = {target, false};
  }
  slots = memory + code.immediate_count * kSplatBytes;
  slot_stride = (elements * code.slot_bytes + 63) & ~int64_t{63};
}

void splat_element(int element_bytes, const std::byte* source, std::byte* target) {
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, source, sizeof(T));
    for (size_t i = 0; i < kSplatBytes / sizeof(T); ++i)
      std::memcpy(target + i * sizeof(T), &value, sizeof(T));
  };
  switch (element_bytes) {
    case 1:
      return fill(uint8_t{});
    case 2:
      return fill(uint16_t{});
    case 4:
      return fill(uint32_t{});
    default:
      return fill(uint64_t{});
  }
}

void run_scalar_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count) {
  switch (step.op) {
    case ScalarOp::kCast:
      return with_type(step.from, [&](auto from) {
        with_type(step.type, [&](auto to) {
          using From = decltype(from);
          using To = decltype(to);
          for_unary<From, To>(operands[step.operands[0]], output, count,
                              [](From value) { return convert<To>(value); });
        });
      });
    case ScalarOp::kWhere:
      switch (bit_width(step.type)) {
        case 8:
          return where_step<uint8_t>(step, operands, output, count);
        case 32:
          return where_step<uint32_t>(step, operands, output, count);
        default:
          return where_step<uint64_t>(step, operands, output, count);
      }
    case ScalarOp::kAnd:
    case ScalarOp::kOr:
    case ScalarOp::kNot:
      return logic_step(step, operands, output, count);
    case ScalarOp::kEqual:
    case ScalarOp::kLess:
    case ScalarOp::kLessOrEqual:
    case ScalarOp::kGreater:
    case ScalarOp::kGreaterOrEqual:
      return with_type(step.from, [&](auto zero) {
        using T = decltype(zero);
        compare_step<T>(step, operands, output, count);
      });
    default:
      return with_type(step.from, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          integer_step<T>(step, operands, output, count);
        }
      });
  }
}

}  // namespace weir
