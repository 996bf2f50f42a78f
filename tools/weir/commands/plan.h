// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir plan`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int plan_command(const PlanOptions& options);

}  // namespace weir::cli
