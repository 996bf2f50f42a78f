// SPDX-License-Identifier: Apache-2.0
//
// How many threads a process may usefully have: a pure function of what the system says, so that it can be
// tested on any machine.
//
//   int32_t threads = thread_count(read_cpu_snapshot());
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir {

struct CpuSnapshot {
  std::vector<int32_t> allowed;  // processors in the calling thread's affinity mask
  // For each of `allowed`, a number that the hardware threads of one core share; empty where the system does
  // not say.
  std::vector<int64_t> core;
  double quota = 0;  // of the control group, in processors; 0: none
};

// min(allowed processors, physical cores among them, quota rounded up), at least 1.
int32_t thread_count(const CpuSnapshot& snapshot);

// Reads files below `root` ("" is the running system's own) and, unless `allowed` is given, the affinity
// mask.
CpuSnapshot read_cpu_snapshot(const std::string& root = "", std::vector<int32_t> allowed = {});

}  // namespace weir
