// SPDX-License-Identifier: Apache-2.0
//
// The kernel function of matrix products and of the convolutions that are one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/gemm.cc"
#include "kernels/cpu/gemm/gemm.h"

#include <utility>

#include "kernels/cpu/conv/conv_transpose.h"
#include "kernels/cpu/gemm/driver-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void run_gemm(const CpuInvocation& invocation) {
  GemmDriver(invocation.constants_as<GemmProblem>(), invocation).run();
}

void run_conv_transpose(const CpuInvocation& invocation) {
  const auto& transpose = invocation.constants_as<TransposeProblem>();
  int64_t begin = 0;
  for (int64_t phase = 0; phase < transpose.phases() && begin < invocation.tile_end; ++phase) {
    const GemmProblem problem = phase_problem(transpose, phase);
    CpuInvocation part = invocation;
    part.tile_begin = HWY_MAX(invocation.tile_begin - begin, int64_t{0});
    part.tile_end = HWY_MIN(invocation.tile_end - begin, problem.grid());
    if (part.tile_begin < part.tile_end) GemmDriver(problem, part).run();
    begin += problem.grid();
  }
}

GemmTileFunction gemm_tile_function_of(int64_t rows, int vectors) {
  return gemm_tile_function(rows, vectors);
}

int64_t gemm_tile_rows_of(int vectors) {
  return gemm_max_rows(vectors);
}

int gemm_next_vectors_of(int64_t left) {
  return gemm_next_vectors(left);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
