// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.hpp: the resource model. Devices, buffers and heaps, kernels, command buffers, events, queues.
#ifndef WEIR_RESOURCES_HPP_
#define WEIR_RESOURCES_HPP_

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "weir/base.hpp"
#include "weir/resources.h"

namespace weir {
inline namespace abi1 {

class Buffer : public detail::Handle<weir_buffer, weir_buffer_retain, weir_buffer_release> {
 public:
  using Handle::Handle;

  int64_t size() const { return weir_buffer_size(get()); }
  weir_storage_mode storage_mode() const { return weir_buffer_storage_mode(get()); }
  const char* label() const { return weir_buffer_label(get()); }
  void* contents() const {
    void* bytes = nullptr;
    check(weir_buffer_contents(get(), &bytes));
    return bytes;
  }
  const void* read_contents() const {
    const void* bytes = nullptr;
    check(weir_buffer_read_contents(get(), &bytes));
    return bytes;
  }
  template <typename T>
  T* as() const {
    return static_cast<T*>(contents());
  }
  void did_modify(int64_t offset = 0, int64_t size = -1) const {
    check(weir_buffer_did_modify(get(), offset, size));
  }
  void synchronize(int64_t offset = 0, int64_t size = -1) const {
    check(weir_buffer_synchronize(get(), offset, size));
  }

  // A part of this buffer, for recording.
  weir_range range(int64_t offset = 0, int64_t size = -1) const { return {get(), 0, offset, size}; }
};

// Whatever is bound to a slot, for recording.
inline weir_range slot_range(int32_t slot, int64_t offset = 0, int64_t size = -1) {
  return {nullptr, slot, offset, size};
}

class Heap : public detail::Handle<weir_heap, weir_heap_retain, weir_heap_release> {
 public:
  using Handle::Handle;

  int64_t size() const { return weir_heap_size(get()); }
  Buffer buffer(int64_t offset, int64_t size, const char* label = "", weir_usage usage = 0) const {
    weir_buffer* buffer = nullptr;
    check(weir_heap_create_buffer(get(), offset, size, usage, label, &buffer));
    return Buffer(buffer);
  }
};

class Kernel : public detail::Handle<weir_kernel, weir_kernel_retain, weir_kernel_release> {
 public:
  using Handle::Handle;
};

class Library : public detail::Handle<weir_library, weir_library_retain, weir_library_release> {
 public:
  using Handle::Handle;

  Kernel kernel(const char* name) const {
    weir_kernel* kernel = nullptr;
    check(weir_library_get_kernel(get(), name, &kernel));
    return Kernel(kernel);
  }
};

class Fence : public detail::Handle<weir_fence, weir_fence_retain, weir_fence_release> {
 public:
  using Handle::Handle;
};

class Event : public detail::Handle<weir_event, weir_event_retain, weir_event_release> {
 public:
  using Handle::Handle;

  uint64_t value() const { return weir_event_value(get()); }
  // False after the timeout; throws the producer's error.
  bool wait(uint64_t value, std::chrono::nanoseconds timeout = forever) const {
    bool reached = false;
    check(weir_event_wait(get(), value, detail::nanoseconds(timeout), &reached));
    return reached;
  }
  void signal(uint64_t value) const { check(weir_event_signal(get(), value)); }
  void fail(uint64_t value, weir_code code, const char* message) const {
    check(weir_event_fail(get(), value, code, message));
  }
  weir_event_point at(uint64_t value) const { return {get(), value}; }
};

class CommandBuffer
    : public detail::Handle<weir_command_buffer, weir_command_buffer_retain, weir_command_buffer_release> {
 public:
  using Handle::Handle;

  CommandBuffer& step(int32_t number) { return weir_encode_step(get(), number), *this; }
  CommandBuffer& kernel(const Kernel& kernel) { return weir_encode_kernel(get(), kernel.get()), *this; }
  CommandBuffer& bind(int32_t index, weir_range range, weir_access access) {
    return weir_encode_buffer(get(), index, range, access), *this;
  }
  CommandBuffer& bind_null(int32_t index) { return weir_encode_null(get(), index), *this; }
  template <typename T>
  CommandBuffer& constants(const T& value) {
    static_assert(std::is_trivially_copyable<T>::value, "Constants are copied as bytes.");
    return weir_encode_constants(get(), &value, sizeof(T)), *this;
  }
  CommandBuffer& scratch(int64_t bytes) { return weir_encode_scratch(get(), bytes), *this; }
  CommandBuffer& parameters(int64_t offset) { return weir_encode_parameters(get(), offset), *this; }
  CommandBuffer& dispatch(int64_t x, int64_t y = 1, int64_t z = 1) {
    return weir_encode_dispatch(get(), x, y, z), *this;
  }
  CommandBuffer& barrier() { return weir_encode_barrier(get()), *this; }
  CommandBuffer& update(const Fence& fence) { return weir_encode_update_fence(get(), fence.get()), *this; }
  CommandBuffer& wait_for(const Fence& fence) { return weir_encode_wait_fence(get(), fence.get()), *this; }
  CommandBuffer& fill(weir_range target, uint8_t value) {
    return weir_encode_fill(get(), target, value), *this;
  }
  CommandBuffer& copy(weir_range source, weir_range target) {
    return weir_encode_copy(get(), source, target), *this;
  }
  CommandBuffer& host_call(void (*call)(void*), void* user) {
    return weir_encode_host_call(get(), call, user), *this;
  }
  // Throws the first mistake made in recording.
  void seal() { check(weir_command_buffer_seal(get())); }

  int64_t host_bytes() const { return weir_command_buffer_host_bytes(get()); }
  int64_t scratch_bytes() const { return weir_command_buffer_scratch_bytes(get()); }
  void bind_scratch(const Buffer& buffer, int64_t offset = 0) const {
    check(weir_command_buffer_bind_scratch(get(), buffer.get(), offset));
  }
  void bind_parameters(const Buffer& buffer, int64_t offset = 0) const {
    check(weir_command_buffer_bind_parameters(get(), buffer.get(), offset));
  }
  void bind_slot(int32_t slot, const Buffer& buffer, int64_t offset = 0) const {
    check(weir_command_buffer_bind_slot(get(), slot, buffer.get(), offset));
  }
  void cancel() const { weir_command_buffer_cancel(get()); }
  // Throws the run's error; WEIR_DEADLINE_EXCEEDED after the timeout.
  void wait(std::chrono::nanoseconds timeout = forever) const {
    check(weir_command_buffer_wait(get(), detail::nanoseconds(timeout)));
  }
  std::vector<weir_command_profile> profile() const {
    int32_t count = 0;
    const weir_command_profile* lines = weir_command_buffer_profile(get(), &count);
    return lines == nullptr ? std::vector<weir_command_profile>()
                            : std::vector<weir_command_profile>(lines, lines + count);
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (int32_t i = 0; const char* note = weir_command_buffer_note(get(), i); ++i) {
      notes.emplace_back(note);
    }
    return notes;
  }
};

class Queue : public detail::Handle<weir_queue, weir_queue_retain, weir_queue_release> {
 public:
  using Handle::Handle;

  // Throws nothing but mistakes: see weir_submit_answer.
  weir_submit_answer submit(const CommandBuffer& commands, std::initializer_list<weir_event_point> waits = {},
                            std::initializer_list<weir_event_point> signals = {}) const {
    weir_submission submission = WEIR_INIT(weir_submission);
    submission.commands = commands.get();
    submission.waits = waits.begin();
    submission.wait_count = static_cast<int32_t>(waits.size());
    submission.signals = signals.begin();
    submission.signal_count = static_cast<int32_t>(signals.size());
    return submit(submission);
  }
  weir_submit_answer submit(const weir_submission& submission) const {
    weir_submit_answer answer = WEIR_COMPLETED;
    check(weir_queue_submit(get(), &submission, &answer));
    return answer;
  }
  void wait_idle() const { weir_queue_wait_idle(get()); }
  weir_queue_stats stats() const {
    weir_queue_stats stats = WEIR_INIT(weir_queue_stats);
    check(weir_queue_get_stats(get(), &stats));
    return stats;
  }
};

struct DeviceOptions {
  int32_t threads = 0;
  int64_t memory_limit = 0;
  bool simulate_discrete = false;
  bool validation = false;
};

struct BufferDesc {
  int64_t size = 0;
  weir_storage_mode mode = WEIR_SHARED;
  weir_usage usage = 0;
  weir_category category = WEIR_OTHER;
  int64_t alignment = 0;
  bool lazy_pages = false;
  bool lock_pages = false;
  bool huge_pages = false;
  const char* label = "";
};

struct CommandBufferDesc {
  int32_t slots = 0;
  int32_t participants = 0;
  int64_t parameter_bytes = 0;
  bool profile = false;
  const char* label = "";
};

class Device : public detail::Handle<weir_device, weir_device_retain, weir_device_release> {
 public:
  using Handle::Handle;

  static Device cpu(const Runtime& runtime, const DeviceOptions& options = {}) {
    return create(weir_device_create_cpu, runtime, options);
  }
  static Device null(const Runtime& runtime, const DeviceOptions& options = {}) {
    return create(weir_device_create_null, runtime, options);
  }

  weir_device_info info() const {
    weir_device_info info = WEIR_INIT(weir_device_info);
    check(weir_device_get_info(get(), &info));
    return info;
  }
  int64_t memory_in_use(weir_category category = WEIR_ALL_CATEGORIES) const {
    int64_t bytes = 0;
    check(weir_device_memory(get(), category, &bytes, nullptr));
    return bytes;
  }
  int64_t memory_peak(weir_category category = WEIR_ALL_CATEGORIES) const {
    int64_t bytes = 0;
    check(weir_device_memory(get(), category, nullptr, &bytes));
    return bytes;
  }
  int64_t memory_limit() const { return weir_device_memory_limit(get()); }
  void set_memory_limit(int64_t bytes) const { weir_device_set_memory_limit(get(), bytes); }

  Buffer buffer(const BufferDesc& desc) const {
    weir_buffer_desc c = WEIR_INIT(weir_buffer_desc);
    c.size = desc.size;
    c.mode = desc.mode;
    c.usage = desc.usage;
    c.category = desc.category;
    c.alignment = desc.alignment;
    c.lazy_pages = desc.lazy_pages;
    c.lock_pages = desc.lock_pages;
    c.huge_pages = desc.huge_pages;
    c.label = desc.label;
    weir_buffer* buffer = nullptr;
    check(weir_buffer_create(get(), &c, &buffer));
    return Buffer(buffer);
  }
  weir_import_verdict import_verdict(const void* pointer, int64_t size) const {
    return weir_device_import_verdict(get(), pointer, size);
  }
  // The caller keeps the memory alive as long as anything uses the buffer.
  Buffer import(void* pointer, int64_t size, const char* label = "") const {
    weir_import_desc c = WEIR_INIT(weir_import_desc);
    c.pointer = pointer;
    c.size = size;
    c.label = label;
    weir_buffer* buffer = nullptr;
    check(weir_buffer_import(get(), &c, &buffer));
    return Buffer(buffer);
  }
  Buffer import(const weir_import_desc& desc) const {
    weir_buffer* buffer = nullptr;
    check(weir_buffer_import(get(), &desc, &buffer));
    return Buffer(buffer);
  }
  Heap heap(int64_t size, const char* label = "", weir_storage_mode mode = WEIR_SHARED,
            weir_category category = WEIR_OTHER) const {
    weir_heap_desc c = WEIR_INIT(weir_heap_desc);
    c.size = size;
    c.mode = mode;
    c.category = category;
    c.label = label;
    weir_heap* heap = nullptr;
    check(weir_heap_create(get(), &c, &heap));
    return Heap(heap);
  }
  Library library(const std::vector<weir_kernel_desc>& kernels, const char* label = "") const {
    weir_library* library = nullptr;
    check(weir_library_create(get(), label, kernels.data(), static_cast<int32_t>(kernels.size()), &library));
    return Library(library);
  }
  CommandBuffer command_buffer(const CommandBufferDesc& desc = {}) const {
    weir_command_buffer_desc c = WEIR_INIT(weir_command_buffer_desc);
    c.slots = desc.slots;
    c.participants = desc.participants;
    c.parameter_bytes = desc.parameter_bytes;
    c.profile = desc.profile;
    c.label = desc.label;
    weir_command_buffer* commands = nullptr;
    check(weir_command_buffer_create(get(), &c, &commands));
    return CommandBuffer(commands);
  }
  Queue queue(const char* label = "", int32_t max_in_flight = 0, int32_t lanes = 0) const {
    weir_queue_desc c = WEIR_INIT(weir_queue_desc);
    c.max_in_flight = max_in_flight;
    c.lanes = lanes;
    c.label = label;
    weir_queue* queue = nullptr;
    check(weir_queue_create(get(), &c, &queue));
    return Queue(queue);
  }
  Event event(const char* label = "") const {
    weir_event* event = nullptr;
    check(weir_event_create(get(), label, &event));
    return Event(event);
  }
  Fence fence(const char* label = "") const {
    weir_fence* fence = nullptr;
    check(weir_fence_create(get(), label, &fence));
    return Fence(fence);
  }

 private:
  template <typename Create>
  static Device create(Create create, const Runtime& runtime, const DeviceOptions& options) {
    weir_device_options c = WEIR_INIT(weir_device_options);
    c.threads = options.threads;
    c.memory_limit = options.memory_limit;
    c.simulate_discrete = options.simulate_discrete;
    c.validation = options.validation;
    weir_device* device = nullptr;
    check(create(runtime.get(), &c, &device));
    return Device(device);
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_RESOURCES_HPP_
