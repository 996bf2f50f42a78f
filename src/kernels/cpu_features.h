// SPDX-License-Identifier: Apache-2.0
//
// What the processor and the operating system say they can do, as data, and the instruction set that follows
// from it: a pure function that tests call with invented processors.
#pragma once

#include <cstdint>

#include "kernels/implementation.h"

namespace weir {

struct CpuFeatures {
  uint32_t leaf1_ecx = 0;     // CPUID leaf 1
  uint32_t leaf7_ebx = 0;     // CPUID leaf 7, subleaf 0
  uint32_t extended_ecx = 0;  // CPUID leaf 0x80000001
  uint64_t xcr0 = 0;          // register states that the operating system saves; 0 without OSXSAVE
};

// Of this machine; all zero where it is not an x86-64.
CpuFeatures read_cpu_features();

// The best instruction set whose every feature is there and whose registers the system saves.
Isa isa_of(const CpuFeatures& features);

}  // namespace weir
