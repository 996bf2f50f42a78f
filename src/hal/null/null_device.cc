// SPDX-License-Identifier: Apache-2.0
#include "hal/null/null_device.h"

#include "hal/null/null_command_buffer.h"
#include "hal/software/software_device.h"
#include "hal/validation/validation_device.h"

namespace weir {
namespace {

class NullDevice final : public SoftwareDevice {
 public:
  NullDevice(DeviceInfo info, Ref<MemoryAccount> memory)
      : SoftwareDevice(std::move(info), std::move(memory)) {}

  int64_t command_buffer_bytes(const CommandBufferCounts& counts) const override {
    return NullCommandBuffer::bytes(counts);
  }
  Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) override {
    WEIR_ASSIGN(const int32_t participants, check_command_buffer(descriptor));
    return Ref<CommandBuffer>(make_ref<NullCommandBuffer>(*this, descriptor, participants));
  }
};

}  // namespace

Result<Ref<Device>> create_null_device(const NullDeviceOptions& options) {
  constexpr int32_t kMostParticipants = 1024;
  if (options.participants < 1 || options.participants > kMostParticipants || options.memory_limit < 0) {
    return fail(StatusCode::kInvalidArgument,
                "The null device is asked for ({}) participants and a memory limit of ({}) bytes, and the "
                "allowed ones "
                "are (1 to {}) and (0 or more).",
                options.participants, options.memory_limit, kMostParticipants);
  }
  DeviceInfo info;
  info.name = "null";
  info.description = "executes nothing";
  info.kind = DeviceKind::kNull;
  info.executes = false;
  info.participants = options.participants;
  info.limits = {.buffer_bytes = int64_t{1} << 46,
                 .bindings = 4096,
                 .constant_bytes = 64 << 10,
                 .tiles = int64_t{1} << 40,
                 .participants = kMostParticipants,
                 .slots = 65536};
  info.capabilities = {.cpu_kernels = true,
                       .host_calls = true,
                       .inline_execution = true,
                       .import_host_memory = true,
                       .timestamps = false};
  info.toggles = {{"validation",
                   "Checks hazards, use before write, usage and guard bands, and poisons scratch.",
                   options.validation}};
  Ref<MemoryAccount> memory = make_ref<MemoryAccount>(
      info.name, options.memory_limit > 0 ? options.memory_limit : MemoryAccount::kNoLimit);
  Ref<Device> device = make_ref<NullDevice>(std::move(info), std::move(memory));
  return options.validation ? create_validation_device(std::move(device)) : device;
}

}  // namespace weir
