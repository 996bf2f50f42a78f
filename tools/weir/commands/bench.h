// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir bench`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int bench_command(const BenchOptions& options);

}  // namespace weir::cli
