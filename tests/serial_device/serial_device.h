// SPDX-License-Identifier: Apache-2.0
//
// The backend of docs/add-a-backend.md: a device that runs its commands one after another on one thread. It
// shows what a backend must say and do, passes the conformance suite, and gives the bits of the CPU device
// (tests/promises/same/same_test.cc).
#pragma once

#include <cstdint>

#include "base/ref.h"
#include "base/status.h"
#include "hal/device.h"

namespace weir {

struct SerialDeviceOptions {
  int64_t memory_limit = 0;  // bytes; 0: none
  bool validation = false;
};

Result<Ref<Device>> create_serial_device(const SerialDeviceOptions& options = {});

}  // namespace weir
