// SPDX-License-Identifier: Apache-2.0
//
// Queue: takes sealed command buffers and executes each when the events that it waits for are reached. At
// most `max_in_flight` are in flight; then submit waits or answers kWouldBlock, as asked.
//
//   WEIR_ASSIGN(Ref<Queue> queue, device.create_queue({.label = "main"}));
//   const EventPoint done[] = {{event.get(), frame}};
//   WEIR_ASSIGN(SubmitAnswer answer, queue->submit({.command_buffer = commands.get(), .signals = done}));
//
// Submissions are ordered by events only, not by the order of submitting. Where the device can and
// `may_run_inline` is set, a command buffer whose waits are met runs on the calling thread, before submit
// returns.
//
// Thread-safe. Submitting allocates nothing. A queue that is destroyed completes what is in flight first.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"
#include "hal/command_buffer.h"
#include "hal/event.h"

namespace weir {

struct QueueDescriptor {
  int32_t max_in_flight = 32;
  // Threads that execute what does not run inline: how many command buffers run at once beside inline ones.
  int32_t lanes = 1;
  std::string_view label;
};

// A completion handler on a thread of the queue's own is never made to wait, as that thread may be the one
// that would make space.
enum class OnFull : uint8_t { kWait, kWouldBlock };

// Told when a submission has completed, after its events: on the thread that executed it, no lock held.
// `status` is null for success and valid during the call. It may submit, bind, and release anything but the
// queue's last reference.
struct CompletionHandler {
  void (*function)(void* user, const Status* status) = nullptr;
  void* user = nullptr;
  // For interfaces in other languages: called in place of `function`, and casts `foreign` back to what it is.
  void (*adapter)(const CompletionHandler& handler, const Status* status) = nullptr;
  void (*foreign)() = nullptr;

  explicit operator bool() const { return function != nullptr || adapter != nullptr; }
  void call(const Status* status) const;
};

// Whether a completion handler of any queue is being called on this thread: then what waits for ever may wait
// for what needs this thread.
bool in_completion_handler();

inline constexpr int kMaxEventsPerSubmission = 8;  // waits, and as many signals

struct SubmitDescriptor {
  CommandBuffer* command_buffer = nullptr;  // null: only waits and signals
  std::span<const EventPoint> waits = {};
  std::span<const EventPoint> signals = {};
  OnFull on_full = OnFull::kWait;
  bool may_run_inline = true;
  CompletionHandler on_complete = {};
};

enum class SubmitAnswer : uint8_t {
  kCompleted,   // ran inline; CommandBuffer::wait gives its result without waiting
  kQueued,      // will run
  kWouldBlock,  // the queue is full; nothing was submitted
  kBusy,        // the command buffer is in flight already; nothing was submitted
};

struct QueueStats {
  int32_t in_flight = 0;
  int32_t most_in_flight = 0;
  uint64_t submitted = 0;
  uint64_t completed = 0;  // failed ones included
  uint64_t failed = 0;
};

class Queue : public RefCounted {
 public:
  const std::string& label() const { return label_; }
  virtual Device& device() const = 0;

  // An error when the command buffer is not sealed, of another device, or lacks a binding, or when there are
  // too many events. How the run itself went is told by the events, on_complete and CommandBuffer::wait.
  virtual Result<SubmitAnswer> submit(const SubmitDescriptor& submission) = 0;
  // Ends a submission of this command buffer that still waits for its events: it fails with kCancelled. What
  // runs already goes on (CommandBuffer::cancel stops that).
  virtual void withdraw(CommandBuffer& command_buffer) = 0;
  // Whether the calling thread is one of the queue's own, which must not drop the last reference to it.
  virtual bool is_own_thread() const = 0;
  // Until nothing is in flight.
  virtual void wait_idle() = 0;
  virtual QueueStats stats() const = 0;

 protected:
  explicit Queue(std::string_view label) : label_(label) {}

 private:
  std::string label_;
};

}  // namespace weir
