// SPDX-License-Identifier: Apache-2.0
#include "serial_device.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/checked.h"
#include "hal/software/host_library.h"
#include "hal/software/software_command_buffer.h"
#include "hal/software/software_device.h"
#include "hal/validation/validation_device.h"

namespace weir {
namespace {

// The sealed form, in one block whose size is a function of the counts alone.
class SerialCommandBuffer final : public SoftwareCommandBuffer {
 public:
  SerialCommandBuffer(SoftwareDevice& device, const CommandBufferDescriptor& descriptor, int32_t participants)
      : SoftwareCommandBuffer(device, descriptor, participants) {}

  ~SerialCommandBuffer() override {
    for (RefCounted* object : kept_) {
      object->release();
    }
  }

  struct Layout {
    explicit Layout(const CommandBufferCounts& counts)
        : commands(take<RecordedCommand>(counts.commands)),
          places(take<Place>(counts.bindings)),
          pointers(take<std::byte*>(counts.bindings)),
          slots(take<std::byte*>(counts.slots)),
          kept(take<RefCounted*>(counts.buffers + counts.kernels)),
          constants(take<std::byte>(counts.constant_bytes)) {}

    template <typename T>
    int64_t take(int64_t count) {
      const int64_t offset = end;
      // T may be a pointer. NOLINTNEXTLINE(bugprone-sizeof-expression)
      end = align_up(end + count * static_cast<int64_t>(sizeof(T)), 64);
      return offset;
    }

    int64_t end = 0;
    int64_t commands, places, pointers, slots, kept, constants;
  };

  std::span<const CommandProfile> profile() const override { return {}; }

 private:
  // Where a binding lies: in a buffer, or from a slot's base on.
  struct Place {
    std::byte* base = nullptr;
    int32_t slot = -1;
    int64_t offset = 0;
    int64_t size = 0;
  };

  Result<void> seal_commands(const Recorder& recording, std::span<std::byte> storage) override {
    const Layout layout(recording.counts());
    const auto array = [&]<typename T>(std::span<T>& out, int64_t offset, int64_t count) {
      T* first = reinterpret_cast<T*>(storage.data() + offset);
      std::uninitialized_value_construct_n(first, count);
      out = {first, static_cast<size_t>(count)};
    };
    const CommandBufferCounts& counts = recording.counts();
    for (const Ref<Kernel>& kernel : recording.kernels()) {
      if (dynamic_cast<HostKernel*>(kernel.get()) == nullptr) {
        return fail(StatusCode::kInvalidArgument, "Kernel '{}' is of another device than '{}'.",
                    kernel->name(), device().info().name);
      }
    }
    array(commands_, layout.commands, counts.commands);
    array(places_, layout.places, counts.bindings);
    array(pointers_, layout.pointers, counts.bindings);
    array(slots_, layout.slots, counts.slots);
    array(kept_, layout.kept, counts.buffers + counts.kernels);
    array(constants_, layout.constants, counts.constant_bytes);
    std::ranges::copy(recording.commands(), commands_.begin());
    std::ranges::copy(recording.constants(), constants_.begin());
    for (size_t i = 0; i < places_.size(); ++i) {
      const RecordedBinding& binding = recording.bindings()[i];
      if (!binding.null) {
        Buffer* buffer = binding.range.buffer;
        places_[i] = {.base = buffer == nullptr ? nullptr : buffer->device_bytes(),
                      .slot = buffer == nullptr ? binding.range.slot : -1,
                      .offset = binding.range.offset,
                      .size = binding.range.size};
      }
    }
    size_t next = 0;
    for (const Ref<Buffer>& buffer : recording.buffers()) {
      kept_[next++] = Ref<RefCounted>(buffer).detach();
    }
    for (const Ref<Kernel>& kernel : recording.kernels()) {
      kept_[next++] = Ref<RefCounted>(kernel).detach();
    }
    return {};
  }

  void slot_bound(int32_t slot, std::byte* bytes) override { slots_[static_cast<size_t>(slot)] = bytes; }
  void scratch_bound(std::byte* bytes) override { scratch_ = bytes; }
  void parameters_bound(std::byte* bytes) override { parameters_ = bytes; }

