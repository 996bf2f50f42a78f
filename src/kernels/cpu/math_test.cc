// SPDX-License-Identifier: Apache-2.0
//
// The vector functions against the C library's in double precision, on every instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/math_test.cc"
#include "kernels/cpu/math-inl.h"

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

using Function = int;  // 0 exp, 1 sigmoid, 2 tanh, 3 erf, 4 silu, 5 gelu, 6 hard swish

void evaluate(Function function, const float* x, float* y, size_t count) {
  const hn::ScalableTag<float> d;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const size_t n = count - i < hn::Lanes(d) ? count - i : hn::Lanes(d);
    auto v = load_n(d, x + i, n);
    switch (function) {
      case 0:
        v = exp32(d, v);
        break;
      case 1:
        v = sigmoid32(d, v);
        break;
      case 2:
        v = tanh32(d, v);
        break;
      case 3:
        v = erf32(d, v);
        break;
      case 4:
        v = silu32(d, v);
        break;
      case 5:
        v = gelu32(d, v);
        break;
      default:
        v = hard_swish32(d, v);
        break;
    }
    store_n(v, d, y + i, n);
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

using Evaluate = void (*)(int, const float*, float*, size_t);
struct Target {
  const char* name;
  Evaluate evaluate;
};

std::vector<Target> targets() {
  std::vector<Target> all{{"sse4", &N_SSE4::evaluate}};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    all.push_back({"avx2", &N_AVX2::evaluate});
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    all.push_back({"avx512", &N_AVX3::evaluate});
  }
  return all;
}

double exact(int function, double x) {
  switch (function) {
    case 0:
      return std::exp(x);
    case 1:
      return 1 / (1 + std::exp(-x));
    case 2:
      return std::tanh(x);
    case 3:
      return std::erf(x);
    case 4:
      return x / (1 + std::exp(-x));
    case 5:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    default:
      return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1);
  }
}

double ulp(double value) {
  const float magnitude = std::fmax(static_cast<float>(std::fabs(value)), std::numeric_limits<float>::min());
  return static_cast<double>(std::nextafter(magnitude, std::numeric_limits<float>::infinity())) - magnitude;
}

// Points over the whole range, denser near zero.
std::vector<float> points(float low, float high) {
  std::vector<float> x;
  for (float v = low; v <= high; v += (high - low) / 200003) x.push_back(v);
  for (float v = 1e-30f; v < high; v *= 1.01f) {
    x.push_back(v);
    if (-v >= low) x.push_back(-v);
  }
  return x;
}

TEST(Math, ErrorsAreWithinTheirBounds) {
  // GELU's and hard swish's negative tails lose relative, not absolute, accuracy.
  const struct {
    int function;
    float low, high;
    double ulps, absolute;
  } kCases[] = {{0, -86.9f, 88.7f, 1.2, 0}, {1, -86.9f, 90, 2.5, 0}, {2, -12, 12, 6, 0}, {3, -6, 6, 6, 0},
                {4, -80, 80, 3.5, 0},       {5, -8, 8, 6, 7e-8},     {6, -8, 8, 2, 3e-7}};
  for (const Target& target : targets()) {
    for (const auto& c : kCases) {
      const std::vector<float> x = points(c.low, c.high);
      std::vector<float> y(x.size());
      target.evaluate(c.function, x.data(), y.data(), x.size());
      double worst = 0;
      float worst_x = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = exact(c.function, x[i]);
        const double error = std::fmax(0, std::fabs(y[i] - want) - c.absolute) / ulp(want);
        if (!(error <= worst)) {
          worst = error;
          worst_x = x[i];
        }
      }
      EXPECT_LE(worst, c.ulps) << target.name << " function " << c.function << " at " << worst_x;
    }
  }
}

TEST(Math, EndsAndNotANumber) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{-inf, -200, 0, 200, inf, std::nanf("")};
  for (const Target& target : targets()) {
    std::vector<float> y(x.size());
    target.evaluate(0, x.data(), y.data(), x.size());
    EXPECT_EQ(y[0], 0) << target.name;
    EXPECT_EQ(y[1], 0) << target.name;
    EXPECT_EQ(y[2], 1) << target.name;
    EXPECT_EQ(y[3], inf) << target.name;
    EXPECT_EQ(y[4], inf) << target.name;
    EXPECT_TRUE(std::isnan(y[5])) << target.name;
    for (int function : {1, 2, 3}) {
      target.evaluate(function, x.data(), y.data(), x.size());
      const float low = function == 1 ? 0.0f : -1.0f;
      EXPECT_NEAR(y[0], low, 1.2e-7) << target.name << function;
      EXPECT_NEAR(y[1], low, 1.2e-7) << target.name << function;
      EXPECT_EQ(y[2], function == 1 ? 0.5f : 0.0f) << target.name << function;
      EXPECT_NEAR(y[3], 1, 1.2e-7) << target.name << function;
      EXPECT_NEAR(y[4], 1, 1.2e-7) << target.name << function;
      EXPECT_TRUE(std::isnan(y[5])) << target.name << function;
    }
  }
}

TEST(Math, PartsOfAVectorTouchNothingBeyond) {
  for (const Target& target : targets()) {
    for (size_t count = 0; count <= 33; ++count) {
      std::vector<float> x(count, 7), y(count + 4, -1);
      target.evaluate(6, x.data(), y.data(), count);
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], i < count ? 7 : -1) << target.name;
    }
  }
}

}  // namespace
}  // namespace weir
#endif
