// SPDX-License-Identifier: Apache-2.0
//
// The wrapper that create_validation_device makes. Its account is its own: what checking costs, guard bands
// and snapshots, is not in it.
#pragma once

#include "hal/device.h"

namespace weir {

class ValidationDevice final : public Device {
 public:
  ValidationDevice(Ref<Device> inner, DeviceInfo info);
  ~ValidationDevice() override;

  Device& inner() const { return *inner_; }
  // Whether commands can be watched while they run.
  bool watches() const { return info().executes && info().capabilities.host_calls; }

  int64_t allocation_bytes(int64_t size, StorageMode mode) const override {
    return inner_->allocation_bytes(size, mode);
  }
  int64_t command_buffer_bytes(const CommandBufferCounts& counts) const override {
    return inner_->command_buffer_bytes(counts);
  }
  Result<Ref<Buffer>> create_buffer(const BufferDescriptor& descriptor) override;
  ImportVerdict import_verdict(const void* pointer, int64_t size) const override {
    return inner_->import_verdict(pointer, size);
  }
  Result<Ref<Buffer>> import_buffer(const ImportDescriptor& descriptor) override;
  Result<Ref<Heap>> create_heap(const HeapDescriptor& descriptor) override;
  Result<Ref<Library>> create_library(const LibraryDescriptor& descriptor) override {
    return inner_->create_library(descriptor);
  }
  Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) override;
  Result<Ref<Queue>> create_queue(const QueueDescriptor& descriptor) override;
  Result<Ref<Event>> create_event(std::string_view label) override { return inner_->create_event(label); }
  Result<Ref<Fence>> create_fence(std::string_view label) override { return inner_->create_fence(label); }

 private:
  // The error for what the device below would take and is too large for a guard band, by this account first:
  // the device below, which has no limit, is not to allocate it.
  Result<void> refuse_large(std::string_view what, int64_t size, StorageMode mode, MemoryCategory category,
                            std::string_view label);

  Ref<Device> inner_;
};

}  // namespace weir
