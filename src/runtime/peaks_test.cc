// SPDX-License-Identifier: Apache-2.0
//
// Works of steps that are known by hand, verdicts against made-up peaks, and peaks measured here.
#include "runtime/peaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/results.h"
#include "hal/cpu/cpu_device.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

using ::testing::DoubleEq;

// y = x·W, W[8, 3] packed in 256 bytes; z = y + y.
Program product_and_sum() {
  samples::Builder b;
  Program& p = b.program;
  p.name = "two steps";
  p.target = "x86-64";
  const int32_t x_at = b.storage({StorageKind::kInput, b.number(160), 0, 0, -1, 0, "", 0});
  const int32_t packed = b.storage({StorageKind::kConstant, b.number(256), 0, 0, 0, -1, "panels", 0});
  const int32_t y_at = b.storage({StorageKind::kActivation, b.number(60), 0, 1, 0, -1, "", 0});
  const int32_t z_at = b.storage({StorageKind::kOutput, b.number(60), 1, 1, -1, 0, "", 0});
  const int32_t x = b.dense("x", ElementType::kFloat32, {5, 8}, x_at);
  const int32_t w = b.dense("w", ElementType::kFloat32, {8, 3}, -1);
  const int32_t y = b.dense("y", ElementType::kFloat32, {5, 3}, y_at);
  const int32_t z = b.dense("z", ElementType::kFloat32, {5, 3}, z_at);
  p.steps.push_back(b.step("product", Op::kMatMul, MatMulAttributes{}, {x, w}, {y}, "reference.matmul"));
  p.steps.back().packed = {{1, packed}};
  p.steps.push_back(b.step("sum", Op::kElementwise, ElementwiseAttributes{samples::sum()}, {y, y}, {z},
                           "reference.elementwise"));
  p.inputs = {{"x", x}};
  p.outputs = {{"z", z}};
  p.constant_bytes = 256;
  p.arena_bytes = 64;
  return p;
}

TEST(StepWorks, CountPackedConstantsAndEachTensorOnce) {
  const Program program = product_and_sum();
  const std::vector<StepWork> works = must(step_works(program, must(evaluate_shapes(program, {}))));
  ASSERT_EQ(works.size(), 2u);
  EXPECT_EQ(works[0].work, (Work{15 * 16, 160 + 256, 60}));
  EXPECT_EQ(works[0].constant_bytes, 256);
  EXPECT_EQ(works[0].run_bytes, 256 + 64 + 160 + 60);
  EXPECT_EQ(works[1].work, (Work{15, 60, 60}));
  EXPECT_EQ(works[1].constant_bytes, 0);
}

TEST(Verdicts, FollowTheLargerLimit) {
  // 100 FLOP a nanosecond; 50 bytes up to 1 kB, 10 bytes above; 1 µs a dispatch.
  const Peaks peaks{100, {{1000, 50}, {1'000'000, 10}}, 1000};
  const StepWork heavy{{1'000'000, 500, 500}, 0, 10'000};
  Verdict verdict = judge(heavy, 12'500, peaks);
  EXPECT_EQ(verdict.bound, Bound::kArithmetic);
  EXPECT_THAT(verdict.arithmetic_ns, DoubleEq(10'000));
  EXPECT_THAT(verdict.bandwidth_ns, DoubleEq(20));
  EXPECT_THAT(verdict.efficiency, DoubleEq(0.8));
  EXPECT_EQ(judge(heavy, 20'001, peaks).bound, Bound::kNeither);
  EXPECT_EQ(judge(heavy, 3'999, peaks).bound, Bound::kLaunch);
  EXPECT_EQ(judge(heavy, 4'000, peaks).bound, Bound::kArithmetic);  // a better algorithm than the definition

  // 60 kB of constants were used a run of 2 MB ago; the rest of the step's 100 kB just now.
  const StepWork wide{{1000, 80'000, 20'000}, 60'000, 2'000'000};
  verdict = judge(wide, 12'500, peaks);
  EXPECT_EQ(verdict.bound, Bound::kBandwidth);
  EXPECT_THAT(verdict.bandwidth_ns, DoubleEq(10'000));
  EXPECT_THAT(verdict.efficiency, DoubleEq(0.8));
  EXPECT_EQ(to_string(Bound::kLaunch), "launch");
  EXPECT_EQ(to_string(Bound::kNeither), "neither");
}

TEST(Peaks, AreMeasuredThroughTheDevice) {
  const Ref<Device> device = must(create_cpu_device({.threads = 2}));
  const int64_t before = device->memory().total().current;
  const Peaks peaks = must(measure_peaks(*device, detect_isa(), 2));
  EXPECT_EQ(device->memory().total().current, before);
  EXPECT_GT(peaks.flops_per_ns, 0.5);
  EXPECT_LT(peaks.flops_per_ns, 2000);
  EXPECT_GT(peaks.launch_ns, 1);
  EXPECT_LT(peaks.launch_ns, 1e6);
  ASSERT_GE(peaks.streams.size(), 3u);
  for (size_t i = 0; i < peaks.streams.size(); ++i) {
    EXPECT_GT(peaks.streams[i].bytes_per_ns, 0.1);
    EXPECT_LT(peaks.streams[i].bytes_per_ns, 5000);
    EXPECT_TRUE(i == 0 || peaks.streams[i].working_set > peaks.streams[i - 1].working_set);
  }
}

TEST(Peaks, OfAWorkingSetAreThoseOfTheNextLargerOneMeasured) {
  const Peaks peaks{.streams = {{4096, 30}, {65536, 20}, {1 << 20, 10}}};
  EXPECT_EQ(peaks.bytes_per_ns(1), 30);
  EXPECT_EQ(peaks.bytes_per_ns(4096), 30);
  EXPECT_EQ(peaks.bytes_per_ns(4097), 20);
  EXPECT_EQ(peaks.bytes_per_ns(1 << 20), 10);
  EXPECT_EQ(peaks.bytes_per_ns(INT64_MAX), 10);
}

}  // namespace
}  // namespace weir
