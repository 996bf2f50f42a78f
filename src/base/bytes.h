// SPDX-License-Identifier: Apache-2.0
//
// Sizes as people write them, on the command line and in the environment.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace weir {

// A whole number of bytes, or a decimal number with one of the units kB, MB, GB (powers of 1000), K, M, G,
// KiB, MiB, GiB (powers of 1024).
Result<int64_t> parse_bytes(std::string_view text);

}  // namespace weir
