// SPDX-License-Identifier: Apache-2.0
//
// What a convolution or matrix product does with its sums: the epilogue, compiled to the cheapest of three
// forms.
//
//   kStore       [+ residual] [bounds]: in the micro-kernel's registers
//   kActivation  [step] [activation] [step] [step], a step being "+ extra" or "· extra": one pass over rows
//                that lie in the first-level cache (finish-inl.h)
//   kProgram     anything else that the interpreter of tile programs runs
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/elementwise/tile_code.h"
#include "kernels/implementation.h"

namespace weir {

inline constexpr int kMaxExtras = kMaxTileInputs - 1;

enum class FinishKind : uint8_t { kStore, kActivation, kProgram };

enum class Activation : uint8_t {
  kNone,
  kBounds,  // low, high
  kSilu,
  kSigmoid,
  kGelu,
  kTanh,
  kHardSwish,
  kHardSigmoid,  // low: the factor, high: the addend
  kLeaky,        // low: the slope
};

struct FinishStep {
  enum class Kind : uint8_t { kNone, kAdd, kMultiply };
  Kind kind = Kind::kNone;
  int8_t extra = 0;
};

struct Finish {
  FinishKind kind = FinishKind::kStore;
  Activation activation = Activation::kNone;
  float low = 0;
  float high = 0;
  FinishStep before;
  std::array<FinishStep, 2> after;
  TileCode code;  // kProgram

  int32_t extra_count = 0;
  // Of each extra: its stride along the columns (1, or 0 where it is broadcast, or another).
  std::array<int64_t, kMaxExtras> column_stride{};
};

// The epilogue of `op`, whose output's columns lie along axis `column_axis`.
Finish make_finish(const ConcreteOp& op, int column_axis);

// Stride of extra `e` of `op` along an axis of the output: aligned at the last axis, 0 where it is broadcast.
int64_t extra_stride(const ConcreteOp& op, int e, int axis);

// Whether the epilogue can run: its operands and result are float32, and the interpreter has its steps.
Support supports_finish(const OpDesc& desc);

// The output may lie in a residual of its own shape where the epilogue is "+ residual [bounds]": the sums are
// not kept there before the residual has been read.
std::vector<InPlacePair> residual_in_place(const OpDesc& desc);

// Bytes of scratch that finish_rows needs for `rows` × `columns` at once.
int64_t finish_scratch_bytes(const Finish& finish, int64_t rows, int64_t columns);

}  // namespace weir
