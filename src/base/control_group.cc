// SPDX-License-Identifier: Apache-2.0
#include "base/control_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace weir {
namespace {

void add_with_ancestors(std::vector<ControlGroup>& groups, int version, const std::string& mount,
                        std::string path) {
  while (true) {
    groups.push_back({version, mount + path});
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
      return;
    }
    path.resize(slash);
  }
}

bool lists(const std::string& names, std::string_view wanted) {
  std::istringstream words(names);
  std::string name;
  while (std::getline(words, name, ',')) {
    if (name == wanted) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& root, std::string_view controller) {
  std::vector<ControlGroup> groups;
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {  // "ID:CONTROLLERS:PATH"; version 2 names no controllers
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") {
      path.clear();
    }
    const std::string mounts = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      add_with_ancestors(groups, 2, mounts, path);
    } else if (lists(controllers, controller)) {
      add_with_ancestors(groups, 1, fmt::format("{}/{}", mounts, controller), path);
      if (controllers != controller) {  // mounted under all of their names
        add_with_ancestors(groups, 1, fmt::format("{}/{}", mounts, controllers), path);
      }
    }
  }
  return groups;
}

int64_t memory_within_control_groups(int64_t physical, const std::string& root) {
  int64_t bytes = physical;
  for (const ControlGroup& group : control_groups(root, "memory")) {
    std::ifstream file(group.folder + (group.version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
    int64_t limit = 0;
    if (file >> limit && limit > 0) {  // no number: "max"
      bytes = std::min(bytes, limit);
    }
  }
  return bytes;
}

}  // namespace weir
