// SPDX-License-Identifier: Apache-2.0
//
// Whether the numbers of one step fit its operator: what a kernel relies on when it walks its operands side
// by side. Shape inference gives such steps; a program file may hold others.
#pragma once

#include "base/status.h"
#include "op/op.h"

namespace weir {

// Ranks, extents and element types of the operands, against each other and the attributes. The operands that
// the operator needs are present, extents are from 0 to kDimMax, and read_attributes found the attributes
// sound. Whoever configures kernels from a program that comes from outside calls it for every step of a
// shape. Allocates for errors only.
Result<void> check_shapes(const ConcreteOp& op);

}  // namespace weir
