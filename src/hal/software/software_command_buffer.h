// SPDX-License-Identifier: Apache-2.0
//
// The states of a command buffer and what a SoftwareQueue needs of one. A backend says how the recording is
// sealed and how it runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "hal/command_buffer.h"
#include "hal/software/host_memory.h"
#include "hal/software/recorder.h"
#include "hal/software/software_device.h"

namespace weir {

// Whether `buffer` may be bound at `offset` where `bytes` are needed: state, device, alignment, range.
Result<void> check_binding(const CommandBuffer& commands, std::string_view what, const Buffer& buffer,
                           int64_t offset, int64_t bytes);
// What bind_scratch() takes: kernels find their scratch at a multiple of 64 bytes.
Result<void> check_scratch_binding(const CommandBuffer& commands, const Buffer& buffer, int64_t offset);
// Whether `storage` holds a sealed form of `bytes` bytes.
Result<void> check_storage(const CommandBuffer& commands, std::span<const std::byte> storage, int64_t bytes);

class SoftwareCommandBuffer : public CommandBuffer {
 public:
  Device& device() const final { return *device_; }
  CommandBufferState state() const final { return state_.load(std::memory_order_acquire); }
  Encoder& encoder() final;
  CommandBufferCounts counts() const final {
    return state() == CommandBufferState::kRecording ? recorder_->counts() : counts_;
  }
  Result<void> seal(std::span<std::byte> storage) final;
  int64_t host_bytes() const final { return host_bytes_; }
  int64_t scratch_bytes() const final { return scratch_bytes_ * participants(); }
  Result<void> bind_scratch(Buffer& buffer, int64_t offset) final;
  Result<void> bind_parameters(Buffer& buffer, int64_t offset) final;
  Result<void> bind_slot(int32_t index, Buffer& buffer, int64_t offset) final;
  Result<void> release_bindings() final;
  void cancel() final;
  Result<void> wait(std::chrono::nanoseconds timeout) final;
  uint64_t ended() const final { return ended_.load(std::memory_order_acquire); }
  const StatusRecord& status_record() const final { return record_; }

  // For the queue: begin → run → finish, begin → finish, or begin → abandon, which leaves the last result as
  // it was. begin is false when a submission is in flight.
  Result<bool> begin();
  Result<void> run();
  void finish(Result<void> result);
  void abandon();

 protected:
  SoftwareCommandBuffer(SoftwareDevice& device, const CommandBufferDescriptor& descriptor,
                        int32_t participants);

  // Builds the sealed form from the recording in `storage`.
  virtual Result<void> seal_commands(const Recorder& recording, std::span<std::byte> storage) = 0;
  // `bytes` is where the slot now points, already checked.
  virtual void slot_bound(int32_t slot, std::byte* bytes) = 0;
  virtual void scratch_bound(std::byte* bytes) = 0;
  virtual void parameters_bound(std::byte* bytes) = 0;
  // Runs everything; the faults of kernels go to `record`.
  virtual Result<void> execute(StatusRecord& record) = 0;

  SoftwareDevice& software_device() const { return *device_; }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  int64_t scratch_stride() const { return scratch_bytes_; }

 private:
  struct Slot {
    Ref<Buffer> buffer;
    int64_t bytes = -1;  // that it must have behind the offset; −1: no command uses it
    bool written = false;
  };

  // How many bindings a submission needs.
  int32_t needed_bindings() const;

  Ref<SoftwareDevice> device_;
  // Leaves and reaches kIdle under mutex_, so that a cancel is of the submission that it sees in flight.
  std::atomic<CommandBufferState> state_{CommandBufferState::kRecording};
  std::atomic<bool> cancelled_{false};  // written under mutex_
  std::atomic<uint64_t> ended_{0};      // written under mutex_
  std::unique_ptr<Recorder> recorder_;  // until sealed
  CommandBufferCounts counts_;          // once sealed
  int64_t parameter_bytes_ = 0;
  int64_t host_bytes_ = 0;
  int64_t scratch_bytes_ = 0;  // of one participant
  MemoryCharge charge_;
  HostMemory own_storage_;
  std::vector<Slot> slots_;
  int32_t unbound_ = 0;  // slots that are used and not bound, and scratch and parameters
  Ref<Buffer> scratch_;
  Ref<Buffer> parameters_;
  StatusRecord record_;

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::optional<Status> error_;  // of the last submission; guarded by mutex_
};

}  // namespace weir
