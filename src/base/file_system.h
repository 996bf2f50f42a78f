// SPDX-License-Identifier: Apache-2.0
//
// Files and folders by name. In place of std::filesystem in Weir's own code: there, functions that allocate
// are noexcept, so that a process that runs out of memory in one of them ends.
//
//   WEIR_TRY(make_folders(folder));
//   WEIR_ASSIGN(std::vector<FolderEntry> entries, list_folder(folder));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir {

// "File 'x' cannot be opened: No such file or directory.", with the code that fits the system's error number.
std::unexpected<Status> file_error(std::string_view action, std::string_view path, int error);

// "a/b" of "a/b/c", "." of "c", "/" of "/c".
std::string folder_of(std::string_view path);
// With the working folder in front of a relative one; nothing is resolved.
Result<std::string> absolute_path(const std::string& path);
// Without links and dots; none where there is no such file.
std::optional<std::string> real_path(const std::string& path);
// Whether `path` is `folder` or lies below it; both real.
bool is_inside(std::string_view path, std::string_view folder);

// False where there is nothing of that name, too.
bool is_folder(const std::string& path);

// What the file begins with: fewer bytes than asked for where it has no more.
Result<size_t> read_beginning(const std::string& path, std::span<std::byte> bytes);

// With those above it, for the owner alone; no error where it is there.
Result<void> make_folders(const std::string& path);

struct FolderEntry {
  std::string name;
  int64_t bytes = 0;                 // on the medium, or its length where that is more
  int64_t modified_nanoseconds = 0;  // since the epoch
};
// The regular files of a folder, in no order. One that vanishes meanwhile is left out.
Result<std::vector<FolderEntry>> list_folder(const std::string& path);

// Sets the time of the last change to now. False where that is not possible.
bool touch_file(const std::string& path);
// False where it is not removed, perhaps because it is gone.
bool remove_file(const std::string& path);

// By the system's clock, as files have it.
int64_t system_now_ns();

}  // namespace weir
