// SPDX-License-Identifier: Apache-2.0
//
// Heap: one device allocation, cut into buffers at offsets that the caller gives (placement). Buffers may
// overlap: who writes when is the caller's affair, as the plan decides it.
//
//   WEIR_ASSIGN(Ref<Heap> arena, device.create_heap({.size = plan.arena_bytes,
//                                                    .category = MemoryCategory::kActivations,
//                                                    .label = "arena of request 3"}));
//   WEIR_ASSIGN(Ref<Buffer> t, arena->create_buffer({.offset = 4096, .size = 1024, .label = "conv_12"}));
//
// Only the heap is charged to the account; its children are not. A child keeps its heap alive. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"
#include "hal/buffer.h"

namespace weir {

struct HeapDescriptor {
  int64_t size = 0;
  StorageMode mode = StorageMode::kShared;
  CpuCacheMode cache_mode = CpuCacheMode::kDefault;
  MemoryCategory category = MemoryCategory::kOther;
  bool prefault = true;  // touch every page now
  bool lock = false;
  bool huge_pages = false;
  std::string_view label;
};

struct HeapBufferDescriptor {
  int64_t offset = 0;  // from the heap's start, a multiple of DeviceInfo::buffer_alignment
  int64_t size = 0;
  BufferUsage usage = BufferUsage::kAll;
  // The heap's own mode is inherited; asking for another is an error that names both.
  std::optional<StorageMode> mode;
  std::string_view label;
};

class Heap : public RefCounted {
 public:
  int64_t size() const { return size_; }
  StorageMode mode() const { return mode_; }
  MemoryCategory category() const { return category_; }
  const std::string& label() const { return label_; }
  virtual Device& device() const = 0;

  virtual Result<Ref<Buffer>> create_buffer(const HeapBufferDescriptor& descriptor) = 0;

 protected:
  Heap(int64_t size, StorageMode mode, MemoryCategory category, std::string_view label)
      : size_(size), mode_(mode), category_(category), label_(label) {}

 private:
  int64_t size_;
  StorageMode mode_;
  MemoryCategory category_;
  std::string label_;
};

}  // namespace weir
