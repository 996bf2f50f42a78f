// SPDX-License-Identifier: Apache-2.0
//
// State of a request: fed from run to run, whole whatever becomes of a run, reset, saved and restored. The
// program adds its input to a sum that it keeps, shows the sum before the run and picks rows of its input,
// which a wrong row number makes fail after the sum has been written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/testing/results.h"
#include "hal/cpu/cpu_device.h"
#include "program/testing/sample_programs.h"
#include "runtime/session.h"

namespace weir {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int32_t kChain = 60;  // steps that come after the sum is written

// Inputs x[n, 4] and rows[2] (int64); states sum[n, 4] and count[1]; outputs seen[n, 4] = sum and picked[2,
// 4] = x[rows].
Program program() {
  samples::Builder b;
  Program& p = b.program;
  p.name = "summer";
  p.target = "x86-64";
  p.symbols = {{"n", {1, 1 << 20}, {SymbolSource::Kind::kDimension, 0, 0}}};
  const int32_t n = b.entry({.op = DimOp::kSymbol, .value = 0});
  const int32_t four = b.number(4);
  const int32_t one = b.number(1);
  const int32_t last = kChain + 3;
  const int32_t row_bytes = b.times(n, 16);
  const auto storage = [&](StorageKind kind, int32_t bytes, int32_t index, int32_t first, int32_t end) {
    return b.storage({kind, bytes, first, end, -1, index, "", 0});
  };
  const auto rows_of = [&](std::string name, int32_t at) {
    return b.tensor(std::move(name), ElementType::kFloat32, {n, four}, {four, one}, at);
  };
  const int32_t x = rows_of("x", storage(StorageKind::kInput, row_bytes, 0, 0, last));
  const int32_t rows =
      b.dense("rows", ElementType::kInt64, {2}, storage(StorageKind::kInput, b.number(16), 1, 0, last));
  const int32_t sum = rows_of("sum", storage(StorageKind::kState, row_bytes, 0, 0, last));
  const int32_t next = rows_of("next", storage(StorageKind::kState, row_bytes, 1, 0, last));
  const int32_t count_at = storage(StorageKind::kState, four, 2, 0, last);
  const int32_t count = b.dense("count", ElementType::kFloat32, {1}, count_at);
  const int32_t count_next =
      b.dense("count_next", ElementType::kFloat32, {1}, storage(StorageKind::kState, four, 3, 0, last));
  const int32_t a = rows_of("a", storage(StorageKind::kActivation, row_bytes, -1, 0, last));
  const int32_t c = rows_of("c", storage(StorageKind::kActivation, row_bytes, -1, 0, last));
  const int32_t seen = rows_of("seen", storage(StorageKind::kOutput, row_bytes, 0, 0, last));
  const int32_t picked = b.dense("picked", ElementType::kFloat32, {2, 4},
                                 storage(StorageKind::kOutput, b.number(32), 1, 0, last));
  // What is counted up.
  const int32_t first_of_x =
      b.tensor("first", ElementType::kFloat32, {one}, {one}, p.tensors[static_cast<size_t>(x)].storage);
  const auto add = [&](std::string name, int32_t left, int32_t right, int32_t target) {
    p.steps.push_back(b.step(std::move(name), Op::kElementwise, ElementwiseAttributes{samples::sum()},
                             {left, right}, {target}, "reference.elementwise"));
  };
  const auto abs = [&](std::string name, int32_t from, int32_t target) {
    p.steps.push_back(b.step(std::move(name), Op::kElementwise,
                             ElementwiseAttributes{samples::unary(ScalarOp::kAbs)}, {from}, {target},
                             "reference.elementwise"));
  };
  add("add", sum, x, next);
  add("count", count, first_of_x, count_next);
  for (int32_t i = 0; i < kChain; ++i) {
    abs(fmt::format("chain{}", i), i == 0 ? sum : (i % 2 == 1 ? a : c), i % 2 == 0 ? a : c);
  }
  abs("show", kChain % 2 == 1 ? a : c, seen);
  p.steps.push_back(
      b.step("pick", Op::kGather, GatherAttributes{0}, {x, rows}, {picked}, "reference.gather"));
  p.inputs = {{"x", x}, {"rows", rows}};
  p.outputs = {{"seen", seen}, {"picked", picked}};
  p.states = {{"sum", "next", sum, next}, {"count", "count_next", count, count_next}};
  p.placement_order = {p.tensors[static_cast<size_t>(a)].storage, p.tensors[static_cast<size_t>(c)].storage};
  return p;
}

class States : public ::testing::TestWithParam<DeviceToggles> {
 protected:
  void SetUp() override {
    device_ = must(create_cpu_device({.threads = 2, .toggles = GetParam()}));
    session_ = must(open(program()));
    request_ = must(session_->create_request({}));
  }
  Result<Ref<Session>> open(Program source) {
    WEIR_ASSIGN(const std::vector<std::byte> bytes, program_image(source, {}));
    auto image = std::make_shared<const std::vector<std::byte>>(bytes);
    WEIR_ASSIGN(LoadedProgram loaded, read_program(*image, image));
    return Session::create(std::move(loaded), device_, {});
  }
  static void prepare(Request& request, int64_t n) { must(request.prepare({{{n, 4}, {2}}})); }
  static void fill(Request& request, float value, int64_t row = 0) {
    const TensorView x = must(request.input(0));
    std::fill_n(x.as<float>(), x.element_count(), value);
    auto* rows = must(request.input(1)).as<int64_t>();
    rows[0] = row;
    rows[1] = 0;
  }
  // Adds `value` and returns the sum that the run began with.
  static std::vector<float> add(Request& request, float value) {
    fill(request, value);
    must(request.run());
    const TensorView view = must(request.output(0));
    return {view.as<float>(), view.as<float>() + view.element_count()};
  }
  static std::vector<std::byte> save(Request& request) {
    std::vector<std::byte> bytes(static_cast<size_t>(must(request.saved_state_bytes())));
    must(request.save_state(bytes));
    return bytes;
  }
  // All of sum, then count.
  static std::vector<float> saved_values(const std::vector<std::byte>& bytes) {
    std::vector<float> values((bytes.size() - 32) / 4);
    std::memcpy(values.data(), bytes.data() + 32, bytes.size() - 32);
    return values;
  }

