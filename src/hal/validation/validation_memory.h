// SPDX-License-Identifier: Apache-2.0
//
// Checked buffers and heaps: memory between guard bands, of which is known what has been written.
#pragma once

#include <mutex>

#include "hal/buffer.h"
#include "hal/heap.h"
#include "hal/validation/interval_set.h"

namespace weir {

class ValidationDevice;

// One allocation of the device below, `front` bytes of guard band before it and some behind.
class CheckedStorage : public RefCounted {
 public:
  static constexpr int64_t kBandBytes = 64;

  CheckedStorage(Ref<Buffer> inner, int64_t front, int64_t size, bool written, MemoryCharge charge)
      : inner_(std::move(inner)), front_(front), size_(size), charge_(std::move(charge)) {
    if (written) {
      written_.add(0, size);
    }
  }

  Buffer& inner() const { return *inner_; }
  int64_t front() const { return front_; }
  int64_t size() const { return size_; }

  void mark_written(int64_t begin, int64_t end);
  // The first byte of the range that nothing has written; `end` when all is.
  int64_t first_unwritten(int64_t begin, int64_t end) const;

 private:
  Ref<Buffer> inner_;
  int64_t front_;
  int64_t size_;
  MemoryCharge charge_;
  mutable std::mutex mutex_;
  IntervalSet written_;  // guarded by mutex_
};

class CheckedBuffer final : public Buffer {
 public:
  CheckedBuffer(Ref<ValidationDevice> device, Ref<CheckedStorage> storage, int64_t offset, int64_t size,
                BufferUsage usage, MemoryCategory category, std::string_view label);
  ~CheckedBuffer() override;

  CheckedStorage& storage() const { return *storage_; }
  // Where it begins in its storage, and in the storage's inner buffer.
  int64_t storage_offset() const { return heap_offset(); }
  int64_t inner_offset() const { return storage_->front() + heap_offset(); }

  Device& device() const override;
  bool read_only() const override { return storage_->inner().read_only(); }
  // Whoever asks for these bytes in order to write is taken to write all of them.
  Result<std::span<std::byte>> contents() override;
  Result<std::span<const std::byte>> read_contents() const override;
  Result<void> did_modify(int64_t offset, int64_t size) override;
  Result<void> synchronize(int64_t offset, int64_t size) override;
  std::byte* device_bytes() const override;

 private:
  Ref<ValidationDevice> device_;
  Ref<CheckedStorage> storage_;
};

class CheckedHeap final : public Heap {
 public:
  CheckedHeap(Ref<ValidationDevice> device, Ref<Heap> inner, Ref<CheckedStorage> storage, int64_t size,
              MemoryCategory category, std::string_view label);
  ~CheckedHeap() override;

  Device& device() const override;
  Result<Ref<Buffer>> create_buffer(const HeapBufferDescriptor& descriptor) override;

 private:
  Ref<ValidationDevice> device_;
  Ref<Heap> inner_;
  Ref<CheckedStorage> storage_;
};

}  // namespace weir
