// SPDX-License-Identifier: Apache-2.0
//
// Logarithm and power against double precision, on every instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/power_test.cc"
#include "kernels/cpu/power-inl.h"
#include "kernels/cpu/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void test_log(const float* x, float* y, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const size_t n = count - i < hn::Lanes(d) ? count - i : hn::Lanes(d);
    store_n(log32(d, load_n(d, x + i, n)), d, y + i, n);
  }
}

void test_pow(const float* x, const float* y, float* z, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const size_t n = count - i < hn::Lanes(d) ? count - i : hn::Lanes(d);
    store_n(pow32(d, load_n(d, x + i, n), load_n(d, y + i, n)), d, z + i, n);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace weir {
namespace {

using Unary = void (*)(const float*, float*, size_t);
using Binary = void (*)(const float*, const float*, float*, size_t);

struct Target {
  std::string name;
  int64_t bit;
  bool fma;
  Unary log;
  Binary pow;
};

std::vector<Target> targets() {
  std::vector<Target> all = {{"sse4", HWY_SSE4, false, N_SSE4::test_log, N_SSE4::test_pow},
                             {"avx2", HWY_AVX2, true, N_AVX2::test_log, N_AVX2::test_pow},
                             {"avx512", HWY_AVX3, true, N_AVX3::test_log, N_AVX3::test_pow}};
  std::erase_if(all, [](const Target& target) { return (hwy::SupportedTargets() & target.bit) == 0; });
  return all;
}

// Every 1009th float, then the neighbourhoods of special ones.
std::vector<float> all_floats() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1009) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  for (float special :
       {0.0f, 1.0f, 2.0f, 0.5f, 88.72283f, 87.33654f, 103.97f, 3.92f, 0.70710678f, 1.41421356f, FLT_MIN,
        FLT_MAX, std::numeric_limits<float>::infinity(), 1e-40f, 9.01f, 20.0f}) {
    for (int step = -40; step <= 40; ++step) {
      const uint32_t bits = std::bit_cast<uint32_t>(special) + static_cast<uint32_t>(step);
      values.push_back(std::bit_cast<float>(bits));
      values.push_back(std::bit_cast<float>(bits ^ 0x80000000u));
    }
  }
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  values.push_back(std::bit_cast<float>(0x7fc00001u));
  values.push_back(std::bit_cast<float>(0xffffffffu));
  return values;
}

float flushed(double value) {
  const float single = static_cast<float>(value);
  return std::abs(single) < FLT_MIN ? std::copysign(0.0f, single) : single;
}

// The distance of `y` from the exact value, in units in the last place of the latter; 0 where both are
// flushed, infinite or not a number alike.
double ulp_error(float y, double exact) {
  const float rounded = flushed(exact);
  if (std::isnan(rounded) || std::isnan(y)) return std::isnan(rounded) && std::isnan(y) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(y)) {
    if (rounded == y) return 0;
    // One may round to the largest float where the other overflows.
    return std::abs(std::isinf(y) ? rounded : y) > 3.4028e38f && (rounded > 0) == (y > 0) ? 1 : 1e9;
  }
  if (rounded == 0 || y == 0) return std::abs(rounded - y) <= FLT_MIN ? 0 : 1e9;
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(rounded), -126) - 23);
  return std::abs(y - exact) / ulp;
}

void check(const std::string& name, Unary function, double (*exact)(double), double limit) {
  const std::vector<float> x = all_floats();
  std::vector<float> y(x.size());
  function(x.data(), y.data(), x.size());
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (y[i] != 0 && std::abs(x[i]) < FLT_MIN && std::abs(y[i]) <= 2 * FLT_MIN)
      continue;  // not flushed by the unit
    const double error = ulp_error(y[i], exact(flushed(x[i])));
    if (error > worst) {
      worst = error;
      where = x[i];
    }
  }
  EXPECT_LE(worst, limit) << name << " at " << where;
  ::testing::Test::RecordProperty(name, std::to_string(worst));
  printf("%-16s %.2f ulp at %g\n", name.c_str(), worst, where);
}

TEST(Power, LogIsWithinOneUnitInTheLastPlace) {
  for (const Target& target : targets()) {
    const double slack = target.fma ? 0 : 1;
    check(target.name + ".log", target.log, std::log, 1.0 + slack);
  }
}

TEST(Power, PowFollowsC) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> special = {0.0f,    -0.0f,    1.0f,        -1.0f,       2.0f, -2.0f, 3.0f,
                                      -3.0f,   0.5f,     -0.5f,       inf,         -inf, nan,   2.5f,
                                      1e30f,   -1e30f,   1e-30f,      16777217.0f, 4e9f, -4e9f, FLT_MAX,
                                      FLT_MIN, -FLT_MAX, 0.99999994f, 1.0000001f};
  std::vector<float> x;
  std::vector<float> y;
  for (float a : special) {
    for (float b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  std::mt19937 generator(2);
  std::uniform_real_distribution<float> exponent(-127, 128);
  std::uniform_real_distribution<float> power(-40, 40);
  for (int i = 0; i < 300000; ++i) {
    const float a = std::exp2(exponent(generator));
    x.push_back(a);
    y.push_back(i % 3 == 0 ? power(generator)
                           : power(generator) * 20 / std::max(1.0f, std::abs(std::log2(a))));
  }
  std::vector<float> z(x.size());
  for (const Target& target : targets()) {
    target.pow(x.data(), y.data(), z.data(), x.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error =
          ulp_error(z[i], std::pow(static_cast<double>(flushed(x[i])), static_cast<double>(y[i])));
      ASSERT_LE(error, 1.0) << target.name << " pow(" << x[i] << ", " << y[i] << ") = " << z[i];
      worst = std::max(worst, error);
    }
    printf("%s.pow %.2f ulp\n", target.name.c_str(), worst);
  }
}

}  // namespace
}  // namespace weir
#endif
