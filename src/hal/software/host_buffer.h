// SPDX-License-Identifier: Apache-2.0
//
// Buffers and heaps whose bytes lie in host memory. A HostAllocation is the memory, a buffer or heap a view
// of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "hal/buffer.h"
#include "hal/heap.h"
#include "hal/memory_account.h"
#include "hal/software/host_memory.h"

namespace weir {

struct DeviceInfo;
class SoftwareDevice;

// Memory of one buffer or heap, charged to the device. Where the device keeps a copy of its own (Managed on a
// far device) there are two, else host and device see the same bytes.
class HostAllocation : public RefCounted {
 public:
  struct Request {
    int64_t size = 0;
    StorageMode mode = StorageMode::kShared;
    MemoryCategory category = MemoryCategory::kOther;
    int64_t alignment = 0;
    bool prefault = false;
    bool lock = false;
    bool huge_pages = false;
    std::string_view label;
  };
  static Result<Ref<HostAllocation>> create(SoftwareDevice& device, const Request& request);
  static Result<Ref<HostAllocation>> import(SoftwareDevice& device, const ImportDescriptor& descriptor);
  ~HostAllocation() override;

  SoftwareDevice& device() const { return *device_; }
  StorageMode mode() const { return mode_; }
  int64_t size() const { return size_; }
  bool read_only() const { return read_only_; }
  std::byte* host_bytes() const { return host_; }             // null for Private
  std::byte* device_bytes() const { return device_memory_; }  // null where the device keeps none
  // Managed with two copies: carries a range over.
  Result<void> copy(bool to_device, int64_t offset, int64_t size);
  // Of a far device: whether its memory may be touched now. False where the system refuses.
  bool set_accessible(bool accessible);

 private:
  explicit HostAllocation(SoftwareDevice& device);

  Ref<SoftwareDevice> device_;
  MemoryCharge charge_;
  StorageMode mode_ = StorageMode::kShared;
  bool read_only_ = false;
  bool far_ = false;  // device memory is inaccessible while nothing runs
  int64_t size_ = 0;
  std::byte* host_ = nullptr;
  std::byte* device_memory_ = nullptr;
  HostMemory first_;   // the only copy, or the host's
  HostMemory second_;  // the device's
  Ref<RefCounted> keep_alive_;
};

// Whether a range, −1 to the end, lies in a buffer of `size` bytes; its length.
Result<int64_t> check_buffer_range(std::string_view label, int64_t size, int64_t offset, int64_t length);
// Whether a heap takes such a child.
Result<void> check_heap_child(const Heap& heap, const DeviceInfo& info,
                              const HeapBufferDescriptor& descriptor);

class HostBuffer final : public Buffer {
 public:
  HostBuffer(Ref<HostAllocation> allocation, int64_t offset, int64_t size, BufferUsage usage,
             MemoryCategory category, std::string_view label);
  ~HostBuffer() override;

  Device& device() const override;
  Result<std::span<std::byte>> contents() override;
  Result<std::span<const std::byte>> read_contents() const override;
  Result<void> did_modify(int64_t offset, int64_t size) override;
  Result<void> synchronize(int64_t offset, int64_t size) override;
  std::byte* device_bytes() const override { return device_bytes_; }
  bool read_only() const override;

 private:
  Result<void> carry(bool to_device, int64_t offset, int64_t size);

  Ref<HostAllocation> allocation_;
  std::byte* device_bytes_ = nullptr;
};

class HostHeap final : public Heap {
 public:
  HostHeap(Ref<HostAllocation> allocation, int64_t size, MemoryCategory category, std::string_view label);
  ~HostHeap() override;

  Device& device() const override;
  Result<Ref<Buffer>> create_buffer(const HeapBufferDescriptor& descriptor) override;

 private:
  Ref<HostAllocation> allocation_;
};

}  // namespace weir
