// SPDX-License-Identifier: Apache-2.0
//
// Where Linux says what the process may use: the files of its control groups, of version 1 and 2.
//
//   for (const ControlGroup& group : control_groups("", "memory")) {   // a limit on any of them binds
//     read(group.folder + (group.version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct ControlGroup {
  int version = 2;
  std::string folder;  // of the group's files; need not exist
};

// The groups that the process is in for `controller` ("cpu", "memory"), each followed by those above it.
// Reads files below `root` ("" is the running system's own).
std::vector<ControlGroup> control_groups(const std::string& root, std::string_view controller);

// The bytes of memory that the process may use: `physical`, or less where one of its groups has a limit.
int64_t memory_within_control_groups(int64_t physical, const std::string& root = "");

}  // namespace weir
