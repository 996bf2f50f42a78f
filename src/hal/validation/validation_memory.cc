// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/validation_memory.h"

#include "hal/software/host_buffer.h"
#include "hal/validation/validation_device_impl.h"

namespace weir {

void CheckedStorage::mark_written(int64_t begin, int64_t end) {
  const std::lock_guard lock(mutex_);
  written_.add(begin, end);
}

int64_t CheckedStorage::first_unwritten(int64_t begin, int64_t end) const {
  const std::lock_guard lock(mutex_);
  return written_.first_missing(begin, end);
}

CheckedBuffer::CheckedBuffer(Ref<ValidationDevice> device, Ref<CheckedStorage> storage, int64_t offset,
                             int64_t size, BufferUsage usage, MemoryCategory category, std::string_view label)
    : Buffer(size, storage->inner().mode(), usage, category, label, offset),
      device_(std::move(device)),
      storage_(std::move(storage)) {}

CheckedBuffer::~CheckedBuffer() = default;

Device& CheckedBuffer::device() const {
  return *device_;
}

Result<std::span<std::byte>> CheckedBuffer::contents() {
  WEIR_ASSIGN(const std::span<std::byte> all, storage_->inner().contents());
  storage_->mark_written(storage_offset(), storage_offset() + size());
  return all.subspan(static_cast<size_t>(inner_offset()), static_cast<size_t>(size()));
}

Result<std::span<const std::byte>> CheckedBuffer::read_contents() const {
  WEIR_ASSIGN(const std::span<const std::byte> all, storage_->inner().read_contents());
  return all.subspan(static_cast<size_t>(inner_offset()), static_cast<size_t>(size()));
}

Result<void> CheckedBuffer::did_modify(int64_t offset, int64_t size) {
  WEIR_ASSIGN(const int64_t length, check_buffer_range(label(), this->size(), offset, size));
  return storage_->inner().did_modify(inner_offset() + offset, length);
}

Result<void> CheckedBuffer::synchronize(int64_t offset, int64_t size) {
  WEIR_ASSIGN(const int64_t length, check_buffer_range(label(), this->size(), offset, size));
  return storage_->inner().synchronize(inner_offset() + offset, length);
}

std::byte* CheckedBuffer::device_bytes() const {
  std::byte* bytes = storage_->inner().device_bytes();
  return bytes == nullptr ? nullptr : bytes + inner_offset();
}

CheckedHeap::CheckedHeap(Ref<ValidationDevice> device, Ref<Heap> inner, Ref<CheckedStorage> storage,
                         int64_t size, MemoryCategory category, std::string_view label)
    : Heap(size, inner->mode(), category, label),
      device_(std::move(device)),
      inner_(std::move(inner)),
      storage_(std::move(storage)) {}

CheckedHeap::~CheckedHeap() = default;

Device& CheckedHeap::device() const {
  return *device_;
}

Result<Ref<Buffer>> CheckedHeap::create_buffer(const HeapBufferDescriptor& descriptor) {
  WEIR_TRY(check_heap_child(*this, device_->info(), descriptor));
  return Ref<Buffer>(make_ref<CheckedBuffer>(device_, storage_, descriptor.offset, descriptor.size,
                                             descriptor.usage, category(), descriptor.label));
}

}  // namespace weir
