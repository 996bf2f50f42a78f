// SPDX-License-Identifier: Apache-2.0
//
// Promise "errors are values", by injection: whatever a scenario of the slice asks the system for is refused
// once. The answer is an error, or the right result where Weir can do without; nothing leaks, no part of a
// file is left behind, and the same again without a fault succeeds.
//
// Every call of a kind is tried, some sixty thousand in all; WEIR_FAULTS_SAMPLE=100 tries so many of each
// kind and scenario, spread evenly. To look into one: WEIR_FAULT_TRACE=1 prints where the call failed,
// WEIR_FAULT_LEAKS=1 who allocated what is not freed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/faults/injector.h"
#include "tests/faults/slice.h"

namespace weir::faults {
namespace {

class World : public testing::Environment {
 public:
  void SetUp() override { make_models(); }
  void TearDown() override { remove_models(); }
};
const testing::Environment* const world = testing::AddGlobalTestEnvironment(new World);

std::vector<int64_t> chosen(int64_t count) {
  const char* sample = std::getenv("WEIR_FAULTS_SAMPLE");
  const int64_t most =
      sample == nullptr ? count : std::min<int64_t>(count, std::strtoll(sample, nullptr, 10));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < most; ++i) {
    indices.push_back(most == 1 ? 0 : i * (count - 1) / (most - 1));
  }
  return indices;
}

bool is_allowed(FaultKind kind, weir_code code) {
  switch (kind) {
    case FaultKind::kAllocate:
    case FaultKind::kMap:
    case FaultKind::kThread:
      return code == WEIR_RESOURCE_EXHAUSTED;
    case FaultKind::kShort:
      return false;
    default:
      return code == WEIR_RESOURCE_EXHAUSTED || code == WEIR_UNKNOWN || code == WEIR_PERMISSION_DENIED ||
             code == WEIR_UNAVAILABLE || code == WEIR_DATA_LOSS;
  }
}

// A queue's thread may let go of what a run used a moment after the run has ended.
Alive settled() {
  Alive last = alive();
  for (int same = 0, tries = 0; same < 2 && tries < 200; ++tries) {
    usleep(50);
    const Alive now = alive();
    same = now == last ? same + 1 : 0;
    last = now;
  }
  return last;
}

class Faults : public testing::TestWithParam<std::tuple<size_t, int, bool>> {};

TEST_P(Faults, EachCallFailsOnce) {
  const Scenario& scenario = scenarios()[std::get<0>(GetParam())];
  const auto kind = static_cast<FaultKind>(std::get<1>(GetParam()));
  const bool onwards = std::get<2>(GetParam());
  // What happens at the first use only (filling a cache) is no call that can be made to fail again.
  Outcome first;
  scenario.before();
  scenario.body(first);
  ASSERT_TRUE(first.ok()) << first.where << ": " << first.text;
  scenario.release();
  Outcome plain;
  scenario.before();
  arm(kind, -1);
  scenario.body(plain);
  const int64_t count = disarm().counts[static_cast<size_t>(kind)];
  ASSERT_TRUE(plain.ok()) << plain.where << ": " << plain.text;
  int64_t tried = 0;
  int64_t errors = 0;
  int failures = 0;
  for (const int64_t index : chosen(count)) {
    Outcome outcome;
    Alive before;
    Alive after;
    FaultReport report;
    // What a library keeps once (glibc the stack of an ended thread) is not kept again; a leak is.
    for (int attempt = 0; attempt == 0 || (attempt < 3 && after != before); ++attempt) {
      outcome = {};
      scenario.release();
      before = settled();
      scenario.before();
      arm(kind, index, onwards);
      scenario.body(outcome);
      report = disarm();
      scenario.after(outcome);
      scenario.release();
      after = settled();
    }
    if (report.failed == nullptr) {
      EXPECT_TRUE(outcome.ok()) << outcome.where << ": " << outcome.text;
      continue;  // a thread that came another way: one call fewer
    }
    ++tried;
    const std::string what = std::string(report.failed) + ", call " + std::to_string(index);
    SCOPED_TRACE(what);
    if (outcome.ok()) {
      EXPECT_FALSE(outcome.wrong) << "the answer has other bits";
    } else {
      ++errors;
      EXPECT_TRUE(is_allowed(kind, outcome.code))
          << outcome.code << " from " << outcome.where << ": " << outcome.text;
      EXPECT_STRNE(outcome.text, "");
      if (std::string_view(report.failed) ==
          "mprotect") {  // the simulated far device opens and shuts its memory
        EXPECT_THAT(
            outcome.text,
            testing::HasSubstr("does not let device 'cpu' reach its own memory (Cannot allocate memory)"));
      }
    }
    EXPECT_EQ(after.blocks, before.blocks) << outcome.where << ": " << outcome.text;
    EXPECT_EQ(after.mappings, before.mappings) << outcome.where << ": " << outcome.text;
    EXPECT_EQ(after.descriptors, before.descriptors) << outcome.where << ": " << outcome.text;
    if (after.blocks != before.blocks) {
      print_leaks_of_window();
    }
    Outcome again;
    scenario.before();
    scenario.body(again);
    EXPECT_TRUE(again.ok()) << again.where << ": " << again.text;
    EXPECT_FALSE(again.wrong);
    if (HasFailure() && ++failures == 3) {
      break;
    }
  }
  std::printf("%s: %lld calls, %lld made to fail, %lld errors\n", to_string(kind),
              static_cast<long long>(count), static_cast<long long>(tried), static_cast<long long>(errors));
  if (count > 0) {
    EXPECT_GT(tried, 0);
  }
}

std::string name_of(const testing::TestParamInfo<Faults::ParamType>& info) {
  return std::string(scenarios()[std::get<0>(info.param)].name) + "_" +
         to_string(static_cast<FaultKind>(std::get<1>(info.param))) +
         (std::get<2>(info.param) ? "_onwards" : "");
}

INSTANTIATE_TEST_SUITE_P(Once, Faults,
                         testing::Combine(testing::Range<size_t>(0, scenarios().size()),
                                          testing::Range(0, kFaultKinds), testing::Values(false)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Onwards, Faults,
                         testing::Combine(testing::Range<size_t>(0, scenarios().size()),
                                          testing::Values(static_cast<int>(FaultKind::kAllocate)),
                                          testing::Values(true)),
                         name_of);

// The device's limit at as many heights as there are allocations, and more: below the peak it is an error
// that says who holds what; at the peak all goes well.
TEST(DeviceLimit, AtEveryHeight) {
  for (const Scenario& scenario : scenarios()) {
    SCOPED_TRACE(scenario.name);
    if (scenario.keeps_device) {
      continue;
    }
    set_memory_limit(0);
    Outcome plain;
    scenario.before();
    scenario.body(plain);
    ASSERT_TRUE(plain.ok()) << plain.text;
    const int64_t peak = last_memory_peak();
    for (int64_t i = 0; i <= 40; ++i) {
      const int64_t limit = std::max<int64_t>(1, i == 40 ? peak : (peak - 1) * i / 39);
      set_memory_limit(limit);
      scenario.before();
      Outcome outcome;
      const Alive before = settled();
      scenario.body(outcome);
      EXPECT_EQ(settled(), before);
      if (limit == peak) {
        EXPECT_TRUE(outcome.ok()) << outcome.text;
      } else {
        EXPECT_EQ(outcome.code, WEIR_RESOURCE_EXHAUSTED) << limit << " of " << peak;
        EXPECT_THAT(outcome.text,
                    testing::HasSubstr("has a memory limit of (" + std::to_string(limit) + ") bytes"));
      }
    }
    set_memory_limit(0);
  }
}

}  // namespace
}  // namespace weir::faults
