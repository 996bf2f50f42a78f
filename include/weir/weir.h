// SPDX-License-Identifier: Apache-2.0
//
// Weir's C interface. Stable: structs begin with `struct_size`, which the caller sets to sizeof the struct it
// was compiled with, and grow at the end; fields left at zero mean the default. WEIR_INIT(type) does both.
//
//   weir_runtime* runtime = NULL;
//   weir_status* status = weir_runtime_create(NULL, &runtime);
//   if (status != NULL) { fprintf(stderr, "%s\n", weir_status_text(status)); weir_status_free(status); … }
//
// Errors. A function that can fail returns a weir_status*: NULL is success, anything else belongs to the
// caller, who frees it with weir_status_free. Results come through the last parameters, which are left alone
// on failure. A null handle or pointer where one is needed is WEIR_INVALID_ARGUMENT; functions without a
// status ignore it or return 0.
//
// Ownership. A handle that a function creates is one reference, which the caller drops with the type's
// _release; _retain takes another. Objects keep what they need alive: a buffer its device, a command buffer
// its buffers and kernels. Strings and structs that are passed in are copied; strings that are handed out
// live as long as the object that they were asked from.
//
// Threads. All functions may be called from any thread. Calls on one command buffer that record or bind must
// not happen at the same time, nor calls on one request (see there); everything else may.
//
// Where this says "allocates nothing", it means success: an error allocates its text.
#ifndef WEIR_WEIR_H_
#define WEIR_WEIR_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WEIR_API __declspec(dllexport)
#else
#define WEIR_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define WEIR_MUST_USE __attribute__((warn_unused_result))
#else
#define WEIR_MUST_USE
#endif

// A struct with its size set and all else zero: `weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);`
#ifdef __cplusplus
template <typename T>
inline T weir_init() {
  T value = T();
  value.struct_size = sizeof(T);
  return value;
}
#define WEIR_INIT(type) weir_init<type>()
#else
#define WEIR_INIT(type) {.struct_size = sizeof(type)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------------------------------
// Status

typedef int32_t weir_code;  // the canonical codes of gRPC
enum {
  WEIR_OK = 0,
  WEIR_CANCELLED = 1,
  WEIR_UNKNOWN = 2,
  WEIR_INVALID_ARGUMENT = 3,
  WEIR_DEADLINE_EXCEEDED = 4,
  WEIR_NOT_FOUND = 5,
  WEIR_ALREADY_EXISTS = 6,
  WEIR_PERMISSION_DENIED = 7,
  WEIR_RESOURCE_EXHAUSTED = 8,
  WEIR_FAILED_PRECONDITION = 9,
  WEIR_ABORTED = 10,
  WEIR_OUT_OF_RANGE = 11,
  WEIR_UNIMPLEMENTED = 12,
  WEIR_INTERNAL = 13,
  WEIR_UNAVAILABLE = 14,
  WEIR_DATA_LOSS = 15,
};

typedef struct weir_status weir_status;

// WEIR_OK for NULL.
WEIR_API weir_code weir_status_code(const weir_status* status);
// One sentence, then a line "  - while …" for each thing that was being done. "" for NULL. Valid until freed.
WEIR_API const char* weir_status_text(const weir_status* status);
WEIR_API void weir_status_free(weir_status* status);

// "0.1.0"
WEIR_API const char* weir_version(void);

// ------------------------------------------------------------------------------------------------------------------
// Runtime: what a process shares. It owns the thread pool. Nothing else in Weir is global.

typedef struct weir_runtime weir_runtime;

typedef struct weir_runtime_options {
  size_t struct_size;
  int32_t threads;  // the caller counts as one; 0: min(affinity mask, control group's quota, physical cores)
} weir_runtime_options;

// `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_runtime_create(const weir_runtime_options* options,
                                                        weir_runtime** runtime);
WEIR_API weir_runtime* weir_runtime_retain(weir_runtime* runtime);
// Devices keep the pool alive, so the runtime may be released before them.
WEIR_API void weir_runtime_release(weir_runtime* runtime);
WEIR_API int32_t weir_runtime_threads(const weir_runtime* runtime);

// ------------------------------------------------------------------------------------------------------------------
// Devices

typedef struct weir_device weir_device;

typedef struct weir_device_options {
  size_t struct_size;
  int32_t threads;         // participants of a command buffer; 0: the runtime's threads
  int64_t memory_limit;    // bytes; 0: the physical memory
  bool simulate_discrete;  // the CPU behaves as a far device: see docs/resources.md
  bool validation;         // hazards, use before write, usage, guard bands, poison
  uint64_t shuffle_seed;   // of simulate_discrete
} weir_device_options;

typedef int32_t weir_device_kind;
enum {
  WEIR_DEVICE_CPU = 0,
  WEIR_DEVICE_INTEGRATED_GPU = 1,
  WEIR_DEVICE_DISCRETE_GPU = 2,
  WEIR_DEVICE_NULL = 3
};

