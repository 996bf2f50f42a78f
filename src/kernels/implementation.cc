// SPDX-License-Identifier: Apache-2.0
//
// Which instruction sets this machine has.
#include "kernels/implementation.h"

#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weir {
namespace {

constexpr bool has_all(uint64_t word, uint64_t bits) {
  return (word & bits) == bits;
}
constexpr uint32_t bit(int index) {
  return uint32_t{1} << index;
}

// CPUID leaf 1, ECX.
constexpr uint32_t kFma = bit(12);
constexpr uint32_t kOsXsave = bit(27);
constexpr uint32_t kAvx = bit(28);
constexpr uint32_t kF16c = bit(29);
// CPUID leaf 7, EBX.
constexpr uint32_t kBmi1 = bit(3);
constexpr uint32_t kAvx2 = bit(5);
constexpr uint32_t kBmi2 = bit(8);
constexpr uint32_t kAvx512F = bit(16);
constexpr uint32_t kAvx512Dq = bit(17);
constexpr uint32_t kAvx512Cd = bit(28);
constexpr uint32_t kAvx512Bw = bit(30);
constexpr uint32_t kAvx512Vl = bit(31);
// CPUID leaf 0x80000001, ECX.
constexpr uint32_t kLzcnt = bit(5);
// XCR0: XMM and YMM; opmask, upper halves of ZMM 0–15, and ZMM 16–31.
constexpr uint64_t kYmmState = 0x06;
constexpr uint64_t kZmmState = 0xe6;

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "sse4";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "invalid";
}

CpuFeatures read_cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    features.leaf1_ecx = ecx;
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    features.leaf7_ebx = ebx;
  }
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) != 0) {
    features.extended_ecx = ecx;
  }
  if (has_all(features.leaf1_ecx, kOsXsave)) {
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    features.xcr0 = (uint64_t{high} << 32) | low;
  }
#endif
  return features;
}

Isa isa_of(const CpuFeatures& features) {
  if (!has_all(features.leaf1_ecx, kOsXsave | kAvx | kFma | kF16c) ||
      !has_all(features.leaf7_ebx, kAvx2 | kBmi1 | kBmi2) || !has_all(features.extended_ecx, kLzcnt) ||
      !has_all(features.xcr0, kYmmState)) {
    return Isa::kBaseline;
  }
  if (!has_all(features.leaf7_ebx, kAvx512F | kAvx512Dq | kAvx512Cd | kAvx512Bw | kAvx512Vl) ||
      !has_all(features.xcr0, kZmmState)) {
    return Isa::kAvx2;
  }
  return Isa::kAvx512;
}

Isa detect_isa() {
  // CPUID traps in virtual machines, so it is asked once.
  static const Isa isa = isa_of(read_cpu_features());
  return isa;
}

}  // namespace weir
