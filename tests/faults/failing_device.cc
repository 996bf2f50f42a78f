// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_device.h"

#include <algorithm>
#include <vector>

namespace weir::faults {
namespace {

class FailingDevice final : public Device {
 public:
  FailingDevice(Ref<Device> inner, Ref<Event> lost, HalFaults& own)
      : Device(inner->info(), Ref<MemoryAccount>(&inner->memory())),
        faults(own),
        inner_(std::move(inner)),
        lost_(std::move(lost)) {}

  int64_t allocation_bytes(int64_t size, StorageMode mode) const override {
    return inner_->allocation_bytes(size, mode);
  }
  int64_t command_buffer_bytes(const CommandBufferCounts& counts) const override {
    return inner_->command_buffer_bytes(counts);
  }
  ImportVerdict import_verdict(const void* pointer, int64_t size) const override {
    return inner_->import_verdict(pointer, size);
  }
  Result<Ref<Buffer>> create_buffer(const BufferDescriptor& descriptor) override;
  Result<Ref<Buffer>> import_buffer(const ImportDescriptor& descriptor) override;
  Result<Ref<Heap>> create_heap(const HeapDescriptor& descriptor) override;
  Result<Ref<Library>> create_library(const LibraryDescriptor& descriptor) override;
  Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) override;
  Result<Ref<Queue>> create_queue(const QueueDescriptor& descriptor) override;
  Result<Ref<Event>> create_event(std::string_view label) override {
    WEIR_TRY(faults.next(HalCall::kCreateEvent));
    return inner_->create_event(label);
  }
  Result<Ref<Fence>> create_fence(std::string_view label) override { return inner_->create_fence(label); }

  Event& lost() const { return *lost_; }

  HalFaults& faults;

 private:
  Ref<Device> inner_;
  Ref<Event> lost_;  // has failed at value 1
};

// A part of every wrapper: keeps the device, and is counted.
struct Part {
  explicit Part(FailingDevice& of) : device(&of) { of.faults.count_object(1); }
  ~Part() { device->faults.count_object(-1); }
  Part(const Part&) = delete;
  Result<void> next(HalCall call) const { return device->faults.next(call); }
  Ref<FailingDevice> device;
};

class FailingBuffer final : public Buffer {
 public:
  FailingBuffer(FailingDevice& device, Ref<Buffer> inner)
      : Buffer(inner->size(), inner->mode(), inner->usage(), inner->category(), inner->label(),
               inner->heap_offset()),
        part_(device),
        inner_(std::move(inner)) {}

  Buffer& inner() const { return *inner_; }
  Device& device() const override { return *part_.device; }
  bool read_only() const override { return inner_->read_only(); }
  Result<std::span<std::byte>> contents() override {
    WEIR_TRY(part_.next(HalCall::kContents));
    return inner_->contents();
  }
  Result<std::span<const std::byte>> read_contents() const override {
    WEIR_TRY(part_.next(HalCall::kContents));
    return static_cast<const Buffer&>(*inner_).read_contents();
  }
  Result<void> did_modify(int64_t offset, int64_t size) override {
    WEIR_TRY(part_.next(HalCall::kCarry));
    return inner_->did_modify(offset, size);
  }
  Result<void> synchronize(int64_t offset, int64_t size) override {
    WEIR_TRY(part_.next(HalCall::kCarry));
    return inner_->synchronize(offset, size);
  }
  std::byte* device_bytes() const override { return inner_->device_bytes(); }

 private:
  Part part_;
  Ref<Buffer> inner_;
};

class FailingHeap final : public Heap {
 public:
  FailingHeap(FailingDevice& device, Ref<Heap> inner)
      : Heap(inner->size(), inner->mode(), inner->category(), inner->label()),
        part_(device),
        inner_(std::move(inner)) {}
  Device& device() const override { return *part_.device; }
  Result<Ref<Buffer>> create_buffer(const HeapBufferDescriptor& descriptor) override {
    WEIR_TRY(part_.next(HalCall::kCreateHeap));
    WEIR_ASSIGN(Ref<Buffer> made, inner_->create_buffer(descriptor));
    return Ref<Buffer>(make_ref<FailingBuffer>(*part_.device, std::move(made)));
  }

 private:
  Part part_;
  Ref<Heap> inner_;
};

class FailingLibrary final : public Library {
 public:
  FailingLibrary(FailingDevice& device, Ref<Library> inner)
      : Library(inner->label()), part_(device), inner_(std::move(inner)) {}
  Result<Ref<Kernel>> kernel(std::string_view name) const override {
    WEIR_TRY(part_.next(HalCall::kGetKernel));
    return inner_->kernel(name);
  }
  std::vector<std::string> kernel_names() const override { return inner_->kernel_names(); }

