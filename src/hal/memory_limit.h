// SPDX-License-Identifier: Apache-2.0
//
// How many bytes a device may hold: what its creator asked for, else the environment's WEIR_MEMORY_LIMIT (as
// in 512M), else the memory that there is.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace weir {

// `asked` and the variable's number mean nothing where they are 0. Reads the environment: not while another
// thread changes it.
Result<int64_t> memory_limit(int64_t asked, int64_t available);

}  // namespace weir
