// SPDX-License-Identifier: Apache-2.0
//
// Same: one program and one input give the same bits, whatever the threads, the load and the requests in
// flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "promise_models.h"
#include "serial_device.h"

namespace weir::promises {
namespace {

constexpr uint32_t kSeed = 11;

class Same : public testing::TestWithParam<PromiseModel> {
 protected:
  static void SetUpTestSuite() { shelf_ = std::make_unique<ModelShelf>(); }
  static void TearDownTestSuite() { shelf_.reset(); }

  void SetUp() override {
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
  }

  static Ref<Session> session(int32_t threads, bool simulate_discrete = false) {
    auto loaded = shelf_->dynamic(GetParam());
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return make_session(*loaded, make_device(threads, simulate_discrete));
  }
  static int repetitions() { return GetParam().large ? 2 : 6; }

  static std::unique_ptr<ModelShelf> shelf_;
};

std::unique_ptr<ModelShelf> Same::shelf_;

std::string name_of(const testing::TestParamInfo<PromiseModel>& info) {
  return info.param.name;
}

// Threads that keep every processor busy until they are destroyed.
class Load {
 public:
  explicit Load(int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this] {
        volatile uint64_t work = 1;
        while (!stop_.load(std::memory_order_relaxed)) {
          for (int k = 0; k < 1000; ++k) {
            work = work * 6364136223846793005u + 1;
          }
        }
      });
    }
  }
  ~Load() {
    stop_.store(true);
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// That the outputs tell inputs apart: else equal bits would show nothing.
TEST_P(Same, OtherInputsGiveOtherBits) {
  const Ref<Session> one = session(1);
  for (const Shapes& shapes : GetParam().shapes) {
    EXPECT_NE(difference(run_once(*one, shapes, kSeed), run_once(*one, shapes, kSeed + 100)), "");
  }
}

TEST_P(Same, BetweenRunsAndRequests) {
  const Ref<Session> two = session(2);
  for (const Shapes& shapes : GetParam().shapes) {
    const Outputs first = run_once(*two, shapes, kSeed);
    const Ref<Request> request = make_request(*two, shapes);
    for (int i = 0; i < repetitions(); ++i) {
      fill_inputs(*request, kSeed + 50);  // another input in between leaves nothing behind
      ASSERT_TRUE(request->run());
      fill_inputs(*request, kSeed);
      ASSERT_TRUE(request->run());
      EXPECT_EQ(difference(read_outputs(*request), first), "");
    }
  }
}

TEST_P(Same, AfterOtherShapes) {
  const Ref<Session> two = session(2);
  auto request = two->create_request({});
  ASSERT_TRUE(request) << request.error().to_string();
  for (int round = 0; round < 2; ++round) {
    for (const Shapes& shapes : GetParam().shapes) {
      auto prepared = (*request)->prepare(shapes);
      ASSERT_TRUE(prepared) << prepared.error().to_string();
      fill_inputs(**request, kSeed);
      ASSERT_TRUE((*request)->run());
      EXPECT_EQ(difference(read_outputs(**request), run_once(*two, shapes, kSeed)), "");
    }
  }
}

TEST_P(Same, BetweenThreadCounts) {
  for (const Shapes& shapes : GetParam().shapes) {
    const Outputs alone = run_once(*session(1), shapes, kSeed);
    for (int32_t threads : {2, 3}) {
      EXPECT_EQ(difference(run_once(*session(threads), shapes, kSeed), alone), "") << threads << " threads";
    }
    EXPECT_EQ(difference(run_once(*session(2, true), shapes, kSeed), alone), "") << "simulate_discrete";
  }
}

TEST_P(Same, OnAnotherBackendWithTheSameKernels) {
  const Shapes& shapes = GetParam().shapes.front();
  auto program = shelf_->dynamic(GetParam());
  ASSERT_TRUE(program) << program.error().to_string();
  for (const bool validation : {false, true}) {
    auto device = create_serial_device({.validation = validation});
    ASSERT_TRUE(device) << device.error().to_string();
    const Ref<Session> serial = make_session(*program, *device);
    EXPECT_EQ(difference(run_once(*serial, shapes, kSeed), run_once(*session(2), shapes, kSeed)), "");
  }
}

TEST_P(Same, UnderLoad) {
  const Ref<Session> three = session(3);
  const Shapes& shapes = GetParam().shapes.front();
  const Outputs quiet = run_once(*three, shapes, kSeed);
  const Load load(4);
  const Ref<Request> request = make_request(*three, shapes);
  for (int i = 0; i < repetitions(); ++i) {
    fill_inputs(*request, kSeed);
    ASSERT_TRUE(request->run());
    EXPECT_EQ(difference(read_outputs(*request), quiet), "");
  }
}

TEST_P(Same, BetweenRequestsInFlight) {
  const Ref<Session> two = session(2);
  const std::vector<Shapes>& all = GetParam().shapes;
  std::vector<Outputs> expected;
  std::vector<Ref<Request>> requests;
  for (uint32_t i = 0; i < 4; ++i) {
    expected.push_back(run_once(*two, all[i % all.size()], kSeed + i));
    requests.push_back(make_request(*two, all[i % all.size()]));
  }
  for (int round = 0; round < repetitions(); ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      fill_inputs(*requests[i], kSeed + i);
    }
    for (const Ref<Request>& request : requests) {
      auto answer = request->start();
      ASSERT_TRUE(answer) << answer.error().to_string();
      EXPECT_EQ(*answer, SubmitAnswer::kQueued);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      auto waited = requests[i]->wait();
      ASSERT_TRUE(waited) << waited.error().to_string();
      EXPECT_EQ(difference(read_outputs(*requests[i]), expected[i]), "") << "request " << i;
    }
  }
}

TEST_P(Same, BetweenThreadsThatRunAtTheSameTime) {
  const Ref<Session> two = session(2);
  const Shapes& shapes = GetParam().shapes.front();
  std::vector<Outputs> expected;
  for (uint32_t i = 0; i < 3; ++i) {
    expected.push_back(run_once(*two, shapes, kSeed + i));
  }
  std::vector<std::string> differences(3);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const Ref<Request> request = make_request(*two, shapes);
      for (int round = 0; round < repetitions(); ++round) {
        fill_inputs(*request, kSeed + i);
        if (auto ran = request->run(); !ran) {
          differences[i] += ran.error().to_string();
        }
        differences[i] += difference(read_outputs(*request), expected[i]);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(differences, testing::Each(""));
}

INSTANTIATE_TEST_SUITE_P(Models, Same, testing::ValuesIn(promise_models()), name_of);

}  // namespace
}  // namespace weir::promises
