// SPDX-License-Identifier: Apache-2.0
//
// The alignment that the planner, the program file and the loader agree on.
#pragma once

#include <cstdint>

namespace weir {

// Bytes; of every storage in the arena and of every constant block: a cache line, and the widest vector.
inline constexpr int64_t kStorageAlignment = 64;

}  // namespace weir
