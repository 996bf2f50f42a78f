// SPDX-License-Identifier: Apache-2.0
//
// TileCode: a TileProgram prepared for running, plain data that a kernel keeps in its constants.
//
//   prepare  TileCode code = make_tile_code(program);
//            scratch: tile_register_bytes(code, elements) a participant
//   run      TileRegisters registers(code, scratch, elements);  // once a call of the kernel function
//            run_tile(code, registers, inputs, output, count);  // tile-inl.h; once a tile
//
// A tile is a dense run of elements. An input is read where it lies if it is dense there, or is one value for
// the whole tile; instructions hand their results on in registers of `elements` elements, which are reused as
// soon as their last reader has run, so that a chain stays in the first-level cache. The last instruction
// writes the output directly; it may lie where a dense input lies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/implementation.h"
#include "op/tile_program.h"

namespace weir {

// Elements of one tile of a chain: a few registers of float32 fit the first-level cache.
inline constexpr int64_t kTileElements = 1024;

struct TileStep {
  ScalarOp op = ScalarOp::kImmediate;
  ElementType type = ElementType::kFloat32;  // of the result
  ElementType from = ElementType::kFloat32;  // of the (first) value operand
  std::array<uint8_t, 3> operands{};         // numbered as in the program
  uint8_t slot = 0;                          // the register that it writes; the last step writes the output
  std::array<double, 2> value{};
};

struct TileCode {
  uint8_t input_count = 0;
  uint8_t step_count = 0;
  uint8_t immediate_count = 0;
  uint8_t slot_count = 0;
  uint8_t slot_bytes = 4;  // of one element of a register
  ElementType result_type = ElementType::kFloat32;
  // In order; immediates first, numbered by `step_operand`.
  std::array<TileStep, kMaxTileInstructions + 1> steps{};
  std::array<uint8_t, kMaxTileInstructions + 1> step_operand{};

  // What an element costs, about 1 an addition.
  int32_t cost = 1;
};

// Yes, or the type that the vector interpreter lacks.
Support supports_tile_program(const TileProgram& program);

// Only for a program that is supported.
TileCode make_tile_code(const TileProgram& program);

// A value's place: one element after another, or the same one again (then 64 bytes filled with it).
struct TileOperand {
  const std::byte* data = nullptr;
  bool dense = true;
};

inline constexpr int64_t kSplatBytes = 64;

constexpr int64_t tile_register_bytes(const TileCode& code, int64_t elements = kTileElements) {
  return code.immediate_count * kSplatBytes +
         code.slot_count * ((elements * code.slot_bytes + 63) & ~int64_t{63});
}

// Where operands lie while a program runs. Immediates are written once, by the constructor.
class TileRegisters {
 public:
  // `memory`: tile_register_bytes(code, elements), 64-byte aligned.
  TileRegisters(const TileCode& code, std::byte* memory, int64_t elements = kTileElements);

  // By operand number; inputs are set by the caller of run_tile.
  std::array<TileOperand, kMaxTileInputs + kMaxTileInstructions> operands;
  std::byte* slots = nullptr;
  int64_t slot_stride = 0;
};

// Fills the 64 bytes at `target` with the element of 1, 2, 4 or 8 bytes at `source`.
void splat_element(int element_bytes, const std::byte* source, std::byte* target);

// One step over `count` elements without vectors: integers, and casts that vectors do not have.
void run_scalar_step(const TileStep& step, const TileOperand* operands, std::byte* output, int64_t count);

}  // namespace weir
