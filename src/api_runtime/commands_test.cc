// SPDX-License-Identifier: Apache-2.0
//
// The resource model through the C interface: that each function of recording, carrying over and counting
// references reaches the object, and what each says of NULL and of what the device refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "api_runtime/testing/statuses.h"
#include "weir/weir.h"

namespace {

constexpr int64_t kBytes = 64;
constexpr int32_t kElements = 16;

class Machine {
 public:
  explicit Machine(bool far = false) {
    weir_device_options options = WEIR_INIT(weir_device_options);
    options.simulate_discrete = far;
    options.validation = true;
    EXPECT_OK(weir_runtime_create(nullptr, &runtime));
    EXPECT_OK(weir_device_create_cpu(runtime, &options, &device));
    EXPECT_OK(weir_queue_create(device, nullptr, &queue));
  }
  ~Machine() {
    weir_queue_release(queue);
    int64_t held = -1;
    EXPECT_OK(weir_device_memory(device, WEIR_ALL_CATEGORIES, &held, nullptr));
    EXPECT_EQ(held, 0);
    weir_device_release(device);
    weir_runtime_release(runtime);
  }

  weir_buffer* buffer(weir_storage_mode mode = WEIR_SHARED, const char* label = "values") const {
    weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);
    desc.size = kBytes;
    desc.mode = mode;
    desc.label = label;
    weir_buffer* made = nullptr;
    EXPECT_OK(weir_buffer_create(device, &desc, &made));
    return made;
  }
  weir_command_buffer* commands(int64_t parameter_bytes = 0) const {
    weir_command_buffer_desc desc = WEIR_INIT(weir_command_buffer_desc);
    desc.participants = 1;
    desc.parameter_bytes = parameter_bytes;
    weir_command_buffer* made = nullptr;
    EXPECT_OK(weir_command_buffer_create(device, &desc, &made));
    return made;
  }
  void run(weir_command_buffer* commands) const {
    weir_submission submission = WEIR_INIT(weir_submission);
    submission.commands = commands;
    weir_submit_answer answer = WEIR_BUSY;
    EXPECT_OK(weir_queue_submit(queue, &submission, &answer));
    EXPECT_OK(weir_command_buffer_wait(commands, -1));
  }

  weir_runtime* runtime = nullptr;
  weir_device* device = nullptr;
  weir_queue* queue = nullptr;
};

weir_range all_of(weir_buffer* buffer) {
  return {buffer, 0, 0, -1};
}

std::array<int32_t, kElements> contents(weir_buffer* buffer) {
  const void* bytes = nullptr;
  EXPECT_OK(weir_buffer_read_contents(buffer, &bytes));
  std::array<int32_t, kElements> values{};
  std::memcpy(values.data(), bytes, kBytes);
  return values;
}

void write(weir_buffer* buffer, int32_t value) {
  void* bytes = nullptr;
  ASSERT_OK(weir_buffer_contents(buffer, &bytes));
  std::fill_n(static_cast<int32_t*>(bytes), kElements, value);
}

// out = in + constant + parameter, by way of scratch; the third binding is null.
void add(const weir_invocation* call) {
  const auto* in = static_cast<const int32_t*>(call->bindings[0]);
  auto* out = static_cast<int32_t*>(call->bindings[1]);
  auto* scratch = static_cast<int32_t*>(call->scratch);
  for (int64_t i = call->tile_begin; i < call->tile_end; ++i) {
    scratch[i] = in[i] + *static_cast<const int32_t*>(call->constants);
    out[i] = call->bindings[2] != nullptr ? -1 : scratch[i] + *static_cast<const int32_t*>(call->parameters);
  }
}

void load_add(weir_device* device, weir_library** library, weir_kernel** kernel) {
  weir_kernel_desc desc = WEIR_INIT(weir_kernel_desc);
  desc.name = "add";
  desc.function = add;
  desc.bindings = 3;
  desc.constant_bytes = 4;
  ASSERT_OK(weir_library_create(device, "own", &desc, 1, library));
  ASSERT_OK(weir_library_get_kernel(*library, "add", kernel));
}