typedef struct weir_device_info {
  size_t struct_size;
  const char* name;         // "cpu"; these three live as long as the device
  const char* description;  // the processor's name
  const char* isa;          // "avx512"
  weir_device_kind kind;
  int32_t participants;       // among how many a dispatch is split unless told
  bool executes;              // false: submissions complete without running
  bool unified_memory;        // host and device share one memory
  bool import_host_memory;    // weir_buffer_import may succeed
  bool inline_execution;      // a submission may run on the calling thread
  bool host_calls;            // weir_encode_host_call
  bool timestamps;            // weir_command_buffer_desc.profile
  int64_t buffer_alignment;   // of a buffer's address and of its offset in a heap
  int64_t binding_alignment;  // of an offset that is bound
  int64_t cache_line_bytes;
  int64_t page_bytes;
  int64_t memory_bytes;
  int64_t max_buffer_bytes;
  int64_t max_constant_bytes;  // of a dispatch
  int64_t max_tiles;           // of a dispatch
  int32_t max_bindings;        // of a kernel
  int32_t max_slots;           // of a command buffer
  int32_t max_participants;    // of a command buffer
} weir_device_info;

// `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_device_create_cpu(weir_runtime* runtime,
                                                           const weir_device_options* options,
                                                           weir_device** device);
// Executes nothing; every object and check is there.
WEIR_API WEIR_MUST_USE weir_status* weir_device_create_null(weir_runtime* runtime,
                                                            const weir_device_options* options,
                                                            weir_device** device);
WEIR_API weir_device* weir_device_retain(weir_device* device);
WEIR_API void weir_device_release(weir_device* device);
// Fills in as much as `info->struct_size` has room for.
WEIR_API WEIR_MUST_USE weir_status* weir_device_get_info(const weir_device* device, weir_device_info* info);

// A way of behaving that can be forced when a device is made. False past the last index.
WEIR_API bool weir_device_toggle(const weir_device* device, int32_t index, const char** name,
                                 const char** description, bool* on);

// The lines of the ledger.
typedef int32_t weir_category;
enum {
  WEIR_CONSTANTS = 0,
  WEIR_ACTIVATIONS = 1,
  WEIR_SCRATCH = 2,
  WEIR_IO = 3,
  WEIR_STATE = 4,
  WEIR_HOST = 5,
  WEIR_OTHER = 6,
  WEIR_ALL_CATEGORIES = -1,
};

// Bytes held now and the most ever held. Either pointer may be NULL. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_device_memory(const weir_device* device, weir_category category,
                                                       int64_t* current, int64_t* peak);
WEIR_API int64_t weir_device_memory_limit(const weir_device* device);
// May be lower than what is held; then nothing more is granted until enough is given back.
WEIR_API void weir_device_set_memory_limit(weir_device* device, int64_t bytes);
// Calls `visit` for every holder, the largest first. `label` is valid during the call.
WEIR_API void weir_device_visit_holders(const weir_device* device,
                                        void (*visit)(void* user, const char* label, weir_category category,
                                                      int64_t bytes),
                                        void* user);

// ------------------------------------------------------------------------------------------------------------------
// Buffers and heaps

typedef struct weir_buffer weir_buffer;
typedef struct weir_heap weir_heap;

typedef int32_t weir_storage_mode;
enum {
  WEIR_SHARED = 0,   // host and device see the same memory
  WEIR_PRIVATE = 1,  // the device only; asking for its contents is an error
  WEIR_MANAGED = 2,  // a host and a device copy, carried over on request
};

typedef uint32_t weir_usage;  // bits; 0 means all
enum {
  WEIR_USAGE_KERNEL_READ = 1,
  WEIR_USAGE_KERNEL_WRITE = 2,
  WEIR_USAGE_COPY_SOURCE = 4,
  WEIR_USAGE_COPY_TARGET = 8,
};

typedef struct weir_buffer_desc {
  size_t struct_size;
  int64_t size;  // bytes, at least 1
  weir_storage_mode mode;
  weir_usage usage;
  weir_category category;
  int64_t alignment;  // of the address, a power of two; 0: the device's own
  bool lazy_pages;    // leave it to the first access to bring in each page
  bool lock_pages;    // keep them resident, or fail
  bool huge_pages;    // where there are any
  const char* label;
} weir_buffer_desc;

WEIR_API WEIR_MUST_USE weir_status* weir_buffer_create(weir_device* device, const weir_buffer_desc* desc,
                                                       weir_buffer** buffer);
WEIR_API weir_buffer* weir_buffer_retain(weir_buffer* buffer);
WEIR_API void weir_buffer_release(weir_buffer* buffer);
WEIR_API int64_t weir_buffer_size(const weir_buffer* buffer);
WEIR_API weir_storage_mode weir_buffer_storage_mode(const weir_buffer* buffer);
WEIR_API const char* weir_buffer_label(const weir_buffer* buffer);
// The host's view, valid as long as the buffer. WEIR_FAILED_PRECONDITION for Private, WEIR_PERMISSION_DENIED
// for what was imported read-only.
WEIR_API WEIR_MUST_USE weir_status* weir_buffer_contents(weir_buffer* buffer, void** bytes);
WEIR_API WEIR_MUST_USE weir_status* weir_buffer_read_contents(const weir_buffer* buffer, const void** bytes);
// Managed: host → device, device → host. A size of −1 reaches to the end. Nothing to do for Shared.
WEIR_API WEIR_MUST_USE weir_status* weir_buffer_did_modify(weir_buffer* buffer, int64_t offset, int64_t size);
WEIR_API WEIR_MUST_USE weir_status* weir_buffer_synchronize(weir_buffer* buffer, int64_t offset,
                                                            int64_t size);

