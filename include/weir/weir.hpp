// SPDX-License-Identifier: Apache-2.0
//
// Weir for C++17: handles that release themselves, over the C interface of weir.h. Header-only.
//
//   weir::Runtime runtime;
//   weir::Device device = weir::Device::cpu(runtime);
//   weir::Session session(runtime, device, "model.onnx");
//   weir::Request request = session.request();
//   request.prepare({{1, 3, 224, 224}});
//   std::fill_n(request.input(0).as<float>(), 3 * 224 * 224, 0.5f);
//   request.run();
//   const float* scores = request.output(0).as<float>();
//
// and the resource model below it:
//
//   weir::BufferDesc desc;
//   desc.size = 4096;
//   weir::Buffer input = device.buffer(desc);
//   weir::Queue queue = device.queue("main");
//
// A handle is a reference: copying it takes another, and an empty one is false. Failures throw weir::Error,
// which has the code and the whole text; what is expected on the way (a full queue, a time-out) is a return
// value. Threads and ownership are as weir.h says.
#ifndef WEIR_WEIR_HPP_
#define WEIR_WEIR_HPP_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/weir.h"

namespace weir {
inline namespace abi1 {

class Error : public std::runtime_error {
 public:
  Error(weir_code code, const std::string& text) : std::runtime_error(text), code_(code) {}
  weir_code code() const noexcept { return code_; }

 private:
  weir_code code_;
};

// Throws what `status` says, and frees it; nothing for success.
inline void check(weir_status* status) {
  if (status != nullptr) {
    const Error error(weir_status_code(status), weir_status_text(status));
    weir_status_free(status);
    throw error;
  }
}

namespace detail {

// One reference to an object of the C interface.
template <typename T, T* (*Retain)(T*), void (*Release)(T*)>
class Handle {
 public:
  Handle() = default;
  // Takes over the reference.
  explicit Handle(T* handle) : handle_(handle) {}
  Handle(const Handle& other) : handle_(Retain(other.handle_)) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() { Release(handle_); }

  T* get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  T* handle_ = nullptr;
};

inline int64_t nanoseconds(std::chrono::nanoseconds timeout) {
  return timeout == std::chrono::nanoseconds::max() ? -1 : timeout.count();
}

}  // namespace detail

inline constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

class Runtime : public detail::Handle<weir_runtime, weir_runtime_retain, weir_runtime_release> {
 public:
  // 0: as many as are useful here.
  explicit Runtime(int32_t threads = 0) : Handle(create(threads)) {}
  int32_t threads() const { return weir_runtime_threads(get()); }

 private:
  static weir_runtime* create(int32_t threads) {
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = threads;
    weir_runtime* runtime = nullptr;
    check(weir_runtime_create(&options, &runtime));
    return runtime;
  }
};

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

// ------------------------------------------------------------------------------------------------------------------
// Tensors, sessions, requests

namespace detail {

template <typename T>
struct element_type_of;
template <>
struct element_type_of<float> : std::integral_constant<weir_element_type, WEIR_FLOAT32> {};
template <>
struct element_type_of<double> : std::integral_constant<weir_element_type, WEIR_FLOAT64> {};
template <>
struct element_type_of<int8_t> : std::integral_constant<weir_element_type, WEIR_INT8> {};
template <>
struct element_type_of<uint8_t> : std::integral_constant<weir_element_type, WEIR_UINT8> {};
template <>
struct element_type_of<int16_t> : std::integral_constant<weir_element_type, WEIR_INT16> {};
template <>
struct element_type_of<uint16_t> : std::integral_constant<weir_element_type, WEIR_UINT16> {};
template <>
struct element_type_of<int32_t> : std::integral_constant<weir_element_type, WEIR_INT32> {};
template <>
struct element_type_of<uint32_t> : std::integral_constant<weir_element_type, WEIR_UINT32> {};
template <>
struct element_type_of<int64_t> : std::integral_constant<weir_element_type, WEIR_INT64> {};
template <>
struct element_type_of<uint64_t> : std::integral_constant<weir_element_type, WEIR_UINT64> {};
template <>
struct element_type_of<bool> : std::integral_constant<weir_element_type, WEIR_BOOL> {};

}  // namespace detail

using Shape = std::vector<int64_t>;

// Elements somewhere in host memory, with their strides; owns nothing.
class TensorView {
 public:
  TensorView() : tensor_(WEIR_INIT(weir_tensor)) {}
  explicit TensorView(const weir_tensor& tensor) : tensor_(tensor) {}
  // Without strides: dense and row-major.
  static TensorView of(void* data, weir_element_type type, const Shape& shape, const Shape& strides = {}) {
    if (shape.size() > WEIR_MAX_RANK || (!strides.empty() && strides.size() != shape.size())) {
      throw Error(WEIR_INVALID_ARGUMENT, "A tensor has a rank of at most 8, and as many strides as axes.");
    }
    TensorView view;
    view.tensor_.data = data;
    view.tensor_.type = type;
    view.tensor_.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), view.tensor_.shape);
    std::copy(strides.begin(), strides.end(), view.tensor_.strides);
    if (strides.empty()) {
      weir_tensor_set_dense(&view.tensor_);
    }
    return view;
  }
  template <typename T>
  TensorView(T* data, const Shape& shape, const Shape& strides = {})
      : TensorView(of(const_cast<std::remove_const_t<T>*>(data),
                      detail::element_type_of<std::remove_const_t<T>>::value, shape, strides)) {}

