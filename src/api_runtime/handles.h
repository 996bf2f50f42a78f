// SPDX-License-Identifier: Apache-2.0
//
// Between the C interface's handles and the objects behind them. A handle is the object's address; a status
// is a Status with its text.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "base/out_of_memory.h"
#include "base/ref.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "hal/device.h"
#include "op/custom_operator.h"
#include "weir/weir.h"

// One block with its text, from failed(), or one of the statuses that need no memory.
struct weir_status {
  weir::StatusCode code;
  const char* text;
};

// What a process shares.
struct weir_runtime : public weir::RefCounted {
  weir::Ref<weir::ThreadPool> pool;

  // Null: none is registered. A session keeps the list of the moment when it is opened.
  std::shared_ptr<const weir::CustomOperators> operators() const {
    const std::lock_guard lock(mutex);
    return registered;
  }

  mutable std::mutex mutex;
  std::shared_ptr<const weir::CustomOperators> registered;  // guarded by mutex
};

namespace weir::api {

// What a call answers that found no memory for its own small structures. Freeing it does nothing.
weir_status* out_of_memory_status() noexcept;

// Where there is no memory for the status itself, out_of_memory_status().
weir_status* failed(const Status& status) noexcept;

template <typename T>
weir_status* failed(const Result<T>& result) noexcept {
  return failed(result.error());
}

weir_status* null_argument(const char* function) noexcept;

// Nothing is thrown out of the C interface. Every entry point that returns a status is
//
//   weir_status* weir_buffer_create(…) try {
//     …
//   } catch (...) {
//     return caught(__func__);
//   }
//
// std::bad_alloc becomes out_of_memory_status(): what the call had begun is undone by its owners'
// destructors. All else can only come from a caller's own function that throws.
weir_status* caught(const char* function) noexcept;

// Calls a caller's function with a weir_status of its own; none for null.
CompletionHandler c_handler(void (*on_complete)(void* user, const weir_status* status), void* user);

#define WEIR_HANDLE(object_type, handle_type)                   \
  inline object_type* object(handle_type* handle) {             \
    return reinterpret_cast<object_type*>(handle);              \
  }                                                             \
  inline const object_type* object(const handle_type* handle) { \
    return reinterpret_cast<const object_type*>(handle);        \
  }                                                             \
  inline handle_type* handle(Ref<object_type> object) {         \
    return reinterpret_cast<handle_type*>(object.detach());     \
  }
WEIR_HANDLE(Device, weir_device)
WEIR_HANDLE(Buffer, weir_buffer)
WEIR_HANDLE(Heap, weir_heap)
WEIR_HANDLE(Library, weir_library)
WEIR_HANDLE(Kernel, weir_kernel)
WEIR_HANDLE(CommandBuffer, weir_command_buffer)
WEIR_HANDLE(Fence, weir_fence)
WEIR_HANDLE(Event, weir_event)
WEIR_HANDLE(Queue, weir_queue)
WEIR_HANDLE(Tracer, weir_trace)
#undef WEIR_HANDLE

// The bodies of _retain and _release.
template <typename Handle>
Handle* retain(Handle* handle) {
  if (handle != nullptr) {
    object(handle)->retain();
  }
  return handle;
}
template <typename Handle>
void release(Handle* handle) {
  if (handle != nullptr) {
    object(handle)->release();
  }
}

// The error for a struct whose size nobody has set, as WEIR_INIT does: of such a one nothing would be read,
// or filled in, and nobody would hear of it. Null where all have one; null pointers are another check's.
weir_status* unset_size(const char* function) noexcept;
template <typename... T>
weir_status* unset_size(const char* function, const T*... structs) {
  const bool all_set = ((structs == nullptr || structs->struct_size >= sizeof(size_t)) && ...);
  return all_set ? nullptr : unset_size(function);
}

// A caller's struct, which may be older (shorter: the rest is zero) or newer (longer: the rest is ignored)
// than ours.
template <typename T>
T read_struct(const T* given) {
  T own;
  std::memset(static_cast<void*>(&own), 0, sizeof(T));
  if (given != nullptr) {
    std::memcpy(static_cast<void*>(&own), given, std::min(given->struct_size, sizeof(T)));
  }
  return own;
}

// Writes as much of `own` as the caller's struct has room for.
template <typename T>
void write_struct(const T& own, T* target) {
  const size_t size = target->struct_size;
  std::memcpy(static_cast<void*>(target), &own, std::min(size, sizeof(T)));
  target->struct_size = size;
}

inline std::string_view text(const char* given) {
  return given == nullptr ? std::string_view() : std::string_view(given);
}

inline std::chrono::nanoseconds timeout(int64_t nanoseconds) {
  return nanoseconds < 0 ? kForever : std::chrono::nanoseconds(nanoseconds);
}

}  // namespace weir::api