typedef struct weir_import_desc {
  size_t struct_size;
  const void* pointer;
  int64_t size;
  bool read_only;
  weir_usage usage;
  const char* label;
  // Called once when nothing uses the memory any more, on the thread that dropped the last reference. May be
  // NULL, and then the caller keeps the memory alive. Not called when the import fails.
  void (*release)(void* user);
  void* user;
} weir_import_desc;

typedef int32_t weir_import_verdict;
enum { WEIR_IMPORT_USABLE = 0, WEIR_IMPORT_MEMORY_NOT_SHARED = 1, WEIR_IMPORT_ALIGNMENT = 2 };

// Whether the device can use this memory in place.
WEIR_API weir_import_verdict weir_device_import_verdict(const weir_device* device, const void* pointer,
                                                        int64_t size);
WEIR_API const char* weir_import_verdict_text(weir_import_verdict verdict);
// Never copies: WEIR_FAILED_PRECONDITION with the reason where the memory cannot be used in place.
WEIR_API WEIR_MUST_USE weir_status* weir_buffer_import(weir_device* device, const weir_import_desc* desc,
                                                       weir_buffer** buffer);

typedef struct weir_heap_desc {
  size_t struct_size;
  int64_t size;
  weir_storage_mode mode;
  weir_category category;
  bool lazy_pages;
  bool lock_pages;
  bool huge_pages;
  const char* label;
} weir_heap_desc;

// One device allocation, charged as a whole.
WEIR_API WEIR_MUST_USE weir_status* weir_heap_create(weir_device* device, const weir_heap_desc* desc,
                                                     weir_heap** heap);
WEIR_API weir_heap* weir_heap_retain(weir_heap* heap);
// Its buffers keep the memory alive.
WEIR_API void weir_heap_release(weir_heap* heap);
WEIR_API int64_t weir_heap_size(const weir_heap* heap);
// A buffer at `offset`, a multiple of the device's buffer_alignment, with the heap's storage mode. Buffers
// may overlap.
WEIR_API WEIR_MUST_USE weir_status* weir_heap_create_buffer(weir_heap* heap, int64_t offset, int64_t size,
                                                            weir_usage usage, const char* label,
                                                            weir_buffer** buffer);

// ------------------------------------------------------------------------------------------------------------------
// Kernels of one's own, for the CPU

typedef struct weir_library weir_library;
typedef struct weir_kernel weir_kernel;

// What a kernel function is given: a range of the dispatch's tiles, numbered with x fastest. Several threads
// call it at the same time on different ranges. It must not block, and it allocates nothing if inferences are
// to be still.
typedef struct weir_invocation {
  size_t struct_size;
  void* const* bindings;  // NULL where null was bound
  int32_t binding_count;
  int32_t step;
  const void* constants;   // 64-byte aligned
  const void* parameters;  // NULL unless the command buffer has a parameter block
  void* scratch;           // this participant's own, 64-byte aligned; contents undefined
  int64_t tile_begin;
  int64_t tile_end;
  void* user;
  void* status;  // for weir_invocation_index_out_of_range
} weir_invocation;

typedef void (*weir_kernel_function)(const weir_invocation* invocation);

// An index in data was out of range: clamp it and go on. The first such call becomes the submission's error.
WEIR_API void weir_invocation_index_out_of_range(const weir_invocation* invocation, int64_t index,
                                                 int64_t extent);

typedef struct weir_kernel_desc {
  size_t struct_size;
  const char* name;
  weir_kernel_function function;
  void* user;
  int32_t bindings;        // how many it takes; −1: as many as are set
  int64_t constant_bytes;  // how many it reads at least
  int64_t scratch_bytes;   // of each participant
} weir_kernel_desc;

// `kernels` is an array of `count` structs of kernels[0].struct_size bytes each. The functions and `user`
// pointers must outlive the library and all its kernels.
WEIR_API WEIR_MUST_USE weir_status* weir_library_create(weir_device* device, const char* label,
                                                        const weir_kernel_desc* kernels, int32_t count,
                                                        weir_library** library);
WEIR_API weir_library* weir_library_retain(weir_library* library);
WEIR_API void weir_library_release(weir_library* library);
// WEIR_NOT_FOUND names the nearest.
WEIR_API WEIR_MUST_USE weir_status* weir_library_get_kernel(const weir_library* library, const char* name,
                                                            weir_kernel** kernel);
WEIR_API weir_kernel* weir_kernel_retain(weir_kernel* kernel);
WEIR_API void weir_kernel_release(weir_kernel* kernel);

// ------------------------------------------------------------------------------------------------------------------
// Command buffers: recorded once, sealed, submitted any number of times, one submission at a time.

typedef struct weir_command_buffer weir_command_buffer;
typedef struct weir_fence weir_fence;
typedef struct weir_event weir_event;
typedef struct weir_queue weir_queue;

