// SPDX-License-Identifier: Apache-2.0
//
// What the system says about the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::cli {

// Bytes of the line `key` ("MemTotal") of a /proc/meminfo, or 0.
int64_t meminfo_bytes(std::string_view meminfo, std::string_view key);

// The contents of a file of /proc, which have no size; "" where it cannot be read.
std::string read_proc(const std::string& path);

}  // namespace weir::cli
