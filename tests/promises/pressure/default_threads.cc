// SPDX-License-Identifier: Apache-2.0
//
// Prints how many threads a runtime of the default size says it has, and how many workers the process has.
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "weir/weir.hpp"

int main() {
  const weir::Runtime runtime;
  int workers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    workers += name.starts_with("weir-worker") ? 1 : 0;
  }
  std::printf("{\"threads\": %d, \"workers\": %d}\n", runtime.threads(), workers);
  return 0;
}
