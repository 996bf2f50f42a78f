// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: requests. Inputs, outputs and memory of one run at a time, and the work recorded for it.
//
// A request is used by one thread at a time; weir_request_get_state, weir_request_wait and
// weir_request_cancel may be called from any beside it. Between prepare and the end of a run nothing is
// allocated.
#ifndef WEIR_REQUEST_H_
#define WEIR_REQUEST_H_

#include "weir/session.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  weir_trace* trace;          // of preparing and running, with timestamps; NULL: none
} weir_request_options;

// A request of a static program is prepared. `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_request_create(weir_session* session,
                                                        const weir_request_options* options,
                                                        weir_request** request);
WEIR_API weir_request* weir_request_retain(weir_request* request);
// The last release cancels a run under way and waits for its end and its handler's, so that neither bound
// memory nor what the handler uses is touched any more when it returns. In a completion handler it does not
// wait: the run ends behind the scenes, and both live until the run's own handler has been called.
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
// prepared before is found again. Contents of inputs and outputs are undefined afterwards; a state is zero
// where its extents have changed, and what it was where they have not. An error while a
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
// of the whole: 0 where there is no memory for it.
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
  // success and belongs to Weir. It may start, cancel or release any request, this one included.
  void (*on_complete)(void* user, const weir_status* status);
  void* user;
} weir_start_desc;

// Hands the work to the session's queue: WEIR_QUEUED, or, with nothing done, WEIR_WOULD_BLOCK where the queue
// is full and WEIR_BUSY while a run is under way or a lease is held. `desc` may be NULL. Allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_request_start(weir_request* request, const weir_start_desc* desc,
                                                       weir_submit_answer* answer);
// Until no run is under way or the timeout has passed: `*done` says which. The run's error where it failed.
// Negative: for ever; 0 polls. `done` may be NULL. Allocates nothing. In a completion handler, waiting for
// ever for a run of the same session is an error: it needs the handler's thread.
WEIR_API WEIR_MUST_USE weir_status* weir_request_wait(weir_request* request, int64_t timeout_ns, bool* done);
// Ends a run that waits for events, and stops one under way before its next command; a run that is complete
// stays so. Without one it does nothing, and neither does a second time.
WEIR_API void weir_request_cancel(weir_request* request);

// Makes every state of the request zero. An error before a shape is prepared, and while a run is under way
// ("busy"), as are the next two. Allocates nothing where host and device share memory.
WEIR_API WEIR_MUST_USE weir_status* weir_request_reset_state(weir_request* request);
// Writes the states of the prepared shape to `data`, which has room for `room` bytes. `*bytes` becomes what
// it takes; with `data` NULL that is all that happens.
WEIR_API WEIR_MUST_USE weir_status* weir_request_save_state(weir_request* request, void* data, int64_t room,
                                                            int64_t* bytes);
// Takes back what weir_request_save_state wrote, all `bytes` of it, in this request or another of the same
// states, types and extents; anything else is an error, and the state stays as it was.
WEIR_API WEIR_MUST_USE weir_status* weir_request_restore_state(weir_request* request, const void* data,
                                                               int64_t bytes);

// The lines of request and session as planned, and as counted by what allocates. Memory keeps the size of the
// largest shape that was prepared; a prepare that found too little gives back what had grown.
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

#endif  // WEIR_REQUEST_H_
