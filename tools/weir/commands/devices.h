// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir devices`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int devices_command(const DevicesOptions& options);

}  // namespace weir::cli
