// SPDX-License-Identifier: Apache-2.0
//
// Building, verifying and composing tile programs.
#include "op/tile_program.h"

#include <cmath>
#include <limits>

namespace weir {
namespace {

// What types an operation takes. The result has the type of the value operands, unless the class says bool.
enum class TypeClass : uint8_t {
  kImmediate,
  kCast,
  kArithmetic,  // any type but bool
  kFloating,    // floating point only
  kSelect,      // bool, then two of the result's type
  kEqual,       // two of one type → bool
  kOrder,       // two of one type but bool → bool
  kLogic,       // bool → bool
};

struct ScalarOpInfo {
  std::string_view name;
  int arity;
  TypeClass types;
};

constexpr ScalarOpInfo kScalarOps[] = {
    {"immediate", 0, TypeClass::kImmediate},     //
    {"cast", 1, TypeClass::kCast},               //
    {"add", 2, TypeClass::kArithmetic},          //
    {"sub", 2, TypeClass::kArithmetic},          //
    {"mul", 2, TypeClass::kArithmetic},          //
    {"div", 2, TypeClass::kArithmetic},          //
    {"pow", 2, TypeClass::kArithmetic},          //
    {"min", 2, TypeClass::kArithmetic},          //
    {"max", 2, TypeClass::kArithmetic},          //
    {"sqrt", 1, TypeClass::kFloating},           //
    {"erf", 1, TypeClass::kFloating},            //
    {"exp", 1, TypeClass::kFloating},            //
    {"log", 1, TypeClass::kFloating},            //
    {"tanh", 1, TypeClass::kFloating},           //
    {"neg", 1, TypeClass::kArithmetic},          //
    {"abs", 1, TypeClass::kArithmetic},          //
    {"reciprocal", 1, TypeClass::kFloating},     //
    {"floor", 1, TypeClass::kFloating},          //
    {"ceil", 1, TypeClass::kFloating},           //
    {"relu", 1, TypeClass::kArithmetic},         //
    {"clip", 1, TypeClass::kArithmetic},         //
    {"sigmoid", 1, TypeClass::kFloating},        //
    {"hard_sigmoid", 1, TypeClass::kFloating},   //
    {"hard_swish", 1, TypeClass::kFloating},     //
    {"silu", 1, TypeClass::kFloating},           //
    {"gelu", 1, TypeClass::kFloating},           //
    {"leaky_relu", 1, TypeClass::kFloating},     //
    {"where", 3, TypeClass::kSelect},            //
    {"equal", 2, TypeClass::kEqual},             //
    {"less", 2, TypeClass::kOrder},              //
    {"less_or_equal", 2, TypeClass::kOrder},     //
    {"greater", 2, TypeClass::kOrder},           //
    {"greater_or_equal", 2, TypeClass::kOrder},  //
    {"and", 2, TypeClass::kLogic},               //
    {"or", 2, TypeClass::kLogic},                //
    {"not", 1, TypeClass::kLogic},               //
    {"round", 1, TypeClass::kFloating},
};
static_assert(std::size(kScalarOps) == static_cast<size_t>(ScalarOp::kRound) + 1);

bool is_known(ScalarOp op) {
  return static_cast<size_t>(op) < std::size(kScalarOps);
}

const ScalarOpInfo& info(ScalarOp op) {
  return kScalarOps[is_known(op) ? static_cast<size_t>(op) : 0];
}

bool gives_bool(TypeClass types) {
  return types == TypeClass::kEqual || types == TypeClass::kOrder || types == TypeClass::kLogic;
}

// Whether an immediate of `type` can hold `value`. Infinities are what masks are filled with.
bool holds(ElementType type, double value) {
  if (std::isnan(value)) {
    return false;
  }
  if (is_floating_point(type)) {
    return true;
  }
  if (value != std::trunc(value)) {
    return false;
  }
  switch (type) {
    case ElementType::kBool:
      return value == 0 || value == 1;
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kInt64:
    case ElementType::kInt4: {
      const double limit = std::ldexp(1.0, bit_width(type) - 1);
      return value >= -limit && value < limit;
    }
    default:
      return value >= 0 && value < std::ldexp(1.0, bit_width(type));
  }
}

Result<void> verify_values(const TileInstruction& instruction, size_t index) {
  const auto [a, b] = instruction.value;
  switch (instruction.op) {
    case ScalarOp::kImmediate:
      if (!holds(instruction.type, a)) {
        return fail(StatusCode::kInvalidArgument,
                    "Instruction ({}) of a tile program has an immediate value ({}) that {} cannot hold.",
                    index, a, to_string(instruction.type));
      }
      return {};
    case ScalarOp::kClip:
      if (std::isnan(a) || std::isnan(b)) {
        return fail(StatusCode::kInvalidArgument,
                    "Instruction ({}) of a tile program clips to bounds ({}, {}), and NaN is no bound.",
                    index, a, b);
      }
      return {};
    case ScalarOp::kHardSigmoid:
    case ScalarOp::kLeakyRelu:
      if (!std::isfinite(a) || !std::isfinite(b)) {
        return fail(StatusCode::kInvalidArgument,
                    "Instruction ({}) of a tile program has coefficients ({}, {}), and only finite ones are "
                    "allowed.",
                    index, a, b);
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

int arity(ScalarOp op) {
  return info(op).arity;
}

std::string_view to_string(ScalarOp op) {
  return is_known(op) ? info(op).name : "invalid";
}

Result<TileProgram> TileProgram::from_parts(std::vector<ElementType> input_types,
                                            std::vector<TileInstruction> instructions) {
  if (input_types.size() > kMaxTileInputs) {
    return fail(StatusCode::kInvalidArgument, "A tile program has ({}) inputs, and at most ({}) are allowed.",
                input_types.size(), kMaxTileInputs);
  }
  if (instructions.size() > kMaxTileInstructions) {
    return fail(StatusCode::kInvalidArgument,
                "A tile program has ({}) instructions, and at most ({}) are allowed.", instructions.size(),
                kMaxTileInstructions);
  }
  for (size_t i = 0; i < input_types.size(); ++i) {
    if (!is_valid(input_types[i])) {
      return fail(StatusCode::kInvalidArgument,
                  "Input ({}) of a tile program has an unknown element type ({}).", i,
                  static_cast<int>(input_types[i]));
    }
  }
  TileProgram program(std::move(input_types));
  for (size_t i = 0; i < instructions.size(); ++i) {
    const TileInstruction& instruction = instructions[i];
    if (!is_known(instruction.op) || !is_valid(instruction.type)) {
      return fail(
          StatusCode::kInvalidArgument,
          "Instruction ({}) of a tile program has an unknown operation ({}) or an unknown element type ({}).",
          i, static_cast<int>(instruction.op), static_cast<int>(instruction.type));
    }
    const ScalarOpInfo& known = info(instruction.op);
    for (int k = 0; k < known.arity; ++k) {
      if (instruction.operands[k] >= program.input_count() + static_cast<int>(i)) {
        return fail(StatusCode::kInvalidArgument,
                    "Instruction ({}) of a tile program reads operand ({}), and only ({}) lie before it.", i,
                    instruction.operands[k], program.input_count() + static_cast<int>(i));
      }
    }
    const ElementType result = instruction.type;
    const auto operand_type = [&](int k) { return program.type_of(instruction.operands[k]); };
    bool fits = true;
    switch (known.types) {
      case TypeClass::kImmediate:
      case TypeClass::kCast:
        break;
      case TypeClass::kArithmetic:
      case TypeClass::kFloating:
        fits = known.types == TypeClass::kFloating ? is_floating_point(result) : result != ElementType::kBool;
        for (int k = 0; k < known.arity; ++k) {
          fits = fits && operand_type(k) == result;
        }
        break;
      case TypeClass::kSelect:
        fits =
            operand_type(0) == ElementType::kBool && operand_type(1) == result && operand_type(2) == result;
        break;
      case TypeClass::kEqual:
      case TypeClass::kOrder:
        fits = result == ElementType::kBool && operand_type(0) == operand_type(1) &&
               (known.types == TypeClass::kEqual || operand_type(0) != ElementType::kBool);
        break;
      case TypeClass::kLogic:
        fits = result == ElementType::kBool;
        for (int k = 0; k < known.arity; ++k) {
          fits = fits && operand_type(k) == ElementType::kBool;
        }
        break;
    }
    if (!fits) {
      return fail(
          StatusCode::kInvalidArgument,
          "Instruction ({}) of a tile program ('{}') gives {} from operands of types that it does not "
          "take together.",
          i, known.name, weir::to_string(result));
    }
    WEIR_TRY(verify_values(instruction, i));
    program.instructions_.push_back(instruction);
  }
  return program;
}

int TileProgram::append(ScalarOp op, std::initializer_list<int> operands, double value0, double value1) {
  TileInstruction instruction;
  instruction.op = op;
  instruction.value = {value0, value1};
  int k = 0;
  for (int operand : operands) {
    if (k < 3) {
      instruction.operands[k++] = static_cast<uint8_t>(operand);
    }
  }
  if (gives_bool(info(op).types)) {
    instruction.type = ElementType::kBool;
  } else if (operands.size() > 0) {
    instruction.type = type_of(instruction.operands[op == ScalarOp::kWhere ? 1 : 0]);
  }
  instructions_.push_back(instruction);
  return input_count() + static_cast<int>(instructions_.size()) - 1;
}

int TileProgram::append_cast(int operand, ElementType type) {
  const int result = append(ScalarOp::kCast, {operand});
  instructions_.back().type = type;
  return result;
}

int TileProgram::immediate(double value, ElementType type) {
  const int result = append(ScalarOp::kImmediate, {}, value);
  instructions_.back().type = type;
  return result;
}

ElementType TileProgram::type_of(int operand) const {
  if (operand < input_count()) {
    return input_types_[operand];
  }
  return instructions_[operand - input_count()].type;
}

ElementType TileProgram::result_type() const {
  if (!instructions_.empty()) {
    return instructions_.back().type;
  }
  return input_types_.empty() ? ElementType::kFloat32 : input_types_[0];
}

std::optional<TileProgram> TileProgram::compose(const TileProgram& producer, int input) const {
  if (input < 0 || input >= input_count() || producer.input_count() == 0 ||
      producer.result_type() != input_types_[input]) {
    return std::nullopt;
  }
  const int before = producer.input_count();
  const int inputs = before + input_count() - 1;
  // Passing another input than the producer's result through takes an instruction.
  const bool passes_other = empty() && input != 0;
  const size_t count = producer.instructions_.size() + instructions_.size() + (passes_other ? 1 : 0);
  if (inputs > kMaxTileInputs || count > kMaxTileInstructions) {
    return std::nullopt;
  }
  TileProgram result(producer.input_types_);
  for (int i = 0; i < input_count(); ++i) {
    if (i != input) {
      result.input_types_.push_back(input_types_[i]);
    }
  }
  const auto append_renumbered = [&](const TileInstruction& instruction, auto renumber) {
    TileInstruction copy = instruction;
    for (int k = 0; k < arity(copy.op); ++k) {
      copy.operands[k] = static_cast<uint8_t>(renumber(copy.operands[k]));
    }
    result.instructions_.push_back(copy);
  };
  for (const TileInstruction& instruction : producer.instructions_) {
    append_renumbered(instruction,
                      [&](int operand) { return operand < before ? operand : operand - before + inputs; });
  }
  const int produced = producer.empty() ? 0 : inputs + static_cast<int>(producer.instructions_.size()) - 1;
  const int first_own = inputs + static_cast<int>(producer.instructions_.size());
  const auto renumber_own = [&](int operand) {
    if (operand == input) {
      return produced;
    }
    if (operand < input_count()) {
      return before + operand - (operand > input ? 1 : 0);
    }
    return first_own + operand - input_count();
  };
  for (const TileInstruction& instruction : instructions_) {
    append_renumbered(instruction, renumber_own);
  }
  if (passes_other) {
    result.append_cast(renumber_own(0), input_types_[0]);
  }
  return result;
}

TileProgram TileProgram::remap(std::span<const int> map, std::vector<ElementType> types) const {
  TileProgram result(std::move(types));
  for (const TileInstruction& instruction : instructions_) {
    TileInstruction copy = instruction;
    for (int k = 0; k < arity(copy.op); ++k) {
      const int operand = copy.operands[k];
      copy.operands[k] = static_cast<uint8_t>(
          operand < input_count() ? map[operand] : operand - input_count() + result.input_count());
    }
    result.instructions_.push_back(copy);
  }
  if (empty() && !map.empty() && map[0] != 0) {
    result.append_cast(map[0], result.input_types_[map[0]]);
  }
  return result;
}

std::string TileProgram::to_string() const {
  std::string text;
  for (const TileInstruction& instruction : instructions_) {
    if (instruction.op != ScalarOp::kImmediate) {
      text += text.empty() ? "" : " ";
      text += weir::to_string(instruction.op);
    }
  }
  if (!text.empty()) {
    return text;
  }
  return empty() ? "identity" : "immediate";
}

}  // namespace weir