 private:
  Part part_;
  Ref<Library> inner_;
};

// Buffers of another device go through as they are, and are refused below.
Buffer& below(Buffer& buffer) {
  auto* own = dynamic_cast<FailingBuffer*>(&buffer);
  return own == nullptr ? buffer : own->inner();
}

class FailingEncoder final : public Encoder {
 public:
  FailingEncoder(const Part& part, Encoder& inner) : part_(part), inner_(inner) {}
  void set_step(int32_t step) override { inner_.set_step(step); }
  void set_kernel(Kernel& kernel) override { inner_.set_kernel(kernel); }
  void set_buffer(int32_t index, const BufferRange& range, Access access) override {
    inner_.set_buffer(index, translated(range), access);
  }
  void set_null(int32_t index) override { inner_.set_null(index); }
  void set_constants(std::span<const std::byte> bytes) override { inner_.set_constants(bytes); }
  void set_scratch(int64_t bytes) override { inner_.set_scratch(bytes); }
  void set_parameters(int64_t offset) override { inner_.set_parameters(offset); }
  void dispatch(int64_t x, int64_t y, int64_t z) override {
    next();
    inner_.dispatch(x, y, z);
  }
  void barrier() override { inner_.barrier(); }
  void update_fence(Fence& fence) override { inner_.update_fence(fence); }
  void wait_fence(Fence& fence) override { inner_.wait_fence(fence); }
  void fill(const BufferRange& target, uint8_t value) override {
    next();
    inner_.fill(translated(target), value);
  }
  void copy(const BufferRange& source, const BufferRange& target) override {
    next();
    inner_.copy(translated(source), translated(target));
  }
  void host_call(HostCall call, void* user) override { inner_.host_call(call, user); }
  void refuse(Status status) override { inner_.refuse(std::move(status)); }

 private:
  void next() {
    if (Result<void> fault = part_.next(HalCall::kEncode); !fault) {
      inner_.refuse(std::move(fault).error());
    }
  }
  static BufferRange translated(BufferRange range) {
    if (range.buffer != nullptr) {
      range.buffer = &below(*range.buffer);
    }
    return range;
  }

  const Part& part_;
  Encoder& inner_;
};

class FailingCommandBuffer final : public CommandBuffer {
 public:
  FailingCommandBuffer(FailingDevice& device, Ref<CommandBuffer> inner)
      : CommandBuffer(inner->label(), inner->participants()),
        part_(device),
        inner_(std::move(inner)),
        encoder_(part_, inner_->encoder()) {}

  CommandBuffer& inner() const { return *inner_; }
  Device& device() const override { return *part_.device; }
  CommandBufferState state() const override { return inner_->state(); }
  Encoder& encoder() override { return encoder_; }
  CommandBufferCounts counts() const override { return inner_->counts(); }
  Result<void> seal(std::span<std::byte> storage) override {
    WEIR_TRY(part_.next(HalCall::kSeal));
    return inner_->seal(storage);
  }
  int64_t host_bytes() const override { return inner_->host_bytes(); }
  int64_t scratch_bytes() const override { return inner_->scratch_bytes(); }
  Result<void> bind_scratch(Buffer& buffer, int64_t offset) override {
    WEIR_TRY(part_.next(HalCall::kBind));
    return inner_->bind_scratch(below(buffer), offset);
  }
  Result<void> bind_parameters(Buffer& buffer, int64_t offset) override {
    WEIR_TRY(part_.next(HalCall::kBind));
    return inner_->bind_parameters(below(buffer), offset);
  }
  Result<void> bind_slot(int32_t slot, Buffer& buffer, int64_t offset) override {
    WEIR_TRY(part_.next(HalCall::kBind));
    return inner_->bind_slot(slot, below(buffer), offset);
  }
  Result<void> release_bindings() override { return inner_->release_bindings(); }
  void cancel() override { inner_->cancel(); }
  // Nothing runs any more on a device that was lost.
  Result<void> wait(std::chrono::nanoseconds timeout) override {
    WEIR_TRY(inner_->wait(timeout));
    return part_.next(HalCall::kWait);
  }
  uint64_t ended() const override { return inner_->ended(); }
  const StatusRecord& status_record() const override { return inner_->status_record(); }
  std::span<const CommandProfile> profile() const override { return inner_->profile(); }

 private:
  Part part_;
  Ref<CommandBuffer> inner_;
  FailingEncoder encoder_;
};

class FailingQueue final : public Queue {
 public:
  FailingQueue(FailingDevice& device, Ref<Queue> inner)
      : Queue(inner->label()), part_(device), inner_(std::move(inner)) {}

