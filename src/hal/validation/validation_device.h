// SPDX-License-Identifier: Apache-2.0
//
// Validation: a wrapper above any device, with the same interface. What it finds while recording fails seal;
// what it finds while running fails the submission. Every message names the step.
//
//   missing barrier     two commands touch the same bytes, one writes, and nothing orders them
//   use before write    a command reads bytes that nothing has written
//   usage               a buffer is used in a way that was not asked for at its creation
//   guard bands         bytes beside a buffer placed in a heap, or around its own memory, have changed
//   poison              scratch and declared workspace hold rubbish before each command, so that a kernel
//                       that reads what it has not written gives visibly wrong results
// Superfluous barriers are notes (CommandBuffer::notes), not errors.
//
//   Ref<Device> checked = create_validation_device(device);
#pragma once

#include "base/ref.h"
#include "hal/device.h"

namespace weir {

Ref<Device> create_validation_device(Ref<Device> device);

}  // namespace weir
