// SPDX-License-Identifier: Apache-2.0
//
// The body of `weir ocr`.
#pragma once

#include "tools/weir/commands/options.h"

namespace weir::cli {

// Gives the exit code; errors have been printed.
int ocr_command(const OcrOptions& options);

}  // namespace weir::cli
