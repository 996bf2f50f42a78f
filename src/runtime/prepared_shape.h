// SPDX-License-Identifier: Apache-2.0
//
// One shape of a request: what was measured, and the work recorded for it.
#pragma once

#include "runtime/measure.h"
#include "runtime/session.h"

namespace weir {

struct Request::PreparedShape {
  Session::Measured measured;
  Session::PlannedBytes planned;
  Ref<CommandBuffer> commands;
  Ref<Buffer> prepared;  // null where the program has no prepared constants
  bool prepared_filled = false;
};

}  // namespace weir
