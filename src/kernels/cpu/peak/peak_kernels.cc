// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/peak/peak_kernels.cc"
#include "kernels/cpu/peak/peak_kernels.h"

#include "hal/cpu_kernel.h"
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

void multiply_add_tiles(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<MultiplyAddConstants>();
  float* sums = reinterpret_cast<float*>(invocation.bindings[0]);
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    sums[tile] = multiply_add(c.steps, c.factor, c.addend);
  }
}

void read_stream(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<StreamConstants>();
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  float* sums = reinterpret_cast<float*>(invocation.bindings[1]);
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const float* from = reinterpret_cast<const float*>(invocation.bindings[0]) + tile * c.floats;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    auto s4 = hn::Zero(d), s5 = hn::Zero(d), s6 = hn::Zero(d), s7 = hn::Zero(d);
    for (int64_t pass = 0; pass < c.passes; ++pass) {
      for (int64_t i = 0; i < c.floats; i += 8 * lanes) {
        s0 = hn::Add(s0, hn::Load(d, from + i));
        s1 = hn::Add(s1, hn::Load(d, from + i + lanes));
        s2 = hn::Add(s2, hn::Load(d, from + i + 2 * lanes));
        s3 = hn::Add(s3, hn::Load(d, from + i + 3 * lanes));
        s4 = hn::Add(s4, hn::Load(d, from + i + 4 * lanes));
        s5 = hn::Add(s5, hn::Load(d, from + i + 5 * lanes));
        s6 = hn::Add(s6, hn::Load(d, from + i + 6 * lanes));
        s7 = hn::Add(s7, hn::Load(d, from + i + 7 * lanes));
      }
    }
    const auto sum =
        hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7)));
    sums[tile] = hn::GetLane(hn::SumOfLanes(d, sum));
  }
}

void copy_stream(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<StreamConstants>();
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t tile = invocation.tile_begin; tile < invocation.tile_end; ++tile) {
    const float* from = reinterpret_cast<const float*>(invocation.bindings[0]) + tile * c.floats;
    float* to = reinterpret_cast<float*>(invocation.bindings[1]) + tile * c.floats;
    for (int64_t pass = 0; pass < c.passes; ++pass) {
      for (int64_t i = 0; i < c.floats; i += 4 * lanes) {
        hn::Store(hn::Load(d, from + i), d, to + i);
        hn::Store(hn::Load(d, from + i + lanes), d, to + i + lanes);
        hn::Store(hn::Load(d, from + i + 2 * lanes), d, to + i + 2 * lanes);
        hn::Store(hn::Load(d, from + i + 3 * lanes), d, to + i + 3 * lanes);
      }
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <chrono>

namespace weir {

CpuKernelFunction multiply_add_kernel(Isa isa) {
  return isa == Isa::kAvx512 ? N_AVX3::multiply_add_tiles
         : isa == Isa::kAvx2 ? N_AVX2::multiply_add_tiles
                             : N_SSE4::multiply_add_tiles;
}

int64_t multiply_add_flops(Isa isa, int64_t steps) {
  return 2 * 12 * steps * traits_of(isa).lanes;
}

CpuKernelFunction read_stream_kernel(Isa isa) {
  return isa == Isa::kAvx512 ? N_AVX3::read_stream
         : isa == Isa::kAvx2 ? N_AVX2::read_stream
                             : N_SSE4::read_stream;
}

CpuKernelFunction copy_stream_kernel(Isa isa) {
  return isa == Isa::kAvx512 ? N_AVX3::copy_stream
         : isa == Isa::kAvx2 ? N_AVX2::copy_stream
                             : N_SSE4::copy_stream;
}

double fma_peak(Isa isa) {
  constexpr int64_t kSteps = 20'000;
  float sum = 0;
  std::byte* const bindings[] = {reinterpret_cast<std::byte*>(&sum)};
  const MultiplyAddConstants constants{.steps = kSteps};
  const CpuInvocation invocation{
      .bindings = bindings, .constants = reinterpret_cast<const std::byte*>(&constants), .tile_end = 1};
  double best = 0;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    multiply_add_kernel(isa)(invocation);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>(multiply_add_flops(isa, kSteps)) / seconds * 1e-9);
  }
  return best;
}

}  // namespace weir
#endif
