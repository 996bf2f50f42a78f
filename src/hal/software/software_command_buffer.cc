// SPDX-License-Identifier: Apache-2.0
#include "hal/software/software_command_buffer.h"

#include <algorithm>

#include "base/timed_wait.h"

namespace weir {
namespace {

// A status that a kernel reported in words; a code that is none is an internal error.
Status reported(const StatusRecord& record) {
  const int64_t given = record.operands[0];
  const bool known =
      given > static_cast<int64_t>(StatusCode::kOk) && given <= static_cast<int64_t>(StatusCode::kDataLoss);
  return {known ? static_cast<StatusCode>(given) : StatusCode::kInternal,
          fmt::format("Step ({}) failed: {}", record.step, record.text)};
}

Status fault(const StatusRecord& record, const std::string& label) {
  Status status =
      record.code == static_cast<int32_t>(StatusRecord::Code::kReported)
          ? reported(record)
          : Status(StatusCode::kOutOfRange,
                   fmt::format("Step ({}) met an index ({}) in its data, and the axis has an extent of ({}).",
                               record.step, record.operands[0], record.operands[1]));
  status.add_context(fmt::format("while running command buffer '{}'", label));
  return status;
}

}  // namespace

Result<void> check_storage(const CommandBuffer& commands, std::span<const std::byte> storage, int64_t bytes) {
  if (static_cast<int64_t>(storage.size()) < bytes || reinterpret_cast<uintptr_t>(storage.data()) % 64 != 0) {
    return fail(
        StatusCode::kInvalidArgument,
        "Command buffer '{}' takes ({}) bytes aligned to (64), and the storage has ({}) bytes at ({}).",
        commands.label(), bytes, storage.size(), static_cast<const void*>(storage.data()));
  }
  return {};
}

Result<void> check_binding(const CommandBuffer& commands, std::string_view what, const Buffer& buffer,
                           int64_t offset, int64_t bytes) {
  if (commands.state() != CommandBufferState::kIdle) {
    return fail(StatusCode::kFailedPrecondition,
                "Command buffer '{}' is busy ({}), and bindings change only while it is (idle).",
                commands.label(), to_string(commands.state()));
  }
  if (&buffer.device() != &commands.device()) {
    return fail(StatusCode::kInvalidArgument,
                "Buffer '{}', bound as {} of command buffer '{}', is of another device.", buffer.label(),
                what, commands.label());
  }
  const int64_t alignment = commands.device().info().binding_alignment;
  if (offset < 0 || offset % alignment != 0) {
    return fail(StatusCode::kInvalidArgument,
                "Buffer '{}' is bound as {} at offset ({}), and device '{}' takes (0) and multiples of ({}).",
                buffer.label(), what, offset, commands.device().info().name, alignment);
  }
  if (offset > buffer.size() || bytes > buffer.size() - offset) {
    return fail(
        StatusCode::kOutOfRange,
        "Buffer '{}' has ({}) bytes, and as {} of command buffer '{}' it needs ({}) from offset ({}).",
        buffer.label(), buffer.size(), what, commands.label(), bytes, offset);
  }
  return {};
}

Result<void> check_scratch_binding(const CommandBuffer& commands, const Buffer& buffer, int64_t offset) {
  WEIR_TRY(check_binding(commands, "scratch", buffer, offset, commands.scratch_bytes()));
  const uintptr_t address =
      reinterpret_cast<uintptr_t>(buffer.device_bytes()) + static_cast<uintptr_t>(offset);
  if (address % 64 != 0) {
    return fail(
        StatusCode::kInvalidArgument,
        "Buffer '{}' is bound as scratch at offset ({}), whose address ({:#x}) is no multiple of (64).",
        buffer.label(), offset, address);
  }
  return {};
}

SoftwareCommandBuffer::SoftwareCommandBuffer(SoftwareDevice& device,
                                             const CommandBufferDescriptor& descriptor, int32_t participants)
    : CommandBuffer(descriptor.label, participants),
      device_(&device),
      recorder_(std::make_unique<Recorder>(device, descriptor, participants)),
      parameter_bytes_(descriptor.parameter_bytes),
      slots_(static_cast<size_t>(descriptor.slots)) {}

Encoder& SoftwareCommandBuffer::encoder() {
  if (recorder_ == nullptr) {
    // Keeps the promise that a mistake is a value: it records into nothing, and seal refuses.
    recorder_ =
        std::make_unique<Recorder>(*device_, CommandBufferDescriptor{.label = label()}, participants());
  }
  return *recorder_;
}

Result<void> SoftwareCommandBuffer::seal(std::span<std::byte> storage) {
  if (state() != CommandBufferState::kRecording) {
    return fail(StatusCode::kFailedPrecondition,
                "Command buffer '{}' is ({}), and only a (recording) one is sealed.", label(),
                to_string(state()));
  }
  const Recorder& recording = *recorder_;
  if (recording.mistake() != nullptr) {
    return std::unexpected(*recording.mistake());
  }
  counts_ = recording.counts();
  host_bytes_ = device_->command_buffer_bytes(counts_);
  scratch_bytes_ = recording.scratch_bytes();
  if (storage.empty() && host_bytes_ > 0) {
    WEIR_ASSIGN(charge_, device_->memory().charge(MemoryCategory::kHost, host_bytes_, label()));
    WEIR_ASSIGN(own_storage_,
                HostMemory::allocate({.size = host_bytes_, .prefault = true, .label = label()}));
    storage = {own_storage_.data(), static_cast<size_t>(host_bytes_)};
  }
  WEIR_TRY(check_storage(*this, storage, host_bytes_));
  WEIR_TRY(seal_commands(recording, storage), "while sealing command buffer '{}'", label());
  for (size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].bytes = recording.slot_bytes()[i];
    slots_[i].written = recording.slot_written()[i] != 0;
  }
  unbound_ = needed_bindings();
  recorder_ = nullptr;
  state_.store(CommandBufferState::kIdle, std::memory_order_release);
  return {};
}

