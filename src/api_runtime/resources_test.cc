// SPDX-License-Identifier: Apache-2.0
//
// The C interface's own part: statuses, null arguments, struct sizes, callbacks, references. What the objects
// do is tested on every device in tests/conformance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "api_runtime/testing/statuses.h"
#include "weir/weir.h"

namespace {

using ::testing::HasSubstr;
using weir::testing::taken;

void gather(const weir_invocation* call) {
  const auto* a = static_cast<const int32_t*>(call->bindings[0]);
  auto* b = static_cast<int32_t*>(call->bindings[1]);
  const auto extent = *static_cast<const int64_t*>(call->constants);
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    int64_t index = a[i];
    if (index >= extent) {
      weir_invocation_index_out_of_range(call, index, extent);
      index = extent - 1;
    }
    b[i] = static_cast<int32_t>(index) + *static_cast<const int32_t*>(call->user);
  }
}

class Resources : public ::testing::Test {
 protected:
  void SetUp() override {
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = 2;
    ASSERT_EQ(weir_runtime_create(&options, &runtime_), nullptr);
    ASSERT_EQ(weir_device_create_cpu(runtime_, nullptr, &device_), nullptr);
    ASSERT_EQ(weir_queue_create(device_, nullptr, &queue_), nullptr);
  }
  void TearDown() override {
    weir_queue_release(queue_);
    EXPECT_EQ(held(), 0);
    weir_device_release(device_);
    weir_runtime_release(runtime_);
  }
  int64_t held(weir_category category = WEIR_ALL_CATEGORIES) {
    int64_t bytes = -1;
    EXPECT_EQ(weir_device_memory(device_, category, &bytes, nullptr), nullptr);
    return bytes;
  }
  weir_buffer* buffer(const std::vector<int32_t>& values) {
    weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
    desc.size = static_cast<int64_t>(values.size() * 4);
    desc.label = "values";
    desc.category = WEIR_IO;
    weir_buffer* made = nullptr;
    void* bytes = nullptr;
    EXPECT_EQ(weir_buffer_create(device_, &desc, &made), nullptr);
    EXPECT_EQ(weir_buffer_contents(made, &bytes), nullptr);
    std::memcpy(bytes, values.data(), values.size() * 4);
    return made;
  }

  weir_runtime* runtime_ = nullptr;
  weir_device* device_ = nullptr;
  weir_queue* queue_ = nullptr;
};

TEST(Status, NullIsSuccess) {
  EXPECT_EQ(weir_status_code(nullptr), WEIR_OK);
  EXPECT_STREQ(weir_status_text(nullptr), "");
  weir_status_free(nullptr);
  EXPECT_THAT(weir_version(), ::testing::MatchesRegex("[0-9]+.[0-9]+.[0-9]+"));
}

TEST(Runtime, NumbersOfThreadsOutOfRangeAreErrors) {
  for (const int32_t threads : {-1, 4097, INT32_MAX}) {
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = threads;
    weir_runtime* runtime = nullptr;
    std::string text;
    EXPECT_EQ(taken(weir_runtime_create(&options, &runtime), &text), WEIR_INVALID_ARGUMENT);
    EXPECT_EQ(text, "The runtime is asked for (" + std::to_string(threads) +
                        ") threads, and the allowed numbers are (0 to 4096).");
    EXPECT_EQ(runtime, nullptr);
  }
}

