// SPDX-License-Identifier: Apache-2.0
//
// Device: where programs run. What differs between devices is data in DeviceInfo.
//
//   WEIR_ASSIGN(Ref<Device> device, create_cpu_device({.threads = 2}));       // hal/cpu/cpu_device.h
//   WEIR_ASSIGN(Ref<Queue> queue, device->create_queue({.label = "main"}));
//
// Thread-safe. Everything that it creates keeps it alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/status.h"
#include "hal/buffer.h"
#include "hal/command_buffer.h"
#include "hal/event.h"
#include "hal/fence.h"
#include "hal/heap.h"
#include "hal/library.h"
#include "hal/memory_account.h"
#include "hal/queue.h"

namespace weir {

enum class DeviceKind : uint8_t { kCpu, kIntegratedGpu, kDiscreteGpu, kNull };
std::string_view to_string(DeviceKind kind);

struct DeviceLimits {
  int64_t buffer_bytes = 0;
  int32_t bindings = 0;        // of a kernel
  int64_t constant_bytes = 0;  // of a dispatch
  int64_t tiles = 0;           // of a dispatch
  int32_t participants = 1;    // of a command buffer
  int32_t slots = 0;           // of a command buffer
};

struct DeviceCapabilities {
  bool cpu_kernels = false;         // runs libraries of CPU functions
  bool host_calls = false;          // Encoder::host_call, and Buffer::device_bytes inside it
  bool inline_execution = false;    // a submission may run on the calling thread
  bool import_host_memory = false;  // Device::import_buffer
  bool lock_pages = false;
  bool huge_pages = false;
  bool timestamps = false;  // CommandBufferDescriptor::profile
};

// A way of behaving that can be forced on or off when a device is made.
struct DeviceToggle {
  std::string_view name;
  std::string_view description;
  bool on = false;
};

struct DeviceInfo {
  std::string name;         // "cpu"
  std::string description;  // the processor's or adapter's name
  std::string isa;          // "avx512"; empty where it means nothing
  DeviceKind kind = DeviceKind::kCpu;
  bool executes = true;        // false: submissions complete without running
  bool unified_memory = true;  // one memory of host and device: Shared costs nothing, nothing need be staged
  int64_t buffer_alignment = 64;  // of a buffer's address and of its offset in a heap
  int64_t binding_alignment = 1;  // of an offset that is bound
  int64_t cache_line_bytes = 64;
  int64_t page_bytes = 4096;
  int32_t participants = 1;  // among how many a dispatch is split unless told
  int64_t memory_bytes = 0;  // that the device has and its process may use
  DeviceLimits limits;
  DeviceCapabilities capabilities;
  std::vector<DeviceToggle> toggles;  // all that there are
};

class Device : public RefCounted {
 public:
  const DeviceInfo& info() const { return info_; }
  MemoryAccount& memory() const { return *memory_; }

  // What a buffer or heap of `size` bytes and this mode is charged: the size rounded up to buffer_alignment,
  // twice where Managed keeps two copies.
  virtual int64_t allocation_bytes(int64_t size, StorageMode mode) const = 0;
  virtual int64_t command_buffer_bytes(const CommandBufferCounts& counts) const = 0;

  virtual Result<Ref<Buffer>> create_buffer(const BufferDescriptor& descriptor) = 0;
  // Whether import_buffer would use this memory in place.
  virtual ImportVerdict import_verdict(const void* pointer, int64_t size) const = 0;
  // Never copies: kFailedPrecondition with the verdict's reason where the memory cannot be used in place.
  virtual Result<Ref<Buffer>> import_buffer(const ImportDescriptor& descriptor) = 0;
  virtual Result<Ref<Heap>> create_heap(const HeapDescriptor& descriptor) = 0;
  virtual Result<Ref<Library>> create_library(const LibraryDescriptor& descriptor) = 0;
  virtual Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) = 0;
  virtual Result<Ref<Queue>> create_queue(const QueueDescriptor& descriptor) = 0;
  virtual Result<Ref<Event>> create_event(std::string_view label) = 0;
  virtual Result<Ref<Fence>> create_fence(std::string_view label) = 0;

 protected:
  Device(DeviceInfo info, Ref<MemoryAccount> memory) : info_(std::move(info)), memory_(std::move(memory)) {}

 private:
  DeviceInfo info_;
  Ref<MemoryAccount> memory_;
};

}  // namespace weir
