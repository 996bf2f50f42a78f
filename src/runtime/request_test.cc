// SPDX-License-Identifier: Apache-2.0
//
// Requests from a caller's side: arrays handed over, memory bound, leases, runs that wait, fail and are
// cancelled. What the networks compute is tested elsewhere; this program doubles x and picks two of its rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/testing/results.h"
#include "hal/cpu/cpu_device.h"
#include "program/testing/sample_programs.h"
#include "runtime/session.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

// Inputs x[n, 4] and rows[2] (int64); outputs y = x + x and picked = x[rows].
Program program() {
  samples::Builder b;
  Program& p = b.program;
  p.name = "doubler";
  p.target = "x86-64";
  p.symbols = {{"n", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0}}};
  const int32_t n = b.entry({.op = DimOp::kSymbol, .value = 0});
  const int32_t four = b.number(4);
  const int32_t one = b.number(1);
  const int32_t x_at = b.storage({StorageKind::kInput, b.times(n, 16), 0, 1, -1, 0, "", 0});
  const int32_t rows_at = b.storage({StorageKind::kInput, b.number(16), 1, 1, -1, 1, "", 0});
  const int32_t y_at = b.storage({StorageKind::kOutput, b.times(n, 16), 0, 0, -1, 0, "", 0});
  const int32_t picked_at = b.storage({StorageKind::kOutput, b.number(32), 1, 1, -1, 1, "", 0});
  const int32_t x = b.tensor("x", ElementType::kFloat32, {n, four}, {four, one}, x_at);
  const int32_t rows = b.dense("rows", ElementType::kInt64, {2}, rows_at);
  const int32_t y = b.tensor("y", ElementType::kFloat32, {n, four}, {four, one}, y_at);
  const int32_t picked = b.dense("picked", ElementType::kFloat32, {2, 4}, picked_at);
  p.steps.push_back(b.step("double", Op::kElementwise, ElementwiseAttributes{samples::sum()}, {x, x}, {y},
                           "reference.elementwise"));
  p.steps.push_back(
      b.step("pick", Op::kGather, GatherAttributes{0}, {x, rows}, {picked}, "reference.gather"));
  p.inputs = {{"x", x}, {"rows", rows}};
  p.outputs = {{"y", y}, {"picked", picked}};
  return p;
}

TEST(Sessions, TakeDimensionsFromShapesAlone) {
  Program source = program();
  source.symbols[0].source = {SymbolSource::Kind::kElement, 1, 0};
  const auto image = std::make_shared<const std::vector<std::byte>>(must(program_image(source, {})));
  const Ref<Session> session =
      must(Session::create(must(read_program(*image, image)), must(create_cpu_device({.threads = 1})), {}));
  const std::vector<std::vector<int64_t>> shapes = {{2, 4}, {2}};
  EXPECT_ERROR(
      session->symbols_of(shapes), StatusCode::kUnimplemented,
      "Dimension 'n' of program 'doubler' is element (0) of input 'rows', and only the shapes of inputs give "
      "dimensions their values here; compile the model with a number for it.");
}

TEST(Sessions, TakeShapesThatFitTheProgramAlone) {
  Program source = program();
  const auto image = std::make_shared<const std::vector<std::byte>>(must(program_image(source, {})));
  const Ref<Session> session =
      must(Session::create(must(read_program(*image, image)), must(create_cpu_device({.threads = 1})), {}));
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(must(session->symbols_of(Shapes{{5, 4}, {2}})), std::vector<int64_t>{5});
  EXPECT_ERROR(session->symbols_of(Shapes{{5, 3}, {2}}), StatusCode::kInvalidArgument,
               "Dimension (1) of input 'x' is (3), and program 'doubler' takes (4).");
  EXPECT_ERROR(session->symbols_of(Shapes{{5, 4}, {3}}), StatusCode::kInvalidArgument,
               "Dimension (0) of input 'rows' is (3), and program 'doubler' takes (2).");
}