TEST_F(Resources, NullArgumentsAreErrorsAndNullHandlesAreIgnored) {
  std::string text;
  EXPECT_EQ(taken(weir_runtime_create(nullptr, nullptr)), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(taken(weir_buffer_create(device_, nullptr, nullptr), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("Function 'weir_buffer_create' was given a null argument"));
  EXPECT_EQ(taken(weir_queue_submit(queue_, nullptr, nullptr)), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(taken(weir_event_wait(nullptr, 1, 0, nullptr)), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(taken(weir_command_buffer_seal(nullptr)), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(weir_buffer_size(nullptr), 0);
  weir_buffer_release(nullptr);
  EXPECT_EQ(weir_buffer_retain(nullptr), nullptr);
  weir_encode_barrier(nullptr);
  weir_command_buffer* commands = nullptr;
  ASSERT_EQ(weir_command_buffer_create(device_, nullptr, &commands), nullptr);
  weir_encode_step(commands, 5);
  weir_encode_kernel(commands, nullptr);
  EXPECT_EQ(taken(weir_command_buffer_seal(commands), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("Function 'weir_encode_kernel' was given a null argument"));
  EXPECT_THAT(text, HasSubstr("while recording step (5)"));
  weir_command_buffer_release(commands);
}

TEST_F(Resources, OlderAndNewerStructsAreRead) {
  // Older: knows only the first field after the size.
  weir_buffer_desc older = WEIR_INIT(weir_buffer_desc);
  older.struct_size = offsetof(weir_buffer_desc, mode);
  older.size = 128;
  older.mode = WEIR_PRIVATE;  // beyond its size: not looked at
  older.usage = 0xFFFFFFFF;
  weir_buffer* made = nullptr;
  EXPECT_OK(weir_buffer_create(device_, &older, &made));
  EXPECT_EQ(weir_buffer_storage_mode(made), WEIR_SHARED);
  weir_buffer_release(made);
  // Newer: longer than ours.
  struct Newer {
    weir_buffer_desc known;
    int64_t unknown;
  } newer = {WEIR_INIT(weir_buffer_desc), 7};
  newer.known.struct_size = sizeof(newer);
  newer.known.size = 128;
  EXPECT_OK(weir_buffer_create(device_, &newer.known, &made));
  weir_buffer_release(made);
  // What is filled in stops where the caller's struct does.
  weir_device_info info = WEIR_INIT(weir_device_info);
  info.struct_size = offsetof(weir_device_info, kind);
  info.page_bytes = -3;
  EXPECT_OK(weir_device_get_info(device_, &info));
  EXPECT_STREQ(info.name, "cpu");
  EXPECT_EQ(info.page_bytes, -3);
  EXPECT_EQ(info.struct_size, offsetof(weir_device_info, kind));
}

TEST_F(Resources, StructsWithoutASizeAreErrors) {
  std::string text;
  weir_buffer_desc desc = {};
  desc.size = 64;
  weir_buffer* buffer = nullptr;
  EXPECT_EQ(taken(weir_buffer_create(device_, &desc, &buffer), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(text,
            "Function 'weir_buffer_create' was given a struct without a struct_size, so that none of its "
            "fields counts; make it with WEIR_INIT.");
  EXPECT_EQ(buffer, nullptr);
  weir_device_options options = {};
  options.memory_limit = 1 << 20;
  weir_device* device = nullptr;
  EXPECT_EQ(taken(weir_device_create_cpu(runtime_, &options, &device)), WEIR_INVALID_ARGUMENT);
  weir_device_info info = {};
  EXPECT_EQ(taken(weir_device_get_info(device_, &info)), WEIR_INVALID_ARGUMENT);
  weir_kernel_desc kernel = {};
  kernel.name = "k";
  weir_library* library = nullptr;
  EXPECT_EQ(taken(weir_library_create(device_, "odd", &kernel, 1, &library)), WEIR_INVALID_ARGUMENT);
  kernel.struct_size = sizeof(kernel) + 1;
  EXPECT_EQ(taken(weir_library_create(device_, "odd", &kernel, 1, &library), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("The kernels of a library are structs of"));
  EXPECT_EQ(taken(weir_library_create(device_, "odd", &kernel, -1, &library), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(text, "A library is asked for with (-1) kernels, and (0) is the least.");
}

TEST_F(Resources, NumbersThatAreNoKnownEnumerationAreErrors) {
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = 64;
  desc.label = "odd";
  desc.mode = 9;
  weir_buffer* made = nullptr;
  std::string text;
  EXPECT_EQ(taken(weir_buffer_create(device_, &desc, &made), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("'odd' has the storage mode (9), and the known ones are (0 to 2)"));
  for (const weir_category category : {-2, 7, 99}) {
    EXPECT_STATUS(weir_device_memory(device_, category, nullptr, nullptr), WEIR_INVALID_ARGUMENT,
                  "Memory is asked for by category (" + std::to_string(category) +
                      "), and the categories are (-1 to 6).");
  }
  EXPECT_EQ(made, nullptr);
}

TEST_F(Resources, InfoTogglesAndThreads) {
  weir_device_info info = WEIR_INIT(weir_device_info);
  EXPECT_OK(weir_device_get_info(device_, &info));
  EXPECT_EQ(info.kind, WEIR_DEVICE_CPU);
  EXPECT_EQ(info.participants, 2);
  EXPECT_TRUE(info.executes);
  EXPECT_TRUE(info.unified_memory);
  EXPECT_EQ(weir_runtime_threads(runtime_), 2);
  const char* name = nullptr;
  const char* description = nullptr;
  bool on = true;
  ASSERT_TRUE(weir_device_toggle(device_, 0, &name, &description, &on));
  EXPECT_STREQ(name, "simulate_discrete");
  EXPECT_GT(std::strlen(description), 20U);
  EXPECT_FALSE(on);
  EXPECT_FALSE(weir_device_toggle(device_, 2, nullptr, nullptr, nullptr));
}

TEST_F(Resources, MemoryIsCountedAndItsHoldersVisited) {
  weir_buffer* a = buffer({1, 2, 3});
  EXPECT_EQ(held(WEIR_IO), 64);
  std::vector<std::string> seen;
  weir_device_visit_holders(
      device_,
      [](void* user, const char* label, weir_category category, int64_t bytes) {
        static_cast<std::vector<std::string>*>(user)->push_back(
            std::string(label) + " " + std::to_string(category) + " " + std::to_string(bytes));
      },
      &seen);
  EXPECT_EQ(seen, std::vector<std::string>{"values 3 64"});
  weir_device_set_memory_limit(device_, 100);
  EXPECT_EQ(weir_device_memory_limit(device_), 100);
  weir_heap_desc desc = WEIR_INIT(weir_heap_desc);
  desc.size = 64;
  desc.label = "arena";
  weir_heap* heap = nullptr;
  std::string text;
  EXPECT_EQ(taken(weir_heap_create(device_, &desc, &heap), &text), WEIR_RESOURCE_EXHAUSTED);
  EXPECT_THAT(text, HasSubstr("'values'"));
  weir_buffer_release(a);
  EXPECT_OK(weir_heap_create(device_, &desc, &heap));
  EXPECT_EQ(weir_heap_size(heap), 64);
  weir_heap_release(heap);
}

TEST_F(Resources, ImportIsReleasedOnceAndNotWhenItFails) {
  alignas(64) static int32_t values[16] = {};
  int released = 0;
  weir_import_desc desc = WEIR_INIT(weir_import_desc);
  desc.pointer = values;
  desc.size = sizeof(values);
  desc.label = "frame";
  desc.release = [](void* user) { ++*static_cast<int*>(user); };
  desc.user = &released;
  EXPECT_EQ(weir_device_import_verdict(device_, values, sizeof(values)), WEIR_IMPORT_USABLE);
  EXPECT_STREQ(weir_import_verdict_text(WEIR_IMPORT_MEMORY_NOT_SHARED),
               "the device does not share the host's memory");
  weir_buffer* imported = nullptr;
  EXPECT_OK(weir_buffer_import(device_, &desc, &imported));
  weir_buffer_retain(imported);
  weir_buffer_release(imported);
  EXPECT_EQ(released, 0);
  weir_buffer_release(imported);
  EXPECT_EQ(released, 1);
  desc.size = 0;
  EXPECT_EQ(taken(weir_buffer_import(device_, &desc, &imported)), WEIR_INVALID_ARGUMENT);
  EXPECT_EQ(released, 1);
}

TEST_F(Resources, KernelOfOnesOwnRunsFaultsAndTellsTheHandler) {
  static int32_t plus = 100;
  std::array<weir_kernel_desc, 2> table = {WEIR_INIT(weir_kernel_desc), WEIR_INIT(weir_kernel_desc)};
  for (weir_kernel_desc& entry : table) {
    entry.name = &entry == table.data() ? "first" : "gather";
    entry.function = gather;
    entry.user = &plus;
    entry.bindings = 2;
    entry.constant_bytes = 8;
  }
  weir_library* library = nullptr;
  weir_kernel* kernel = nullptr;
  std::string text;
  EXPECT_OK(weir_library_create(device_, "mine", table.data(), 2, &library));
  EXPECT_EQ(taken(weir_library_get_kernel(library, "gathr", &kernel), &text), WEIR_NOT_FOUND);
  EXPECT_THAT(text, HasSubstr("near it: 'gather'"));
  EXPECT_OK(weir_library_get_kernel(library, "gather", &kernel));
  weir_library_release(library);  // the kernel keeps it

  weir_buffer* a = buffer({0, 1, 2, 3});
  weir_buffer* b = buffer({0, 0, 0, 0});
  weir_command_buffer_desc desc = WEIR_INIT(weir_command_buffer_desc);
  desc.slots = 1;
  desc.profile = true;
  desc.label = "gathering";
  weir_command_buffer* commands = nullptr;
  EXPECT_OK(weir_command_buffer_create(device_, &desc, &commands));
  const int64_t extent = 4;
  weir_encode_step(commands, 31);
  weir_encode_kernel(commands, kernel);
  weir_encode_buffer(commands, 0, {nullptr, 0, 0, 16}, WEIR_READ);
  weir_encode_buffer(commands, 1, {b, 0, 0, -1}, WEIR_WRITE);
  weir_encode_constants(commands, &extent, sizeof(extent));
  weir_encode_dispatch(commands, 4, 1, 1);
  EXPECT_OK(weir_command_buffer_seal(commands));
  weir_kernel_release(kernel);
  EXPECT_OK(weir_command_buffer_bind_slot(commands, 0, a, 0));

  struct Heard {
    int ok = 0;
    int failed = 0;
    std::string text;
  } heard;
  weir_event* done = nullptr;
  EXPECT_OK(weir_event_create(device_, "done", &done));
  const auto submit = [&](uint64_t value) {
    weir_submission submission = WEIR_INIT(weir_submission);
    const weir_event_point signal = {done, value};
    submission.commands = commands;
    submission.signals = &signal;
    submission.signal_count = 1;
    submission.user = &heard;
    submission.on_complete = [](void* user, const weir_status* status) {
      auto* h = static_cast<Heard*>(user);
      ++(status == nullptr ? h->ok : h->failed);
      h->text = weir_status_text(status);
    };
    weir_submit_answer answer = -1;
    EXPECT_OK(weir_queue_submit(queue_, &submission, &answer));
    EXPECT_EQ(answer, WEIR_COMPLETED);
  };
  submit(1);
  EXPECT_EQ(heard.ok, 1);
  const void* out = nullptr;
  EXPECT_OK(weir_buffer_read_contents(b, &out));
  const int32_t expected[] = {100, 101, 102, 103};
  EXPECT_EQ(std::memcmp(out, expected, sizeof(expected)), 0);
  int32_t lines = 0;
  const weir_command_profile* profile = weir_command_buffer_profile(commands, &lines);
  ASSERT_EQ(lines, 1);
  EXPECT_EQ(profile[0].step, 31);
  EXPECT_GE(profile[0].end_ns, profile[0].begin_ns);

  void* in = nullptr;
  EXPECT_OK(weir_buffer_contents(a, &in));
  static_cast<int32_t*>(in)[2] = 9;
  submit(2);
  EXPECT_EQ(heard.failed, 1);
  EXPECT_THAT(heard.text, HasSubstr("Step (31) met an index (9) in its data"));
  EXPECT_EQ(taken(weir_event_wait(done, 2, 0, nullptr), &text), WEIR_OUT_OF_RANGE);
  EXPECT_THAT(text, HasSubstr("while waiting for event 'done' to reach (2)"));
  EXPECT_EQ(taken(weir_command_buffer_wait(commands, -1)), WEIR_OUT_OF_RANGE);
  weir_queue_stats stats = WEIR_INIT(weir_queue_stats);
  EXPECT_OK(weir_queue_get_stats(queue_, &stats));
  EXPECT_EQ(stats.completed, 2U);
  EXPECT_EQ(stats.failed, 1U);

  weir_event_release(done);
  weir_command_buffer_release(commands);
  weir_buffer_release(a);
  weir_buffer_release(b);
}

TEST_F(Resources, EventsFromTheHost) {
  weir_event* event = nullptr;
  EXPECT_OK(weir_event_create(device_, "host", &event));
  bool reached = true;
  EXPECT_OK(weir_event_wait(event, 1, 0, &reached));
  EXPECT_FALSE(reached);
  EXPECT_OK(weir_event_signal(event, 2));
  EXPECT_OK(weir_event_wait(event, 1, -1, &reached));
  EXPECT_TRUE(reached);
  EXPECT_EQ(weir_event_value(event), 2U);
  EXPECT_EQ(taken(weir_event_signal(event, 1)), WEIR_FAILED_PRECONDITION);
  EXPECT_OK(weir_event_fail(event, 3, WEIR_UNAVAILABLE, "The camera is unplugged."));
  std::string text;
  EXPECT_EQ(taken(weir_event_wait(event, 3, 0, nullptr), &text), WEIR_UNAVAILABLE);
  EXPECT_THAT(text, HasSubstr("The camera is unplugged."));
  weir_submission submission = WEIR_INIT(weir_submission);
  submission.wait_count = 9;
  const weir_event_point point = {event, 1};
  submission.waits = &point;
  weir_submit_answer answer = -1;
  EXPECT_EQ(taken(weir_queue_submit(queue_, &submission, &answer), &text), WEIR_INVALID_ARGUMENT);
  EXPECT_THAT(text, HasSubstr("has (9) waits and (0) signals, and the most are (8) of each."));
  weir_event_release(event);
}

TEST_F(Resources, ValidationNotesAreHandedOut) {
  weir_device_options options = WEIR_INIT(weir_device_options);
  options.validation = true;
  weir_device* checked = nullptr;
  EXPECT_OK(weir_device_create_cpu(runtime_, &options, &checked));
  weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
  desc.size = 64;
  weir_buffer* a = nullptr;
  EXPECT_OK(weir_buffer_create(checked, &desc, &a));
  weir_command_buffer* commands = nullptr;
  EXPECT_OK(weir_command_buffer_create(checked, nullptr, &commands));
  weir_encode_fill(commands, {a, 0, 0, 32}, 1);
  weir_encode_barrier(commands);
  weir_encode_step(commands, 2);
  weir_encode_fill(commands, {a, 0, 32, 32}, 1);
  EXPECT_OK(weir_command_buffer_seal(commands));
  ASSERT_NE(weir_command_buffer_note(commands, 0), nullptr);
  EXPECT_THAT(weir_command_buffer_note(commands, 0), HasSubstr("The barrier before step (2)"));
  EXPECT_EQ(weir_command_buffer_note(commands, 1), nullptr);
  weir_command_buffer_release(commands);
  weir_buffer_release(a);
  weir_device_release(checked);
}

}  // namespace
