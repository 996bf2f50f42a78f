// SPDX-License-Identifier: Apache-2.0
//
// What the scenarios of the slice are made of. Bodies allocate nothing themselves, so everything here that
// they need is made before: names of files, inputs, room for answers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/faults/slice.h"

namespace weir::faults {

inline constexpr int64_t kFeatures = 5;
inline constexpr int64_t kPixels = 3 * 6 * 6;
inline constexpr int64_t kMostRows = 4;

struct Files {
  std::string folder, model, external, program, cache;
  std::string state_model, custom_model, clip_model, portable_program, swappable_program, trace;
};
Files& files();
extern std::array<float, kPixels * kMostRows> pixels;

// Owners that give back what a body has taken, in reverse order.
template <typename T, void (*release)(T*)>
struct Owner {
  T* handle = nullptr;
  Owner() = default;
  Owner(const Owner&) = delete;
  ~Owner() {
    if (handle != nullptr) {
      release(handle);
    }
  }
  operator T*() const { return handle; }
  T** out() { return &handle; }
};
using Runtime = Owner<weir_runtime, weir_runtime_release>;
using Device = Owner<weir_device, weir_device_release>;
using Session = Owner<weir_session, weir_session_release>;
using Request = Owner<weir_request, weir_request_release>;
using Lease = Owner<weir_lease, weir_lease_release>;
using Event = Owner<weir_event, weir_event_release>;
using Queue = Owner<weir_queue, weir_queue_release>;
using Buffer = Owner<weir_buffer, weir_buffer_release>;
using Heap = Owner<weir_heap, weir_heap_release>;
using Library = Owner<weir_library, weir_library_release>;
using Kernel = Owner<weir_kernel, weir_kernel_release>;
using Commands = Owner<weir_command_buffer, weir_command_buffer_release>;
using Trace = Owner<weir_trace, weir_trace_release>;

// The first call that fails ends the body; its owners give back what it has taken.
#define STEP(call)                    \
  if (!outcome.take(#call, (call))) { \
    return;                           \
  }

#define GO(...)        \
  __VA_ARGS__;         \
  if (!outcome.ok()) { \
    return;            \
  }

// Remembers the device's peak when it ends.
struct Machine {
  Runtime runtime;
  Device device;
  ~Machine();
};

// With the memory limit of the slice.
void open_machine(Machine& machine, Outcome& outcome, bool validation = false,
                  bool simulate_discrete = false);
// `options` without a cache folder and a name: they are filled in. Takes down whether a notice says that the
// program is not cached.
void open_session(const Machine& machine, const char* path, Session& session, Outcome& outcome,
                  weir_session_options options = WEIR_INIT(weir_session_options));
weir_tensor tensor_of(void* data, std::initializer_list<int64_t> shape);

// What answers are compared with: rows of kFeatures numbers.
enum AnswerSet { kSlice, kSwapped, kFirstRun, kSecondRun, kProbe, kClip, kAnswerSets };
// The first time they become the answer; from then on they have to have its bits.
void compare(const float* got, int64_t rows, AnswerSet set, Outcome& outcome);
const float* answer_of(int64_t rows, AnswerSet set);

void prepare_shape(weir_request* request, std::initializer_list<int64_t> dims, Outcome& outcome);
// A prepared request, on the first `elements` of the pixels; `rows` rows are the answer.
void run_and_compare(weir_request* request, int64_t elements, int64_t rows, AnswerSet set, Outcome& outcome);
// Prepares `rows` images and runs.
void run_once(weir_request* request, int64_t rows, Outcome& outcome, AnswerSet set = kSlice);
// The same through the queue, with an event and a handler, of a request that is prepared.
void start_and_wait(weir_device* device, weir_request* request, int64_t rows, Outcome& outcome);

// y[n, 5] of x[n, 3, 6, 6].
std::string model_bytes(bool external);
void nothing();
void nothing_more(const Outcome& outcome);
void empty_cache();

// What scenarios keep from one run of their body to the next.
void drop_kept();
void drop_kept_models();

// Other scenarios. Their models are written outside of any window.
std::span<const Scenario> model_scenarios();
void make_more_models();

}  // namespace weir::faults
