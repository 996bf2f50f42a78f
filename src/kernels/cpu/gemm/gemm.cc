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

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
