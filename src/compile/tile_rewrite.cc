// SPDX-License-Identifier: Apache-2.0
#include "compile/tile_rewrite.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

// Builds a program operation by operation, simplifying each against those before it.
class TidyBuilder {
 public:
  explicit TidyBuilder(const TileProgram& source)
      : inputs_(source.input_types().begin(), source.input_types().end()) {}

  int append(TileInstruction instruction) {
    const int simplified = simplify(instruction);
    return simplified >= 0 ? simplified : push(instruction);
  }

  // `result` becomes the last instruction; what it does not need is dropped.
  TileProgram finish(int result) const {
    const int inputs = input_count();
    std::vector<bool> needed(instructions_.size(), false);
    if (result >= inputs) {
      needed[static_cast<size_t>(result - inputs)] = true;
    }
    for (size_t i = instructions_.size(); i-- > 0;) {
      if (needed[i]) {
        for (int k = 0; k < arity(instructions_[i].op); ++k) {
          const int operand = instructions_[i].operands[static_cast<size_t>(k)];
          if (operand >= inputs) {
            needed[static_cast<size_t>(operand - inputs)] = true;
          }
        }
      }
    }
    std::vector<int> renumbered(instructions_.size(), -1);
    std::vector<TileInstruction> kept;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      if (!needed[i]) {
        continue;
      }
      TileInstruction copy = instructions_[i];
      for (int k = 0; k < arity(copy.op); ++k) {
        auto& operand = copy.operands[static_cast<size_t>(k)];
        if (operand >= inputs) {
          operand = static_cast<uint8_t>(renumbered[static_cast<size_t>(operand - inputs)]);
        }
      }
      renumbered[i] = inputs + static_cast<int>(kept.size());
      kept.push_back(copy);
    }
    if (result < inputs && result != 0) {  // a result must be input 0 or an instruction
      TileInstruction cast;
      cast.op = ScalarOp::kCast;
      cast.type = inputs_[static_cast<size_t>(result)];
      cast.operands[0] = static_cast<uint8_t>(result);
      kept.push_back(cast);
    }
    return *TileProgram::from_parts(inputs_, std::move(kept));
  }

 private:
  int input_count() const { return static_cast<int>(inputs_.size()); }

  const TileInstruction* definition(int operand) const {
    return operand < input_count() ? nullptr : &instructions_[static_cast<size_t>(operand - input_count())];
  }
  bool is(int operand, ScalarOp op) const {
    const TileInstruction* found = definition(operand);
    return found != nullptr && found->op == op;
  }
  std::optional<double> immediate(int operand) const {
    const TileInstruction* found = definition(operand);
    return found != nullptr && found->op == ScalarOp::kImmediate ? std::optional<double>(found->value[0])
                                                                 : std::nullopt;
  }
  bool is_immediate(int operand, double value) const { return immediate(operand) == value; }
  // For the constants of known functions, which exporters round.
  bool is_about(int operand, double value) const {
    const std::optional<double> number = immediate(operand);
    return number && std::abs(*number - value) <= 1e-6 * std::abs(value);
  }
  ElementType type_of(int operand) const {
    const TileInstruction* found = definition(operand);
    return found == nullptr ? inputs_[static_cast<size_t>(operand)] : found->type;
  }

  int push(const TileInstruction& instruction) {
    const auto same = std::ranges::find_if(instructions_, [&](const TileInstruction& other) {
      // Zeros of two signs are equal and not the same.
      return other == instruction && std::signbit(other.value[0]) == std::signbit(instruction.value[0]) &&
             std::signbit(other.value[1]) == std::signbit(instruction.value[1]);
    });
    if (same != instructions_.end()) {
      return input_count() + static_cast<int>(same - instructions_.begin());
    }
    instructions_.push_back(instruction);
    return input_count() + static_cast<int>(instructions_.size()) - 1;
  }
  int push(ScalarOp op, ElementType type, std::array<int, 3> operands, double value0 = 0, double value1 = 0) {
    TileInstruction instruction;
    instruction.op = op;
    instruction.type = type;
    for (int k = 0; k < arity(op); ++k) {
      instruction.operands[static_cast<size_t>(k)] = static_cast<uint8_t>(operands[static_cast<size_t>(k)]);
    }
    instruction.value = {value0, value1};
    return push(instruction);
  }
  int push_immediate(double value, ElementType type) { return push(ScalarOp::kImmediate, type, {}, value); }

  // The operand that stands for the instruction's result, or −1 where it must be appended as it is.
  int simplify(TileInstruction& instruction) {
    const int a = instruction.operands[0];
    const int b = instruction.operands[1];
    const bool real = instruction.type == ElementType::kFloat32;
    switch (instruction.op) {
      case ScalarOp::kCast:
        return type_of(a) == instruction.type ? a : -1;
      case ScalarOp::kAdd:
        return is_immediate(b, 0.0) ? a : is_immediate(a, 0.0) ? b : -1;
      case ScalarOp::kSub:
        return is_immediate(b, 0.0) ? a : -1;
      case ScalarOp::kDiv:
        if (is_immediate(b, 1.0)) {
          return a;
        }
        // Where the reciprocal is a normal number: a denormal one counts as 0, and one that overflows is no
        // factor.
        if (real && immediate(b) && std::isnormal(static_cast<float>(1.0 / *immediate(b)))) {
          const int factor = push_immediate(1.0 / *immediate(b), instruction.type);
          return append({ScalarOp::kMul,
                         instruction.type,
                         {static_cast<uint8_t>(a), static_cast<uint8_t>(factor)},
                         {}});
        }
        return -1;
      case ScalarOp::kPow:
        if (is_immediate(b, 1.0)) {
          return a;
        }
        if (real && is_immediate(b, 2.0)) {
          return push(ScalarOp::kMul, instruction.type, {a, a});
        }
        return real && is_immediate(b, 0.5) ? push(ScalarOp::kSqrt, instruction.type, {a}) : -1;
      case ScalarOp::kMul:
        return simplify_product(a, b, instruction.type);
      case ScalarOp::kMin:
        if (immediate(b) && is(a, ScalarOp::kMax) && immediate(definition(a)->operands[1])) {
          return push(ScalarOp::kClip, instruction.type, {definition(a)->operands[0]},
                      *immediate(definition(a)->operands[1]), *immediate(b));
        }
        return -1;
      default:
        return -1;
    }
  }

  int simplify_product(int a, int b, ElementType type) {
    if (is_immediate(b, 1.0)) {
      return a;
    }
    if (is_immediate(a, 1.0)) {
      return b;
    }
    if (type != ElementType::kFloat32) {
      return -1;
    }
    double scale = 1;
    std::vector<int> factors;
    if (collect_factors(a, scale, factors) && collect_factors(b, scale, factors) && factors.size() == 2) {
      for (int order = 0; order < 2; ++order) {
        const int x = factors[static_cast<size_t>(order)];
        const int other = factors[static_cast<size_t>(1 - order)];
        if (scale == 1.0 && is(other, ScalarOp::kSigmoid) && definition(other)->operands[0] == x) {
          return push(ScalarOp::kSilu, type, {x});
        }
        if (is_hard_sigmoid(other, x, scale)) {
          return push(ScalarOp::kHardSwish, type, {x});
        }
        if (std::abs(scale - 0.5) < 1e-6 && is_one_plus_erf(other, x)) {
          return push(ScalarOp::kGelu, type, {x});
        }
      }
    }
    return -1;
  }

  // The factors of a product of products, with the immediates among them multiplied into `scale`. False where
  // there are more than the known functions have: a square of squares has as many as its power.
  bool collect_factors(int operand, double& scale, std::vector<int>& factors) const {
    if (const std::optional<double> number = immediate(operand)) {
      scale *= *number;
      return true;
    }
    if (is(operand, ScalarOp::kMul)) {
      const auto& operands = definition(operand)->operands;
      return collect_factors(operands[0], scale, factors) && collect_factors(operands[1], scale, factors);
    }
    factors.push_back(operand);
    return factors.size() <= 2;
  }

  // scale · `operand` = clip(x/6 + 1/2, 0, 1)?
  bool is_hard_sigmoid(int operand, int x, double scale) const {
    const TileInstruction* found = definition(operand);
    if (found == nullptr) {
      return false;
    }
    if (found->op == ScalarOp::kHardSigmoid) {
      return scale == 1.0 && found->operands[0] == x && std::abs(found->value[0] - 1.0 / 6) < 1e-6 &&
             std::abs(found->value[1] - 0.5) < 1e-6;
    }
    if (found->op != ScalarOp::kClip || found->value[0] != 0.0 || found->value[1] != 6.0 ||
        std::abs(scale - 1.0 / 6) > 1e-6 || !is(found->operands[0], ScalarOp::kAdd)) {
      return false;
    }
    const TileInstruction* sum = definition(found->operands[0]);
    return (sum->operands[0] == x && is_immediate(sum->operands[1], 3.0)) ||
           (sum->operands[1] == x && is_immediate(sum->operands[0], 3.0));
  }

  // `operand` = 1 + erf(x/√2)?
  bool is_one_plus_erf(int operand, int x) const {
    if (!is(operand, ScalarOp::kAdd)) {
      return false;
    }
    const TileInstruction* sum = definition(operand);
    for (int order = 0; order < 2; ++order) {
      const int erf = sum->operands[static_cast<size_t>(order)];
      if (!is_immediate(sum->operands[static_cast<size_t>(1 - order)], 1.0) || !is(erf, ScalarOp::kErf)) {
        continue;
      }
      const int inner = definition(erf)->operands[0];
      if (!is(inner, ScalarOp::kMul)) {
        continue;
      }
      const TileInstruction* product = definition(inner);
      constexpr double kRootHalf = 0.70710678118654752440;
      if ((product->operands[0] == x && is_about(product->operands[1], kRootHalf)) ||
          (product->operands[1] == x && is_about(product->operands[0], kRootHalf))) {
        return true;
      }
    }
    return false;
  }

  std::vector<ElementType> inputs_;
  std::vector<TileInstruction> instructions_;
};