typedef struct weir_command_buffer_desc {
  size_t struct_size;
  int32_t slots;            // bindings that are decided after recording
  int32_t participants;     // 0: the device's
  int64_t parameter_bytes;  // of the block that weir_command_buffer_bind_parameters binds
  bool profile;             // keep timestamps
  const char* label;
} weir_command_buffer_desc;

// A range of `buffer`, or, when that is NULL, of whatever is bound to `slot`. A size of −1 reaches to the
// end.
typedef struct weir_range {
  weir_buffer* buffer;
  int32_t slot;
  int64_t offset;
  int64_t size;
} weir_range;

typedef int32_t weir_access;
enum {
  WEIR_READ = 1,
  WEIR_WRITE = 2,  // what was there before is lost
  WEIR_READ_WRITE = 3,
};

WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_create(weir_device* device,
                                                               const weir_command_buffer_desc* desc,
                                                               weir_command_buffer** commands);
WEIR_API weir_command_buffer* weir_command_buffer_retain(weir_command_buffer* commands);
WEIR_API void weir_command_buffer_release(weir_command_buffer* commands);

// Recording. A mistake does not fail the call: the first is kept and told by weir_command_buffer_seal.
// Commands with no barrier between them may run in any order and at the same time.

// The number by which errors and profiles name what follows.
WEIR_API void weir_encode_step(weir_command_buffer* commands, int32_t step);
// Clears bindings, constants and scratch.
WEIR_API void weir_encode_kernel(weir_command_buffer* commands, weir_kernel* kernel);
WEIR_API void weir_encode_buffer(weir_command_buffer* commands, int32_t index, weir_range range,
                                 weir_access access);
WEIR_API void weir_encode_null(weir_command_buffer* commands, int32_t index);
// Copied.
WEIR_API void weir_encode_constants(weir_command_buffer* commands, const void* bytes, size_t size);
WEIR_API void weir_encode_scratch(weir_command_buffer* commands, int64_t bytes_per_participant);
WEIR_API void weir_encode_parameters(weir_command_buffer* commands, int64_t offset);
// x · y · z tiles.
WEIR_API void weir_encode_dispatch(weir_command_buffer* commands, int64_t x, int64_t y, int64_t z);
WEIR_API void weir_encode_barrier(weir_command_buffer* commands);
// A barrier in two halves: what is before the update is complete before what is after the wait.
WEIR_API void weir_encode_update_fence(weir_command_buffer* commands, weir_fence* fence);
WEIR_API void weir_encode_wait_fence(weir_command_buffer* commands, weir_fence* fence);
WEIR_API void weir_encode_fill(weir_command_buffer* commands, weir_range target, uint8_t value);
WEIR_API void weir_encode_copy(weir_command_buffer* commands, weir_range source, weir_range target);
// `call` runs on an executing thread, between other commands. `user` must outlive the command buffer.
WEIR_API void weir_encode_host_call(weir_command_buffer* commands, void (*call)(void* user), void* user);

// Ends recording.
WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_seal(weir_command_buffer* commands);
// Of the sealed form, in host memory.
WEIR_API int64_t weir_command_buffer_host_bytes(const weir_command_buffer* commands);
// Of the block that weir_command_buffer_bind_scratch must bind before the first submission, unless it is 0.
WEIR_API int64_t weir_command_buffer_scratch_bytes(const weir_command_buffer* commands);
// Notes of validation, for example a superfluous barrier. NULL past the last. Valid as long as the command
// buffer.
WEIR_API const char* weir_command_buffer_note(const weir_command_buffer* commands, int32_t index);

// Bindings last until replaced. WEIR_FAILED_PRECONDITION ("busy") while a submission is in flight. Allocate
// nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_bind_scratch(weir_command_buffer* commands,
                                                                     weir_buffer* buffer, int64_t offset);
WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_bind_parameters(weir_command_buffer* commands,
                                                                        weir_buffer* buffer, int64_t offset);
WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_bind_slot(weir_command_buffer* commands, int32_t slot,
                                                                  weir_buffer* buffer, int64_t offset);

// Stops the submission in flight at the next barrier; it fails with WEIR_CANCELLED. Without one it does
// nothing.
WEIR_API void weir_command_buffer_cancel(weir_command_buffer* commands);
// Until no submission is in flight; then the result of the last. Negative: for ever. WEIR_DEADLINE_EXCEEDED
// after the timeout. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_command_buffer_wait(weir_command_buffer* commands,
                                                             int64_t timeout_ns);

typedef struct weir_command_profile {
  int32_t step;
  int64_t begin_ns;  // of the steady clock
  int64_t end_ns;
  int64_t busy_ns;  // of all participants
} weir_command_profile;

// Of the last submission, a line a command in the order recorded; valid until the next. NULL and 0 without
// `profile`.
WEIR_API const weir_command_profile* weir_command_buffer_profile(const weir_command_buffer* commands,
                                                                 int32_t* count);

WEIR_API WEIR_MUST_USE weir_status* weir_fence_create(weir_device* device, const char* label,
                                                      weir_fence** fence);
WEIR_API weir_fence* weir_fence_retain(weir_fence* fence);
WEIR_API void weir_fence_release(weir_fence* fence);

