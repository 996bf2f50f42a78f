// SPDX-License-Identifier: Apache-2.0
//
// TileProgram: a small typed list of scalar operations. Every elementwise operator is one, a chain of them is
// a longer one, and what a convolution or a matrix product does to its result before storing it (the
// epilogue) is one too. The CPU runs it over tiles that stay in the first-level cache.
//
//   TileProgram gelu(/*inputs=*/1, {ElementType::kFloat32});       // x·0.5·(1 + erf(x/√2))
//   int scaled = gelu.append(ScalarOp::kMul, {0, gelu.immediate(M_SQRT1_2)});
//   …
//
// Operands are numbered: inputs 0 … n−1, then instructions n, n+1, … in order. The last instruction is the
// result; a program without instructions passes input 0 through.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/element_type.h"

namespace weir {

// The numbers are stored in program files: append, never renumber. Comparisons and logic give kBool.
enum class ScalarOp : uint8_t {
  kImmediate = 0,  // value[0], in the instruction's type
  kCast = 1,       // a; float to integer truncates towards zero; to bool: a ≠ 0
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kDiv = 5,  // integers truncate towards zero
  kPow = 6,
  kMin = 7,  // NaN if either is NaN
  kMax = 8,
  kSqrt = 9,
  kErf = 10,
  kExp = 11,
  kLog = 12,
  kTanh = 13,
  kNeg = 14,
  kAbs = 15,
  kReciprocal = 16,
  kFloor = 17,
  kCeil = 18,
  kRelu = 19,         // max(a, 0); NaN stays
  kClip = 20,         // min(max(a, value[0]), value[1]); NaN stays
  kSigmoid = 21,      // 1 / (1 + e^−a)
  kHardSigmoid = 22,  // clip(value[0]·a + value[1], 0, 1)
  kHardSwish = 23,    // a · clip(a/6 + 1/2, 0, 1)
  kSilu = 24,         // a · sigmoid(a)
  kGelu = 25,         // a/2 · (1 + erf(a/√2))
  kLeakyRelu = 26,    // a ≥ 0 ? a : value[0]·a
  kWhere = 27,        // a ? b : c
  kEqual = 28,
  kLess = 29,
  kLessOrEqual = 30,
  kGreater = 31,
  kGreaterOrEqual = 32,
  kAnd = 33,
  kOr = 34,
  kNot = 35,
  kRound = 36,  // half to even
};

inline constexpr int kMaxTileInputs = 8;
inline constexpr int kMaxTileInstructions = 24;

struct TileInstruction {
  ScalarOp op = ScalarOp::kImmediate;
  ElementType type = ElementType::kFloat32;  // of the result
  std::array<uint8_t, 3> operands{};         // as many as arity(op)
  std::array<double, 2> value{};             // immediate, bounds or coefficients
  friend bool operator==(const TileInstruction&, const TileInstruction&) = default;
};

// How many operands `op` reads: 0 to 3.
int arity(ScalarOp op);
// "add", "hard_sigmoid", …
std::string_view to_string(ScalarOp op);

class TileProgram {
 public:
  TileProgram() = default;
  explicit TileProgram(std::vector<ElementType> input_types) : input_types_(std::move(input_types)) {}
  // From stored parts; verified: counts, operands before their use, types that fit, values that are finite or
  // bounds.
  static Result<TileProgram> from_parts(std::vector<ElementType> input_types,
                                        std::vector<TileInstruction> instructions);

  // Appends an instruction and returns its operand number. The result type is that of the first value
  // operand, kBool for comparisons; `append_cast` names another.
  int append(ScalarOp op, std::initializer_list<int> operands, double value0 = 0, double value1 = 0);
  int append_cast(int operand, ElementType type);
  int immediate(double value, ElementType type = ElementType::kFloat32);

  int input_count() const { return static_cast<int>(input_types_.size()); }
  std::span<const ElementType> input_types() const { return input_types_; }
  std::span<const TileInstruction> instructions() const { return instructions_; }
  bool empty() const { return instructions_.empty(); }
  ElementType type_of(int operand) const;
  ElementType result_type() const;

  // The program that feeds `producer`'s result into input `input` of this one. Inputs of the new program:
  // `producer`'s, then this one's without `input`. Nothing where it would pass the limits.
  std::optional<TileProgram> compose(const TileProgram& producer, int input) const;

  // Reads the inputs through another numbering: input i of this program becomes input map[i] of the result,
  // whose inputs have `types`. Used to merge inputs that are the same value.
  TileProgram remap(std::span<const int> map, std::vector<ElementType> types) const;

  std::string to_string() const;  // "mul sqrt add"; pass through: "identity"
  friend bool operator==(const TileProgram&, const TileProgram&) = default;

 private:
  std::vector<ElementType> input_types_;
  std::vector<TileInstruction> instructions_;
};

}  // namespace weir