  Ref<Device> device_;
  Ref<Session> session_;
  Ref<Request> request_;
};

INSTANTIATE_TEST_SUITE_P(Cpu, States,
                         ::testing::Values(DeviceToggles{}, DeviceToggles{.simulate_discrete = true},
                                           DeviceToggles{.validation = true},
                                           DeviceToggles{.simulate_discrete = true, .validation = true}),
                         [](const auto& device) {
                           return std::string(device.param.simulate_discrete ? "discrete" : "unified") +
                                  (device.param.validation ? "_validation" : "");
                         });

TEST_P(States, IsZeroAtFirstAndFedFromRunToRun) {
  prepare(*request_, 2);
  EXPECT_THAT(add(*request_, 1), Each(0));
  EXPECT_THAT(add(*request_, 2), Each(1));
  EXPECT_THAT(add(*request_, 4), Each(3));
  fill(*request_, 8);
  EXPECT_EQ(must(request_->start()), SubmitAnswer::kQueued);
  must(request_->wait());
  EXPECT_THAT(saved_values(save(*request_)), ElementsAre(15, 15, 15, 15, 15, 15, 15, 15, 15));
  // Another request has a state of its own.
  const Ref<Request> other = must(session_->create_request({}));
  prepare(*other, 2);
  EXPECT_THAT(add(*other, 1), Each(0));
  EXPECT_THAT(add(*request_, 1), Each(15));
}

TEST_P(States, IsResetSavedAndRestored) {
  prepare(*request_, 2);
  add(*request_, 3);
  const std::vector<std::byte> saved = save(*request_);
  EXPECT_EQ(saved.size(), 32u + 32u + 4u);
  const std::vector<float> first = add(*request_, 0.1F);
  const std::vector<std::byte> then = save(*request_);
  add(*request_, 7);
  must(request_->restore_state(saved));
  EXPECT_EQ(save(*request_), saved);
  EXPECT_EQ(add(*request_, 0.1F), first);
  EXPECT_EQ(save(*request_), then);
  must(request_->reset_state());
  EXPECT_THAT(saved_values(save(*request_)), Each(0));
  EXPECT_THAT(add(*request_, 1), Each(0));
  EXPECT_THAT(add(*request_, 1), Each(1));
  // Into another request.
  const Ref<Request> other = must(session_->create_request({}));
  prepare(*other, 2);
  must(other->restore_state(saved));
  EXPECT_EQ(add(*other, 0.1F), first);
}

TEST_P(States, RefusesWhatIsNoSavedStateOfIt) {
  EXPECT_FAILS(request_->reset_state(), StatusCode::kFailedPrecondition,
               "No shape is prepared yet for a request of 'summer' to reset its state.");
  EXPECT_FAILS(request_->saved_state_bytes(), StatusCode::kFailedPrecondition, "to measure its state");
  EXPECT_FAILS(request_->save_state({}), StatusCode::kFailedPrecondition, "to save its state");
  EXPECT_FAILS(request_->restore_state({}), StatusCode::kFailedPrecondition, "to restore its state");
  prepare(*request_, 2);
  add(*request_, 3);
  const std::vector<std::byte> saved = save(*request_);
  std::vector<std::byte> bytes(saved.size() - 1);
  EXPECT_FAILS(
      request_->save_state(bytes), StatusCode::kOutOfRange,
      "The state takes (68) bytes saved, and there is room for (67).\n  - while saving the state of a "
      "request of 'summer'");
  EXPECT_FAILS(request_->restore_state(std::span(saved).first(67)), StatusCode::kInvalidArgument,
               "A saved state has (68) bytes here, and (67) are given.");
  EXPECT_FAILS(request_->restore_state(std::span(saved).first(31)), StatusCode::kInvalidArgument,
               "begins with (32) bytes of header, and (31) are given.");
  bytes = saved;
  bytes.push_back({});
  EXPECT_FAILS(request_->restore_state(bytes), StatusCode::kInvalidArgument, "and (69) are given");
  bytes = saved;
  bytes[0] = std::byte{'w'};
  EXPECT_FAILS(request_->restore_state(bytes), StatusCode::kInvalidArgument,
               "The (68) bytes that are given are no saved state.");
  prepare(*request_, 3);
  EXPECT_FAILS(request_->restore_state(saved), StatusCode::kInvalidArgument,
               "The saved state is of other states, types or shapes");
  prepare(*request_, 2);
  must(request_->restore_state(saved));
  Program renamed = program();
  renamed.states[0].name = "total";
  const Ref<Session> session = must(open(renamed));
  const Ref<Request> other = must(session->create_request({}));
  prepare(*other, 2);
  EXPECT_FAILS(other->restore_state(saved), StatusCode::kInvalidArgument, "of other states");
  EXPECT_EQ(save(*request_), saved);
}

TEST_P(States, StaysAsItWasWhenARunFails) {
  prepare(*request_, 2);
  add(*request_, 3);
  const std::vector<std::byte> saved = save(*request_);
  fill(*request_, 5, /*row=*/7);
  EXPECT_FAILS(request_->run(), StatusCode::kOutOfRange, "met an index (7)");
  EXPECT_EQ(save(*request_), saved);
  EXPECT_EQ(must(request_->start()), SubmitAnswer::kQueued);
  EXPECT_FAILS(request_->wait(), StatusCode::kOutOfRange, "met an index (7)");
  EXPECT_EQ(save(*request_), saved);
  EXPECT_THAT(add(*request_, 1), Each(3));
  EXPECT_THAT(add(*request_, 1), Each(4));
}

TEST_P(States, AnswersBusyWhileARunIsUnderWayAndStaysWhenItIsCancelled) {
  prepare(*request_, 2);
  add(*request_, 3);
  const std::vector<std::byte> saved = save(*request_);
  const Ref<Event> go = must(device_->create_event("go"));
  const EventPoint waits[] = {{go.get(), 1}};
  EXPECT_EQ(must(request_->start(waits)), SubmitAnswer::kQueued);
  std::vector<std::byte> bytes(saved.size());
  EXPECT_FAILS(request_->reset_state(), StatusCode::kFailedPrecondition,
               "A request of 'summer' is busy and cannot reset its state now.");
  EXPECT_FAILS(request_->save_state(bytes), StatusCode::kFailedPrecondition,
               "busy and cannot save its state");
  EXPECT_FAILS(request_->restore_state(saved), StatusCode::kFailedPrecondition,
               "busy and cannot restore its state");
  request_->cancel();
  EXPECT_FAILS(request_->wait(), StatusCode::kCancelled, "");
  EXPECT_EQ(save(*request_), saved);
  EXPECT_THAT(add(*request_, 1), Each(3));
}

// Long enough to be cancelled after the new sum has been written and before the end.
TEST_P(States, StaysAsItWasWhenCancelledInMidRun) {
  constexpr int64_t kRows = 20000;
  prepare(*request_, kRows);
  fill(*request_, 1);
  float expected = 0;
  int cancelled = 0;
  for (int round = 0; round < 12; ++round) {
    EXPECT_EQ(must(request_->start()), SubmitAnswer::kQueued);
    while (request_->state() == RequestState::kQueued) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
    request_->cancel();
    const Result<void> ended = request_->wait();
    if (ended) {
      expected += 1;
    } else {
      EXPECT_EQ(ended.error().code(), StatusCode::kCancelled);
      ++cancelled;
    }
    EXPECT_THAT(saved_values(save(*request_)), Each(expected)) << "round " << round;
  }
  EXPECT_GT(cancelled, 0);
}

// The queue's thread is taken then, and a far device has to be cleared by another.
TEST_P(States, MayBeResetInACompletionHandler) {
  prepare(*request_, 2);
  add(*request_, 3);
  fill(*request_, 1);
  struct Seen {
    Request* request;
    std::string error = "not called";
  } seen{request_.get()};
  const CompletionHandler handler = {[](void* user, const Status* status) {
                                       auto* s = static_cast<Seen*>(user);
                                       EXPECT_EQ(status, nullptr);
                                       const Result<void> reset = s->request->reset_state();
                                       s->error = reset ? "" : reset.error().to_string();
                                     },
                                     &seen};
  EXPECT_EQ(must(request_->start({}, {}, handler)), SubmitAnswer::kQueued);
  session_->queue().wait_idle();
  EXPECT_EQ(seen.error, "");
  EXPECT_THAT(saved_values(save(*request_)), Each(0));
}

// A prepare that fails either leaves the request as it was, state and all, or without a prepared shape.
TEST_P(States, IsWholeWhereAPrepareFindsNoMemory) {
  int unprepared = 0;
  int as_it_was = 0;
  const std::vector<int64_t> symbols = {1000};
  const int64_t whole = must(session_->planned(symbols)).total();
  for (int64_t room = 0; room < whole; room += whole / 16) {
    const Ref<Request> request = must(session_->create_request({}));
    prepare(*request, 2);
    add(*request, 3);
    const std::vector<std::byte> before = save(*request);
    session_->queue().wait_idle();
    device_->memory().set_limit(device_->memory().total().current + room);
    const Result<void> prepared = request->prepare({{{1000, 4}, {2}}});
    device_->memory().set_limit(MemoryAccount::kNoLimit);
    if (!prepared && request->is_prepared()) {
      EXPECT_EQ(save(*request), before) << room;
      ++as_it_was;
    } else if (!prepared) {
      EXPECT_EQ(prepared.error().code(), StatusCode::kResourceExhausted);
      EXPECT_FAILS(request->reset_state(), StatusCode::kFailedPrecondition, "No shape is prepared yet");
      ++unprepared;
    }
    if (!prepared) {
      prepare(*request, 2);
      EXPECT_EQ(must(request->planned()), request->counted()) << room;
    }
    prepare(*request, 1000);
    EXPECT_THAT(add(*request, 1), Each(0)) << room;
    EXPECT_THAT(add(*request, 1), Each(1)) << room;
    EXPECT_EQ(must(request->planned()), request->counted());
  }
  EXPECT_GT(as_it_was, 0) << whole;
  EXPECT_GT(unprepared, 0) << whole;
}

TEST_P(States, BecomesZeroWhereItsExtentsChange) {
  prepare(*request_, 2);
  add(*request_, 3);
  prepare(*request_, 2);  // the same
  EXPECT_THAT(add(*request_, 1), Each(3));
  prepare(*request_, 3);
  EXPECT_THAT(saved_values(save(*request_)), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4));
  EXPECT_THAT(add(*request_, 1), Each(0));
  prepare(*request_, 2);
  EXPECT_THAT(saved_values(save(*request_)), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 5));
}

TEST_P(States, IsPlannedAndCounted) {
  const std::vector<int64_t> symbols = {100};
  const Ledger planned = must(session_->planned(symbols));
  EXPECT_EQ(planned.state, 2 * (1600 + 64));
  const int64_t before = device_->memory().use(MemoryCategory::kState).current;
  prepare(*request_, 100);
  EXPECT_EQ(request_->counted(), planned);
  EXPECT_EQ(must(request_->planned()), planned);
  EXPECT_EQ(device_->memory().use(MemoryCategory::kState).current - before, planned.state);
  add(*request_, 1);
  add(*request_, 1);
  EXPECT_EQ(request_->counted(), planned);
  prepare(*request_, 2);
  EXPECT_EQ(request_->counted().state, planned.state);
  EXPECT_EQ(must(request_->planned()), request_->counted());
}

}  // namespace
}  // namespace weir
