// SPDX-License-Identifier: Apache-2.0
//
// What one shape of a session needs, before anything is allocated for it.
#pragma once

#include <vector>

#include "runtime/session.h"

namespace weir {

struct Session::Measured {
  ShapeValues values;
  std::vector<ConcreteStep> prepare_steps;
  std::vector<ConcreteStep> steps;
  ShapePlan plan;
  int64_t scratch_bytes = 0;  // of all participants, for the kernels that the session chose
  int64_t expressions_ns = 0;
  int64_t placement_ns = 0;
};

// Of the buffer of an input or output, or one of the two of a state.
int64_t port_bytes(const TensorSpec& spec);

// Nanoseconds of the steady clock.
int64_t steady_now_ns();

}  // namespace weir
