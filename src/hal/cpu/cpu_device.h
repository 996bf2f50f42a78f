// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a device. A kernel is a function over a range of tiles, a command buffer a flat array of
// dispatches; a submission leases a team from the thread pool (the calling thread and whatever workers are
// idle).
//
//   WEIR_ASSIGN(Ref<ThreadPool> pool, ThreadPool::create());  // one for the process
//   WEIR_ASSIGN(Ref<Device> device, create_cpu_device({.pool = pool}));
//
// Storage modes: Shared and Private lie in ordinary memory, the host merely keeps out of Private; Managed is
// one copy. With the toggle `simulate_discrete` it behaves as a far device: Private pages are inaccessible
// unless a command buffer runs, Managed is two copies, host memory is not imported, submissions never run
// inline and complete late, and commands without a barrier between them run in a shuffled order.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "hal/device.h"

namespace weir {

struct DeviceToggles {
  bool simulate_discrete = false;
  uint64_t shuffle_seed = 1;  // of simulate_discrete
  bool validation = false;    // wraps the device, see hal/validation/validation_device.h
};

struct CpuDeviceOptions {
  Ref<ThreadPool> pool;      // null: the device makes one of `threads`
  int32_t threads = 0;       // participants of a command buffer; 0: the pool's, or default_thread_count()
  int64_t memory_limit = 0;  // bytes; 0: see hal/memory_limit.h
  DeviceToggles toggles;
  std::string_view isa;  // for DeviceInfo::isa: what the kernels' registry detected
};

Result<Ref<Device>> create_cpu_device(const CpuDeviceOptions& options = {});

}  // namespace weir
