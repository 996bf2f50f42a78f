// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir compile`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int compile_command(const CompileCommandOptions& options);

}  // namespace weir::cli
