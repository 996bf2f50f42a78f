// SPDX-License-Identifier: Apache-2.0
//
// The kernel function of matrix products and of the convolutions that are one.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/gemm.cc"
#include "kernels/cpu/gemm/gemm.h"

#include <utility>

#include "kernels/cpu/gemm/driver-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void run_gemm(const CpuInvocation& invocation) {
  GemmDriver(invocation.constants_as<GemmProblem>(), invocation).run();
}

GemmTileFunction gemm_tile_function_of(int64_t rows, int vectors) {
  return gemm_tile_function(rows, vectors);
}

int64_t gemm_tile_rows_of(int vectors) {
  return gemm_max_rows(vectors);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
