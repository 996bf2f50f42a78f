// SPDX-License-Identifier: Apache-2.0
//
// Recording, hazards, usage, binding and states; what is looked at while commands run is in watching.cc.
#include "hal/validation/validation_command_buffer.h"

#include <algorithm>
#include <limits>

#include "base/out_of_memory.h"
#include "base/timed_wait.h"
#include "hal/software/software_command_buffer.h"

namespace weir {
namespace {

BufferUsage needed_usage(const RecordedCommand& command, const RecordedBinding& binding, size_t index) {
  switch (command.kind) {
    case RecordedCommand::Kind::kFill:
      return BufferUsage::kCopyTarget;
    case RecordedCommand::Kind::kCopy:
      return index == 0 ? BufferUsage::kCopySource : BufferUsage::kCopyTarget;
    case RecordedCommand::Kind::kDispatch:
    case RecordedCommand::Kind::kHostCall:
      break;
  }
  switch (binding.access) {
    case Access::kRead:
      return BufferUsage::kKernelRead;
    case Access::kWrite:
      return BufferUsage::kKernelWrite;
    case Access::kReadWrite:
      break;
  }
  return BufferUsage::kKernelRead | BufferUsage::kKernelWrite;
}

std::string usage_text(BufferUsage usage) {
  std::string text;
  const std::pair<BufferUsage, std::string_view> names[] = {{BufferUsage::kKernelRead, "kernel read"},
                                                            {BufferUsage::kKernelWrite, "kernel write"},
                                                            {BufferUsage::kCopySource, "copy source"},
                                                            {BufferUsage::kCopyTarget, "copy target"}};
  for (const auto& [flag, name] : names) {
    if (contains(usage, flag)) {
      text += text.empty() ? "" : ", ";
      text += name;
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace

ValidationCommandBuffer::ValidationCommandBuffer(Ref<ValidationDevice> device, Ref<CommandBuffer> inner,
                                                 const CommandBufferDescriptor& descriptor)
    : CommandBuffer(descriptor.label, inner->participants()),
      device_(std::move(device)),
      inner_(std::move(inner)),
      recorder_(*device_, descriptor, inner_->participants()),
      slots_(static_cast<size_t>(descriptor.slots)),
      parameter_bytes_(descriptor.parameter_bytes) {}

ValidationCommandBuffer::~ValidationCommandBuffer() = default;

CommandBufferState ValidationCommandBuffer::state() const {
  const CommandBufferState state = inner_->state();
  if (state != CommandBufferState::kIdle || !busy_.load(std::memory_order_acquire)) {
    return state;
  }
  // Below it has not begun yet, or has ended and what was found is looked at.
  return inner_->ended() == inner_ended_.load(std::memory_order_relaxed) ? CommandBufferState::kPending
                                                                         : CommandBufferState::kRunning;
}

std::span<const RecordedBinding> ValidationCommandBuffer::bindings_of(const RecordedCommand& command) const {
  return std::span(recorder_.bindings()).subspan(command.first_binding, command.binding_count);
}

std::string ValidationCommandBuffer::describe(const RecordedCommand& command) const {
  switch (command.kind) {
    case RecordedCommand::Kind::kDispatch:
      return fmt::format("Step ({}), kernel '{}',", command.step, command.kernel->name());
    case RecordedCommand::Kind::kFill:
      return fmt::format("Step ({}), a fill,", command.step);
    case RecordedCommand::Kind::kCopy:
      return fmt::format("Step ({}), a copy,", command.step);
    case RecordedCommand::Kind::kHostCall:
      break;
  }
  return fmt::format("Step ({}), a host call,", command.step);
}

std::optional<ValidationCommandBuffer::Bytes> ValidationCommandBuffer::resolve(
    const RecordedBinding& binding) const {
  if (binding.null) {
    return std::nullopt;
  }
  const BufferRange& range = binding.range;
  auto* buffer = static_cast<CheckedBuffer*>(range.buffer);
  int64_t offset = range.offset;
  if (buffer == nullptr) {
    const Slot& slot = slots_[static_cast<size_t>(range.slot)];
    if (!slot.buffer) {
      return std::nullopt;
    }
    buffer = slot.buffer.get();
    offset += slot.offset;
  }
  const int64_t begin = buffer->storage_offset() + offset;
  const int64_t size = range.size < 0 ? buffer->size() - offset : range.size;
  return Bytes{.buffer = buffer, .begin = begin, .end = begin + size, .binding = &binding};
}

// Before slots are bound each slot counts as a storage of its own.
std::vector<Touch> ValidationCommandBuffer::touches(bool bound) const {
  std::vector<Touch> all;
  for (size_t c = 0; c < recorder_.commands().size(); ++c) {
    const RecordedCommand& command = recorder_.commands()[c];
    const std::span<const RecordedBinding> bindings = bindings_of(command);
    if (command.kind == RecordedCommand::Kind::kHostCall) {
      all.push_back({.command = static_cast<int32_t>(c), .group = command.group, .everything = true});
    }
    for (size_t b = 0; b < bindings.size(); ++b) {
      const BufferRange& range = bindings[b].range;
      Touch touch{.block = range.block,
                  .stride = range.stride,
                  .writes = bindings[b].access != Access::kRead,
                  .command = static_cast<int32_t>(c),
                  .group = command.group,
                  .binding = static_cast<int32_t>(b)};
      if (const std::optional<Bytes> bytes = resolve(bindings[b]);
          bytes && (bound || range.buffer != nullptr)) {
        touch.storage = &bytes->buffer->storage();
        touch.begin = bytes->begin;
        touch.end = bytes->end;
      } else if (!bindings[b].null) {
        touch.storage = &slots_[static_cast<size_t>(range.slot)];
        touch.begin = range.offset;
        touch.end = range.size < 0 ? std::numeric_limits<int64_t>::max() : range.offset + range.size;
      } else {
        continue;
      }
      all.push_back(touch);
    }
  }
  return all;
}

Result<void> ValidationCommandBuffer::check_hazards(bool bound) const {
  const std::optional<Hazard> hazard = find_missing_barrier(touches(bound));
  if (!hazard) {
    return {};
  }
  const RecordedCommand& first = recorder_.commands()[static_cast<size_t>(hazard->first.command)];
  const RecordedCommand& second = recorder_.commands()[static_cast<size_t>(hazard->second.command)];
  const RecordedBinding& binding = bindings_of(second)[static_cast<size_t>(hazard->second.binding)];
  const std::optional<Bytes> bytes = resolve(binding);
  const std::string what = bytes ? fmt::format("buffer '{}'", bytes->buffer->label())
                                 : fmt::format("slot ({})", binding.range.slot);
  const std::string_view kind = !hazard->first.writes   ? "write after read"
                                : hazard->second.writes ? "write after write"
                                                        : "read after write";
  return fail(StatusCode::kFailedPrecondition,
              "{} touches bytes ({} to {}) of {}, and step ({}) touches bytes ({} to {}) there before it, "
              "with no barrier "
              "between them ({}).",
              describe(second), hazard->second.begin, hazard->second.end, what, first.step,
              hazard->first.begin, hazard->first.end, kind);
}

Result<void> ValidationCommandBuffer::check_usage(const RecordedCommand& command, size_t index) const {
  const RecordedBinding& binding = bindings_of(command)[index];
  if (binding.null || binding.range.buffer == nullptr) {
    return {};
  }
  const BufferUsage needed = needed_usage(command, binding, index);
  const Buffer& buffer = *binding.range.buffer;
  if (!contains(buffer.usage(), needed)) {
    return fail(StatusCode::kFailedPrecondition,
                "{} uses buffer '{}' as ({}), and the buffer was created for ({}).", describe(command),
                buffer.label(), usage_text(needed), usage_text(buffer.usage()));
  }
  return {};
}

void ValidationCommandBuffer::note_barriers() {
  const std::vector<RecordedCommand>& commands = recorder_.commands();
  const int32_t groups = commands.empty() ? 0 : commands.back().group + 1;
  for (const int32_t group : find_superfluous_barriers(touches(false), groups)) {
    for (const RecordedCommand& command : commands) {
      if (command.group == group) {
        notes_.push_back(fmt::format("The barrier before step ({}) of command buffer '{}' orders nothing.",
                                     command.step, label()));
        break;
      }
    }
  }
}

Result<void> ValidationCommandBuffer::seal(std::span<std::byte> storage) {
  if (state() != CommandBufferState::kRecording) {
    return fail(StatusCode::kFailedPrecondition,
                "Command buffer '{}' is ({}), and only a (recording) one is sealed.", label(),
                to_string(state()));
  }
  if (recorder_.mistake() != nullptr) {
    return std::unexpected(*recorder_.mistake());
  }
  for (const RecordedCommand& command : recorder_.commands()) {
    const std::span<const RecordedBinding> bindings = bindings_of(command);
    for (size_t b = 0; b < bindings.size(); ++b) {
      WEIR_TRY(check_usage(command, b), "while sealing command buffer '{}'", label());
      if (bindings[b].null || bindings[b].range.buffer != nullptr) {
        continue;
      }
      Slot& slot = slots_[static_cast<size_t>(bindings[b].range.slot)];
      const BufferUsage needed = needed_usage(command, bindings[b], b);
      slot.usage = slot.usage | needed;
    }
  }
  WEIR_TRY(check_hazards(false), "while sealing command buffer '{}'", label());
  note_barriers();
  host_bytes_ = device_->command_buffer_bytes(recorder_.counts());
  if (storage.empty()) {
    WEIR_ASSIGN(charge_, device_->memory().charge(MemoryCategory::kHost, host_bytes_, label()));
  } else {
    WEIR_TRY(check_storage(*this, storage, host_bytes_));
  }
  return replay();
}

BufferRange ValidationCommandBuffer::inner_range(const RecordedBinding& binding) const {
  BufferRange range = binding.range;
  if (range.buffer != nullptr) {
    const auto& buffer = static_cast<const CheckedBuffer&>(*range.buffer);
    range.buffer = &buffer.storage().inner();
    range.offset += buffer.inner_offset();
  }
  return range;
}

// One command after another: a look before and after each would see the work of others otherwise. What may
// run at the same time has been judged from the recording.
Result<void> ValidationCommandBuffer::replay() {
  Encoder& encoder = inner_->encoder();
  const std::vector<RecordedCommand>& commands = recorder_.commands();
  watches_.resize(commands.size());
  int32_t position = 0;
  const auto watch = [&](size_t index, HostCall call) {
    if (device_->watches()) {
      watches_[index] = {.self = this, .command = index};
      encoder.host_call(call, &watches_[index]);
      encoder.barrier();
      ++position;
    }
  };
  for (size_t i = 0; i < commands.size(); ++i) {
    const RecordedCommand& command = commands[i];
    const std::span<const RecordedBinding> bindings = bindings_of(command);
    encoder.set_step(command.step);
    watch(i, [](void* user) {
      auto* w = static_cast<Watch*>(user);
      w->self->before(w->command);
    });
    switch (command.kind) {
      case RecordedCommand::Kind::kDispatch:
        encoder.set_kernel(*command.kernel);
        for (size_t b = 0; b < bindings.size(); ++b) {
          if (bindings[b].null) {
            encoder.set_null(static_cast<int32_t>(b));
          } else {
            encoder.set_buffer(static_cast<int32_t>(b), inner_range(bindings[b]), bindings[b].access);
          }
        }
        encoder.set_constants(
            std::span(recorder_.constants()).subspan(command.first_constant, command.constant_bytes));
        encoder.set_scratch(command.scratch_bytes > 0 && device_->watches()
                                ? command.scratch_bytes + CheckedStorage::kBandBytes
                                : command.scratch_bytes);
        if (parameter_bytes_ > 0) {
          encoder.set_parameters(command.parameter_offset);
        }
        encoder.dispatch(command.tiles);
        break;
      case RecordedCommand::Kind::kFill:
        encoder.fill(inner_range(bindings[0]), command.value);
        break;
      case RecordedCommand::Kind::kCopy:
        encoder.copy(inner_range(bindings[0]), inner_range(bindings[1]));
        break;
      case RecordedCommand::Kind::kHostCall:
        encoder.host_call(command.call, command.user);
        break;
    }
    inner_command_.push_back(position++);
    encoder.barrier();
    watch(i, [](void* user) {
      auto* w = static_cast<Watch*>(user);
      w->self->after(w->command);
    });
  }
  const int64_t bytes = device_->inner().command_buffer_bytes(inner_->counts());
  if (bytes > 0) {
    WEIR_ASSIGN(inner_storage_, HostMemory::allocate({.size = bytes, .label = label()}));
  }
  WEIR_TRY(inner_->seal({inner_storage_.data(), static_cast<size_t>(bytes)}));
  return device_->watches() && inner_->scratch_bytes() > 0 ? make_checked_scratch() : Result<void>();
}

Result<void> ValidationCommandBuffer::make_checked_scratch() {
  const int64_t front = std::max(CheckedStorage::kBandBytes, device_->info().binding_alignment);
  WEIR_ASSIGN(checked_scratch_, device_->inner().create_buffer({.size = front + inner_->scratch_bytes(),
                                                                .mode = StorageMode::kPrivate,
                                                                .category = MemoryCategory::kOther,
                                                                .label = "checked scratch"}));
  return {};
}

Result<void> ValidationCommandBuffer::bind_scratch(Buffer& buffer, int64_t offset) {
  WEIR_TRY(check_scratch_binding(*this, buffer, offset));
  if (checked_scratch_) {
    return inner_->bind_scratch(*checked_scratch_, checked_scratch_->size() - inner_->scratch_bytes());
  }
  auto& checked = static_cast<CheckedBuffer&>(buffer);
  return inner_->bind_scratch(checked.storage().inner(), checked.inner_offset() + offset);
}

Result<void> ValidationCommandBuffer::bind_parameters(Buffer& buffer, int64_t offset) {
  WEIR_TRY(check_binding(*this, "parameters", buffer, offset, parameter_bytes_));
  auto& checked = static_cast<CheckedBuffer&>(buffer);
  return inner_->bind_parameters(checked.storage().inner(), checked.inner_offset() + offset);
}

Result<void> ValidationCommandBuffer::release_bindings() {
  WEIR_TRY(inner_->release_bindings());
  for (Slot& slot : slots_) {
    slot.buffer = {};
  }
  return {};
}

Result<void> ValidationCommandBuffer::bind_slot(int32_t index, Buffer& buffer, int64_t offset) {
  if (index < 0 || static_cast<size_t>(index) >= slots_.size()) {
    return fail(StatusCode::kOutOfRange, "Command buffer '{}' has ({}) slots, and none of number ({}).",
                label(), slots_.size(), index);
  }
  Slot& slot = slots_[static_cast<size_t>(index)];
  const int64_t bytes = std::max<int64_t>(recorder_.slot_bytes()[static_cast<size_t>(index)], 0);
  WEIR_TRY(check_binding(*this, "a slot", buffer, offset, bytes), "while binding slot ({}) of '{}'", index,
           label());
  if (!contains(buffer.usage(), slot.usage)) {
    return fail(StatusCode::kFailedPrecondition,
                "Slot ({}) of command buffer '{}' is used as ({}), and buffer '{}' was created for ({}).",
                index, label(), usage_text(slot.usage), buffer.label(), usage_text(buffer.usage()));
  }
  auto& checked = static_cast<CheckedBuffer&>(buffer);
  WEIR_TRY(inner_->bind_slot(index, checked.storage().inner(), checked.inner_offset() + offset));
  slot.buffer = Ref<CheckedBuffer>(&checked);
  slot.offset = offset;
  return {};
}

Result<void> ValidationCommandBuffer::check_bound() const {
  if (slots_.empty()) {
    return {};
  }
  WEIR_TRY(check_hazards(true), "while submitting command buffer '{}'", label());
  return {};
}

bool ValidationCommandBuffer::begin() {
  const std::lock_guard lock(mutex_);
  if (busy_.load(std::memory_order_relaxed)) {
    return false;
  }
  cancelled_.store(false, std::memory_order_relaxed);
  inner_ended_.store(inner_->ended(), std::memory_order_relaxed);
  busy_.store(true, std::memory_order_release);
  return true;
}

void ValidationCommandBuffer::cancel() {
  const std::lock_guard lock(mutex_);
  if (busy_.load(std::memory_order_relaxed)) {
    cancelled_.store(true, std::memory_order_relaxed);  // for `before`, should the inner one begin only now
    inner_->cancel();
  }
}

void ValidationCommandBuffer::finish(const Result<void>* result) {
  const std::lock_guard lock(mutex_);
  if (result != nullptr) {
    error_ = *result ? std::nullopt : std::optional<Status>(copy_of(result->error()));
    ended_.fetch_add(1, std::memory_order_release);
  }
  busy_.store(false, std::memory_order_release);
  idle_.notify_all();
}

std::optional<Status> ValidationCommandBuffer::take_violation() {
  return std::exchange(violation_, std::nullopt);
}

Result<void> ValidationCommandBuffer::wait(std::chrono::nanoseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto idle = [&] { return !busy_.load(std::memory_order_acquire); };
  if (!wait_for(idle_, lock, timeout, idle)) {
    return fail(StatusCode::kDeadlineExceeded, "Command buffer '{}' is still ({}) after ({}) ns.", label(),
                to_string(state()), timeout.count());
  }
  return error_ ? Result<void>(std::unexpected(*error_)) : Result<void>();
}

std::span<const CommandProfile> ValidationCommandBuffer::profile() const {
  const std::span<const CommandProfile> inner = inner_->profile();
  profile_.clear();
  if (!inner.empty()) {
    for (const int32_t position : inner_command_) {
      profile_.push_back(inner[static_cast<size_t>(position)]);
    }
  }
  return profile_;
}

}  // namespace weir
