// SPDX-License-Identifier: Apache-2.0
//
// Buffer: a flat range of bytes on a device.
//
// Storage modes say where the bytes lie and who sees them when; chosen at creation, never changed:
//   Shared   host and device see the same memory, coherent once the work that wrote it has completed
//   Private  the device only, filled by a copy. contents() is an error, never a hidden readback
//   Managed  a host and a device copy. did_modify() carries the host's changes over, synchronize() the other
//   way
//
//   WEIR_ASSIGN(Ref<Buffer> input, device.create_buffer({.size = 4096, .label = "input"}));
//   WEIR_ASSIGN(std::span<std::byte> bytes, input->contents());
//
// Thread-safe, except for the bytes themselves. Kept alive by the command buffers that use it. Undefined
// until written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"
#include "hal/memory_account.h"

namespace weir {

class Device;

enum class StorageMode : uint8_t { kShared, kPrivate, kManaged };
std::string_view to_string(StorageMode mode);  // "Shared"

// How the host's view of Shared or Managed memory is cached. Write-combined memory is for writing in order
// only.
enum class CpuCacheMode : uint8_t { kDefault, kWriteCombined };

// What commands may do with a buffer. Bits.
enum class BufferUsage : uint8_t {
  kNone = 0,
  kKernelRead = 1,
  kKernelWrite = 2,
  kCopySource = 4,
  kCopyTarget = 8,  // of copies and fills
  kReadOnly = kKernelRead | kCopySource,
  kAll = 15,
};
constexpr BufferUsage operator|(BufferUsage a, BufferUsage b) {
  return static_cast<BufferUsage>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr bool contains(BufferUsage all, BufferUsage some) {
  return (static_cast<uint8_t>(all) & static_cast<uint8_t>(some)) == static_cast<uint8_t>(some);
}

struct BufferDescriptor {
  int64_t size = 0;  // bytes, at least 1
  StorageMode mode = StorageMode::kShared;
  BufferUsage usage = BufferUsage::kAll;
  CpuCacheMode cache_mode = CpuCacheMode::kDefault;
  MemoryCategory category = MemoryCategory::kOther;
  // Of the address: a power of two; 0 asks for the device's own (64 on the CPU, a page from 64 KiB on).
  int64_t alignment = 0;
  bool prefault = true;     // touch every page now
  bool lock = false;        // keep the pages resident; an error where the system refuses
  bool huge_pages = false;  // ask for huge pages; where there are none, plain ones
  std::string_view label;
};

// Memory that somebody else owns, used without a copy.
struct ImportDescriptor {
  const void* pointer = nullptr;
  int64_t size = 0;
  bool read_only = false;  // usage becomes kReadOnly, and binding it for writing is an error
  BufferUsage usage = BufferUsage::kAll;
  // Counted in the device's account under `category`; a caller's own memory is not.
  bool counted = false;
  MemoryCategory category = MemoryCategory::kOther;
  std::string_view label;
  // Released with the buffer: for example the file mapping that the pointer lies in. May be null, and then
  // the caller keeps the memory alive.
  Ref<RefCounted> keep_alive;
};

// Whether a device can use a host pointer in place.
enum class ImportVerdict : uint8_t {
  kUsable,
  kMemoryNotShared,  // the device does not see host memory
  kAlignment,        // the address has too few zero bits for the device
};
std::string_view to_string(ImportVerdict verdict);  // a reason for people

class Buffer : public RefCounted {
 public:
  int64_t size() const { return size_; }
  StorageMode mode() const { return mode_; }
  BufferUsage usage() const { return usage_; }
  MemoryCategory category() const { return category_; }
  const std::string& label() const { return label_; }
  // Where it lies in its heap; 0 without one.
  int64_t heap_offset() const { return heap_offset_; }
  virtual Device& device() const = 0;
  // Imported for reading only.
  virtual bool read_only() const { return false; }

  // The host's view, valid as long as the buffer. kFailedPrecondition for Private, kPermissionDenied for a
  // read-only import (read it through read_contents).
  virtual Result<std::span<std::byte>> contents() = 0;
  virtual Result<std::span<const std::byte>> read_contents() const = 0;
  // Managed only, and the identity for Shared: host → device before a submission reads it, device → host
  // after one has written it. A size of −1 reaches to the end.
  virtual Result<void> did_modify(int64_t offset = 0, int64_t size = -1) = 0;
  virtual Result<void> synchronize(int64_t offset = 0, int64_t size = -1) = 0;

  // Where a host call recorded in a command buffer finds the device's bytes while that runs; null where it
  // cannot. Not for use outside one.
  virtual std::byte* device_bytes() const = 0;

 protected:
  Buffer(int64_t size, StorageMode mode, BufferUsage usage, MemoryCategory category, std::string_view label,
         int64_t heap_offset)
      : size_(size),
        heap_offset_(heap_offset),
        mode_(mode),
        usage_(usage),
        category_(category),
        label_(label) {}

 private:
  int64_t size_;
  int64_t heap_offset_;
  StorageMode mode_;
  BufferUsage usage_;
  MemoryCategory category_;
  std::string label_;
};

}  // namespace weir
