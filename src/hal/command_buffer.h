// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer: commands recorded once and submitted any number of times, one submission at a time.
//
//   WEIR_ASSIGN(Ref<CommandBuffer> commands, device.create_command_buffer({.slots = 2, .label = "main"}));
//   record(commands->encoder());
//   WEIR_TRY(commands->seal());
//   WEIR_TRY(commands->bind_scratch(*scratch, 0));
//   WEIR_TRY(commands->bind_slot(0, *input, 0));
//   WEIR_TRY(commands->bind_slot(1, *output, 0));
//   WEIR_ASSIGN(SubmitAnswer answer, queue.submit({.command_buffer = commands.get()}));
//   WEIR_TRY(commands->wait());                     // the error of the run, if any
//
// recording → (seal) idle → pending → running → idle. It keeps alive every buffer and kernel that it uses.
//
// Threads: recording and binding by one thread at a time, and binding answers `busy` while a submission is in
// flight; cancel, state and wait from any thread. Binding, submitting and running allocate nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/status.h"
#include "hal/buffer.h"
#include "hal/cpu_kernel.h"
#include "hal/encoder.h"
#include "hal/event.h"

namespace weir {

class Device;

struct CommandBufferDescriptor {
  int32_t slots = 0;            // how many, numbered from 0
  int32_t participants = 0;     // among how many the work is split; 0: DeviceInfo::participants
  int64_t parameter_bytes = 0;  // size of the parameter block; 0: none
  bool profile = false;         // keep timestamps of every command
  std::string_view label;
};

// What was recorded: the size of a sealed command buffer is a function of these alone
// (Device::command_buffer_bytes).
struct CommandBufferCounts {
  int64_t commands = 0;        // dispatches, fills, copies and host calls
  int64_t blits = 0;           // of the commands, those that are no dispatches
  int64_t barriers = 0;        // that separate commands
  int64_t bindings = 0;        // of all dispatches, null included, and 1 a fill, 2 a copy
  int64_t slot_uses = 0;       // bindings that refer to a slot
  int64_t constant_bytes = 0;  // of all dispatches, each rounded up to 64
  int64_t buffers = 0;         // different ones
  int64_t kernels = 0;         // different ones
  int64_t slots = 0;
  int64_t participants = 1;
  bool profile = false;
};

enum class CommandBufferState : uint8_t { kRecording, kIdle, kPending, kRunning };
std::string_view to_string(CommandBufferState state);

// When a command ran, in nanoseconds of the steady clock, and for how long its participants were busy in all.
struct CommandProfile {
  int32_t step = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
};

// The same of one participant that took part in a command. `thread` is the system's handle of the thread
// (pthread_t).
struct ParticipantProfile {
  int32_t step = 0;
  int32_t participant = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t busy_ns = 0;
  uint64_t thread = 0;
};

class CommandBuffer : public RefCounted {
 public:
  const std::string& label() const { return label_; }
  virtual Device& device() const = 0;
  virtual CommandBufferState state() const = 0;
  int32_t participants() const { return participants_; }

  // Valid until seal.
  virtual Encoder& encoder() = 0;
  // So far.
  virtual CommandBufferCounts counts() const = 0;
  // Ends recording; returns the first mistake made in it, and then the command buffer is of no further use.
  // The sealed form lies in `storage` when that is given (64-byte aligned,
  // device.command_buffer_bytes(counts()) bytes, outlives the command buffer), else in memory of its own,
  // charged to the account as host memory.
  virtual Result<void> seal(std::span<std::byte> storage = {}) = 0;
  // Bytes of the sealed form.
  virtual int64_t host_bytes() const = 0;
  // Whole block for all participants; known from seal on. Where it is not 0, bind_scratch comes before the
  // first submission.
  virtual int64_t scratch_bytes() const = 0;
  // What validation notes about the recording, for example a superfluous barrier; complete from seal on.
  const std::vector<std::string>& notes() const { return notes_; }

  // Bindings last until replaced. kFailedPrecondition ("busy") while a submission is in flight; kOutOfRange
  // where a recorded range does not fit into the buffer.
  virtual Result<void> bind_scratch(Buffer& buffer, int64_t offset) = 0;
  virtual Result<void> bind_parameters(Buffer& buffer, int64_t offset) = 0;
  virtual Result<void> bind_slot(int32_t slot, Buffer& buffer, int64_t offset) = 0;
  // Lets go of every buffer that is bound: scratch, parameters and slots have to be bound anew before the
  // next submission. What commands name themselves stays.
  virtual Result<void> release_bindings() = 0;

  // Stops the submission in flight before its next command, or piece of one; its events fail with kCancelled.
  // One of which nothing is left has completed all the same. Without one in flight it does nothing.
  virtual void cancel() = 0;
  // Until no submission is in flight; then the result of the last one, ok when there was none.
  // kDeadlineExceeded after `timeout`.
  virtual Result<void> wait(std::chrono::nanoseconds timeout = kForever) = 0;
  // How many submissions have ended; it has grown before the state is idle again.
  virtual uint64_t ended() const = 0;
  // Of the last submission, readable while none is in flight. state 0: no fault.
  virtual const StatusRecord& status_record() const = 0;
  // Of the last submission, a line a command in the order recorded; empty unless recorded with `profile`.
  virtual std::span<const CommandProfile> profile() const = 0;
  // The same, `participants` lines a command; those that took no part have an end of 0. Empty where the
  // device does not tell participants apart.
  virtual std::span<const ParticipantProfile> participant_profile() const { return {}; }

 protected:
  CommandBuffer(std::string_view label, int32_t participants) : participants_(participants), label_(label) {}

  std::vector<std::string> notes_;

 private:
  int32_t participants_;
  std::string label_;
};

}  // namespace weir
