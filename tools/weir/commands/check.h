// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir check`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code: kExitFailed where a line fails.
int check_command(const CheckOptions& options);

}  // namespace weir::cli
