// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir run`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int run_command(const RunOptions& options);

}  // namespace weir::cli