// ------------------------------------------------------------------------------------------------------------------
// Events: timelines. A failing producer moves the timeline on and marks the values as failed.

WEIR_API WEIR_MUST_USE weir_status* weir_event_create(weir_device* device, const char* label,
                                                      weir_event** event);
WEIR_API weir_event* weir_event_retain(weir_event* event);
WEIR_API void weir_event_release(weir_event* event);
WEIR_API uint64_t weir_event_value(const weir_event* event);
// Until `value` is reached or the timeout has passed: `*reached` says which. The producer's error where it
// failed. Negative: for ever; 0 polls. `reached` may be NULL. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_event_wait(weir_event* event, uint64_t value, int64_t timeout_ns,
                                                    bool* reached);
// `value` must be above the current one.
WEIR_API WEIR_MUST_USE weir_status* weir_event_signal(weir_event* event, uint64_t value);
WEIR_API WEIR_MUST_USE weir_status* weir_event_fail(weir_event* event, uint64_t value, weir_code code,
                                                    const char* message);

typedef struct weir_event_point {
  weir_event* event;
  uint64_t value;
} weir_event_point;

// ------------------------------------------------------------------------------------------------------------------
// Queues

typedef struct weir_queue_desc {
  size_t struct_size;
  int32_t max_in_flight;  // 0: 32
  int32_t lanes;          // threads for what does not run inline; 0: 1
  const char* label;
} weir_queue_desc;

WEIR_API WEIR_MUST_USE weir_status* weir_queue_create(weir_device* device, const weir_queue_desc* desc,
                                                      weir_queue** queue);
WEIR_API weir_queue* weir_queue_retain(weir_queue* queue);
// The last release completes what is in flight, and cancels what still waits for events.
WEIR_API void weir_queue_release(weir_queue* queue);

typedef int32_t weir_submit_answer;
enum {
  WEIR_COMPLETED = 0,    // ran on this thread; weir_command_buffer_wait gives its result at once
  WEIR_QUEUED = 1,       // will run
  WEIR_WOULD_BLOCK = 2,  // the queue is full; nothing was submitted
  WEIR_BUSY = 3,         // the command buffer is in flight already; nothing was submitted
};

typedef struct weir_submission {
  size_t struct_size;
  weir_command_buffer* commands;  // NULL: only waits and signals
  const weir_event_point* waits;  // at most 8
  int32_t wait_count;
  const weir_event_point* signals;  // at most 8
  int32_t signal_count;
  bool refuse_when_full;  // WEIR_WOULD_BLOCK instead of waiting
  bool never_inline;      // do not run on the calling thread
  // Called after the events, on the thread that executed, with no lock held. `status` is NULL for success and
  // belongs to Weir. It may submit, bind and release anything but the queue's last reference.
  void (*on_complete)(void* user, const weir_status* status);
  void* user;
} weir_submission;

// How the run went is told by the events, on_complete and weir_command_buffer_wait. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_queue_submit(weir_queue* queue, const weir_submission* submission,
                                                      weir_submit_answer* answer);
// Until nothing is in flight and every on_complete has returned.
WEIR_API void weir_queue_wait_idle(weir_queue* queue);

typedef struct weir_queue_stats {
  size_t struct_size;
  int32_t in_flight;
  int32_t most_in_flight;
  uint64_t submitted;
  uint64_t completed;  // failed ones included
  uint64_t failed;
} weir_queue_stats;

WEIR_API WEIR_MUST_USE weir_status* weir_queue_get_stats(const weir_queue* queue, weir_queue_stats* stats);

// ------------------------------------------------------------------------------------------------------------------
// Tensors

typedef int32_t weir_element_type;
enum {
  WEIR_FLOAT32 = 1,
  WEIR_FLOAT16 = 2,
  WEIR_BFLOAT16 = 3,
  WEIR_FLOAT64 = 4,
  WEIR_INT8 = 5,
  WEIR_UINT8 = 6,
  WEIR_INT16 = 7,
  WEIR_UINT16 = 8,
  WEIR_INT32 = 9,
  WEIR_UINT32 = 10,
  WEIR_INT64 = 11,
  WEIR_UINT64 = 12,
  WEIR_BOOL = 13,  // one byte, 0 or 1
  WEIR_INT4 = 14,  // two an octet, low nibble first
  WEIR_UINT4 = 15,
  WEIR_FLOAT8_E4M3 = 16,
  WEIR_FLOAT8_E5M2 = 17,
};

// "float32"; "" for a number that is none. Valid for ever.
WEIR_API const char* weir_element_type_name(weir_element_type type);
// Bits of an element in memory; 0 for a number that is none.
WEIR_API int32_t weir_element_type_bits(weir_element_type type);

#define WEIR_MAX_RANK 8

// Elements somewhere in host memory, which the struct does not own.
typedef struct weir_tensor {
  size_t struct_size;
  void* data;  // element [0,…,0]
  weir_element_type type;
  int32_t rank;
  int64_t shape[WEIR_MAX_RANK];    // the outermost axis first
  int64_t strides[WEIR_MAX_RANK];  // in elements; may be negative, and 0 where only read
} weir_tensor;