TEST(Sessions, SayWhyAConstantCannotHaveAnotherValue) {
  const auto error = [](ConstantFate fate) {
    Program source = program();
    source.constants = {{"k", fate, -1}};
    const auto image = std::make_shared<const std::vector<std::byte>>(must(program_image(source, {})));
    const Result<Ref<Session>> session =
        Session::create(must(read_program(*image, image)), must(create_cpu_device({.threads = 1})),
                        {.constants = {{.name = "k"}}});
    return session ? "opened" : session.error().message();
  };
  EXPECT_EQ(error(ConstantFate::kUnused),
            "Constant 'k' cannot have another value: no step of the program reads it.");
  EXPECT_EQ(
      error(ConstantFate::kPackedOnly),
      "Constant 'k' cannot have another value: the program holds it only as its kernels read it, packed; "
      "compile the model again with --swappable k or with --portable.");
  EXPECT_EQ(error(ConstantFate::kFolded),
            "Constant 'k' cannot have another value: it was folded or fused into other constants when the "
            "program was compiled; compile the model again with --swappable k.");
  EXPECT_EQ(error(ConstantFate::kImported),
            "Constant 'k' cannot have another value: its elements were read when the model was imported; "
            "compile the model again with --swappable k.");
}

class Requests : public ::testing::TestWithParam<DeviceToggles> {
 protected:
  void SetUp() override {
    device_ = must(create_cpu_device({.threads = 2, .toggles = GetParam()}));
    Program source = program();
    auto image = std::make_shared<const std::vector<std::byte>>(must(program_image(source, {})));
    LoadedProgram loaded = must(read_program(*image, image));
    session_ = must(Session::create(std::move(loaded), device_, {}));
    request_ = must(session_->create_request({}));
  }
  void prepare(int64_t n) { must(request_->prepare({{{n, 4}, {2}}})); }
  // Row r of x is all r + base.
  void fill(int64_t n, float base = 0) {
    auto* x = must(request_->input(0)).as<float>();
    for (int64_t i = 0; i < n * 4; ++i) {
      const int64_t row = i / 4;
      x[i] = static_cast<float>(row) + base;
    }
    auto* rows = must(request_->input(1)).as<int64_t>();
    rows[0] = n - 1;
    rows[1] = 0;
  }
  std::vector<float> read(int32_t output) {
    const TensorView view = must(request_->output(output));
    return {view.as<float>(), view.as<float>() + view.element_count()};
  }
  template <typename T>
  static TensorView view(T* data, std::vector<int64_t> shape, std::vector<int64_t> strides = {},
                         ElementType type = ElementType::kFloat32) {
    TensorSpec spec = TensorSpec::dense(type, shape);
    std::copy(strides.begin(), strides.end(), spec.strides.begin());
    return spec.at(reinterpret_cast<std::byte*>(data));
  }
  bool shared() const { return !GetParam().simulate_discrete; }

  Ref<Device> device_;
  Ref<Session> session_;
  Ref<Request> request_;
};

INSTANTIATE_TEST_SUITE_P(Cpu, Requests,
                         ::testing::Values(DeviceToggles{}, DeviceToggles{.simulate_discrete = true},
                                           DeviceToggles{.validation = true}),
                         [](const auto& device) {
                           return device.param.simulate_discrete ? "discrete"
                                  : device.param.validation      ? "validation"
                                                                 : "plain";
                         });