TEST(Commands, EachIsRecordedAndRuns) {
  const Machine machine;
  weir_library* library = nullptr;
  weir_kernel* kernel = nullptr;
  weir_fence* fence = nullptr;
  load_add(machine.device, &library, &kernel);
  ASSERT_OK(weir_fence_create(machine.device, "filled", &fence));
  weir_buffer* in = machine.buffer();
  weir_buffer* out = machine.buffer();
  weir_buffer* copy = machine.buffer();
  weir_buffer* parameters = machine.buffer();
  weir_buffer* scratch = machine.buffer();
  int called = 0;

  weir_command_buffer* commands = machine.commands(32);
  weir_encode_fill(commands, all_of(in), 1);
  weir_encode_update_fence(commands, fence);
  weir_encode_wait_fence(commands, fence);
  weir_encode_step(commands, 7);
  weir_encode_kernel(commands, kernel);
  weir_encode_buffer(commands, 0, all_of(in), WEIR_READ);
  weir_encode_buffer(commands, 1, all_of(out), WEIR_WRITE);
  weir_encode_null(commands, 2);
  const int32_t constant = 20;
  weir_encode_constants(commands, &constant, sizeof(constant));
  weir_encode_scratch(commands, kBytes);
  weir_encode_parameters(commands, 16);
  weir_encode_dispatch(commands, kElements, 1, 1);
  weir_encode_barrier(commands);
  weir_encode_copy(commands, all_of(out), all_of(copy));
  weir_encode_barrier(commands);
  weir_encode_host_call(commands, [](void* user) { ++*static_cast<int*>(user); }, &called);
  ASSERT_OK(weir_command_buffer_seal(commands));

  EXPECT_EQ(weir_command_buffer_scratch_bytes(commands), kBytes);
  EXPECT_GT(weir_command_buffer_host_bytes(commands), 0);
  ASSERT_OK(weir_command_buffer_bind_scratch(commands, scratch, 0));
  ASSERT_OK(weir_command_buffer_bind_parameters(commands, parameters, 0));
  write(parameters, 300);
  machine.run(commands);
  EXPECT_THAT(contents(copy), ::testing::Each(0x01010101 + 20 + 300));
  EXPECT_EQ(called, 1);
  write(parameters, 500);
  machine.run(commands);
  EXPECT_THAT(contents(copy), ::testing::Each(0x01010101 + 20 + 500));
  EXPECT_EQ(called, 2);

  weir_command_buffer_release(commands);
  for (weir_buffer* buffer : {in, out, copy, parameters, scratch}) {
    weir_buffer_release(buffer);
  }
  weir_fence_release(fence);
  weir_kernel_release(kernel);
  weir_library_release(library);
}

TEST(Commands, ManagedBuffersAreCarriedOverWhenAsked) {
  const Machine machine(true);
  weir_buffer* from = machine.buffer(WEIR_MANAGED, "from");
  weir_buffer* to = machine.buffer(WEIR_MANAGED, "to");
  EXPECT_EQ(weir_buffer_storage_mode(from), WEIR_MANAGED);
  EXPECT_EQ(weir_buffer_size(from), kBytes);
  EXPECT_STREQ(weir_buffer_label(from), "from");
  weir_command_buffer* commands = machine.commands();
  weir_encode_copy(commands, all_of(from), all_of(to));
  ASSERT_OK(weir_command_buffer_seal(commands));

  write(from, 5);
  write(to, 0);
  ASSERT_OK(weir_buffer_did_modify(from, 0, -1));
  write(from, 6);  // the device keeps what it was told of
  machine.run(commands);
  EXPECT_THAT(contents(to), ::testing::Each(0));
  ASSERT_OK(weir_buffer_synchronize(to, 4, 8));
  EXPECT_EQ(contents(to)[0], 0);
  EXPECT_EQ(contents(to)[1], 5);
  EXPECT_EQ(contents(to)[3], 0);
  ASSERT_OK(weir_buffer_synchronize(to, 0, -1));
  EXPECT_THAT(contents(to), ::testing::Each(5));
  EXPECT_REFUSED(weir_buffer_did_modify(from, 0, kBytes + 1), WEIR_OUT_OF_RANGE, "'from'");
  EXPECT_REFUSED(weir_buffer_synchronize(to, -1, 4), WEIR_OUT_OF_RANGE, "'to'");

  weir_command_buffer_release(commands);
  weir_buffer_release(to);
  weir_buffer_release(from);
}

