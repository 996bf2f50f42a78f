// SPDX-License-Identifier: Apache-2.0
//
// TransposeProblem: a transposed convolution as plain data, the constants of conv/conv_transpose.cc.
//
// Output pixels whose place (with the padding) has the same remainder by the stride are a phase: they read
// the same taps of the kernel, every stride-th, at neighbouring input pixels. Each phase is a convolution
// with stride 1 whose output pixels lie `stride` apart.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/cpu/gemm/problem.h"

namespace weir {

struct TransposeProblem {
  GemmProblem base;  // all that the phases share
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> pad{0, 0};  // before
  std::array<int64_t, 2> output{1, 1};
  Isa isa = Isa::kBaseline;

  int64_t phases() const { return stride[0] * stride[1]; }
};
static_assert(sizeof(TransposeProblem) <= kMaxKernelConstants);

// The product for one phase; its grid is 0 where it has no pixel.
GemmProblem phase_problem(const TransposeProblem& problem, int64_t phase);

}  // namespace weir
