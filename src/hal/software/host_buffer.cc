// SPDX-License-Identifier: Apache-2.0
#include "hal/software/host_buffer.h"

#include <cstring>

#include "base/checked.h"
#include "hal/software/software_device.h"

namespace weir {

HostAllocation::HostAllocation(SoftwareDevice& device) : device_(&device) {}

Result<Ref<HostAllocation>> HostAllocation::create(SoftwareDevice& device, const Request& request) {
  Ref<HostAllocation> allocation = Ref<HostAllocation>::adopt(new HostAllocation(device));
  allocation->mode_ = request.mode;
  allocation->size_ = request.size;
  WEIR_ASSIGN(allocation->charge_,
              device.memory().charge(request.category, device.allocation_bytes(request.size, request.mode),
                                     request.label));
  const bool far = !device.info().unified_memory && request.mode != StorageMode::kShared;
  const bool two = far && request.mode == StorageMode::kManaged;
  const bool device_has_memory = device.info().executes || request.mode != StorageMode::kPrivate;
  HostMemory::Options options{.size = request.size,
                              .alignment = std::max(request.alignment, device.info().buffer_alignment),
                              .pages = far && !two,
                              .prefault = request.prefault,
                              .lock = request.lock,
                              .huge_pages = request.huge_pages,
                              .label = request.label};
  if (device_has_memory) {
    WEIR_ASSIGN(allocation->first_, HostMemory::allocate(options));
  }
  allocation->device_memory_ = allocation->first_.data();
  allocation->host_ = request.mode == StorageMode::kPrivate ? nullptr : allocation->first_.data();
  if (two) {
    options.pages = true;
    WEIR_ASSIGN(allocation->second_, HostMemory::allocate(options));
    allocation->device_memory_ = allocation->second_.data();
  }
  if (far && device_has_memory) {
    allocation->far_ = true;
    device.add_far(*allocation);
  }
  return allocation;
}

Result<Ref<HostAllocation>> HostAllocation::import(SoftwareDevice& device,
                                                   const ImportDescriptor& descriptor) {
  Ref<HostAllocation> allocation = Ref<HostAllocation>::adopt(new HostAllocation(device));
  if (descriptor.counted) {
    WEIR_ASSIGN(allocation->charge_,
                device.memory().charge(descriptor.category, descriptor.size, descriptor.label));
  }
  allocation->size_ = descriptor.size;
  allocation->read_only_ = descriptor.read_only;
  allocation->keep_alive_ = descriptor.keep_alive;
  allocation->host_ = static_cast<std::byte*>(const_cast<void*>(descriptor.pointer));
  allocation->device_memory_ = allocation->host_;
  return allocation;
}

HostAllocation::~HostAllocation() {
  if (far_) {
    device_->remove_far(*this);
  }
}

Result<void> HostAllocation::copy(bool to_device, int64_t offset, int64_t size) {
  if (host_ == device_memory_ || device_memory_ == nullptr) {
    return {};
  }
  const SoftwareDevice::Access access(*device_);
  WEIR_TRY(access.granted());
  std::byte* host = host_ + offset;
  std::byte* device = device_memory_ + offset;
  std::memcpy(to_device ? device : host, to_device ? host : device, static_cast<size_t>(size));
  return {};
}

bool HostAllocation::set_accessible(bool accessible) {
  return (second_.data() != nullptr ? second_ : first_).set_accessible(accessible);
}

Result<int64_t> check_buffer_range(std::string_view label, int64_t size, int64_t offset, int64_t length) {
  if (offset < 0 || offset > size || length > size - offset) {
    return fail(StatusCode::kOutOfRange,
                "Buffer '{}' has ({}) bytes, and the range asked for is ({}) bytes from ({}).", label, size,
                length, offset);
  }
  return length < 0 ? size - offset : length;
}

Result<void> check_heap_child(const Heap& heap, const DeviceInfo& info,
                              const HeapBufferDescriptor& descriptor) {
  const int64_t alignment = info.buffer_alignment;
  if (descriptor.mode && *descriptor.mode != heap.mode()) {
    return fail(StatusCode::kInvalidArgument,
                "Buffer '{}' asks for storage mode ({}), and its heap '{}' has ({}), which children inherit.",
                descriptor.label, to_string(*descriptor.mode), heap.label(), to_string(heap.mode()));
  }
  if (descriptor.offset < 0 || descriptor.offset % alignment != 0) {
    return fail(StatusCode::kInvalidArgument,
                "Buffer '{}' has an offset ({}) in heap '{}', and device '{}' takes multiples of ({}).",
                descriptor.label, descriptor.offset, heap.label(), info.name, alignment);
  }
  if (descriptor.size < 1 || descriptor.offset > heap.size() ||
      descriptor.size > heap.size() - descriptor.offset) {
    return fail(StatusCode::kOutOfRange,
                "Buffer '{}' asks for ({}) bytes from offset ({}), and its heap '{}' has ({}) bytes.",
                descriptor.label, descriptor.size, descriptor.offset, heap.label(), heap.size());
  }
  return {};
}

HostBuffer::HostBuffer(Ref<HostAllocation> allocation, int64_t offset, int64_t size, BufferUsage usage,
                       MemoryCategory category, std::string_view label)
    : Buffer(size, allocation->mode(), usage, category, label, offset), allocation_(std::move(allocation)) {
  if (allocation_->device_bytes() != nullptr) {
    device_bytes_ = allocation_->device_bytes() + offset;
  }
}

HostBuffer::~HostBuffer() = default;

Device& HostBuffer::device() const {
  return allocation_->device();
}

bool HostBuffer::read_only() const {
  return allocation_->read_only();
}

Result<std::span<std::byte>> HostBuffer::contents() {
  if (allocation_->read_only()) {
    return fail(StatusCode::kPermissionDenied,
                "Buffer '{}' was imported read-only, and its contents are asked for in order to write.",
                label());
  }
  WEIR_ASSIGN(const std::span<const std::byte> bytes, read_contents());
  return std::span(const_cast<std::byte*>(bytes.data()), bytes.size());
}

Result<std::span<const std::byte>> HostBuffer::read_contents() const {
  if (mode() == StorageMode::kPrivate) {
    return fail(
        StatusCode::kFailedPrecondition,
        "Buffer '{}' has storage mode (Private), and only (Shared, Managed) have contents that the host can "
        "reach; copy it to a Shared buffer.",
        label());
  }
  return std::span<const std::byte>(allocation_->host_bytes() + heap_offset(), static_cast<size_t>(size()));
}

Result<void> HostBuffer::did_modify(int64_t offset, int64_t size) {
  return carry(true, offset, size);
}

Result<void> HostBuffer::synchronize(int64_t offset, int64_t size) {
  return carry(false, offset, size);
}

Result<void> HostBuffer::carry(bool to_device, int64_t offset, int64_t size) {
  if (mode() == StorageMode::kPrivate) {
    return fail(StatusCode::kFailedPrecondition,
                "Buffer '{}' has storage mode (Private), and only (Managed) has a host copy to keep in step.",
                label());
  }
  WEIR_ASSIGN(const int64_t length, check_buffer_range(label(), this->size(), offset, size));
  return allocation_->copy(to_device, heap_offset() + offset, length);
}

HostHeap::HostHeap(Ref<HostAllocation> allocation, int64_t size, MemoryCategory category,
                   std::string_view label)
    : Heap(size, allocation->mode(), category, label), allocation_(std::move(allocation)) {}

HostHeap::~HostHeap() = default;

Device& HostHeap::device() const {
  return allocation_->device();
}

Result<Ref<Buffer>> HostHeap::create_buffer(const HeapBufferDescriptor& descriptor) {
  WEIR_TRY(check_heap_child(*this, device().info(), descriptor));
  return Ref<Buffer>(make_ref<HostBuffer>(allocation_, descriptor.offset, descriptor.size, descriptor.usage,
                                          category(), descriptor.label));
}

}  // namespace weir