  // Throws where the elements are of another type.
  template <typename T>
  T* as() const {
    if (tensor_.type != detail::element_type_of<std::remove_const_t<T>>::value) {
      throw Error(WEIR_INVALID_ARGUMENT,
                  std::string("A tensor of ") + weir_element_type_name(tensor_.type) + " is read as " +
                      weir_element_type_name(detail::element_type_of<std::remove_const_t<T>>::value) + ".");
    }
    return static_cast<T*>(tensor_.data);
  }
  void* data() const { return tensor_.data; }
  weir_element_type type() const { return tensor_.type; }
  int32_t rank() const { return tensor_.rank; }
  int64_t shape(int32_t axis) const { return tensor_.shape[axis]; }
  int64_t stride(int32_t axis) const { return tensor_.strides[axis]; }
  Shape shape() const { return Shape(tensor_.shape, tensor_.shape + tensor_.rank); }
  Shape strides() const { return Shape(tensor_.strides, tensor_.strides + tensor_.rank); }
  int64_t element_count() const { return weir_tensor_element_count(&tensor_); }
  const weir_tensor& c() const { return tensor_; }

 private:
  weir_tensor tensor_;
};

// What becomes of a tensor that is handed over or bound.
struct Binding {
  weir_binding_answer answer = WEIR_BINDING_IN_PLACE;
  weir_copy_reasons reasons = 0;
  int64_t copied_bytes = 0;

  bool in_place() const { return answer == WEIR_BINDING_IN_PLACE; }
  std::string reasons_text() const {
    std::string text(weir_copy_reasons_text(reasons, nullptr, 0), '\0');
    weir_copy_reasons_text(reasons, &text[0], text.size() + 1);
    return text;
  }
};

struct Notice {
  weir_notice_kind kind = WEIR_INFO;
  std::string what;
  std::string reason;
  int64_t bytes = -1;
};

struct Port {
  std::string name;
  weir_element_type type = WEIR_FLOAT32;
  Shape shape;  // −1: open
};

namespace detail {

inline std::vector<weir_shape> shapes(const std::vector<Shape>& from) {
  std::vector<weir_shape> result;
  for (const Shape& shape : from) {
    result.push_back({shape.data(), static_cast<int32_t>(shape.size())});
  }
  return result;
}

inline Notice notice(const weir_notice& from) {
  return {from.kind, from.what, from.reason, from.bytes};
}

}  // namespace detail

// The right to read an output while its request refuses to run.
class Lease {
 public:
  explicit Lease(weir_lease* lease) : lease_(lease) {}
  Lease(Lease&& other) noexcept : lease_(std::exchange(other.lease_, nullptr)) {}
  Lease& operator=(Lease other) noexcept {
    std::swap(lease_, other.lease_);
    return *this;
  }
  ~Lease() { weir_lease_release(lease_); }

  TensorView tensor() const {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    check(weir_lease_tensor(lease_, &tensor));
    return TensorView(tensor);
  }

 private:
  weir_lease* lease_;
};

struct RequestOptions {
  int64_t shape_cache_bytes = 0;
  bool profile = false;
  bool lock_pages = false;
};

class Request : public detail::Handle<weir_request, weir_request_retain, weir_request_release> {
 public:
  using Handle::Handle;

  weir_request_state state() const { return weir_request_get_state(get()); }
  // One shape an input, in the session's order.
  void prepare(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    check(weir_request_prepare(get(), c.data(), static_cast<int32_t>(c.size())));
  }
  weir_prepare_report prepare_report() const {
    weir_prepare_report report = WEIR_INIT(weir_prepare_report);
    check(weir_request_get_prepare_report(get(), &report));
    return report;
  }

