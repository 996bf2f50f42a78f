// SPDX-License-Identifier: Apache-2.0
//
// The C interface of requests, from outside: every function, and errors by their text. What bindings and runs
// do inside is tested in runtime/request_test.cc.
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "api/testing/session_test_case.h"

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionRequests : public weir::testing::SessionTest {};

TEST_F(SessionRequests, PrepareRunAndReport) {
  open();
  weir_request_options own = WEIR_INIT(weir_request_options);
  own.profile = true;
  own.shape_cache_bytes = 1 << 20;
  ASSERT_OK(weir_request_create(session_, &own, &request_));
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_UNPREPARED);
  EXPECT_REFUSED(weir_request_run(request_), WEIR_FAILED_PRECONDITION, "runs before a shape is prepared");
  prepare(2);
  weir_prepare_report report = WEIR_INIT(weir_prepare_report);
  ASSERT_OK(weir_request_get_prepare_report(request_, &report));
  EXPECT_FALSE(report.cached);
  EXPECT_GT(report.recording_ns, 0);
  prepare(3);
  prepare(2);
  ASSERT_OK(weir_request_get_prepare_report(request_, &report));
  EXPECT_TRUE(report.cached);
  fill(2);
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_COMPLETED);
  EXPECT_THAT(output(0), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_THAT(output(1), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));
  int32_t lines = 0;
  const weir_command_profile* profile = weir_request_profile(request_, &lines);
  ASSERT_EQ(lines, 2);
  EXPECT_GE(profile[1].end_ns, profile[1].begin_ns);
  // An index that the data has and the axis has not.
  input<int64_t>(1)[1] = 9;
  EXPECT_REFUSED(weir_request_run(request_), WEIR_OUT_OF_RANGE, "index (9)");
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_FAILED);
  weir_tensor t = WEIR_INIT(weir_tensor);
  EXPECT_REFUSED(weir_request_output(request_, 0, &t), WEIR_OUT_OF_RANGE,
                 "while reading output 'y' of 'doubler'");
  EXPECT_REFUSED(weir_request_input(request_, 5, &t), WEIR_OUT_OF_RANGE, "Position (5)");
  EXPECT_EQ(weir_request_retain(request_), request_);
  weir_request_release(request_);
}