int32_t SoftwareCommandBuffer::needed_bindings() const {
  const auto slots = std::ranges::count_if(slots_, [](const Slot& slot) { return slot.bytes >= 0; });
  return static_cast<int32_t>(slots) + (scratch_bytes_ > 0 ? 1 : 0) + (parameter_bytes_ > 0 ? 1 : 0);
}

Result<void> SoftwareCommandBuffer::release_bindings() {
  if (state() != CommandBufferState::kIdle) {
    return fail(StatusCode::kFailedPrecondition,
                "Command buffer '{}' is busy ({}), and bindings change only while it is (idle).", label(),
                to_string(state()));
  }
  for (Slot& slot : slots_) {
    slot.buffer = {};
  }
  scratch_ = {};
  parameters_ = {};
  unbound_ = needed_bindings();
  return {};
}

Result<void> SoftwareCommandBuffer::bind_scratch(Buffer& buffer, int64_t offset) {
  WEIR_TRY(check_scratch_binding(*this, buffer, offset));
  std::byte* bytes = buffer.device_bytes();
  if (scratch_bytes_ > 0 && !scratch_) {
    --unbound_;
  }
  scratch_ = Ref<Buffer>(&buffer);
  scratch_bound(bytes == nullptr ? nullptr : bytes + offset);
  return {};
}

Result<void> SoftwareCommandBuffer::bind_parameters(Buffer& buffer, int64_t offset) {
  WEIR_TRY(check_binding(*this, "parameters", buffer, offset, parameter_bytes_));
  if (parameter_bytes_ > 0 && !parameters_) {
    --unbound_;
  }
  parameters_ = Ref<Buffer>(&buffer);
  std::byte* bytes = buffer.device_bytes();
  parameters_bound(bytes == nullptr ? nullptr : bytes + offset);
  return {};
}