// Strides of a dense tensor, row-major, from rank and shape.
WEIR_API void weir_tensor_set_dense(weir_tensor* tensor);
WEIR_API int64_t weir_tensor_element_count(const weir_tensor* tensor);

// The extents of one input.
typedef struct weir_shape {
  const int64_t* dims;
  int32_t rank;
} weir_shape;

// ------------------------------------------------------------------------------------------------------------------
// Sessions: a program on a device, its constants resident, its kernels chosen. Immutable.

typedef struct weir_session weir_session;

// The bytes that a session and a request of it take, line by line.
typedef struct weir_ledger {
  size_t struct_size;
  int64_t constants;    // weights, and what prepared shapes have computed from them
  int64_t activations;  // the peak of what flows between steps
  int64_t workspace;    // what the arena has beyond that
  int64_t scratch;      // of all participants
  int64_t io;           // inputs and outputs
  int64_t state;        // kept from run to run
  int64_t host;         // structures
  int64_t total;
} weir_ledger;

typedef int32_t weir_notice_kind;
enum {
  WEIR_INFO = 0,  // worth knowing: an alignment, a prepared shape, a cache write
  WEIR_COST = 1,  // a copy, conversion, change of layout, fall-back …
};

// Something that differs from the straight way.
typedef struct weir_notice {
  size_t struct_size;
  weir_notice_kind kind;
  const char* what;    // "copy"
  const char* reason;  // why, for people
  int64_t bytes;       // −1: none, or they depend on the shape
} weir_notice;

typedef int32_t weir_strictness;
enum {
  WEIR_STRICT_NONE = 0,
  WEIR_STRICT_COSTS = 1,  // every notice of cost becomes an error
  WEIR_STRICT_ALL = 2,    // every notice does
};

// A dimension by the name that the model gives it. min = max makes it a number.
typedef struct weir_dim_choice {
  const char* name;
  int64_t min;
  int64_t max;
} weir_dim_choice;

// The shape of an input by its name; −1 keeps what the model says.
typedef struct weir_shape_choice {
  const char* input;
  const int64_t* dims;
  int32_t rank;
} weir_shape_choice;

typedef struct weir_session_options {
  size_t struct_size;
  const char* name;  // for messages; NULL: the program's
  // For model files. Dimensions and shapes that are chosen make the program special: a smaller or a static
  // one.
  const weir_dim_choice* dims;
  int32_t dim_count;
  int32_t shape_count;
  const weir_shape_choice* shapes;
  const char* cache_folder;  // of compiled programs; NULL: $WEIR_CACHE, else weir/ in the user's cache folder
  bool no_cache;             // compile every time
  bool verify_constants;     // recompute their hashes
  int32_t participants;      // among how many a step is split; 0: the device's
  const char* isa;           // "sse4", "avx2", "avx512": none better is used; NULL: the best there is
  weir_strictness strict;    // of the session and its requests
} weir_session_options;

// Opens a model file (compiled now, or found in the cache) or a program file (*.weir). A library without the
// compiler (libweir_runtime) opens program files only. `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_session_open(weir_runtime* runtime, weir_device* device,
                                                      const char* path, const weir_session_options* options,
                                                      weir_session** session);
WEIR_API weir_session* weir_session_retain(weir_session* session);
// Requests keep their session alive.
WEIR_API void weir_session_release(weir_session* session);

typedef struct weir_session_info {
  size_t struct_size;
  const char* name;  // these live as long as the session
  const char* path;
  const char* isa;         // the best that kernels may use
  const char* cache_note;  // why the program is not in the cache; "" where it is, or need not be
  int32_t input_count;
  int32_t output_count;
  int32_t metadata_count;
  int32_t notice_count;
  int32_t participants;
  bool is_static;  // requests are prepared from the start
  bool compiled;   // now, rather than found in the cache or read
  int64_t file_bytes;
  int64_t load_ns;  // all of opening, compiling included
  int64_t import_ns;
  int64_t compile_ns;
} weir_session_info;

// Fills in as much as `info->struct_size` has room for.
WEIR_API WEIR_MUST_USE weir_status* weir_session_get_info(const weir_session* session,
                                                          weir_session_info* info);

// An input or output as the program declares it.
typedef struct weir_port {
  size_t struct_size;
  const char* name;  // lives as long as the session
  weir_element_type type;
  int32_t rank;
  int64_t shape[WEIR_MAX_RANK];  // −1: open
} weir_port;

WEIR_API WEIR_MUST_USE weir_status* weir_session_get_input(const weir_session* session, int32_t index,
                                                           weir_port* port);
WEIR_API WEIR_MUST_USE weir_status* weir_session_get_output(const weir_session* session, int32_t index,
                                                            weir_port* port);
// Positions by name; −1 where there is none.
WEIR_API int32_t weir_session_find_input(const weir_session* session, const char* name);
WEIR_API int32_t weir_session_find_output(const weir_session* session, const char* name);

// The model's own notes. False past the last index. The strings live as long as the session.
WEIR_API bool weir_session_metadata(const weir_session* session, int32_t index, const char** key,
                                    const char** value);
