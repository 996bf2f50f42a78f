// SPDX-License-Identifier: Apache-2.0
//
// Instruction sets as people name them, in options of the command line and of sessions.
//
//   WEIR_ASSIGN(const Isa isa, isa_named("avx2"));
#pragma once

#include <string_view>

#include "base/status.h"
#include "kernels/implementation.h"

namespace weir {

// The one of this name; `best`, that of the processor, where there is no name. A name that is none, or of
// more than the best, is an error.
Result<Isa> isa_named(std::string_view name, Isa best = detect_isa());

}  // namespace weir
