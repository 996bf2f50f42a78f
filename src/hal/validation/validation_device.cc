// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/validation_device.h"

#include <algorithm>

#include "base/checked.h"
#include "hal/validation/validation_command_buffer.h"
#include "hal/validation/validation_device_impl.h"
#include "hal/validation/validation_memory.h"
#include "hal/validation/validation_queue.h"

namespace weir {
namespace {

DeviceInfo checked_info(DeviceInfo info) {
  for (DeviceToggle& toggle : info.toggles) {
    toggle.on = toggle.on || toggle.name == "validation";
  }
  return info;
}

}  // namespace

Ref<Device> create_validation_device(Ref<Device> device) {
  DeviceInfo info = checked_info(device->info());
  return make_ref<ValidationDevice>(std::move(device), std::move(info));
}

ValidationDevice::ValidationDevice(Ref<Device> inner, DeviceInfo info)
    : Device(std::move(info), make_ref<MemoryAccount>(inner->info().name, inner->memory().limit())),
      inner_(std::move(inner)) {
  inner_->memory().set_limit(MemoryAccount::kNoLimit);
}

ValidationDevice::~ValidationDevice() = default;

Result<void> ValidationDevice::refuse_large(std::string_view what, int64_t size, StorageMode mode,
                                            MemoryCategory category, std::string_view label) {
  const int64_t most = info().limits.buffer_bytes;
  if (size < most / 2 || size > most) {
    return {};
  }
  WEIR_TRY(memory().charge(category, allocation_bytes(size, mode), label));
  return fail(StatusCode::kResourceExhausted, "{} '{}' of ({}) bytes is too large to be checked.", what,
              label, size);
}

Result<Ref<Buffer>> ValidationDevice::create_buffer(const BufferDescriptor& descriptor) {
  const int64_t page = info().page_bytes;
  const bool plain = descriptor.size >= 1 && descriptor.size <= info().limits.buffer_bytes &&
                     descriptor.alignment >= 0 && descriptor.alignment <= (int64_t{1} << 30) &&
                     (descriptor.alignment & (descriptor.alignment - 1)) == 0;
  if (!plain) {
    return inner_->create_buffer(descriptor);  // wrong, and the device below says how
  }
  WEIR_TRY(refuse_large("Buffer", descriptor.size, descriptor.mode, descriptor.category, descriptor.label));
  WEIR_ASSIGN(MemoryCharge charge,
              memory().charge(descriptor.category, allocation_bytes(descriptor.size, descriptor.mode),
                              descriptor.label));
  // The band in front keeps the alignment that the device below would have given.
  const int64_t own = descriptor.size >= (64 << 10) ? page : CheckedStorage::kBandBytes;
  const int64_t front = std::max({own, descriptor.alignment, info().buffer_alignment});
  BufferDescriptor banded = descriptor;
  banded.alignment = front;
  banded.size = front + descriptor.size + CheckedStorage::kBandBytes;
  banded.usage = BufferUsage::kAll;
  WEIR_ASSIGN(Ref<Buffer> inner, inner_->create_buffer(banded));
  Ref<CheckedStorage> storage =
      make_ref<CheckedStorage>(std::move(inner), front, descriptor.size, false, std::move(charge));
  return Ref<Buffer>(make_ref<CheckedBuffer>(Ref<ValidationDevice>(this), std::move(storage), 0,
                                             descriptor.size, descriptor.usage, descriptor.category,
                                             descriptor.label));
}

Result<Ref<Buffer>> ValidationDevice::import_buffer(const ImportDescriptor& descriptor) {
  MemoryCharge charge;
  ImportDescriptor uncounted = descriptor;
  if (descriptor.counted && descriptor.size > 0) {
    WEIR_ASSIGN(charge, memory().charge(descriptor.category, descriptor.size, descriptor.label));
    uncounted.counted = false;
  }
  WEIR_ASSIGN(Ref<Buffer> inner, inner_->import_buffer(uncounted));
  const BufferUsage usage = inner->usage();
  Ref<CheckedStorage> storage =
      make_ref<CheckedStorage>(std::move(inner), 0, descriptor.size, true, std::move(charge));
  return Ref<Buffer>(make_ref<CheckedBuffer>(Ref<ValidationDevice>(this), std::move(storage), 0,
                                             descriptor.size, usage, descriptor.category, descriptor.label));
}

Result<Ref<Heap>> ValidationDevice::create_heap(const HeapDescriptor& descriptor) {
  if (descriptor.size < 1 || descriptor.size > info().limits.buffer_bytes) {
    return inner_->create_heap(descriptor);
  }
  WEIR_TRY(refuse_large("Heap", descriptor.size, descriptor.mode, descriptor.category, descriptor.label));
  WEIR_ASSIGN(MemoryCharge charge,
              memory().charge(descriptor.category, allocation_bytes(descriptor.size, descriptor.mode),
                              descriptor.label));
  const int64_t front = std::max(CheckedStorage::kBandBytes, info().buffer_alignment);
  HeapDescriptor banded = descriptor;
  banded.size = front + descriptor.size + CheckedStorage::kBandBytes;
  WEIR_ASSIGN(Ref<Heap> inner, inner_->create_heap(banded));
  WEIR_ASSIGN(Ref<Buffer> whole,
              inner->create_buffer({.offset = 0, .size = banded.size, .label = descriptor.label}));
  Ref<CheckedStorage> storage =
      make_ref<CheckedStorage>(std::move(whole), front, descriptor.size, false, std::move(charge));
  return Ref<Heap>(make_ref<CheckedHeap>(Ref<ValidationDevice>(this), std::move(inner), std::move(storage),
                                         descriptor.size, descriptor.category, descriptor.label));
}

Result<Ref<CommandBuffer>> ValidationDevice::create_command_buffer(
    const CommandBufferDescriptor& descriptor) {
  WEIR_ASSIGN(Ref<CommandBuffer> inner, inner_->create_command_buffer(descriptor));
  return Ref<CommandBuffer>(
      make_ref<ValidationCommandBuffer>(Ref<ValidationDevice>(this), std::move(inner), descriptor));
}

Result<Ref<Queue>> ValidationDevice::create_queue(const QueueDescriptor& descriptor) {
  WEIR_ASSIGN(Ref<Queue> inner, inner_->create_queue(descriptor));
  return Ref<Queue>(make_ref<ValidationQueue>(Ref<ValidationDevice>(this), std::move(inner)));
}

}  // namespace weir
