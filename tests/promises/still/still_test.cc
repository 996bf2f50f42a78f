// SPDX-License-Identifier: Apache-2.0
//
// Still: between start and completion nobody in the process allocates or calls for a file, whoever it is.
// Runs with weir_interposer in LD_PRELOAD, as ctest starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <thread>

#include "api/model.h"
#include "base/allocation_counter.h"
#include "interposer/file_calls.h"
#include "promise_models.h"

namespace weir::promises {
namespace {

// What the process has done so far, all threads together.
struct Calls {
  uint64_t allocations = 0;
  uint64_t files = 0;
};

Calls calls_now() {
  const AllocationCounts counts = allocation_counts();
  return {counts.weir + counts.driver + counts.user, weir_interposer_file_calls()};
}

void expect_still(const Calls& before, const Calls& after) {
  EXPECT_EQ(after.allocations - before.allocations, 0u);
  EXPECT_EQ(after.files - before.files, 0u);
}

class Still : public testing::TestWithParam<PromiseModel> {
 protected:
  static void SetUpTestSuite() { shelf_ = std::make_unique<ModelShelf>(); }
  static void TearDownTestSuite() { shelf_.reset(); }

  void SetUp() override {
    if (!allocation_counts().counted) {
      GTEST_SKIP() << "weir_interposer is not in LD_PRELOAD";
    }
    ASSERT_NE(weir_interposer_file_calls, nullptr);
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
  }

  static Ref<Session> session(int32_t threads, bool simulate_discrete = false) {
    auto loaded = shelf_->dynamic(GetParam());
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return make_session(*loaded, make_device(threads, simulate_discrete));
  }

  static std::unique_ptr<ModelShelf> shelf_;
};

std::unique_ptr<ModelShelf> Still::shelf_;

std::string name_of(const testing::TestParamInfo<PromiseModel>& info) {
  return info.param.name;
}

TEST_P(Still, FirstRunOfAShape) {
  for (const bool simulate_discrete : {false, true}) {
    for (int32_t threads : {1, 2}) {
      const Ref<Session> chosen = session(threads, simulate_discrete);
      for (const Shapes& shapes : GetParam().shapes) {
        const Ref<Request> request = make_request(*chosen, shapes);
        fill_inputs(*request, 1);
        const Calls before = calls_now();
        const bool ran = request->run().has_value();
        const Calls after = calls_now();
        EXPECT_TRUE(ran);
        SCOPED_TRACE(fmt::format("{} threads, simulate_discrete {}", threads, simulate_discrete));
        expect_still(before, after);
      }
    }
  }
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Preparing has touched every page, those of constants in a mapped file too. The first round also faults code
// in, and any round may be hit by the system's own affairs, so one of the rounds has to do without.
TEST_P(Still, FirstRunOfAMappedProgramFaultsOnNoPage) {
  ModelOptions options;
  options.use_cache = false;
  options.compile.states = GetParam().states;
  const std::string path = std::filesystem::temp_directory_path() /
                           fmt::format("weir_still_{}_{}.weir", GetParam().name, getpid());
  auto compiled = compile_model(*model_path(GetParam().file), path, options);
  ASSERT_TRUE(compiled) << compiled.error().to_string();
  std::vector<int64_t> faults;
  for (int round = 0; round < 4; ++round) {
    auto loaded = read_program(path);
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    const Ref<Session> mapped = make_session(*loaded, make_device(2));
    const Ref<Request> request = make_request(*mapped, GetParam().shapes.front());
    fill_inputs(*request, 1);
    const int64_t before = page_faults();
    const bool ran = request->run().has_value();
    faults.push_back(page_faults() - before);
    EXPECT_TRUE(ran);
  }
  std::filesystem::remove(path);
  EXPECT_THAT(faults, testing::Contains(0));
}

// That the numbers above can be other than 0: this one and the next.
TEST_P(Still, PreparingAllocates) {
  const Ref<Session> one = session(1);
  const Calls before = calls_now();
  const Ref<Request> request = make_request(*one, GetParam().shapes.front());
  EXPECT_GT(calls_now().allocations - before.allocations, 10u);
}

TEST_P(Still, ReadingTheModelCallsForAFile) {
  const Calls before = calls_now();
  ModelOptions options;
  options.use_cache = false;
  const auto opened = open_model(*model_path(GetParam().file), options);
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_GE(calls_now().files - before.files, 2u);  // opened and closed at least
}

TEST_P(Still, RequestsInFlightWithEventsAndHandlers) {
  for (const bool simulate_discrete : {false, true}) {
    const Ref<Session> two = session(2, simulate_discrete);
    std::array<Ref<Request>, 3> requests;
    for (Ref<Request>& request : requests) {
      request = make_request(*two, GetParam().shapes.front());
      fill_inputs(*request, 1);
    }
    auto event = two->device().create_event("done");
    ASSERT_TRUE(event) << event.error().to_string();
    std::atomic<int> completed{0};
    const CompletionHandler handler = {
        [](void* user, const Status*) { static_cast<std::atomic<int>*>(user)->fetch_add(1); }, &completed};
    constexpr int kRounds = 30;
    bool all_well = true;
    const auto round = [&](uint64_t number) {
      // One behind the other: each waits for the one before and tells the next.
      for (uint64_t i = 0; i < requests.size(); ++i) {
        const EventPoint waits[] = {{event->get(), number * requests.size() + i}};
        const EventPoint signals[] = {{event->get(), number * requests.size() + i + 1}};
        auto answer = requests[i]->start(waits, signals, handler);
        all_well = all_well && answer && *answer == SubmitAnswer::kQueued;
      }
      for (const Ref<Request>& request : requests) {
        all_well = request->wait().has_value() && all_well;
      }
    };
    round(0);
    const Calls before = calls_now();
    for (uint64_t number = 1; number <= kRounds; ++number) {
      round(number);
    }
    const Calls after = calls_now();
    EXPECT_TRUE(all_well);
    two->queue().wait_idle();
    EXPECT_EQ(completed.load(), static_cast<int>(requests.size()) * (kRounds + 1));
    SCOPED_TRACE(fmt::format("simulate_discrete {}", simulate_discrete));
    expect_still(before, after);
  }
}

TEST_P(Still, RunsOfSeveralThreadsAtTheSameTime) {
  const Ref<Session> two = session(2);
  constexpr int kThreads = 3;
  std::atomic<int> ready{0};
  std::atomic<int> done{0};
  std::atomic<bool> go{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> all_well{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const Ref<Request> request = make_request(*two, GetParam().shapes.front());
      fill_inputs(*request, 1);
      ready.fetch_add(1);
      while (!go.load()) {
        std::this_thread::yield();
      }
      for (int i = 0; i < 20; ++i) {
        if (!request->run()) {
          all_well.store(false);
        }
      }
      done.fetch_add(1);
      while (!leave.load()) {
        std::this_thread::yield();
      }
    });
  }
  while (ready.load() < kThreads) {
    std::this_thread::yield();
  }
  const Calls before = calls_now();
  go.store(true);
  while (done.load() < kThreads) {
    std::this_thread::yield();
  }
  const Calls after = calls_now();
  leave.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(all_well.load());
  expect_still(before, after);
}

INSTANTIATE_TEST_SUITE_P(Models, Still, testing::ValuesIn(promise_models()), name_of);

}  // namespace
}  // namespace weir::promises
