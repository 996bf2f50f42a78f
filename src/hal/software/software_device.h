// SPDX-License-Identifier: Apache-2.0
//
// What devices that live in the host's memory share: memory, events, fences, libraries and queues. A backend
// adds create_command_buffer.
#pragma once

#include <list>
#include <mutex>

#include "hal/device.h"

namespace weir {

class HostAllocation;

class SoftwareDevice : public Device {
 public:
  int64_t allocation_bytes(int64_t size, StorageMode mode) const override;
  Result<Ref<Buffer>> create_buffer(const BufferDescriptor& descriptor) override;
  ImportVerdict import_verdict(const void* pointer, int64_t size) const override;
  Result<Ref<Buffer>> import_buffer(const ImportDescriptor& descriptor) override;
  Result<Ref<Heap>> create_heap(const HeapDescriptor& descriptor) override;
  Result<Ref<Library>> create_library(const LibraryDescriptor& descriptor) override;
  Result<Ref<Queue>> create_queue(const QueueDescriptor& descriptor) override;
  Result<Ref<Event>> create_event(std::string_view label) override;
  Result<Ref<Fence>> create_fence(std::string_view label) override;

  // While one lives that was granted, a far device's memory may be touched by the thread that has it and by
  // those that work for it.
  class Access {
   public:
    explicit Access(SoftwareDevice& device) : device_(device), granted_(device.grant_access()) {}
    ~Access() {
      if (granted_) {
        device_.end_access();
      }
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;
    // kResourceExhausted where the system refuses.
    const Result<void>& granted() const { return granted_; }

   private:
    SoftwareDevice& device_;
    Result<void> granted_;
  };
  // Memory that is inaccessible but for the time that an Access lives. Kept in a list, so both may allocate.
  void add_far(HostAllocation& allocation);
  void remove_far(HostAllocation& allocation);

 protected:
  SoftwareDevice(DeviceInfo info, Ref<MemoryAccount> memory);

  // The number of participants, or what is wrong.
  Result<int32_t> check_command_buffer(const CommandBufferDescriptor& descriptor) const;

 private:
  Result<void> check_size(std::string_view what, std::string_view label, int64_t size) const;
  Result<void> grant_access();
  void end_access();

  std::mutex far_mutex_;
  std::list<HostAllocation*> far_;  // guarded by far_mutex_
  int accesses_ = 0;                // guarded by far_mutex_
};

}  // namespace weir
