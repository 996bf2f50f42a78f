// SPDX-License-Identifier: Apache-2.0
//
// Multiply-adds on independent registers, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cc"
#include "kernels/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `steps` multiply-adds on each of 12 vectors; their sum, so that none is left out.
float multiply_add(int64_t steps, float factor, float addend) {
  const hn::ScalableTag<float> d;
  const auto x = hn::Set(d, factor);
  const auto y = hn::Set(d, addend);
  // Different starts: equal chains would be computed once.
  const auto start = [d, addend](int n) HWY_ATTR { return hn::Set(d, addend * static_cast<float>(n)); };
  auto a = start(1), b = start(2), c = start(3), e = start(4), f = start(5), g = start(6);
  auto h = start(7), i = start(8), j = start(9), k = start(10), l = start(11), m = start(12);
  for (int64_t step = 0; step < steps; ++step) {
    a = hn::MulAdd(a, x, y);
    b = hn::MulAdd(b, x, y);
    c = hn::MulAdd(c, x, y);
    e = hn::MulAdd(e, x, y);
    f = hn::MulAdd(f, x, y);
    g = hn::MulAdd(g, x, y);
    h = hn::MulAdd(h, x, y);
    i = hn::MulAdd(i, x, y);
    j = hn::MulAdd(j, x, y);
    k = hn::MulAdd(k, x, y);
    l = hn::MulAdd(l, x, y);
    m = hn::MulAdd(m, x, y);
  }
  const auto sum = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i)));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, hn::Add(hn::Add(j, k), hn::Add(l, m)))));
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>

#include "fma_peak.h"

namespace weir {

double fma_peak(Isa isa) {
  constexpr int64_t kSteps = 20'000;
  double best = 0;
  volatile float sink = 0;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    sink = isa == Isa::kAvx512 ? N_AVX3::multiply_add(kSteps, 0.999f, 0.001f)
           : isa == Isa::kAvx2 ? N_AVX2::multiply_add(kSteps, 0.999f, 0.001f)
                               : N_SSE4::multiply_add(kSteps, 0.999f, 0.001f);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, 2.0 * 12 * traits_of(isa).lanes * kSteps / seconds * 1e-9);
  }
  (void)sink;
  return best;
}

}  // namespace weir
#endif
