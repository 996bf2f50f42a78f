// SPDX-License-Identifier: Apache-2.0
//
// Same, whoever does the work: teams of fewer workers than participants, members that take pieces in any
// order and come late, commands that are shuffled, requests in flight meanwhile. The bits are those of one
// thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "hal/cpu/cpu_device.h"
#include "promise_models.h"

namespace weir::promises {
namespace {

constexpr uint32_t kSeed = 23;

class SameTeams : public ::testing::TestWithParam<PromiseModel> {
 protected:
  static void SetUpTestSuite() { shelf_ = std::make_unique<ModelShelf>(); }
  static void TearDownTestSuite() { shelf_.reset(); }

  void SetUp() override {
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
    auto loaded = shelf_->dynamic(GetParam());
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    program_ = *std::move(loaded);
  }

  struct Team {
    int32_t participants = 1;
    int32_t threads = 1;
    uint64_t disorder = 0;
    bool far = false;
    uint64_t shuffle = 1;
  };
  Ref<Session> session(const Team& team) const {
    CpuDeviceOptions options;
    options.threads = team.participants;
    options.pool = *ThreadPool::create({.threads = team.threads, .disorder_seed = team.disorder});
    options.toggles = {.simulate_discrete = team.far, .shuffle_seed = team.shuffle};
    auto device = create_cpu_device(options);
    EXPECT_TRUE(device) << device.error().to_string();
    return make_session(program_, *std::move(device));
  }

  static std::unique_ptr<ModelShelf> shelf_;
  LoadedProgram program_;
};

std::unique_ptr<ModelShelf> SameTeams::shelf_;

TEST_P(SameTeams, OfAnySizeAndOrder) {
  const Shapes& shapes = GetParam().shapes.back();
  const Outputs alone = run_once(*session({}), shapes, kSeed);
  for (const int32_t participants : {2, 3, 8}) {
    for (const int32_t threads : {1, 2, 4}) {
      for (const uint64_t disorder : {0, 1, 2}) {
        if (threads == 1 && disorder > 0) {
          continue;  // one thread has no order to change
        }
        const Ref<Session> own =
            session({.participants = participants, .threads = threads, .disorder = disorder});
        EXPECT_EQ(difference(run_once(*own, shapes, kSeed), alone), "")
            << participants << " participants, " << threads << " threads, disorder " << disorder;
      }
    }
  }
}

TEST_P(SameTeams, WhoseCommandsAreShuffled) {
  const Shapes& shapes = GetParam().shapes.front();
  const Outputs alone = run_once(*session({}), shapes, kSeed);
  for (const uint64_t seed : {2, 3, 4}) {
    const Ref<Session> far =
        session({.participants = 3, .threads = 2, .disorder = seed, .far = true, .shuffle = seed});
    EXPECT_EQ(difference(run_once(*far, shapes, kSeed), alone), "") << "seed " << seed;
  }
}

// Two sessions and more requests than workers, so that teams change from run to run.
TEST_P(SameTeams, OfManyRequestsInFlight) {
  const Shapes& shapes = GetParam().shapes.front();
  CpuDeviceOptions options;
  options.threads = 4;
  options.pool = *ThreadPool::create({.threads = 3, .disorder_seed = 5});
  auto device = create_cpu_device(options);
  ASSERT_TRUE(device) << device.error().to_string();
  const Ref<Session> sessions[] = {make_session(program_, *device), make_session(program_, *device)};
  std::vector<Outputs> expected;
  std::vector<Ref<Request>> requests;
  for (uint32_t i = 0; i < 4; ++i) {
    expected.push_back(run_once(*session({}), shapes, kSeed + i));
    requests.push_back(make_request(*sessions[i % 2], shapes));
  }
  for (int round = 0; round < (GetParam().large ? 2 : 4); ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      fill_inputs(*requests[i], kSeed + i);
    }
    for (const Ref<Request>& request : requests) {
      const auto answer = request->start();
      ASSERT_TRUE(answer) << answer.error().to_string();
    }
    for (uint32_t i = 0; i < 4; ++i) {
      const auto waited = requests[i]->wait();
      ASSERT_TRUE(waited) << waited.error().to_string();
      EXPECT_EQ(difference(read_outputs(*requests[i]), expected[i]), "") << "request " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SameTeams, ::testing::ValuesIn(promise_models()),
                         [](const auto& model) { return model.param.name; });

}  // namespace
}  // namespace weir::promises
