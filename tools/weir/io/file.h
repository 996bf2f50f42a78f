// SPDX-License-Identifier: Apache-2.0
//
// Whole files in and out, with a limit, and errors that name the path.
//
//   WEIR_ASSIGN(std::vector<std::byte> bytes, read_file("photo.png"));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::cli {

inline constexpr int64_t kMaxFileBytes = int64_t{4} << 30;

// Not for devices, pipes and folders: an error. More than `max_bytes` is an error too.
Result<std::vector<std::byte>> read_file(const std::string& path, int64_t max_bytes = kMaxFileBytes);

// Replaces what was there. A file that could not be written whole is removed.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::string& path, std::string_view text);

// Makes the folder and those above it; one that exists is fine.
Result<void> make_folder(const std::string& path);

}  // namespace weir::cli
