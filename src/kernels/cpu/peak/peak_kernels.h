// SPDX-License-Identifier: Apache-2.0
//
// Kernels that do as much of one thing as a core can: what a profile sets other kernels against. They are no
// implementations of an operator; runtime/peaks.h measures with them.
#pragma once

#include "kernels/implementation.h"

namespace weir {

// Float32 multiply-adds on independent registers. No bindings but one float a tile for the sums, so that
// nothing is left out.
struct MultiplyAddConstants {
  int64_t steps = 0;  // of every tile: multiply_add_flops(isa, steps) FLOP
  float factor = 0.999f;
  float addend = 0.001f;
};
CpuKernelFunction multiply_add_kernel(Isa isa);
// FLOP of a tile; a multiply-add counts two.
int64_t multiply_add_flops(Isa isa, int64_t steps);

// Reads, or reads and writes, the tile's share of the buffers again and again.
struct StreamConstants {
  int64_t floats = 0;  // of one tile, a multiple of kStreamFloats
  int64_t passes = 1;
};
inline constexpr int64_t kStreamFloats = 128;
// Bindings: the buffer, and a float a tile for the sums.
CpuKernelFunction read_stream_kernel(Isa isa);
// Bindings: source and target.
CpuKernelFunction copy_stream_kernel(Isa isa);

// The multiplier peak of the calling thread in GFLOP/s, measured for about a millisecond.
double fma_peak(Isa isa);

}  // namespace weir
