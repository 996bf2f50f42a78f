// SPDX-License-Identifier: Apache-2.0
//
// How many operands each operator takes. Inner to src/program.
#pragma once

#include "base/status.h"
#include "program/program.h"

namespace weir::internal {

// Whether the step has the operands that its operator and attributes ask for, none absent that must be there.
Result<void> check_operands(const Step& step, const Attributes& attributes);

}  // namespace weir::internal
