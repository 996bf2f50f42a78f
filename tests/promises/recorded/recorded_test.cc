// SPDX-License-Identifier: Apache-2.0
//
// Recorded: work is recorded when a shape is prepared, and submitted as often as is asked. A recording
// charges the account for the host's memory; so the account shows, from outside, when something is recorded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "promise_models.h"

namespace weir::promises {
namespace {

class Recorded : public testing::TestWithParam<PromiseModel> {
 protected:
  static void SetUpTestSuite() { shelf_ = std::make_unique<ModelShelf>(); }
  static void TearDownTestSuite() { shelf_.reset(); }

  void SetUp() override {
    if (!model_path(GetParam().file)) {
      GTEST_SKIP() << GetParam().file << " is not here";
    }
  }

  static Ref<Session> session(bool simulate_discrete) {
    auto loaded = shelf_->dynamic(GetParam());
    EXPECT_TRUE(loaded) << loaded.error().to_string();
    return make_session(*loaded, make_device(2, simulate_discrete));
  }
  static void prepare(Request& request, const Shapes& shapes) {
    auto prepared = request.prepare(shapes);
    ASSERT_TRUE(prepared) << prepared.error().to_string();
    request.session().queue().wait_idle();  // it has let go of what it ran for preparing
  }

  static std::unique_ptr<ModelShelf> shelf_;
};

std::unique_ptr<ModelShelf> Recorded::shelf_;

std::string name_of(const testing::TestParamInfo<PromiseModel>& info) {
  return info.param.name;
}

// Not even for a moment does a run hold more than before.
TEST_P(Recorded, RunsSubmitWhatWasRecorded) {
  for (const bool simulate_discrete : {false, true}) {
    const Ref<Session> owner = session(simulate_discrete);
    const Ref<Request> request = make_request(*owner, GetParam().shapes.back());
    fill_inputs(*request, 3);
    owner->queue().wait_idle();
    MemoryAccount& account = owner->device().memory();
    account.reset_peaks();
    const int64_t held = account.total().current;
    const uint64_t submitted = owner->queue().stats().submitted;
    constexpr uint64_t kRuns = 5;
    for (uint64_t i = 0; i < kRuns; ++i) {
      ASSERT_TRUE(request->run());
    }
    EXPECT_EQ(owner->queue().stats().submitted - submitted, kRuns);
    EXPECT_EQ(account.total().peak, held);
    EXPECT_EQ(account.total().current, held);
  }
}

// Also when the arena has grown in between: recorded offsets are relative to it.
TEST_P(Recorded, AShapeThatWasPreparedBeforeIsNotRecordedAgain) {
  for (const bool simulate_discrete : {false, true}) {
    const Ref<Session> owner = session(simulate_discrete);
    auto created = owner->create_request({});
    ASSERT_TRUE(created) << created.error().to_string();
    Request& request = **created;
    for (const Shapes& shapes : GetParam().shapes) {
      prepare(request, shapes);
      EXPECT_FALSE(request.prepare_report().cached);
      EXPECT_GT(request.prepare_report().recording_ns, 0);
    }
    MemoryAccount& account = owner->device().memory();
    account.reset_peaks();
    const int64_t held = account.use(MemoryCategory::kHost).current;
    for (const Shapes& shapes : GetParam().shapes) {
      prepare(request, shapes);
      EXPECT_TRUE(request.prepare_report().cached);
      EXPECT_EQ(request.prepare_report().recording_ns, 0);
      fill_inputs(request, 3);
      ASSERT_TRUE(request.run());
      EXPECT_EQ(difference(read_outputs(request), run_once(*owner, shapes, 3)), "");
    }
    owner->queue().wait_idle();
    EXPECT_EQ(account.use(MemoryCategory::kHost).current, held);
  }
}

TEST_P(Recorded, BindingAnotherBufferRecordsNothing) {
  const Ref<Session> owner = session(false);
  const Shapes& shapes = GetParam().shapes.front();
  const Ref<Request> request = make_request(*owner, shapes);
  owner->queue().wait_idle();
  auto bytes = request->output_spec(0).extent_bytes();
  auto buffer = owner->device().create_buffer({.size = bytes, .label = "the caller's"});
  ASSERT_TRUE(buffer) << buffer.error().to_string();
  MemoryAccount& account = owner->device().memory();
  account.reset_peaks();
  const int64_t held = account.total().current;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(request->bind_output(0, round % 2 == 0 ? *buffer : nullptr, 0));
    fill_inputs(*request, 3);
    ASSERT_TRUE(request->run());
  }
  EXPECT_EQ(account.total().peak, held);
}

INSTANTIATE_TEST_SUITE_P(Models, Recorded, testing::ValuesIn(promise_models()), name_of);

}  // namespace
}  // namespace weir::promises
