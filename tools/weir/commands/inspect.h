// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir inspect`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int inspect_command(const InspectOptions& options);

}  // namespace weir::cli
