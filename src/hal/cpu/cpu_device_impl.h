// SPDX-License-Identifier: Apache-2.0
//
// The CPU device; made by create_cpu_device (hal/cpu/cpu_device.h).
#pragma once

#include "hal/cpu/cpu_device.h"
#include "hal/software/software_device.h"

namespace weir {

class CpuDevice final : public SoftwareDevice {
 public:
  CpuDevice(DeviceInfo info, Ref<MemoryAccount> memory, Ref<ThreadPool> pool, const DeviceToggles& toggles)
      : SoftwareDevice(std::move(info), std::move(memory)), pool_(std::move(pool)), toggles_(toggles) {}

  int64_t command_buffer_bytes(const CommandBufferCounts& counts) const override;
  Result<Ref<CommandBuffer>> create_command_buffer(const CommandBufferDescriptor& descriptor) override;

  ThreadPool& pool() const { return *pool_; }
  const DeviceToggles& toggles() const { return toggles_; }

 private:
  Ref<ThreadPool> pool_;
  DeviceToggles toggles_;
};

}  // namespace weir