  // The request's own tensors.
  TensorView input(int32_t index) const { return tensor(weir_request_input, index); }
  TensorView output(int32_t index) const { return tensor(weir_request_output, index); }
  Lease lease_output(int32_t index) const {
    weir_lease* lease = nullptr;
    check(weir_request_lease_output(get(), index, &lease));
    return Lease(lease);
  }

  Binding input_verdict(int32_t index, const TensorView& tensor) const {
    return binding([&](weir_binding* b) { return weir_request_input_verdict(get(), index, &tensor.c(), b); });
  }
  Binding output_verdict(int32_t index, const TensorView& tensor) const {
    return binding(
        [&](weir_binding* b) { return weir_request_output_verdict(get(), index, &tensor.c(), b); });
  }
  Binding set_input(int32_t index, const TensorView& tensor,
                    weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_set_input(get(), index, &tensor.c(), policy, b); });
  }
  Binding bind_input(int32_t index, const TensorView& tensor,
                     weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_bind_input(get(), index, &tensor.c(), policy, b); });
  }
  Binding bind_output(int32_t index, const TensorView& tensor,
                      weir_copy_policy policy = WEIR_COPY_ALLOW) const {
    return binding(
        [&](weir_binding* b) { return weir_request_bind_output(get(), index, &tensor.c(), policy, b); });
  }
  void bind_input(int32_t index, const Buffer& buffer, int64_t offset = 0) const {
    check(weir_request_bind_input_buffer(get(), index, buffer.get(), offset));
  }
  void bind_output(int32_t index, const Buffer& buffer, int64_t offset = 0) const {
    check(weir_request_bind_output_buffer(get(), index, buffer.get(), offset));
  }
  // The request's own again.
  void unbind_input(int32_t index) const {
    check(weir_request_bind_input(get(), index, nullptr, WEIR_COPY_ALLOW, nullptr));
  }
  void unbind_output(int32_t index) const {
    check(weir_request_bind_output(get(), index, nullptr, WEIR_COPY_ALLOW, nullptr));
  }

  void run() const { check(weir_request_run(get())); }
  // Throws nothing but mistakes: see weir_submit_answer.
  weir_submit_answer start(std::initializer_list<weir_event_point> waits = {},
                           std::initializer_list<weir_event_point> signals = {},
                           void (*on_complete)(void* user, const weir_status* status) = nullptr,
                           void* user = nullptr) const {
    weir_start_desc desc = WEIR_INIT(weir_start_desc);
    desc.waits = waits.begin();
    desc.wait_count = static_cast<int32_t>(waits.size());
    desc.signals = signals.begin();
    desc.signal_count = static_cast<int32_t>(signals.size());
    desc.on_complete = on_complete;
    desc.user = user;
    weir_submit_answer answer = WEIR_COMPLETED;
    check(weir_request_start(get(), &desc, &answer));
    return answer;
  }
  // False after the timeout; throws the run's error.
  bool wait(std::chrono::nanoseconds timeout = forever) const {
    bool done = false;
    check(weir_request_wait(get(), detail::nanoseconds(timeout), &done));
    return done;
  }
  void cancel() const { weir_request_cancel(get()); }

  weir_ledger planned() const {
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_request_planned(get(), &ledger));
    return ledger;
  }
  weir_ledger counted() const {
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_request_counted(get(), &ledger));
    return ledger;
  }
  std::vector<Notice> notices() const {
    std::vector<Notice> notices;
    weir_notice notice = WEIR_INIT(weir_notice);
    for (int32_t i = 0; weir_request_notice(get(), i, &notice); ++i) {
      notices.push_back(detail::notice(notice));
    }
    return notices;
  }
  std::vector<weir_command_profile> profile() const {
    int32_t count = 0;
    const weir_command_profile* lines = weir_request_profile(get(), &count);
    return lines == nullptr ? std::vector<weir_command_profile>()
                            : std::vector<weir_command_profile>(lines, lines + count);
  }

 private:
  TensorView tensor(weir_status* (*ask)(weir_request*, int32_t, weir_tensor*), int32_t index) const {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    check(ask(get(), index, &tensor));
    return TensorView(tensor);
  }
  template <typename Ask>
  static Binding binding(Ask ask) {
    weir_binding c = WEIR_INIT(weir_binding);
    check(ask(&c));
    return {c.answer, c.reasons, c.copied_bytes};
  }
};

// A dimension by its name, or the shape of an input by its name (−1 keeps what the model says).
struct DimChoice {
  std::string name;
  int64_t min = 1;
  int64_t max = 1;
};
struct ShapeChoice {
  std::string input;
  Shape shape;
};