  Result<void> execute(StatusRecord& record) override {
    const SoftwareDevice::Access access(software_device());
    WEIR_TRY(access.granted());
    for (const RecordedCommand& command : commands_) {
      if (cancelled()) {
        return fail(StatusCode::kCancelled, "Command buffer '{}' was cancelled while it ran.", label());
      }
      run(command, record);
    }
    return {};
  }

  void run(const RecordedCommand& command, StatusRecord& record) {
    const std::span<std::byte*> bound = pointers_.subspan(command.first_binding, command.binding_count);
    for (size_t i = 0; i < bound.size(); ++i) {
      const Place& place = places_[command.first_binding + i];
      std::byte* base = place.slot >= 0 ? slots_[static_cast<size_t>(place.slot)] : place.base;
      bound[i] = base == nullptr ? nullptr : base + place.offset;
    }
    const auto bytes = [&] { return static_cast<size_t>(places_[command.first_binding].size); };
    switch (command.kind) {
      case RecordedCommand::Kind::kDispatch: {
        const auto* kernel = static_cast<const HostKernel*>(command.kernel);
        kernel->function()(
            {.bindings = bound,
             .constants = constants_.data() + command.first_constant,
             .parameters = parameters_ == nullptr ? nullptr : parameters_ + command.parameter_offset,
             .scratch = scratch_,
             .tile_begin = 0,
             .tile_end = command.tiles,
             .step = command.step,
             .status = &record,
             .user = kernel->user()});
        break;
      }
      case RecordedCommand::Kind::kFill:
        std::memset(bound[0], command.value, bytes());
        break;
      case RecordedCommand::Kind::kCopy:
        std::memmove(bound[1], bound[0], bytes());
        break;
      case RecordedCommand::Kind::kHostCall:
        command.call(command.user);
        break;
    }
  }

  std::span<RecordedCommand> commands_;
  std::span<Place> places_;
  std::span<std::byte*> pointers_;  // of the command that runs, at its bindings' positions
  std::span<std::byte*> slots_;
  std::span<RefCounted*> kept_;  // buffers and kernels, a reference each
  std::span<std::byte> constants_;
  std::byte* scratch_ = nullptr;
  std::byte* parameters_ = nullptr;
};

class SerialDevice final : public SoftwareDevice {
 public:
  SerialDevice(DeviceInfo info, Ref<MemoryAccount> memory)
      : SoftwareDevice(std::move(info), std::move(memory)) {}

  int64_t command_buffer_bytes(const CommandBufferCounts& counts) const override {
    return SerialCommandBuffer::Layout(counts).end;
  }
  Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) override {
    WEIR_ASSIGN(const int32_t participants, check_command_buffer(descriptor));
    return Ref<CommandBuffer>(make_ref<SerialCommandBuffer>(*this, descriptor, participants));
  }
};

}  // namespace

Result<Ref<Device>> create_serial_device(const SerialDeviceOptions& options) {
  DeviceInfo info;
  info.name = "serial";
  info.description = "one command after another";
  info.limits = {.buffer_bytes = int64_t{1} << 46,
                 .bindings = 4096,
                 .constant_bytes = 64 << 10,
                 .tiles = int64_t{1} << 40,
                 .participants = 1,
                 .slots = 65536};
  info.binding_alignment = 4;  // the other devices take any offset
  info.capabilities = {
      .cpu_kernels = true, .host_calls = true, .inline_execution = true, .import_host_memory = true};
  info.toggles = {{"validation",
                   "Checks hazards, use before write, usage and guard bands, and poisons scratch.",
                   options.validation}};
  Ref<MemoryAccount> memory = make_ref<MemoryAccount>(
      info.name, options.memory_limit > 0 ? options.memory_limit : MemoryAccount::kNoLimit);
  Ref<Device> device = make_ref<SerialDevice>(std::move(info), std::move(memory));
  return options.validation ? create_validation_device(std::move(device)) : device;
}

}  // namespace weir
