// SPDX-License-Identifier: Apache-2.0
//
// The last two passes: placing storages in the arena, and writing the lowered steps as a Program.
#pragma once

#include "compile/lower.h"

namespace weir {

// `lowered` with its lifetimes computed.
Result<Compiled> emit(std::shared_ptr<const Graph> graph, const Lowered& lowered,
                      const CompileOptions& options);

}  // namespace weir