struct SessionOptions {
  std::string name;
  std::vector<DimChoice> dims;
  std::vector<ShapeChoice> shapes;
  std::string cache_folder;
  bool no_cache = false;
  bool verify_constants = false;
  int32_t participants = 0;
  std::string isa;
  weir_strictness strict = WEIR_STRICT_NONE;
};

class Session : public detail::Handle<weir_session, weir_session_retain, weir_session_release> {
 public:
  using Handle::Handle;
  // A model file or a program file.
  Session(const Runtime& runtime, const Device& device, const std::string& path,
          const SessionOptions& options = {})
      : Handle(open(runtime, device, path, options)) {}

  Request request(const RequestOptions& options = {}) const {
    weir_request_options c = WEIR_INIT(weir_request_options);
    c.shape_cache_bytes = options.shape_cache_bytes;
    c.profile = options.profile;
    c.lock_pages = options.lock_pages;
    weir_request* request = nullptr;
    check(weir_request_create(get(), &c, &request));
    return Request(request);
  }

  weir_session_info info() const {
    weir_session_info info = WEIR_INIT(weir_session_info);
    check(weir_session_get_info(get(), &info));
    return info;
  }
  Port input(int32_t index) const { return port(weir_session_get_input, index); }
  Port output(int32_t index) const { return port(weir_session_get_output, index); }
  // −1 where there is none.
  int32_t find_input(const std::string& name) const { return weir_session_find_input(get(), name.c_str()); }
  int32_t find_output(const std::string& name) const { return weir_session_find_output(get(), name.c_str()); }
  // NULL where there is none.
  const char* metadata(const std::string& key) const {
    return weir_session_find_metadata(get(), key.c_str());
  }
  std::vector<std::pair<std::string, std::string>> metadata() const {
    std::vector<std::pair<std::string, std::string>> entries;
    const char* key = nullptr;
    const char* value = nullptr;
    for (int32_t i = 0; weir_session_metadata(get(), i, &key, &value); ++i) {
      entries.emplace_back(key, value);
    }
    return entries;
  }
  std::vector<Notice> notices() const {
    std::vector<Notice> notices;
    weir_notice notice = WEIR_INIT(weir_notice);
    for (int32_t i = 0; weir_session_notice(get(), i, &notice); ++i) {
      notices.push_back(detail::notice(notice));
    }
    return notices;
  }
  // Without running or allocating.
  weir_ledger plan(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    weir_ledger ledger = WEIR_INIT(weir_ledger);
    check(weir_session_plan(get(), c.data(), static_cast<int32_t>(c.size()), &ledger));
    return ledger;
  }
  std::string report(const std::vector<Shape>& shapes = {}) const {
    const std::vector<weir_shape> c = detail::shapes(shapes);
    char* json = nullptr;
    check(weir_session_report(get(), c.data(), static_cast<int32_t>(c.size()), &json));
    std::string text(json);
    weir_text_free(json);
    return text;
  }

 private:
  static weir_session* open(const Runtime& runtime, const Device& device, const std::string& path,
                            const SessionOptions& options) {
    weir_session_options c = WEIR_INIT(weir_session_options);
    std::vector<weir_dim_choice> dims;
    for (const DimChoice& dim : options.dims) {
      dims.push_back({dim.name.c_str(), dim.min, dim.max});
    }
    std::vector<weir_shape_choice> shapes;
    for (const ShapeChoice& shape : options.shapes) {
      shapes.push_back({shape.input.c_str(), shape.shape.data(), static_cast<int32_t>(shape.shape.size())});
    }
    c.name = options.name.c_str();
    c.dims = dims.data();
    c.dim_count = static_cast<int32_t>(dims.size());
    c.shapes = shapes.data();
    c.shape_count = static_cast<int32_t>(shapes.size());
    c.cache_folder = options.cache_folder.c_str();
    c.no_cache = options.no_cache;
    c.verify_constants = options.verify_constants;
    c.participants = options.participants;
    c.isa = options.isa.c_str();
    c.strict = options.strict;
    weir_session* session = nullptr;
    check(weir_session_open(runtime.get(), device.get(), path.c_str(), &c, &session));
    return session;
  }
  Port port(weir_status* (*ask)(const weir_session*, int32_t, weir_port*), int32_t index) const {
    weir_port c = WEIR_INIT(weir_port);
    check(ask(get(), index, &c));
    return {c.name, c.type, Shape(c.shape, c.shape + c.rank)};
  }
};

}  // namespace abi1
}  // namespace weir

#endif  // WEIR_WEIR_HPP_