  Device& device() const override { return *part_.device; }
  Result<SubmitAnswer> submit(const SubmitDescriptor& submission) override {
    WEIR_TRY(part_.next(HalCall::kSubmit));
    SubmitDescriptor own = submission;
    if (submission.command_buffer != nullptr) {
      own.command_buffer = &static_cast<FailingCommandBuffer*>(submission.command_buffer)->inner();
    }
    if (part_.next(HalCall::kExecute)) {
      return inner_->submit(own);
    }
    // It waits for something that has failed already: the queue's own way for a run that fails.
    std::vector<EventPoint> waits(submission.waits.begin(), submission.waits.end());
    waits.push_back({&part_.device->lost(), 1});
    own.waits = waits;
    return inner_->submit(own);
  }
  void withdraw(CommandBuffer& command_buffer) override {
    inner_->withdraw(static_cast<FailingCommandBuffer&>(command_buffer).inner());
  }
  bool is_own_thread() const override { return inner_->is_own_thread(); }
  void wait_idle() override { inner_->wait_idle(); }
  QueueStats stats() const override { return inner_->stats(); }

 private:
  Part part_;
  Ref<Queue> inner_;
};

Result<Ref<Buffer>> FailingDevice::create_buffer(const BufferDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateBuffer));
  WEIR_ASSIGN(Ref<Buffer> made, inner_->create_buffer(descriptor));
  return Ref<Buffer>(make_ref<FailingBuffer>(*this, std::move(made)));
}

Result<Ref<Buffer>> FailingDevice::import_buffer(const ImportDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateBuffer));
  WEIR_ASSIGN(Ref<Buffer> made, inner_->import_buffer(descriptor));
  return Ref<Buffer>(make_ref<FailingBuffer>(*this, std::move(made)));
}

Result<Ref<Heap>> FailingDevice::create_heap(const HeapDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateHeap));
  WEIR_ASSIGN(Ref<Heap> made, inner_->create_heap(descriptor));
  return Ref<Heap>(make_ref<FailingHeap>(*this, std::move(made)));
}

Result<Ref<Library>> FailingDevice::create_library(const LibraryDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateLibrary));
  WEIR_ASSIGN(Ref<Library> made, inner_->create_library(descriptor));
  return Ref<Library>(make_ref<FailingLibrary>(*this, std::move(made)));
}

Result<Ref<CommandBuffer>> FailingDevice::create_command_buffer(const CommandBufferDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateCommandBuffer));
  WEIR_ASSIGN(Ref<CommandBuffer> made, inner_->create_command_buffer(descriptor));
  return Ref<CommandBuffer>(make_ref<FailingCommandBuffer>(*this, std::move(made)));
}

Result<Ref<Queue>> FailingDevice::create_queue(const QueueDescriptor& descriptor) {
  WEIR_TRY(faults.next(HalCall::kCreateQueue));
  WEIR_ASSIGN(Ref<Queue> made, inner_->create_queue(descriptor));
  return Ref<Queue>(make_ref<FailingQueue>(*this, std::move(made)));
}

Status lost(std::string_view call) {
  return Status(StatusCode::kUnavailable, fmt::format("The device was lost at a call of '{}'.", call));
}

}  // namespace

std::string_view to_string(HalCall call) {
  constexpr std::string_view kNames[] = {
      "create_buffer", "create_heap",           "contents", "carry",   "create_library",
      "get_kernel",    "create_command_buffer", "encode",   "seal",    "bind",
      "create_queue",  "create_event",          "submit",   "execute", "wait"};
  return kNames[static_cast<int>(call)];
}

void HalFaults::arm(HalCall call, int64_t index) {
  for (std::atomic<int64_t>& count : counts_) {
    count.store(0);
  }
  fired_.store(false);
  call_.store(static_cast<int>(call));
  index_.store(index);
}

Result<void> HalFaults::next(HalCall call) {
  const int64_t number = counts_[static_cast<size_t>(call)].fetch_add(1);
  if (static_cast<int>(call) != call_.load() || number != index_.load()) {
    return {};
  }
  fired_.store(true);
  return std::unexpected(lost(to_string(call)));
}

Ref<Device> create_failing_device(Ref<Device> inner, HalFaults& faults) {
  auto event = inner->create_event("loss of the device");
  if (!event || !(*event)->fail(1, lost("execute"))) {
    return {};
  }
  return make_ref<FailingDevice>(std::move(inner), *std::move(event), faults);
}

}  // namespace weir::faults