Result<void> SoftwareCommandBuffer::bind_slot(int32_t index, Buffer& buffer, int64_t offset) {
  if (index < 0 || static_cast<size_t>(index) >= slots_.size()) {
    return fail(StatusCode::kOutOfRange, "Command buffer '{}' has ({}) slots, and none of number ({}).",
                label(), slots_.size(), index);
  }
  Slot& slot = slots_[static_cast<size_t>(index)];
  if (auto checked = check_binding(*this, "a slot", buffer, offset, std::max<int64_t>(slot.bytes, 0));
      !checked) {
    return std::unexpected(std::move(checked).error().add_context(
        fmt::format("while binding slot ({}) of '{}'", index, label())));
  }
  if (slot.written && buffer.read_only()) {
    return fail(StatusCode::kPermissionDenied,
                "Slot ({}) of command buffer '{}' is written, and buffer '{}' was imported read-only.", index,
                label(), buffer.label());
  }
  if (slot.bytes >= 0 && !slot.buffer) {
    --unbound_;
  }
  slot.buffer = Ref<Buffer>(&buffer);
  std::byte* bytes = buffer.device_bytes();
  slot_bound(index, bytes == nullptr ? nullptr : bytes + offset);
  return {};
}

Result<void> SoftwareCommandBuffer::wait(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto idle = [&] {
    const CommandBufferState now = state();
    return now == CommandBufferState::kIdle || now == CommandBufferState::kRecording;
  };
  if (!wait_for(idle_, lock, timeout, idle)) {
    return fail(StatusCode::kDeadlineExceeded, "Command buffer '{}' is still ({}) after ({}) ns.", label(),
                to_string(state()), timeout.count());
  }
  if (error_) {
    return std::unexpected(*error_);
  }
  return {};
}

Result<bool> SoftwareCommandBuffer::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (state() == CommandBufferState::kRecording) {
      return fail(StatusCode::kFailedPrecondition, "Command buffer '{}' is submitted before it is sealed.",
                  label());
    }
    if (state() != CommandBufferState::kIdle) {
      return false;
    }
    cancelled_.store(false, std::memory_order_relaxed);
    state_.store(CommandBufferState::kPending, std::memory_order_release);
  }
  if (unbound_ > 0) {
    abandon();
    std::string missing = scratch_bytes_ > 0 && !scratch_ ? "scratch" : "parameters";
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].bytes >= 0 && !slots_[i].buffer) {
        missing = fmt::format("slot {}", i);
        break;
      }
    }
    return fail(StatusCode::kFailedPrecondition,
                "Command buffer '{}' is submitted with ({}) of its bindings missing: ({}).", label(),
                unbound_, missing);
  }
  record_.state.store(0, std::memory_order_relaxed);
  return true;
}

void SoftwareCommandBuffer::cancel() {
  const std::lock_guard lock(mutex_);
  if (state() == CommandBufferState::kPending || state() == CommandBufferState::kRunning) {
    cancelled_.store(true, std::memory_order_relaxed);
  }
}

Result<void> SoftwareCommandBuffer::run() {
  state_.store(CommandBufferState::kRunning, std::memory_order_release);
  WEIR_TRY(execute(record_), "while running command buffer '{}'", label());
  if (record_.state.load(std::memory_order_acquire) != 0) {
    return std::unexpected(fault(record_, label()));
  }
  return {};
}

void SoftwareCommandBuffer::abandon() {
  const std::lock_guard lock(mutex_);
  state_.store(CommandBufferState::kIdle, std::memory_order_release);
  idle_.notify_all();
}

void SoftwareCommandBuffer::finish(Result<void> result) {
  const std::lock_guard lock(mutex_);
  if (result) {
    error_.reset();
  } else {
    error_ = std::move(result).error();
  }
  ended_.fetch_add(1, std::memory_order_release);
  state_.store(CommandBufferState::kIdle, std::memory_order_release);
  idle_.notify_all();
}

}  // namespace weir
