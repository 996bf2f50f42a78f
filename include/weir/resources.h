// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: the resource model. Devices, buffers and heaps, kernels, command buffers, events, queues.
#ifndef WEIR_RESOURCES_H_
#define WEIR_RESOURCES_H_

#include "weir/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------------------------------
// Devices

typedef struct weir_device weir_device;

typedef struct weir_device_options {
  size_t struct_size;
  int32_t threads;         // participants of a command buffer; 0: the runtime's threads
  int64_t memory_limit;    // bytes; 0: the environment's WEIR_MEMORY_LIMIT, else memory_bytes
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
  int64_t memory_bytes;  // of the machine, or less where the control group has a limit
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
// Calls `visit` for every holder, the largest first. `label` is valid during the call. Where there is no
// memory for the list it is called once, with all bytes.
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
  // WEIR_WOULD_BLOCK instead of waiting; so also in a completion handler that the same queue's thread calls.
  bool refuse_when_full;
  bool never_inline;  // do not run on the calling thread
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

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_RESOURCES_H_
