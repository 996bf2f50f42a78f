// SPDX-License-Identifier: Apache-2.0
//
// One kernel source, three instruction sets. A kernel file is compiled once an instruction set by Highway's
// foreach_target; its functions lie in weir::N_SSE4, weir::N_AVX2 and weir::N_AVX3, and the Implementations
// name those namespaces, so the loader alone chooses, by Implementation.isa: there is no dispatch table and
// no state.
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/cpu/softmax/softmax.cc"  // this very file
//   #include "kernels/cpu/targets.h"  // includes highway.h; no include guard, on purpose
//
//   HWY_BEFORE_NAMESPACE();
//   namespace weir::HWY_NAMESPACE {
//   void softmax(const CpuInvocation& invocation) { … }  // vectors of this namespace's width
//   }  // namespace weir::HWY_NAMESPACE
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace weir {
//   namespace {
//   // supported, layouts, plan, extent: ordinary code, compiled once
//   constexpr Implementation kBase = {.op = Op::kSoftmax, .supported = supported, .extent = extent};
//   }  // namespace
//   WEIR_IMPLEMENT_EACH_ISA(Softmax, "softmax.vector", kBase, softmax)
//   }  // namespace weir
//   #endif
//
// Keep standard-library templates out of the per-target part: an instantiation compiled for AVX-512 there may
// be the one that the linker keeps for everybody. A header with per-target code is named x-inl.h and has the
// guard
//
//   #if defined(WEIR_KERNELS_CPU_X_INL_H_) == defined(HWY_TARGET_TOGGLE)
//   #ifdef WEIR_KERNELS_CPU_X_INL_H_
//   #undef WEIR_KERNELS_CPU_X_INL_H_
//   #else
//   #define WEIR_KERNELS_CPU_X_INL_H_
//   #endif
#ifndef WEIR_KERNELS_CPU_TARGETS_H_
#define WEIR_KERNELS_CPU_TARGETS_H_

#include "kernels/cpu/each_isa.h"

#if defined(HIGHWAY_HWY_DETECT_TARGETS_H_)
#error "Include kernels/cpu/targets.h before any header of Highway."
#endif
// SSE4 without AES and carry-less multiplication is the baseline, then AVX2 and AVX-512; nothing else.
#define HWY_DISABLE_PCLMUL_AES
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_AVX3_DL)

#endif  // WEIR_KERNELS_CPU_TARGETS_H_

// Once a target: foreach_target.h includes the kernel file again for AVX2 and AVX-512, highway.h sets the
// macros.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
