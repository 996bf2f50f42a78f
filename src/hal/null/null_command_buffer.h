// SPDX-License-Identifier: Apache-2.0
//
// A command buffer that is recorded, checked and sealed, and runs nothing.
#pragma once

#include "hal/software/software_command_buffer.h"

namespace weir {

class NullCommandBuffer final : public SoftwareCommandBuffer {
 public:
  NullCommandBuffer(SoftwareDevice& device, const CommandBufferDescriptor& descriptor, int32_t participants)
      : SoftwareCommandBuffer(device, descriptor, participants) {}

  // The buffers and kernels that it keeps alive.
  static int64_t bytes(const CommandBufferCounts& counts);

  std::span<const CommandProfile> profile() const override { return {}; }

 private:
  Result<void> seal_commands(const Recorder& recording, std::span<std::byte> storage) override;
  void slot_bound(int32_t, std::byte*) override {}
  void scratch_bound(std::byte*) override {}
  void parameters_bound(std::byte*) override {}
  Result<void> execute(StatusRecord&) override;

  // In the storage that seal was given; references are released with the command buffer.
  class Kept {
   public:
    ~Kept();
    std::span<RefCounted*> objects;
  };
  Kept kept_;
};

}  // namespace weir
