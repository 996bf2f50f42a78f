// SPDX-License-Identifier: Apache-2.0
#include "hal/software/software_device.h"

#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "hal/software/host_buffer.h"
#include "hal/software/host_event.h"
#include "hal/software/host_library.h"
#include "hal/software/software_queue.h"

namespace weir {
namespace {

constexpr int32_t kMostInFlight = 4096;
constexpr int32_t kMostLanes = 64;

bool is_power_of_two(int64_t value) {
  return value > 0 && (value & (value - 1)) == 0;
}

}  // namespace

SoftwareDevice::SoftwareDevice(DeviceInfo info, Ref<MemoryAccount> memory)
    : Device(std::move(info), std::move(memory)) {}

int64_t SoftwareDevice::allocation_bytes(int64_t size, StorageMode mode) const {
  const int64_t one = align_up(size, info().buffer_alignment);
  return mode == StorageMode::kManaged && !info().unified_memory ? 2 * one : one;
}

Result<void> SoftwareDevice::check_size(std::string_view what, std::string_view label, int64_t size) const {
  if (size < 1 || size > info().limits.buffer_bytes) {
    return fail(StatusCode::kInvalidArgument,
                "{} '{}' has a size ({}), and device '{}' takes (1 to {}) bytes.", what, label, size,
                info().name, info().limits.buffer_bytes);
  }
  return {};
}

Result<Ref<Buffer>> SoftwareDevice::create_buffer(const BufferDescriptor& descriptor) {
  WEIR_TRY(check_size("Buffer", descriptor.label, descriptor.size));
  constexpr int64_t kMostAlignment = int64_t{1} << 30;
  if (descriptor.alignment != 0 &&
      (!is_power_of_two(descriptor.alignment) || descriptor.alignment > kMostAlignment)) {
    return fail(StatusCode::kInvalidArgument,
                "Buffer '{}' has an alignment ({}), and the allowed ones are (powers of two up to {}).",
                descriptor.label, descriptor.alignment, kMostAlignment);
  }
  WEIR_ASSIGN(Ref<HostAllocation> allocation,
              HostAllocation::create(*this, {.size = descriptor.size,
                                             .mode = descriptor.mode,
                                             .category = descriptor.category,
                                             .alignment = descriptor.alignment,
                                             .prefault = descriptor.prefault,
                                             .lock = descriptor.lock,
                                             .huge_pages = descriptor.huge_pages,
                                             .label = descriptor.label}));
  return Ref<Buffer>(make_ref<HostBuffer>(std::move(allocation), 0, descriptor.size, descriptor.usage,
                                          descriptor.category, descriptor.label));
}

ImportVerdict SoftwareDevice::import_verdict(const void*, int64_t) const {
  return info().capabilities.import_host_memory ? ImportVerdict::kUsable : ImportVerdict::kMemoryNotShared;
}

Result<Ref<Buffer>> SoftwareDevice::import_buffer(const ImportDescriptor& descriptor) {
  WEIR_TRY(check_size("Imported buffer", descriptor.label, descriptor.size));
  if (descriptor.pointer == nullptr) {
    return fail(StatusCode::kInvalidArgument, "Imported buffer '{}' has a null pointer.", descriptor.label);
  }
  const ImportVerdict verdict = import_verdict(descriptor.pointer, descriptor.size);
  if (verdict != ImportVerdict::kUsable) {
    return fail(StatusCode::kFailedPrecondition, "Device '{}' cannot use the memory of '{}' in place: {}.",
                info().name, descriptor.label, to_string(verdict));
  }
  WEIR_ASSIGN(Ref<HostAllocation> allocation, HostAllocation::import(*this, descriptor));
  return Ref<Buffer>(make_ref<HostBuffer>(std::move(allocation), 0, descriptor.size,
                                          descriptor.read_only ? BufferUsage::kReadOnly : descriptor.usage,
                                          descriptor.category, descriptor.label));
}

Result<Ref<Heap>> SoftwareDevice::create_heap(const HeapDescriptor& descriptor) {
  WEIR_TRY(check_size("Heap", descriptor.label, descriptor.size));
  WEIR_ASSIGN(Ref<HostAllocation> allocation,
              HostAllocation::create(*this, {.size = descriptor.size,
                                             .mode = descriptor.mode,
                                             .category = descriptor.category,
                                             .prefault = descriptor.prefault,
                                             .lock = descriptor.lock,
                                             .huge_pages = descriptor.huge_pages,
                                             .label = descriptor.label}));
  return Ref<Heap>(
      make_ref<HostHeap>(std::move(allocation), descriptor.size, descriptor.category, descriptor.label));
}

Result<Ref<Library>> SoftwareDevice::create_library(const LibraryDescriptor& descriptor) {
  WEIR_ASSIGN(Ref<HostLibrary> library, HostLibrary::create(descriptor, info().limits));
  return Ref<Library>(std::move(library));
}

Result<Ref<Queue>> SoftwareDevice::create_queue(const QueueDescriptor& descriptor) {
  if (descriptor.max_in_flight < 1 || descriptor.max_in_flight > kMostInFlight) {
    return fail(StatusCode::kInvalidArgument,
                "Queue '{}' has a bound ({}), and the allowed ones are (1 to {}).", descriptor.label,
                descriptor.max_in_flight, kMostInFlight);
  }
  if (descriptor.lanes < 1 || descriptor.lanes > kMostLanes) {
    return fail(StatusCode::kInvalidArgument,
                "Queue '{}' has ({}) lanes, and the allowed numbers are (1 to {}).", descriptor.label,
                descriptor.lanes, kMostLanes);
  }
  WEIR_ASSIGN(Ref<SoftwareQueue> queue, SoftwareQueue::create(*this, descriptor));
  return Ref<Queue>(std::move(queue));
}

Result<int32_t> SoftwareDevice::check_command_buffer(const CommandBufferDescriptor& descriptor) const {
  const DeviceLimits& limits = info().limits;
  const int32_t participants = descriptor.participants == 0 ? info().participants : descriptor.participants;
  if (participants < 1 || participants > limits.participants) {
    return fail(StatusCode::kInvalidArgument,
                "Command buffer '{}' has ({}) participants, and device '{}' takes (1 to {}).",
                descriptor.label, participants, info().name, limits.participants);
  }
  if (descriptor.slots < 0 || descriptor.slots > limits.slots || descriptor.parameter_bytes < 0) {
    return fail(StatusCode::kInvalidArgument,
                "Command buffer '{}' has ({}) slots and ({}) bytes of parameters, and device '{}' takes (0 "
                "to {}) and (0 or "
                "more).",
                descriptor.label, descriptor.slots, descriptor.parameter_bytes, info().name, limits.slots);
  }
  return participants;
}

Result<Ref<Event>> SoftwareDevice::create_event(std::string_view label) {
  return Ref<Event>(make_ref<HostEvent>(label));
}

Result<Ref<Fence>> SoftwareDevice::create_fence(std::string_view label) {
  return make_ref<Fence>(label);
}

void SoftwareDevice::add_far(HostAllocation& allocation) {
  const std::lock_guard lock(far_mutex_);
  far_.push_back(&allocation);
  (void)allocation.set_accessible(accesses_ > 0);
}

void SoftwareDevice::remove_far(HostAllocation& allocation) {
  const std::lock_guard lock(far_mutex_);
  far_.remove(&allocation);
}

Result<void> SoftwareDevice::grant_access() {
  if (info().unified_memory) {
    return {};
  }
  const std::lock_guard lock(far_mutex_);
  if (accesses_ == 0) {
    for (HostAllocation* allocation : far_) {
      if (!allocation->set_accessible(true)) {
        const int error = errno;
        for (HostAllocation* other : far_) {
          (void)other->set_accessible(false);
        }
        return fail(StatusCode::kResourceExhausted,
                    "The system does not let device '{}' reach its own memory ({}).", info().name,
                    std::strerror(error));
      }
    }
  }
  ++accesses_;
  return {};
}

// Where the system refuses, stray accesses go unnoticed, and nothing else changes.
void SoftwareDevice::end_access() {
  if (info().unified_memory) {
    return;
  }
  const std::lock_guard lock(far_mutex_);
  if (--accesses_ == 0) {
    for (HostAllocation* allocation : far_) {
      (void)allocation->set_accessible(false);
    }
  }
}

}  // namespace weir
