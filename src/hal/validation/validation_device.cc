// SPDX-License-Identifier: Apache-2.0
#include "hal/validation/validation_device.h"
namespace weir {
Ref<Device> create_validation_device(Ref<Device> device) {
  return device;
}
}  // namespace weir
