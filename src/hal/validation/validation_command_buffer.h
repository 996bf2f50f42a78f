// SPDX-License-Identifier: Apache-2.0
//
// A checked command buffer: recorded into a list, whose hazards are looked for when it is sealed; then
// replayed into one of the device below, one command after another, with a look before and after each where
// the device allows it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "hal/command_buffer.h"
#include "hal/software/host_memory.h"
#include "hal/software/recorder.h"
#include "hal/validation/hazards.h"
#include "hal/validation/validation_device_impl.h"
#include "hal/validation/validation_memory.h"

namespace weir {

class ValidationCommandBuffer final : public CommandBuffer {
 public:
  ValidationCommandBuffer(Ref<ValidationDevice> device, Ref<CommandBuffer> inner,
                          const CommandBufferDescriptor& descriptor);
  ~ValidationCommandBuffer() override;

  Device& device() const override { return *device_; }
  CommandBufferState state() const override;
  Encoder& encoder() override { return recorder_; }
  CommandBufferCounts counts() const override { return recorder_.counts(); }
  Result<void> seal(std::span<std::byte> storage) override;
  int64_t host_bytes() const override { return host_bytes_; }
  int64_t scratch_bytes() const override { return recorder_.scratch_bytes() * participants(); }
  Result<void> bind_scratch(Buffer& buffer, int64_t offset) override;
  Result<void> bind_parameters(Buffer& buffer, int64_t offset) override;
  Result<void> bind_slot(int32_t index, Buffer& buffer, int64_t offset) override;
  Result<void> release_bindings() override;
  void cancel() override;
  Result<void> wait(std::chrono::nanoseconds timeout) override;
  uint64_t ended() const override { return ended_.load(std::memory_order_acquire); }
  const StatusRecord& status_record() const override { return inner_->status_record(); }
  std::span<const CommandProfile> profile() const override;

  // For the queue: begin → finish. begin is false when a submission is in flight.
  CommandBuffer& inner() const { return *inner_; }
  bool begin();
  // Hazards among what is bound to slots.
  Result<void> check_bound() const;
  // What was found while it ran; taken once.
  std::optional<Status> take_violation();
  // `result` null: nothing ran, and the last result stays.
  void finish(const Result<void>* result);

 private:
  struct Slot {
    Ref<CheckedBuffer> buffer;
    int64_t offset = 0;
    BufferUsage usage = BufferUsage::kNone;  // that commands need
  };
  // A binding with its buffer known; offsets are of the storage.
  struct Bytes {
    CheckedBuffer* buffer = nullptr;
    int64_t begin = 0;
    int64_t end = 0;
    const RecordedBinding* binding = nullptr;
  };
  struct Watch {
    ValidationCommandBuffer* self = nullptr;
    size_t command = 0;
  };
  // Bytes beside what a command may write.
  struct Window {
    CheckedBuffer* buffer = nullptr;
    int64_t begin = 0;  // of the inner buffer
    int64_t end = 0;
    size_t kept = 0;  // where in `kept_` they were copied to
  };

  std::span<const RecordedBinding> bindings_of(const RecordedCommand& command) const;
  std::optional<Bytes> resolve(const RecordedBinding& binding) const;
  BufferRange inner_range(const RecordedBinding& binding) const;
  std::vector<Touch> touches(bool bound) const;
  Result<void> check_hazards(bool bound) const;
  Result<void> check_usage(const RecordedCommand& command, size_t index) const;
  Result<void> replay();
  void note_barriers();
  // Called on threads that execute. What they find, and that there was no memory to look, is `violation_`.
  void before(size_t index);
  void after(size_t index);
  template <typename Look>
  void guarded(const Look& look);
  void look_before(size_t index);
  void look_after(size_t index);
  void check_written(const RecordedCommand& command);
  void poison(const RecordedCommand& command, std::span<const Bytes> bytes);
  void keep_windows(std::span<const Bytes> bytes);
  Result<void> make_checked_scratch();
  void check_scratch(const RecordedCommand& command);
  std::string describe(const RecordedCommand& command) const;
  template <typename... Args>
  void violate(const RecordedCommand& command, StatusCode code, fmt::format_string<Args...> format,
               Args&&... args);

  Ref<ValidationDevice> device_;
  HostMemory inner_storage_;  // outlives `inner_`, whose sealed form lies in it
  Ref<CommandBuffer> inner_;
  Recorder recorder_;
  std::vector<Slot> slots_;
  std::vector<Watch> watches_;
  std::vector<int32_t> inner_command_;  // position of each command in the inner recording
  int64_t parameter_bytes_;
  int64_t host_bytes_ = 0;
  MemoryCharge charge_;
  // While commands are watched they get this scratch instead of the one that is bound: each participant's
  // with a band behind it, one before the first.
  Ref<Buffer> checked_scratch_;
  mutable std::vector<CommandProfile> profile_;

  // Used by the commands, which run one after another.
  std::vector<Window> windows_;
  std::vector<std::byte> kept_;
  std::optional<Status> violation_;

  std::atomic<bool> busy_{false};         // written under mutex_
  std::atomic<bool> cancelled_{false};    // since begin; written under mutex_
  std::atomic<uint64_t> ended_{0};        // written under mutex_
  std::atomic<uint64_t> inner_ended_{0};  // when the submission in flight began
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::optional<Status> error_;  // of the last submission; guarded by mutex_
};

}  // namespace weir
