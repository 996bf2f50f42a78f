// SPDX-License-Identifier: Apache-2.0
//
// The kernel function that runs a GemmProblem (its constants), for each instruction set.
#pragma once

#include "hal/cpu_kernel.h"
#include "kernels/cpu/gemm/problem.h"

namespace weir {
namespace N_SSE4 {
void run_gemm(const CpuInvocation& invocation);
}
namespace N_AVX2 {
void run_gemm(const CpuInvocation& invocation);
}
namespace N_AVX3 {
void run_gemm(const CpuInvocation& invocation);
}
}  // namespace weir