TEST_F(SessionRequests, AreHandedTensorsAndBindThem) {
  ready(2);
  std::array<float, 8> columns = {1, 5, 2, 6, 3, 7, 4, 8};
  weir_tensor t = tensor(columns.data(), WEIR_FLOAT32, {2, 4});
  t.strides[0] = 1;
  t.strides[1] = 2;
  weir_binding binding = WEIR_INIT(weir_binding);
  ASSERT_OK(weir_request_input_verdict(request_, 0, &t, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_COPIED);
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_STRIDES));
  EXPECT_EQ(binding.copied_bytes, 32);
  std::array<char, 64> text{};
  EXPECT_EQ(weir_copy_reasons_text(WEIR_REASON_STRIDES | WEIR_REASON_ALIGNMENT, text.data(), text.size()),
            strlen("strides, alignment"));
  EXPECT_STREQ(text.data(), "strides, alignment");
  EXPECT_EQ(weir_copy_reasons_text(WEIR_REASON_MEMORY_NOT_SHARED, text.data(), 7), 24U);
  EXPECT_STREQ(text.data(), "device");
  ASSERT_OK(weir_request_set_input(request_, 0, &t, WEIR_COPY_ALLOW, &binding));
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_STRIDES | WEIR_REASON_LENT));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_THAT(output(0), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  weir_notice notice = WEIR_INIT(weir_notice);
  ASSERT_TRUE(weir_request_notice(request_, 0, &notice));
  EXPECT_EQ(notice.kind, WEIR_COST);
  EXPECT_STREQ(notice.what, "copy");
  EXPECT_STREQ(notice.reason, "input 'x' is copied: strides, lent for the call only");
  EXPECT_EQ(notice.bytes, 32);
  EXPECT_FALSE(weir_request_notice(request_, 1, &notice));
  EXPECT_REFUSED(weir_request_bind_input(request_, 0, &t, WEIR_COPY_FORBID, nullptr),
                 WEIR_FAILED_PRECONDITION,
                 "would be copied (32 bytes; strides), and copies are forbidden here");
  EXPECT_REFUSED(weir_request_bind_input(request_, 0, &t, 7, nullptr), WEIR_INVALID_ARGUMENT,
                 "Copy policy (7) is not one of (0, 1).");
  const weir_tensor doubles = tensor(columns.data(), WEIR_FLOAT64, {2, 4});
  EXPECT_REFUSED(weir_request_bind_input(request_, 0, &doubles, WEIR_COPY_ALLOW, nullptr),
                 WEIR_INVALID_ARGUMENT,
                 "is (float64[2,4]), and the program has (float32[2,4]): element type.");
  weir_tensor broken = t;
  broken.struct_size = 0;
  EXPECT_REFUSED(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
                 "A tensor has element type (0), which is none; set struct_size and type.");
  broken = t;
  broken.rank = 9;
  EXPECT_REFUSED(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
                 "A tensor has rank (9), and the allowed are (0 to 8).");
  broken = t;
  broken.shape[1] = -4;
  EXPECT_REFUSED(weir_request_set_input(request_, 0, &broken, 0, nullptr), WEIR_INVALID_ARGUMENT,
                 "Dimension (1) of a tensor is (-4), and 0 is the least.");

  alignas(64) std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(64) std::array<float, 8> y{};
  const weir_tensor in = tensor(x.data(), WEIR_FLOAT32, {2, 4});
  const weir_tensor out = tensor(y.data(), WEIR_FLOAT32, {2, 4});
  ASSERT_OK(weir_request_output_verdict(request_, 0, &out, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_IN_PLACE);
  ASSERT_OK(weir_request_bind_input(request_, 0, &in, WEIR_COPY_FORBID, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_IN_PLACE);
  EXPECT_EQ(binding.reasons, 0U);
  ASSERT_OK(weir_request_bind_output(request_, 0, &out, WEIR_COPY_FORBID, nullptr));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_THAT(y, ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_FALSE(weir_request_notice(request_, 0, &notice));
  EXPECT_REFUSED(
      weir_request_bind_output(request_, 0, &in, 0, nullptr), WEIR_INVALID_ARGUMENT,
      "The memory bound as output 'y' of 'doubler' overlaps the memory bound as input 'x' of 'doubler'.");
  EXPECT_OK(weir_request_bind_input(request_, 0, nullptr, 0, nullptr));
  EXPECT_OK(weir_request_bind_output(request_, 0, nullptr, 0, nullptr));
  weir_tensor own = WEIR_INIT(weir_tensor);
  ASSERT_OK(weir_request_input(request_, 0, &own));
  EXPECT_REFUSED(
      weir_request_bind_output(request_, 0, &own, 0, nullptr), WEIR_INVALID_ARGUMENT,
      "The memory bound as output 'y' of 'doubler' overlaps the request's own for input 'x' of 'doubler'.");

  // A buffer of the device, somewhere inside.
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = 128;
  desc.label = "frame";
  weir_buffer* buffer = nullptr;
  void* bytes = nullptr;
  ASSERT_OK(weir_buffer_create(device_, &desc, &buffer));
  ASSERT_OK(weir_buffer_contents(buffer, &bytes));
  std::memcpy(static_cast<std::byte*>(bytes) + 64, x.data(), sizeof x);
  EXPECT_OK(weir_request_bind_input_buffer(request_, 0, buffer, 64));
  EXPECT_OK(weir_request_bind_output_buffer(request_, 0, buffer, 0));
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(static_cast<const float*>(bytes)[7], 16);
  EXPECT_REFUSED(
      weir_request_bind_input_buffer(request_, 0, buffer, 100), WEIR_OUT_OF_RANGE,
      "Buffer 'frame' has (128) bytes, and as input 'x' of 'doubler' it needs (32) from offset (100).");
  EXPECT_OK(weir_request_bind_input_buffer(request_, 0, nullptr, 0));
  EXPECT_OK(weir_request_bind_output_buffer(request_, 0, nullptr, 0));
  weir_buffer_release(buffer);
}

TEST_F(SessionRequests, AreBusyWhileLeasesAreHeld) {
  ready(2);
  EXPECT_OK(weir_request_run(request_));
  weir_lease* lease = nullptr;
  ASSERT_OK(weir_request_lease_output(request_, 0, &lease));
  EXPECT_REFUSED(weir_request_run(request_), WEIR_FAILED_PRECONDITION, "(1) leases of its outputs are held");
  weir_submit_answer answer = WEIR_COMPLETED;
  EXPECT_OK(weir_request_start(request_, nullptr, &answer));
  EXPECT_EQ(answer, WEIR_BUSY);
  weir_request_release(request_);
  request_ = nullptr;
  weir_tensor t = WEIR_INIT(weir_tensor);
  ASSERT_OK(weir_lease_tensor(lease, &t));
  EXPECT_EQ(static_cast<const float*>(t.data)[7], 14);
  weir_lease_release(lease);
  weir_lease_release(nullptr);
}

TEST_F(SessionRequests, GoThroughTheQueue) {
  ready(2);
  weir_event* go = nullptr;
  weir_event* done = nullptr;
  ASSERT_OK(weir_event_create(device_, "go", &go));
  ASSERT_OK(weir_event_create(device_, "done", &done));
  const weir_event_point waits[] = {{go, 1}};
  const weir_event_point signals[] = {{done, 1}};
  struct Seen {
    std::atomic<int> calls{0};
    std::string text;
  } seen;
  weir_start_desc desc = WEIR_INIT(weir_start_desc);
  desc.waits = waits;
  desc.wait_count = 1;
  desc.signals = signals;
  desc.signal_count = 1;
  desc.user = &seen;
  desc.on_complete = [](void* user, const weir_status* status) {
    auto* s = static_cast<Seen*>(user);
    s->text = weir_status_text(status);
    ++s->calls;
  };
  weir_submit_answer answer = WEIR_COMPLETED;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  EXPECT_EQ(answer, WEIR_QUEUED);
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_QUEUED);
  bool is_done = true;
  EXPECT_OK(weir_request_wait(request_, 0, &is_done));
  EXPECT_FALSE(is_done);
  EXPECT_OK(weir_event_signal(go, 1));
  EXPECT_OK(weir_request_wait(request_, -1, &is_done));
  EXPECT_TRUE(is_done);
  EXPECT_EQ(weir_event_value(done), 1U);
  EXPECT_THAT(output(1), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3));

  // Nobody will signal this one.
  const weir_event_point never[] = {{go, 9}};
  desc.waits = never;
  desc.signal_count = 0;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  EXPECT_EQ(answer, WEIR_QUEUED);
  weir_request_cancel(request_);
  EXPECT_REFUSED(weir_request_wait(request_, -1, nullptr), WEIR_CANCELLED,
                 "while running a request of 'doubler'");
  EXPECT_EQ(weir_request_get_state(request_), WEIR_REQUEST_CANCELLED);
  for (int i = 0; i < 20000 && seen.calls < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(seen.calls, 2);
  EXPECT_THAT(seen.text, HasSubstr("is cancelled before the events that it waits for are reached"));

  desc.wait_count = 9;
  EXPECT_REFUSED(weir_request_start(request_, &desc, &answer), WEIR_INVALID_ARGUMENT,
                 "A start has (9) waits, and the allowed numbers are (0 to 8), with an array of them.");
  const weir_event_point null_event[] = {{nullptr, 1}};
  desc.waits = null_event;
  desc.wait_count = 1;
  EXPECT_REFUSED(weir_request_start(request_, &desc, &answer), WEIR_INVALID_ARGUMENT, "names a null event");

  // Released while it waits: cancelled, and waited for.
  desc.waits = never;
  ASSERT_OK(weir_request_start(request_, &desc, &answer));
  weir_request_release(request_);
  request_ = nullptr;
  for (int i = 0; i < 20000 && seen.calls < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_EQ(seen.calls, 3);
  weir_event_release(go);
  weir_event_release(done);
}

TEST_F(SessionRequests, MayBeReleasedLastByTheirHandlers) {
  ready(2);
  std::atomic<bool> called = false;
  struct Last {
    weir_request* request;
    std::atomic<bool>* called;
  } last{request_, &called};
  weir_start_desc desc = WEIR_INIT(weir_start_desc);
  desc.user = &last;
  desc.on_complete = [](void* user, const weir_status*) {
    auto* l = static_cast<Last*>(user);
    weir_request_release(l->request);
    l->called->store(true);
  };
  weir_submit_answer answer = WEIR_COMPLETED;
  weir_session_release(session_);
  session_ = nullptr;
  request_ = nullptr;
  ASSERT_OK(weir_request_start(last.request, &desc, &answer));
  int64_t held = -1;
  for (int i = 0; i < 20000 && (!called || held != 0); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ASSERT_OK(weir_device_memory(device_, WEIR_ALL_CATEGORIES, &held, nullptr));
  }
  EXPECT_TRUE(called);
}

TEST_F(SessionRequests, CopyForFarDevicesAndSayWhy) {
  weir_device_options far = WEIR_INIT(weir_device_options);
  far.simulate_discrete = true;
  weir_device* device = nullptr;
  ASSERT_OK(weir_device_create_cpu(runtime_, &far, &device));
  const weir_session_options own = options();
  ASSERT_OK(weir_session_open(runtime_, device, path_.c_str(), &own, &session_));
  ASSERT_OK(weir_request_create(session_, nullptr, &request_));
  prepare(2);
  fill(2);
  alignas(64) std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
  const weir_tensor in = tensor(x.data(), WEIR_FLOAT32, {2, 4});
  weir_binding binding = WEIR_INIT(weir_binding);
  ASSERT_OK(weir_request_bind_input(request_, 0, &in, WEIR_COPY_ALLOW, &binding));
  EXPECT_EQ(binding.answer, WEIR_BINDING_COPIED);
  EXPECT_EQ(binding.reasons, static_cast<weir_copy_reasons>(WEIR_REASON_MEMORY_NOT_SHARED));
  x[0] = 30;
  EXPECT_OK(weir_request_run(request_));
  EXPECT_EQ(output(0)[0], 60);
  weir_device_release(device);
}

}  // namespace