TEST(Commands, TheNullDeviceRunsNothing) {
  weir_runtime* runtime = nullptr;
  weir_device* device = nullptr;
  ASSERT_OK(weir_runtime_create(nullptr, &runtime));
  weir_device_options options = WEIR_INIT(weir_device_options);
  options.threads = 3;
  options.memory_limit = 4096;
  ASSERT_OK(weir_device_create_null(runtime, &options, &device));
  weir_device_info info = WEIR_INIT(weir_device_info);
  ASSERT_OK(weir_device_get_info(device, &info));
  EXPECT_EQ(info.kind, WEIR_DEVICE_NULL);
  EXPECT_EQ(info.participants, 3);
  EXPECT_FALSE(info.executes);
  EXPECT_EQ(weir_device_memory_limit(device), 4096);
  weir_device_release(device);
  options.threads = -1;
  EXPECT_REFUSED(weir_device_create_null(runtime, &options, &device), WEIR_INVALID_ARGUMENT, "-1");
  weir_runtime_release(runtime);
}

// Retained and released again, an object is there until its last release; the device counts what is left.
TEST(Commands, ReferencesAreCounted) {
  const Machine machine;
  weir_heap_desc heap_desc = WEIR_INIT(weir_heap_desc);
  heap_desc.size = 4096;
  weir_library* library = nullptr;
  weir_kernel* kernel = nullptr;
  weir_fence* fence = nullptr;
  weir_event* event = nullptr;
  weir_heap* heap = nullptr;
  load_add(machine.device, &library, &kernel);
  ASSERT_OK(weir_fence_create(machine.device, "fence", &fence));
  ASSERT_OK(weir_event_create(machine.device, "event", &event));
  ASSERT_OK(weir_heap_create(machine.device, &heap_desc, &heap));
  weir_buffer* buffer = machine.buffer();
  weir_command_buffer* commands = machine.commands();

  EXPECT_EQ(weir_runtime_retain(machine.runtime), machine.runtime);
  EXPECT_EQ(weir_device_retain(machine.device), machine.device);
  EXPECT_EQ(weir_queue_retain(machine.queue), machine.queue);
  EXPECT_EQ(weir_library_retain(library), library);
  EXPECT_EQ(weir_kernel_retain(kernel), kernel);
  EXPECT_EQ(weir_fence_retain(fence), fence);
  EXPECT_EQ(weir_event_retain(event), event);
  EXPECT_EQ(weir_heap_retain(heap), heap);
  EXPECT_EQ(weir_buffer_retain(buffer), buffer);
  EXPECT_EQ(weir_command_buffer_retain(commands), commands);
  for (int i = 0; i < 2; ++i) {  // after the first round each is there still
    weir_command_buffer_release(commands);
    weir_buffer_release(buffer);
    weir_heap_release(heap);
    weir_event_release(event);
    weir_fence_release(fence);
    weir_kernel_release(kernel);
    weir_library_release(library);
    if (i == 0) {
      EXPECT_EQ(weir_buffer_size(buffer), kBytes);
      EXPECT_EQ(weir_heap_size(heap), 4096);
      EXPECT_EQ(weir_event_value(event), 0u);
      weir_queue_release(machine.queue);
      weir_device_release(machine.device);
      weir_runtime_release(machine.runtime);
    }
  }
}

