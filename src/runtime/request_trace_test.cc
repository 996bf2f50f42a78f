// SPDX-License-Identifier: Apache-2.0
//
// What a traced request writes for runs on the caller's thread and on the queue's, on the device's lanes and
// the threads'; and that a request without a trace keeps no timestamps.
#include "runtime/request_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/results.h"
#include "hal/cpu/cpu_device.h"
#include "program/testing/sample_programs.h"
#include "runtime/measure.h"
#include "runtime/session.h"

namespace weir {
namespace {

using ::testing::HasSubstr;

// y = x + x and z = y + y over n·4 elements.
Program two_sums() {
  samples::Builder b;
  Program& p = b.program;
  p.name = "sums";
  p.target = "x86-64";
  p.symbols = {{"n", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0}}};
  const int32_t n = b.entry({.op = DimOp::kSymbol, .value = 0});
  const int32_t four = b.number(4);
  const int32_t one = b.number(1);
  const auto tensor = [&](const char* name, StorageKind kind, int32_t first, int32_t last) {
    const int32_t at =
        b.storage({kind, b.times(n, 16), first, last, -1, kind == StorageKind::kActivation ? -1 : 0, "", 0});
    return b.tensor(name, ElementType::kFloat32, {n, four}, {four, one}, at);
  };
  const int32_t x = tensor("x", StorageKind::kInput, 0, 0);
  const int32_t y = tensor("y", StorageKind::kActivation, 0, 1);
  const int32_t z = tensor("z", StorageKind::kOutput, 1, 1);
  p.placement_order = {1};
  const ElementwiseAttributes sum{samples::sum()};
  p.steps.push_back(b.step("first", Op::kElementwise, sum, {x, x}, {y}, "reference.elementwise"));
  p.steps.push_back(b.step("second", Op::kElementwise, sum, {y, y}, {z}, "reference.elementwise"));
  p.inputs = {{"x", x}};
  p.outputs = {{"z", z}};
  return p;
}

class RequestTraces : public ::testing::Test {
 protected:
  void SetUp() override {
    Program source = two_sums();
    auto image = std::make_shared<const std::vector<std::byte>>(must(program_image(source, {})));
    LoadedProgram loaded = must(read_program(*image, image));
    SessionOptions options;
    options.trace = trace_.get();
    session_ = must(Session::create(std::move(loaded), must(create_cpu_device({.threads = 2})), options));
  }
  std::vector<TraceEvent> named(std::string_view name) const {
    std::vector<TraceEvent> events = trace_->events();
    std::erase_if(events, [&](const TraceEvent& event) { return event.name != trace_->text(name); });
    return events;
  }
  static bool on_device(const TraceEvent& event) { return event.lane > 64; }

  Ref<Tracer> trace_ = Tracer::create({.events = 1000});
  Ref<Session> session_;
};

TEST_F(RequestTraces, ShowPreparingAndRunning) {
  const int64_t before = steady_now_ns();
  Ref<Request> request = must(session_->create_request({.trace = trace_}));
  must(request->prepare({{{8, 4}}}));
  std::fill_n(must(request->input(0)).as<float>(), 32, 1.0f);
  must(request->run());
  must(request->run());
  const int64_t after = steady_now_ns();
  EXPECT_EQ(must(request->output(0)).as<float>()[31], 4.0f);
  for (const char* name :
       {"load session", "choose kernels", "prepare", "expressions", "placement", "recording", "growth"}) {
    EXPECT_EQ(named(name).size(), 1u) << name;
  }
  const TraceEvent prepare = named("prepare").front();
  const TraceEvent recording = named("recording").front();
  EXPECT_LE(prepare.begin_ns, recording.begin_ns);
  EXPECT_GE(prepare.end_ns, recording.end_ns);

  std::vector<TraceEvent> runs = named("run");
  ASSERT_EQ(runs.size(), 4u);  // two on this thread's lane, two on the device's
  for (int run = 0; run < 2; ++run) {
    const TraceEvent& host = runs[static_cast<size_t>(run)];
    const TraceEvent& device = runs[static_cast<size_t>(run) + 2];
    ASSERT_TRUE(!on_device(host) && on_device(device));
    EXPECT_EQ(device.run, run);
    EXPECT_EQ(device.flops, 64);
    EXPECT_EQ(device.bytes_read, 2 * 128);
    EXPECT_EQ(device.bytes_written, 2 * 128);
    EXPECT_LE(before, host.begin_ns);
    EXPECT_LE(host.begin_ns, device.begin_ns);
    EXPECT_LE(device.end_ns, host.end_ns);
    EXPECT_LE(host.end_ns, after);
    int64_t busy = 0;
    for (const char* name : {"first", "second"}) {
      for (const TraceEvent& step : named(name)) {
        if (step.run == run && on_device(step)) {
          EXPECT_LE(device.begin_ns, step.begin_ns);
          EXPECT_LE(step.end_ns, device.end_ns);
          EXPECT_EQ(step.flops, 32);
          EXPECT_EQ(step.implementation, trace_->text("reference.elementwise"));
          busy += step.busy_ns;
        }
      }
    }
    EXPECT_EQ(busy, device.busy_ns);
  }
  // The caller's share of a step, on the caller's lane.
  const std::vector<TraceEvent> first = named("first");
  EXPECT_TRUE(
      std::ranges::any_of(first, [&](const TraceEvent& event) { return event.lane == runs[0].lane; }));
  EXPECT_THAT(trace_->to_json(), HasSubstr("sums request 1"));
}

TEST_F(RequestTraces, ShowTheQueuesThread) {
  Ref<Request> request = must(session_->create_request({.trace = trace_}));
  must(request->prepare({{{8, 4}}}));
  bool called = false;
  EXPECT_EQ(
      must(request->start({}, {},
                          {.function = [](void* user, const Status*) { *static_cast<bool*>(user) = true; },
                           .user = &called})),
      SubmitAnswer::kQueued);
  must(request->wait());
  session_->queue().wait_idle();
  EXPECT_TRUE(called);
  ASSERT_EQ(named("start").size(), 1u);
  ASSERT_EQ(named("completion handler").size(), 1u);
  EXPECT_NE(named("completion handler")[0].lane, named("start")[0].lane);
  EXPECT_TRUE(std::ranges::any_of(named("first"), [&](const TraceEvent& event) {
    return event.lane == named("completion handler")[0].lane;
  }));
  EXPECT_THAT(trace_->to_json(), HasSubstr("weir-queue"));
}

TEST_F(RequestTraces, AreNotThereWithoutATrace) {
  Ref<Request> request = must(session_->create_request({}));
  must(request->prepare({{{8, 4}}}));
  const int64_t before = trace_->kept();
  must(request->run());
  EXPECT_EQ(trace_->kept(), before);
  EXPECT_TRUE(request->profile().empty());
  Ref<Request> traced = must(session_->create_request({.trace = trace_}));
  must(traced->prepare({{{8, 4}}}));
  EXPECT_EQ(must(traced->planned()), traced->counted());
  // The recording with timestamps is a larger one, and planned so.
  EXPECT_GT(traced->counted().host, request->counted().host);
}

}  // namespace
}  // namespace weir
