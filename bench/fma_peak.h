// SPDX-License-Identifier: Apache-2.0
//
// The multiplier peak of one core, measured: multiply-adds on independent registers for about a millisecond.
#pragma once

#include "kernels/implementation.h"

namespace weir {

// GFLOP/s in float32 vectors of `isa`.
double fma_peak(Isa isa);

}  // namespace weir