// The instructions with operand o replaced by renumber(o).
template <typename Renumber>
std::vector<TileInstruction> renumbered(std::span<const TileInstruction> instructions, Renumber renumber) {
  std::vector<TileInstruction> result(instructions.begin(), instructions.end());
  for (TileInstruction& instruction : result) {
    for (int k = 0; k < arity(instruction.op); ++k) {
      auto& operand = instruction.operands[static_cast<size_t>(k)];
      operand = static_cast<uint8_t>(renumber(static_cast<int>(operand)));
    }
  }
  return result;
}

}  // namespace

TileProgram tidy(const TileProgram& program) {
  // A rewrite may add an instruction before it drops others.
  if (program.empty() || program.instructions().size() > kMaxTileInstructions - 4) {
    return program;
  }
  TidyBuilder builder(program);
  const int inputs = program.input_count();
  std::vector<int> placed;
  for (TileInstruction instruction : program.instructions()) {
    for (int k = 0; k < arity(instruction.op); ++k) {
      auto& operand = instruction.operands[static_cast<size_t>(k)];
      if (operand >= inputs) {
        operand = static_cast<uint8_t>(placed[static_cast<size_t>(operand - inputs)]);
      }
    }
    placed.push_back(builder.append(instruction));
  }
  return builder.finish(placed.back());
}