// NULL where there is none of that key.
WEIR_API const char* weir_session_find_metadata(const weir_session* session, const char* key);

// False past the last index. The strings live as long as the session.
WEIR_API bool weir_session_notice(const weir_session* session, int32_t index, weir_notice* notice);

// What the session and one request take for inputs of these shapes, one an input in the session's order;
// nothing is allocated for it. A static program needs none (NULL, 0).
WEIR_API WEIR_MUST_USE weir_status* weir_session_plan(const weir_session* session, const weir_shape* shapes,
                                                      int32_t count, weir_ledger* ledger);

// The same and more as JSON: planned ledger, tensors with their places, steps with implementations and
// refusals, notices. Without shapes a dynamic program has neither ledger nor tensors in it. The caller frees
// the text with weir_text_free.
WEIR_API WEIR_MUST_USE weir_status* weir_session_report(const weir_session* session, const weir_shape* shapes,
                                                        int32_t count, char** json);
WEIR_API void weir_text_free(char* text);

// ------------------------------------------------------------------------------------------------------------------
// Requests: inputs, outputs and memory of one run at a time, and the work recorded for it.
//
// A request is used by one thread at a time; weir_request_wait and weir_request_cancel may be called from any
// beside it. Between prepare and the end of a run nothing is allocated.

typedef struct weir_request weir_request;

typedef int32_t weir_copy_policy;
enum {
  WEIR_COPY_ALLOW = 0,
  WEIR_COPY_FORBID = 1,  // a copy is an error that names its reasons; a strict session means this everywhere
};

typedef struct weir_request_options {
  size_t struct_size;
  int64_t shape_cache_bytes;  // of recordings for shapes beyond the current one; 0: 4 MiB
  bool profile;               // keep timestamps of every step
  bool lock_pages;            // keep memory resident, or fail
} weir_request_options;

// A request of a static program is prepared. `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_request_create(weir_session* session,
                                                        const weir_request_options* options,
                                                        weir_request** request);
WEIR_API weir_request* weir_request_retain(weir_request* request);
// The last release cancels a run under way and waits for its end, so that bound memory is not touched any
// more when it returns; only on a thread that calls completion handlers it does not wait.
WEIR_API void weir_request_release(weir_request* request);

typedef int32_t weir_request_state;
enum {
  WEIR_REQUEST_UNPREPARED = 0,
  WEIR_REQUEST_IDLE = 1,
  WEIR_REQUEST_QUEUED = 2,
  WEIR_REQUEST_RUNNING = 3,
  WEIR_REQUEST_COMPLETED = 4,  // these three: how the last run since prepare went
  WEIR_REQUEST_FAILED = 5,
  WEIR_REQUEST_CANCELLED = 6,
};
WEIR_API weir_request_state weir_request_get_state(const weir_request* request);

// Makes the request ready for inputs of these shapes, one an input in the session's order. A shape that was
// prepared before is found again. Contents of inputs and outputs are undefined afterwards. An error while a
// run is under way or a lease is held ("busy"), and where a tensor is bound that does not fit.
WEIR_API WEIR_MUST_USE weir_status* weir_request_prepare(weir_request* request, const weir_shape* shapes,
                                                         int32_t count);

typedef struct weir_prepare_report {
  size_t struct_size;
  bool cached;             // the shape was prepared before, and the rest is 0
  int64_t expressions_ns;  // dimensions, constraints, concrete operators
  int64_t placement_ns;
  int64_t recording_ns;
  int64_t growth_ns;     // memory that had to grow
  int64_t constants_ns;  // what depends on the shape alone
} weir_prepare_report;

// Of the last prepare.
WEIR_API WEIR_MUST_USE weir_status* weir_request_get_prepare_report(const weir_request* request,
                                                                    weir_prepare_report* report);

// The request's own input, to write into: `tensor` is filled in, its strides row-major. Valid until the next
// prepare. An error while a run is under way, and while other memory is bound in its place.
WEIR_API WEIR_MUST_USE weir_status* weir_request_input(weir_request* request, int32_t index,
                                                       weir_tensor* tensor);
// The output, to read from, valid until the next run, prepare or bind; undefined before the first run. After
// a run that failed or was cancelled: its error.
WEIR_API WEIR_MUST_USE weir_status* weir_request_output(weir_request* request, int32_t index,
                                                        weir_tensor* tensor);

// The same, to read in peace: while any lease is held, the request answers `busy` to run, start and prepare.
// A lease outlives its request, keeping the memory. It may be released on any thread. Taking one allocates
// nothing.
typedef struct weir_lease weir_lease;
WEIR_API WEIR_MUST_USE weir_status* weir_request_lease_output(weir_request* request, int32_t index,
                                                              weir_lease** lease);
WEIR_API WEIR_MUST_USE weir_status* weir_lease_tensor(const weir_lease* lease, weir_tensor* tensor);
WEIR_API void weir_lease_release(weir_lease* lease);

typedef int32_t weir_binding_answer;
enum {
  WEIR_BINDING_IN_PLACE = 0,
  WEIR_BINDING_COPIED = 1,
  WEIR_BINDING_REFUSED = 2,  // no copy would help
};

