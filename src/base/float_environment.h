// SPDX-License-Identifier: Apache-2.0
//
// The floating-point state that every kernel runs under: round to nearest, denormals flushed to zero in
// results and operands, no trap. Set on entry and restored, because the calling thread belongs to somebody
// else.
//
//   FloatEnvironment environment;  // until the end of the scope
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir {

class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(read()) { write(kKernelState); }
  ~FloatEnvironment() { write(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#if defined(__x86_64__)
  // MXCSR: all exceptions masked (0x1F80), flush to zero (0x8000), denormals are zero (0x0040).
  static constexpr uint64_t kKernelState = 0x9FC0;
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t state) { _mm_setcsr(static_cast<uint32_t>(state)); }
#elif defined(__aarch64__)
  // FPCR: flush to zero is bit 24; rounding mode 0 is to nearest.
  static constexpr uint64_t kKernelState = uint64_t{1} << 24;
  static uint64_t read() {
    uint64_t state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void write(uint64_t state) { asm volatile("msr fpcr, %0" : : "r"(state)); }
#else
#error "This processor's floating-point control register is not known."
#endif

 private:
  uint64_t saved_;
};

}  // namespace weir