std::optional<TileProgram> with_immediate(const TileProgram& program, int input, double value) {
  std::vector<ElementType> types(program.input_types().begin(), program.input_types().end());
  const int inputs = program.input_count();
  TileInstruction number;
  number.op = ScalarOp::kImmediate;
  number.type = types[static_cast<size_t>(input)];
  number.value[0] = value;
  types.erase(types.begin() + input);
  std::vector<TileInstruction> instructions = renumbered(program.instructions(), [&](int operand) {
    if (operand >= inputs) {
      return operand;  // one input fewer, one instruction more
    }
    return operand == input ? inputs - 1 : operand - (operand > input ? 1 : 0);
  });
  instructions.insert(instructions.begin(), number);
  Result<TileProgram> made = TileProgram::from_parts(std::move(types), std::move(instructions));
  return made ? std::optional<TileProgram>(*std::move(made)) : std::nullopt;
}

TileProgram without_unused_inputs(const TileProgram& program, std::vector<int>& kept) {
  const int inputs = program.input_count();
  std::vector<bool> read(static_cast<size_t>(inputs), false);
  read[0] = true;
  for (const TileInstruction& instruction : program.instructions()) {
    for (int k = 0; k < arity(instruction.op); ++k) {
      if (instruction.operands[static_cast<size_t>(k)] < inputs) {
        read[instruction.operands[static_cast<size_t>(k)]] = true;
      }
    }
  }
  kept.clear();
  std::vector<int> moved(static_cast<size_t>(inputs), -1);
  std::vector<ElementType> types;
  for (int i = 0; i < inputs; ++i) {
    if (read[static_cast<size_t>(i)]) {
      moved[static_cast<size_t>(i)] = static_cast<int>(kept.size());
      kept.push_back(i);
      types.push_back(program.input_types()[static_cast<size_t>(i)]);
    }
  }
  const int dropped = inputs - static_cast<int>(kept.size());
  return *TileProgram::from_parts(std::move(types), renumbered(program.instructions(), [&](int operand) {
                                    return operand < inputs ? moved[static_cast<size_t>(operand)]
                                                            : operand - dropped;
                                  }));
}

std::optional<int> passed_input(const TileProgram& program) {
  if (program.empty()) {
    return 0;
  }
  const TileInstruction& last = program.instructions().back();
  if (program.instructions().size() == 1 && last.op == ScalarOp::kCast &&
      program.input_types()[last.operands[0]] == last.type) {
    return last.operands[0];
  }
  return std::nullopt;
}

}  // namespace weir
