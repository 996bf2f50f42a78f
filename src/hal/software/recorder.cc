// SPDX-License-Identifier: Apache-2.0
#include "hal/software/recorder.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"

namespace weir {
namespace {

constexpr int64_t kConstantAlignment = 64;
// A backend counts a group's pieces in 16 bits; a barrier more is always allowed.
constexpr int32_t kMostInGroup = 8192;

}  // namespace

Recorder::Recorder(Device& device, const CommandBufferDescriptor& descriptor, int32_t participants)
    : device_(device),
      label_(descriptor.label),
      parameter_bytes_(descriptor.parameter_bytes),
      slot_bytes_(static_cast<size_t>(descriptor.slots), -1),
      slot_written_(static_cast<size_t>(descriptor.slots), 0) {
  counts_.slots = descriptor.slots;
  counts_.participants = participants;
  counts_.profile = descriptor.profile;
}

template <typename... Args>
void Recorder::refuse(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  if (!mistake_) {
    refuse(Status(code, fmt::format(format, std::forward<Args>(args)...)));
  }
}

void Recorder::refuse(Status status) {
  if (!mistake_) {
    mistake_ = std::move(status);
    mistake_->add_context(fmt::format("while recording step ({}) of command buffer '{}'", step_, label_));
  }
}

std::optional<BufferRange> Recorder::checked(std::string_view what, const BufferRange& range, Access access) {
  const DeviceInfo& info = device_.info();
  BufferRange result = range;
  if (range.offset < 0 || range.size < -1) {
    refuse(StatusCode::kOutOfRange,
           "The {} has an offset ({}) and a size ({}), and the least are (0) and (-1).", what, range.offset,
           range.size);
    return std::nullopt;
  }
  if (range.offset % info.binding_alignment != 0) {
    refuse(StatusCode::kInvalidArgument,
           "The {} has an offset ({}), and device '{}' takes multiples of ({}).", what, range.offset,
           info.name, info.binding_alignment);
    return std::nullopt;
  }
  if (range.buffer == nullptr) {
    if (range.slot < 0 || range.slot >= counts_.slots) {
      refuse(StatusCode::kOutOfRange, "The {} refers to slot ({}), and there are ({}).", what, range.slot,
             counts_.slots);
      return std::nullopt;
    }
    if (range.size > 0 && range.offset > std::numeric_limits<int64_t>::max() - range.size) {
      refuse(StatusCode::kOutOfRange, "The {} has an offset ({}) and a size ({}), whose sum does not fit.",
             what, range.offset, range.size);
      return std::nullopt;
    }
    return result;
  }
  Buffer& buffer = *range.buffer;
  if (&buffer.device() != &device_) {
    refuse(StatusCode::kInvalidArgument, "The {}, buffer '{}', belongs to another device than '{}'.", what,
           buffer.label(), info.name);
    return std::nullopt;
  }
  if (range.offset > buffer.size() || range.size > buffer.size() - range.offset) {
    refuse(StatusCode::kOutOfRange, "The {} is ({}) bytes from offset ({}), and buffer '{}' has ({}) bytes.",
           what, range.size, range.offset, buffer.label(), buffer.size());
    return std::nullopt;
  }
  if (access != Access::kRead && buffer.read_only()) {
    refuse(StatusCode::kPermissionDenied, "The {} is written, and buffer '{}' was imported read-only.", what,
           buffer.label());
    return std::nullopt;
  }
  if (range.size < 0) {
    result.size = buffer.size() - range.offset;
  }
  if (kept_.emplace(&buffer, buffers_.size()).second) {
    buffers_.emplace_back(&buffer);
    counts_.buffers = static_cast<int64_t>(buffers_.size());
  }
  return result;
}

void Recorder::count_slot(const BufferRange& range, Access access) {
  if (range.buffer != nullptr) {
    return;  // kept since it was set
  }
  ++counts_.slot_uses;
  int64_t& need = slot_bytes_[static_cast<size_t>(range.slot)];
  need = std::max(need, range.offset + std::max<int64_t>(range.size, 0));
  if (access != Access::kRead) {
    slot_written_[static_cast<size_t>(range.slot)] = 1;
  }
}

void Recorder::set_kernel(Kernel& kernel) {
  kernel_ = &kernel;
  if (kept_.emplace(&kernel, kernels_.size()).second) {
    kernels_.emplace_back(&kernel);
    counts_.kernels = static_cast<int64_t>(kernels_.size());
  }
  current_.clear();
  current_constants_.clear();
  current_scratch_ = kernel.scratch_bytes();
  current_parameters_ = 0;
}

void Recorder::push_binding(const RecordedBinding& binding) {
  bindings_.push_back(binding);
  ++counts_.bindings;
  if (!binding.null) {
    count_slot(binding.range, binding.access);
  }
}

void Recorder::set_buffer(int32_t index, const BufferRange& range, Access access) {
  const int32_t limit = device_.info().limits.bindings;
  if (index < 0 || index >= limit) {
    refuse(StatusCode::kOutOfRange, "A binding has the index ({}), and device '{}' has (0 to {}).", index,
           device_.info().name, limit - 1);
    return;
  }
  if (access != Access::kRead && access != Access::kWrite && access != Access::kReadWrite) {
    refuse(StatusCode::kInvalidArgument,
           "The binding ({}) has an access ({}), and the known ones are (1 to 3).", index,
           static_cast<int>(access));
    return;
  }
  const std::optional<BufferRange> good = checked(fmt::format("binding ({})", index), range, access);
  if (!good) {
    return;
  }
  if (static_cast<size_t>(index) >= current_.size()) {
    current_.resize(static_cast<size_t>(index) + 1);
  }
  current_[static_cast<size_t>(index)] = {.set = true, .range = *good, .access = access};
}

void Recorder::set_null(int32_t index) {
  const int32_t limit = device_.info().limits.bindings;
  if (index < 0 || index >= limit) {
    refuse(StatusCode::kOutOfRange, "A binding has the index ({}), and device '{}' has (0 to {}).", index,
           device_.info().name, limit - 1);
    return;
  }
  if (static_cast<size_t>(index) >= current_.size()) {
    current_.resize(static_cast<size_t>(index) + 1);
  }
  current_[static_cast<size_t>(index)] = {.set = true, .null = true};
}

void Recorder::set_constants(std::span<const std::byte> bytes) {
  if (static_cast<int64_t>(bytes.size()) > device_.info().limits.constant_bytes) {
    refuse(StatusCode::kOutOfRange, "The constants have ({}) bytes, and device '{}' takes at most ({}).",
           bytes.size(), device_.info().name, device_.info().limits.constant_bytes);
    return;
  }
  current_constants_.assign(bytes.begin(), bytes.end());
}

void Recorder::set_scratch(int64_t bytes) {
  if (bytes < 0 || bytes > device_.info().limits.buffer_bytes) {
    refuse(StatusCode::kOutOfRange, "The scratch has ({}) bytes, and the allowed sizes are (0 to {}).", bytes,
           device_.info().limits.buffer_bytes);
    return;
  }
  current_scratch_ = std::max(current_scratch_, bytes);
}

void Recorder::set_parameters(int64_t offset) {
  if (offset < 0 || offset >= parameter_bytes_) {
    refuse(StatusCode::kOutOfRange, "The parameters have an offset ({}), and their block has ({}) bytes.",
           offset, parameter_bytes_);
    return;
  }
  current_parameters_ = offset;
}

void Recorder::add(RecordedCommand command) {
  if (group_commands_ == kMostInGroup) {
    barrier();
  }
  if (group_commands_ == 0 && !commands_.empty()) {
    ++counts_.barriers;
  }
  command.step = step_;
  command.group = group_;
  commands_.push_back(command);
  ++group_commands_;
  ++counts_.commands;
  counts_.blits += command.kind != RecordedCommand::Kind::kDispatch ? 1 : 0;
}

void Recorder::dispatch(int64_t x, int64_t y, int64_t z) {
  if (mistake_) {
    return;
  }
  if (kernel_ == nullptr) {
    refuse(StatusCode::kFailedPrecondition, "A dispatch is recorded before any kernel is set.");
    return;
  }
  Kernel& kernel = *kernel_;
  const int64_t sizes[] = {x, y, z};
  const Result<int64_t> tiles =
      std::ranges::any_of(sizes, [](int64_t size) { return size < 0; }) ? -1 : checked_product(sizes);
  if (!tiles || *tiles < 0 || *tiles > device_.info().limits.tiles) {
    refuse(StatusCode::kOutOfRange,
           "A dispatch of kernel '{}' has a grid ({} × {} × {}), and the most is ({}) tiles.", kernel.name(),
           x, y, z, device_.info().limits.tiles);
    return;
  }
  if (kernel.bindings() >= 0 && current_.size() != static_cast<size_t>(kernel.bindings())) {
    refuse(StatusCode::kInvalidArgument, "Kernel '{}' takes ({}) bindings, and ({}) are set.", kernel.name(),
           kernel.bindings(), current_.size());
    return;
  }
  for (size_t i = 0; i < current_.size(); ++i) {
    if (!current_[i].set) {
      refuse(StatusCode::kFailedPrecondition,
             "Kernel '{}' has no binding ({}); an absent one is set to null.", kernel.name(), i);
      return;
    }
  }
  if (kernel.constant_bytes() >= 0 &&
      current_constants_.size() < static_cast<size_t>(kernel.constant_bytes())) {
    refuse(StatusCode::kInvalidArgument, "Kernel '{}' reads ({}) bytes of constants, and ({}) are set.",
           kernel.name(), kernel.constant_bytes(), current_constants_.size());
    return;
  }
  if (*tiles == 0) {
    return;
  }
  RecordedCommand command{.kind = RecordedCommand::Kind::kDispatch,
                          .kernel = &kernel,
                          .tiles = *tiles,
                          .first_binding = bindings_.size(),
                          .binding_count = current_.size(),
                          .first_constant = constants_.size(),
                          .constant_bytes = current_constants_.size(),
                          .scratch_bytes = current_scratch_,
                          .parameter_offset = current_parameters_};
  for (const RecordedBinding& binding : current_) {
    push_binding(binding);
  }
  constants_.insert(constants_.end(), current_constants_.begin(), current_constants_.end());
  constants_.resize(
      static_cast<size_t>(align_up(static_cast<int64_t>(constants_.size()), kConstantAlignment)));
  counts_.constant_bytes = static_cast<int64_t>(constants_.size());
  scratch_bytes_ = std::max(scratch_bytes_, align_up(current_scratch_, kConstantAlignment));
  add(command);
}

void Recorder::barrier() {
  if (group_commands_ > 0) {
    ++group_;
    group_commands_ = 0;
  }
}

void Recorder::update_fence(Fence& fence) {
  fences_[&fence] = group_commands_ > 0 ? group_ : group_ - 1;
}

void Recorder::wait_fence(Fence& fence) {
  const auto found = fences_.find(&fence);
  if (found == fences_.end()) {
    refuse(StatusCode::kFailedPrecondition,
           "Fence '{}' is waited for before it is updated in this command buffer.", fence.label());
    return;
  }
  if (found->second == group_) {
    barrier();
  }
}

void Recorder::fill(const BufferRange& target, uint8_t value) {
  const std::optional<BufferRange> good = checked("target of a fill", target, Access::kWrite);
  if (!good || mistake_) {
    return;
  }
  if (good->size < 0) {
    refuse(StatusCode::kInvalidArgument,
           "The target of a fill, slot ({}), has no size, and one in a slot has to state it.", good->slot);
    return;
  }
  if (good->size == 0) {
    return;
  }
  RecordedCommand command{.kind = RecordedCommand::Kind::kFill,
                          .value = value,
                          .first_binding = bindings_.size(),
                          .binding_count = 1};
  push_binding({.set = true, .range = *good, .access = Access::kWrite});
  add(command);
}

void Recorder::copy(const BufferRange& source, const BufferRange& target) {
  std::optional<BufferRange> from = checked("source of a copy", source, Access::kRead);
  std::optional<BufferRange> to = checked("target of a copy", target, Access::kWrite);
  if (!from || !to || mistake_) {
    return;
  }
  if (from->size < 0) {
    from->size = to->size;
  }
  if (target.size < 0 && to->size != from->size) {
    // The target's size is the source's, if it has room.
    to->size = to->buffer == nullptr ? from->size : std::min(to->size, from->size);
  }
  if (from->size < 0 || from->size != to->size) {
    refuse(StatusCode::kInvalidArgument,
           "A copy has a source of ({}) bytes and a target of ({}), and they must match.", from->size,
           to->size);
    return;
  }
  const bool same =
      from->buffer != nullptr ? from->buffer == to->buffer : to->buffer == nullptr && from->slot == to->slot;
  if (same && from->offset < to->offset + to->size && to->offset < from->offset + from->size) {
    refuse(StatusCode::kInvalidArgument,
           "A copy has a source at ({}) and a target at ({}) of one buffer, and their ({}) bytes overlap.",
           from->offset, to->offset, from->size);
    return;
  }
  if (from->size == 0) {
    return;
  }
  RecordedCommand command{
      .kind = RecordedCommand::Kind::kCopy, .first_binding = bindings_.size(), .binding_count = 2};
  push_binding({.set = true, .range = *from, .access = Access::kRead});
  push_binding({.set = true, .range = *to, .access = Access::kWrite});
  add(command);
}

void Recorder::host_call(HostCall call, void* user) {
  if (call == nullptr) {
    refuse(StatusCode::kInvalidArgument, "A host call has no function.");
    return;
  }
  if (!device_.info().capabilities.host_calls) {
    refuse(StatusCode::kUnimplemented, "Device '{}' takes no host calls.", device_.info().name);
    return;
  }
  add({.kind = RecordedCommand::Kind::kHostCall, .call = call, .user = user});
}

}  // namespace weir
