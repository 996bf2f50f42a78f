// SPDX-License-Identifier: Apache-2.0
//
// Makes the Implementations of a kernel for every instruction set from the functions weir::N_AVX3::f,
// weir::N_AVX2::f and weir::N_SSE4::f (targets.h says how they come about). For files that only refer to such
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "kernels/implementation.h"
#include "kernels/record.h"

namespace weir {

// What differs between the instruction sets of one kernel, for its `plan` and `extent`: use as a template
// argument.
struct IsaTraits {
  int lanes;      // floats in a vector
  int registers;  // vector registers
};
constexpr IsaTraits traits_of(Isa isa) {
  switch (isa) {
    case Isa::kAvx512:
      return {16, 32};
    case Isa::kAvx2:
      return {8, 16};
    case Isa::kBaseline:
      break;
  }
  return {4, 16};
}

constexpr Implementation with_isa(Implementation base, std::string_view name, Isa isa,
                                  CpuKernelFunction kernel) {
  base.name = name;
  base.isa = isa;
  base.kernel = kernel;
  return base;
}

}  // namespace weir

// The three Implementations of per-target function `function`, fastest first. `base` is an expression in
// which `isa` (an Isa, a constant) may be used: `conv_base<isa>()`.
#define WEIR_EACH_ISA(family, base, function)                                            \
  ::std::array<::weir::Implementation, 3> {                                              \
    [] {                                                                                 \
      [[maybe_unused]] constexpr ::weir::Isa isa = ::weir::Isa::kAvx512;                 \
      return ::weir::with_isa(base, family ".avx512", isa, &::weir::N_AVX3::function);   \
    }(),                                                                                 \
        [] {                                                                             \
          [[maybe_unused]] constexpr ::weir::Isa isa = ::weir::Isa::kAvx2;               \
          return ::weir::with_isa(base, family ".avx2", isa, &::weir::N_AVX2::function); \
        }(),                                                                             \
        [] {                                                                             \
          [[maybe_unused]] constexpr ::weir::Isa isa = ::weir::Isa::kBaseline;           \
          return ::weir::with_isa(base, family ".sse4", isa, &::weir::N_SSE4::function); \
        }()                                                                              \
  }

// Defines kNameAvx512, kNameAvx2 and kNameSse4 for kernels/registry.cc, in namespace weir.
#define WEIR_IMPLEMENT_EACH_ISA(Name, family, base, function)                    \
  namespace {                                                                    \
  constexpr auto k##Name##EachIsa = WEIR_EACH_ISA(family, base, function);       \
  }                                                                              \
  extern constexpr ::weir::Implementation k##Name##Avx512 = k##Name##EachIsa[0]; \
  extern constexpr ::weir::Implementation k##Name##Avx2 = k##Name##EachIsa[1];   \
  extern constexpr ::weir::Implementation k##Name##Sse4 = k##Name##EachIsa[2];