TEST_P(Requests, GoThroughTheirStates) {
  EXPECT_EQ(request_->state(), RequestState::kUnprepared);
  EXPECT_FAILS(request_->run(), StatusCode::kFailedPrecondition, "runs before a shape is prepared");
  EXPECT_FAILS(request_->input(0), StatusCode::kFailedPrecondition,
               "No shape is prepared yet for input 'x' of 'doubler'.");
  EXPECT_ERROR(request_->planned(), StatusCode::kFailedPrecondition,
               "A request of 'doubler' has no plan before a shape is prepared.");
  prepare(2);
  EXPECT_EQ(request_->state(), RequestState::kIdle);
  fill(2);
  must(request_->run());
  EXPECT_EQ(request_->state(), RequestState::kCompleted);
  EXPECT_THAT(read(0), ElementsAre(0, 0, 0, 0, 2, 2, 2, 2));
  EXPECT_THAT(read(1), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
  prepare(2);
  EXPECT_EQ(request_->state(), RequestState::kIdle);
  EXPECT_EQ(to_string(RequestState::kCancelled), "cancelled");
  EXPECT_FAILS(request_->input(2), StatusCode::kOutOfRange, "Position (2) is not one of the (2) inputs");
}

TEST_P(Requests, TakeArraysOfAnyStrides) {
  prepare(2);
  fill(2);
  std::vector<float> columns = {1, 5, 2, 6, 3, 7, 4, 8};  // 4×2
  const BindingVerdict given = must(request_->set_input(0, view(columns.data(), {2, 4}, {1, 2})));
  EXPECT_EQ(given.answer, BindingAnswer::kCopied);
  EXPECT_EQ(given.reasons, kReasonStrides | kReasonLent | (shared() ? 0U : kReasonMemoryNotShared));
  EXPECT_EQ(given.copied_bytes, 32);
  must(request_->run());
  EXPECT_THAT(read(0), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(request_->input_transfer(0).copied_bytes, 32);
  EXPECT_FAILS(request_->set_input(0, view(columns.data(), {2, 4}, {1, 2}), CopyPolicy::kForbid),
               StatusCode::kFailedPrecondition,
               "A tensor given as input 'x' of 'doubler' would be copied (32 bytes; strides");
  EXPECT_FAILS(request_->set_input(0, view(columns.data(), {4, 2})), StatusCode::kInvalidArgument,
               "A tensor given as input 'x' of 'doubler' is (float32[4,2]), and the program has "
               "(float32[2,4]): shape.");
  EXPECT_FAILS(request_->set_input(1, view(columns.data(), {2})), StatusCode::kInvalidArgument,
               "A tensor given as input 'rows' of 'doubler' is (float32[2]), and the program has (int64[2]): "
               "element type.");
  EXPECT_FAILS(request_->set_input(0, view<float>(nullptr, {2, 4})), StatusCode::kInvalidArgument,
               "has elements and no memory");
}

TEST_P(Requests, UseBoundMemoryInPlaceWhereTheDeviceCan) {
  prepare(2);
  fill(2);
  alignas(64) float x[8] = {1, 1, 1, 1, 2, 2, 2, 2};
  alignas(64) float y[8] = {};
  const BindingVerdict in = must(request_->bind_input(0, view(x, {2, 4})));
  const BindingVerdict out = must(request_->bind_output(0, view(y, {2, 4})));
  for (const BindingVerdict& verdict : {in, out}) {
    EXPECT_EQ(verdict.answer, shared() ? BindingAnswer::kInPlace : BindingAnswer::kCopied);
    EXPECT_EQ(verdict.reasons, shared() ? kNoReason : kReasonMemoryNotShared);
    EXPECT_EQ(verdict.copied_bytes, shared() ? 0 : 32);
  }
  must(request_->run());
  EXPECT_THAT(y, ElementsAre(2, 2, 2, 2, 4, 4, 4, 4));
  x[0] = 50;  // read anew by the next run
  must(request_->run());
  EXPECT_EQ(y[0], 100);
  EXPECT_EQ(must(request_->output(0)).as<float>()[0], 100);
  EXPECT_EQ(must(request_->output(0)).data == reinterpret_cast<std::byte*>(y), shared());
  EXPECT_FAILS(request_->input(0), StatusCode::kFailedPrecondition,
               "Other memory is bound in the place of input 'x' of 'doubler'");
  must(request_->bind_input(0, TensorView{}));
  must(request_->bind_output(0, TensorView{}));
  fill(2, 7);
  y[0] = -1;
  must(request_->run());
  EXPECT_EQ(y[0], -1);
  EXPECT_THAT(read(0), ElementsAre(14, 14, 14, 14, 16, 16, 16, 16));
  // An array handed over takes the place of what is bound.
  must(request_->bind_input(0, view(x, {2, 4})));
  must(request_->set_input(0, view(x + 4, {2, 4}, {0, 1})));
  must(request_->run());
  EXPECT_THAT(read(0), ElementsAre(4, 4, 4, 4, 4, 4, 4, 4));
}

TEST_P(Requests, CopyBoundMemoryWithAllTheReasons) {
  prepare(2);
  fill(2);
  alignas(64) std::byte raw[80];
  float* odd = reinterpret_cast<float*>(raw + 1);
  const TensorView strided = view(odd, {2, 4}, {1, 2});
  const uint32_t far = shared() ? 0U : kReasonMemoryNotShared;
  const BindingVerdict asked = must(request_->input_verdict(0, strided));
  EXPECT_EQ(asked.answer, BindingAnswer::kCopied);
  EXPECT_EQ(asked.reasons, kReasonStrides | kReasonAlignment | far);
  EXPECT_FAILS(request_->bind_input(0, strided, CopyPolicy::kForbid), StatusCode::kFailedPrecondition,
               "strides, alignment");
  must(request_->bind_input(0, strided));
  for (int i = 0; i < 8; ++i) {
    const float value = static_cast<float>(i);
    std::memcpy(raw + 1 + i * 4, &value, 4);
  }
  float y[16] = {};
  const BindingVerdict out = must(request_->bind_output(0, view(y, {2, 4}, {8, 2})));
  EXPECT_EQ(out.answer, BindingAnswer::kCopied);
  must(request_->run());
  EXPECT_THAT(y, ElementsAre(0, 0, 4, 0, 8, 0, 12, 0, 2, 0, 6, 0, 10, 0, 14, 0));
  // Through the queue too, before the handler is called.
  std::fill(std::begin(y), std::end(y), 0.F);
  std::atomic<float> seen = -1;
  const auto look = [](void* user, const Status*) {
    auto* both = static_cast<std::pair<float*, std::atomic<float>*>*>(user);
    both->second->store(both->first[2]);
  };
  std::pair<float*, std::atomic<float>*> both{y, &seen};
  EXPECT_EQ(must(request_->start({}, {}, {.function = look, .user = &both})), SubmitAnswer::kQueued);
  must(request_->wait());
  EXPECT_EQ(y[2], 4);
  session_->queue().wait_idle();
  EXPECT_EQ(seen.load(), 4);
  EXPECT_EQ(must(request_->output_verdict(0, view(y, {2, 4}, {0, 1}))).answer, BindingAnswer::kRefused);
  EXPECT_FAILS(request_->bind_output(0, view(y, {2, 4}, {0, 1})), StatusCode::kInvalidArgument,
               "strides (0,1)), and the program has (float32[2,4]): strides.");
}

TEST_P(Requests, RefuseBindingsThatDoNotFit) {
  prepare(2);
  alignas(64) float memory[16] = {};
  must(request_->bind_input(0, view(memory, {2, 4})));
  if (shared()) {
    EXPECT_FAILS(
        request_->bind_output(0, view(memory + 4, {2, 4})), StatusCode::kInvalidArgument,
        "The memory bound as output 'y' of 'doubler' overlaps the memory bound as input 'x' of 'doubler'.");
  }
  must(request_->bind_output(0, view(memory + 8, {2, 4})));
  EXPECT_FAILS(request_->prepare({{{3, 4}, {2}}}), StatusCode::kFailedPrecondition,
               "A tensor (float32[2,4]) is bound as input 'x' of 'doubler', and this shape takes "
               "(float32[3,4]); bind another, or none.");
  // What was prepared is still there.
  must(request_->bind_output(0, TensorView{}));
  must(request_->bind_input(0, TensorView{}));
  fill(2);
  must(request_->run());
  prepare(3);
  const Ref<Buffer> small = must(device_->create_buffer({.size = 32, .label = "small"}));
  EXPECT_FAILS(request_->bind_input(0, small, 0), StatusCode::kOutOfRange,
               "Buffer 'small' has (32) bytes, and as input 'x' of 'doubler' it needs (48) from offset (0).");
  fill(3);
  must(request_->run());
  EXPECT_THAT(read(1), ElementsAre(2, 2, 2, 2, 0, 0, 0, 0));
}

// A prepare finds memory for some of its tensors and not for others: nothing of it stays.
TEST_P(Requests, CountWhatIsPlannedAfterAPrepareThatFoundNoMemory) {
  const int64_t limit = device_->memory().limit();
  prepare(2);
  int failures = 0;
  for (int64_t more = 0;; more += 64) {
    ASSERT_LT(more, 1 << 20);
    device_->memory().set_limit(device_->memory().total().current + more);
    const Result<void> prepared = request_->prepare({{{64, 4}, {2}}});
    device_->memory().set_limit(limit);
    if (prepared) {
      break;
    }
    ++failures;
    prepare(2);
    EXPECT_EQ(must(request_->planned()), request_->counted()) << more;
    fill(2);
    must(request_->run());
    EXPECT_THAT(read(0), ElementsAre(0, 0, 0, 0, 2, 2, 2, 2));
  }
  EXPECT_GT(failures, 2);
  EXPECT_EQ(must(request_->planned()), request_->counted());
}

TEST_P(Requests, AreBusyWhileALeaseIsHeld) {
  prepare(2);
  fill(2);
  must(request_->run());
  OutputLease first = must(request_->lease_output(0));
  OutputLease second = must(request_->lease_output(0));
  EXPECT_EQ(request_->leases(), 2);
  fill(2, 100);  // the next frame may be written meanwhile
  EXPECT_FAILS(request_->run(), StatusCode::kFailedPrecondition,
               "busy and cannot run now: (2) leases of its outputs are held");
  EXPECT_EQ(must(request_->start()), SubmitAnswer::kBusy);
  EXPECT_FAILS(request_->prepare({{{3, 4}, {2}}}), StatusCode::kFailedPrecondition,
               "busy and cannot prepare now");
  EXPECT_EQ(first.tensor().as<float>()[4], 2);
  first = OutputLease();
  EXPECT_EQ(must(request_->start()), SubmitAnswer::kBusy);
  second = OutputLease();
  must(request_->run());
  EXPECT_EQ(read(0)[4], 202);

  OutputLease last = must(request_->lease_output(0));
  const int64_t held = device_->memory().total().current;
  request_ = nullptr;
  session_ = nullptr;
  EXPECT_EQ(last.tensor().as<float>()[4], 202);
  EXPECT_GT(device_->memory().total().current, 0);
  EXPECT_LT(device_->memory().total().current, held);
  last = OutputLease();
  EXPECT_EQ(device_->memory().total().current, 0);
}

TEST_P(Requests, WithholdWhatAFailedRunLeft) {
  prepare(2);
  fill(2);
  must(request_->input(1)).as<int64_t>()[0] = 7;
  EXPECT_FAILS(request_->run(), StatusCode::kOutOfRange, "index (7)");
  EXPECT_EQ(request_->state(), RequestState::kFailed);
  EXPECT_FAILS(request_->output(0), StatusCode::kOutOfRange,
               "while running step 'pick' (Gather), which reads 'x', 'rows'\n  - while running a request of "
               "'doubler'\n"
               "  - while reading output 'y' of 'doubler'");
  EXPECT_FAILS(request_->lease_output(1), StatusCode::kOutOfRange, "index (7)");
  alignas(64) float y[8] = {-1};
  if (!shared()) {
    must(request_->bind_output(0, view(y, {2, 4})));
    EXPECT_FAILS(request_->run(), StatusCode::kOutOfRange, "index (7)");
    EXPECT_EQ(y[0], -1);
    must(request_->bind_output(0, TensorView{}));
  }
  fill(2);
  must(request_->run());
  EXPECT_THAT(read(1), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST_P(Requests, WaitForEventsAndAreCancelled) {
  prepare(2);
  fill(2);
  const Ref<Event> go = must(device_->create_event("go"));
  const EventPoint waits[] = {{go.get(), 1}};
  EXPECT_EQ(must(request_->start(waits)), SubmitAnswer::kQueued);
  EXPECT_EQ(request_->state(), RequestState::kQueued);
  EXPECT_EQ(must(request_->start()), SubmitAnswer::kBusy);
  EXPECT_FAILS(request_->run(), StatusCode::kFailedPrecondition, "is busy and cannot run now");
  EXPECT_FAILS(request_->input(0), StatusCode::kFailedPrecondition, "cannot have its inputs written now");
  EXPECT_FAILS(request_->output(0), StatusCode::kFailedPrecondition, "cannot have its outputs read now");
  EXPECT_FAILS(request_->bind_input(0, TensorView{}), StatusCode::kFailedPrecondition, "cannot be bound now");
  EXPECT_EQ(must(request_->wait_for(milliseconds(1))), EventWait::kTimedOut);
  must(go->signal(1));
  must(request_->wait());
  EXPECT_EQ(request_->state(), RequestState::kCompleted);
  EXPECT_EQ(read(0)[4], 2);

  const EventPoint never[] = {{go.get(), 2}};
  EXPECT_EQ(must(request_->start(never)), SubmitAnswer::kQueued);
  request_->cancel();
  request_->cancel();
  EXPECT_FAILS(request_->wait(), StatusCode::kCancelled, "while running a request of 'doubler'");
  EXPECT_EQ(request_->state(), RequestState::kCancelled);
  EXPECT_FAILS(request_->output(0), StatusCode::kCancelled, "while reading output 'y'");
  must(request_->run());
  EXPECT_EQ(read(0)[4], 2);
}

TEST_P(Requests, MayBeStartedAndDroppedInTheirOwnHandler) {
  prepare(2);
  fill(2);
  struct Loop {
    Ref<Request> request;
    Ref<Event> done;
    std::atomic<int> rounds{0};
  };
  Loop loop;
  loop.request = std::move(request_);
  loop.done = must(device_->create_event("done"));
  session_ = nullptr;  // the request holds the last reference to it
  CompletionHandler again;
  again.user = &loop;
  again.function = [](void* user, const Status* status) {
    auto* l = static_cast<Loop*>(user);
    EXPECT_EQ(status, nullptr);
    if (++l->rounds < 20) {
      CompletionHandler next;
      next.user = user;
      next.function = [](void* inner, const Status*) {
        auto* last = static_cast<Loop*>(inner);
        const Ref<Event> done = last->done;  // the waiter drops its own at once
        last->request = nullptr;
        must(done->signal(1));
      };
      EXPECT_EQ(must(l->request->start({}, {}, next)), SubmitAnswer::kQueued);
    }
  };
  EXPECT_EQ(must(loop.request->start({}, {}, again)), SubmitAnswer::kQueued);
  EXPECT_EQ(must(loop.done->wait(1, std::chrono::seconds(20))), EventWait::kReached);
  loop.done = nullptr;
  // The queue ends on a thread of its own; nothing is left then.
  for (int i = 0; i < 2000 && device_->memory().total().current > 0; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_EQ(device_->memory().total().current, 0);
}

TEST_P(Requests, DroppedWhileQueuedGoOnBehindTheScenes) {
  prepare(2);
  fill(2);
  const Ref<Event> go = must(device_->create_event("go"));
  const Ref<Event> done = must(device_->create_event("done"));
  const EventPoint waits[] = {{go.get(), 1}};
  const EventPoint signals[] = {{done.get(), 1}};
  EXPECT_EQ(must(request_->start(waits, signals)), SubmitAnswer::kQueued);
  request_ = nullptr;
  must(go->signal(1));
  EXPECT_EQ(must(done->wait(1, std::chrono::seconds(20))), EventWait::kReached);
}

}  // namespace
}  // namespace weir
