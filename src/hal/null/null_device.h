// SPDX-License-Identifier: Apache-2.0
//
// A device that executes nothing: every object and every check is there, submissions complete without
// running. For planning, for tests without hardware, and as the skeleton of a new backend.
//
//   WEIR_ASSIGN(Ref<Device> device, create_null_device({}));
#pragma once

#include <cstdint>

#include "base/ref.h"
#include "base/status.h"
#include "hal/device.h"

namespace weir {

struct NullDeviceOptions {
  int64_t memory_limit = 0;  // bytes; 0: none
  int32_t participants = 1;
  bool validation = false;
};

Result<Ref<Device>> create_null_device(const NullDeviceOptions& options = {});

}  // namespace weir
