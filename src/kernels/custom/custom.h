// SPDX-License-Identifier: Apache-2.0
//
// The implementation of a custom operator: the door between Implementation and the operator that a user
// registered. Plan and extent were asked for when the step got its numbers (CustomPrepared); here they are
// only read.
#pragma once

#include "kernels/implementation.h"
#include "op/custom_operator.h"

namespace weir {

// Named "custom:<domain>.<name>", with the operator's own text for its name. Its kernel takes the
// CustomOperator as `user`.
Implementation custom_implementation(const CustomOperator& op);

}  // namespace weir