typedef uint32_t weir_copy_reasons;  // bits
enum {
  WEIR_REASON_ELEMENT_TYPE = 1,
  WEIR_REASON_SHAPE = 2,
  WEIR_REASON_STRIDES = 4,
  WEIR_REASON_ALIGNMENT = 8,
  WEIR_REASON_MEMORY_NOT_SHARED = 16,  // the device does not see the host's memory
  WEIR_REASON_LENT = 32,               // handed over for the length of a call only
};

// What becomes of a tensor of the caller's, and all the reasons why it is not used in place.
typedef struct weir_binding {
  size_t struct_size;
  weir_binding_answer answer;
  weir_copy_reasons reasons;
  int64_t copied_bytes;  // each time
} weir_binding;

// "strides, alignment": as many as there is room for, with a zero at the end, in `text`; returns the length
// of the whole.
WEIR_API size_t weir_copy_reasons_text(weir_copy_reasons reasons, char* text, size_t room);

// What would become of a tensor here; nothing changes.
WEIR_API WEIR_MUST_USE weir_status* weir_request_input_verdict(const weir_request* request, int32_t index,
                                                               const weir_tensor* tensor,
                                                               weir_binding* binding);
WEIR_API WEIR_MUST_USE weir_status* weir_request_output_verdict(const weir_request* request, int32_t index,
                                                                const weir_tensor* tensor,
                                                                weir_binding* binding);

// Hands over an array: its elements are copied into the request's own input, whatever their strides, and the
// caller may do with it as he likes. Ends a binding. Element type and shape are those that the input takes.
// `binding` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_request_set_input(weir_request* request, int32_t index,
                                                           const weir_tensor* tensor, weir_copy_policy policy,
                                                           weir_binding* binding);

// Puts the caller's memory in the place of the request's own until other memory is bound; NULL: the request's
// own again. It is used in place where the device can. Else an input is copied whenever a run starts, and an
// output when a run has ended: before weir_request_run or weir_request_wait returns and before the completion
// handler is called, but perhaps after events. The memory lives until it is replaced or the request is
// released. Outputs overlap nothing else that is bound. `binding` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_request_bind_input(weir_request* request, int32_t index,
                                                            const weir_tensor* tensor,
                                                            weir_copy_policy policy, weir_binding* binding);
WEIR_API WEIR_MUST_USE weir_status* weir_request_bind_output(weir_request* request, int32_t index,
                                                             const weir_tensor* tensor,
                                                             weir_copy_policy policy, weir_binding* binding);
// A buffer of the session's device, dense and row-major from `offset` on: always in place. NULL: the
// request's own again.
WEIR_API WEIR_MUST_USE weir_status* weir_request_bind_input_buffer(weir_request* request, int32_t index,
                                                                   weir_buffer* buffer, int64_t offset);
WEIR_API WEIR_MUST_USE weir_status* weir_request_bind_output_buffer(weir_request* request, int32_t index,
                                                                    weir_buffer* buffer, int64_t offset);

// Runs and waits, on the calling thread where the device can. The error says what went wrong and in which
// step. WEIR_FAILED_PRECONDITION ("busy") while a run is under way or a lease is held.
WEIR_API WEIR_MUST_USE weir_status* weir_request_run(weir_request* request);

typedef struct weir_start_desc {
  size_t struct_size;
  const weir_event_point* waits;  // at most 8; copied inputs are read without waiting for them
  int32_t wait_count;
  int32_t signal_count;
  const weir_event_point* signals;  // at most 8
  // Called when the state is set, on a thread named weir-queue, with no lock held. `status` is NULL for
  // success and belongs to Weir. It may start or release any request.
  void (*on_complete)(void* user, const weir_status* status);
  void* user;
} weir_start_desc;

// Hands the work to the session's queue: WEIR_QUEUED, or, with nothing done, WEIR_WOULD_BLOCK where the queue
// is full and WEIR_BUSY while a run is under way or a lease is held. `desc` may be NULL. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_request_start(weir_request* request, const weir_start_desc* desc,
                                                       weir_submit_answer* answer);
// Until no run is under way or the timeout has passed: `*done` says which. The run's error where it failed.
// Negative: for ever; 0 polls. `done` may be NULL. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_request_wait(weir_request* request, int64_t timeout_ns, bool* done);
// Ends a run that waits for events, and stops one under way before its next step; a run that is complete
// stays so. Without one it does nothing.
WEIR_API void weir_request_cancel(weir_request* request);

// The lines of request and session as planned, and as counted by what allocates. Memory keeps the size of the
// largest shape that was prepared.
WEIR_API WEIR_MUST_USE weir_status* weir_request_planned(const weir_request* request, weir_ledger* ledger);
WEIR_API WEIR_MUST_USE weir_status* weir_request_counted(const weir_request* request, weir_ledger* ledger);

// Copies of inputs and outputs, as they last were. False past the last index. The strings are valid until the
// next call with this request.
WEIR_API bool weir_request_notice(weir_request* request, int32_t index, weir_notice* notice);

// Of the last run, a line a step in the order recorded; valid until the next. NULL and 0 without `profile`.
WEIR_API const weir_command_profile* weir_request_profile(const weir_request* request, int32_t* count);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_WEIR_H_