TEST(Commands, NullIsAnErrorThatNamesTheFunction) {
  const Machine machine;
  weir_buffer* buffer = nullptr;
  weir_heap* heap = nullptr;
  weir_library* library = nullptr;
  weir_kernel* kernel = nullptr;
  weir_fence* fence = nullptr;
  weir_event* event = nullptr;
  weir_queue* queue = nullptr;
  weir_command_buffer* commands = nullptr;
  weir_device* device = nullptr;
  void* bytes = nullptr;
  const void* constants = nullptr;
  weir_submit_answer answer = WEIR_BUSY;
#define EXPECT_NULL_REFUSED(function, ...)                     \
  EXPECT_REFUSED(function(__VA_ARGS__), WEIR_INVALID_ARGUMENT, \
                 "Function '" #function "' was given a null argument")
  EXPECT_NULL_REFUSED(weir_runtime_create, nullptr, nullptr);
  EXPECT_NULL_REFUSED(weir_device_create_cpu, nullptr, nullptr, &device);
  EXPECT_NULL_REFUSED(weir_device_create_null, machine.runtime, nullptr, nullptr);
  EXPECT_NULL_REFUSED(weir_device_get_info, machine.device, nullptr);
  EXPECT_NULL_REFUSED(weir_device_memory, nullptr, WEIR_HOST, nullptr, nullptr);
  EXPECT_NULL_REFUSED(weir_buffer_create, machine.device, nullptr, &buffer);
  EXPECT_NULL_REFUSED(weir_buffer_contents, nullptr, &bytes);
  EXPECT_NULL_REFUSED(weir_buffer_read_contents, nullptr, &constants);
  EXPECT_NULL_REFUSED(weir_buffer_did_modify, nullptr, 0, -1);
  EXPECT_NULL_REFUSED(weir_buffer_synchronize, nullptr, 0, -1);
  EXPECT_NULL_REFUSED(weir_buffer_import, machine.device, nullptr, &buffer);
  EXPECT_NULL_REFUSED(weir_heap_create, machine.device, nullptr, &heap);
  EXPECT_NULL_REFUSED(weir_heap_create_buffer, nullptr, 0, 1, 0, "", &buffer);
  EXPECT_NULL_REFUSED(weir_library_create, nullptr, "", nullptr, 0, &library);
  EXPECT_NULL_REFUSED(weir_library_get_kernel, nullptr, "add", &kernel);
  EXPECT_NULL_REFUSED(weir_command_buffer_create, nullptr, nullptr, &commands);
  EXPECT_NULL_REFUSED(weir_command_buffer_seal, nullptr);
  EXPECT_NULL_REFUSED(weir_command_buffer_bind_scratch, nullptr, nullptr, 0);
  EXPECT_NULL_REFUSED(weir_command_buffer_bind_parameters, nullptr, nullptr, 0);
  EXPECT_NULL_REFUSED(weir_command_buffer_bind_slot, nullptr, 0, nullptr, 0);
  EXPECT_NULL_REFUSED(weir_command_buffer_wait, nullptr, 0);
  EXPECT_NULL_REFUSED(weir_fence_create, nullptr, "", &fence);
  EXPECT_NULL_REFUSED(weir_event_create, nullptr, "", &event);
  EXPECT_NULL_REFUSED(weir_event_wait, nullptr, 1, 0, nullptr);
  EXPECT_NULL_REFUSED(weir_event_signal, nullptr, 1);
  EXPECT_NULL_REFUSED(weir_event_fail, nullptr, 1, WEIR_INTERNAL, "");
  EXPECT_NULL_REFUSED(weir_queue_create, nullptr, nullptr, &queue);
  EXPECT_NULL_REFUSED(weir_queue_submit, machine.queue, nullptr, &answer);
  EXPECT_NULL_REFUSED(weir_queue_get_stats, machine.queue, nullptr);
#undef EXPECT_NULL_REFUSED

  // In a recording the mistake is told by the seal.
  commands = machine.commands();
  weir_encode_wait_fence(commands, nullptr);
  EXPECT_REFUSED(weir_command_buffer_seal(commands), WEIR_INVALID_ARGUMENT, "weir_encode_wait_fence");
  weir_command_buffer_release(commands);
  EXPECT_EQ(weir_buffer_retain(nullptr), nullptr);
  EXPECT_EQ(weir_buffer_size(nullptr), 0);
  EXPECT_STREQ(weir_buffer_label(nullptr), "");
  EXPECT_EQ(weir_command_buffer_host_bytes(nullptr), 0);
  EXPECT_EQ(weir_command_buffer_note(nullptr, 0), nullptr);
}

// What the device says comes through with its code.
TEST(Commands, RefusalsOfTheDeviceComeThrough) {
  const Machine machine;
  weir_heap_desc heap_desc = WEIR_INIT(weir_heap_desc);
  weir_heap* heap = nullptr;
  weir_buffer* buffer = nullptr;
  EXPECT_REFUSED(weir_heap_create(machine.device, &heap_desc, &heap), WEIR_INVALID_ARGUMENT, "(0)");
  heap_desc.size = 4096;
  heap_desc.label = "heap";
  ASSERT_OK(weir_heap_create(machine.device, &heap_desc, &heap));
  EXPECT_REFUSED(weir_heap_create_buffer(heap, 4096, 64, 0, "late", &buffer), WEIR_OUT_OF_RANGE, "'late'");
  weir_heap_release(heap);
  weir_command_buffer_desc commands_desc = WEIR_INIT(weir_command_buffer_desc);
  commands_desc.participants = -1;
  weir_command_buffer* commands = nullptr;
  EXPECT_REFUSED(weir_command_buffer_create(machine.device, &commands_desc, &commands), WEIR_INVALID_ARGUMENT,
                 "(-1)");
  weir_queue_desc queue_desc = WEIR_INIT(weir_queue_desc);
  queue_desc.max_in_flight = -1;
  weir_queue* queue = nullptr;
  EXPECT_REFUSED(weir_queue_create(machine.device, &queue_desc, &queue), WEIR_INVALID_ARGUMENT, "(-1)");
}

}  // namespace
