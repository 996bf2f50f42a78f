// SPDX-License-Identifier: Apache-2.0
//
// Reads /sys/devices/system/cpu and the files of the control groups.
#include "base/cpu_count.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#if defined(__linux__)
#include <sched.h>
#endif
#include <thread>

#include "base/control_group.h"

namespace weir {
namespace {

bool read_line(const std::string& path, std::string& line) {
  std::ifstream file(path);
  return static_cast<bool>(std::getline(file, line));
}

bool read_number(const std::string& path, int64_t& number) {
  std::ifstream file(path);
  return static_cast<bool>(file >> number);
}

std::vector<int32_t> affinity() {
  std::vector<int32_t> allowed;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int32_t i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) {
        allowed.push_back(i);
      }
    }
  }
#endif
  if (allowed.empty()) {
    const int32_t count = std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
    for (int32_t i = 0; i < count; ++i) {
      allowed.push_back(i);
    }
  }
  return allowed;
}

void lower(double& quota, double candidate) {
  if (candidate > 0 && (quota == 0 || candidate < quota)) {
    quota = candidate;
  }
}

// "QUOTA PERIOD" or "max PERIOD".
void read_v2(const std::string& folder, double& quota) {
  std::string line;
  if (!read_line(folder + "/cpu.max", line)) {
    return;
  }
  std::istringstream words(line);
  std::string limit;
  double period = 0;
  if (words >> limit >> period && limit != "max" && period > 0) {
    lower(quota, std::strtod(limit.c_str(), nullptr) / period);
  }
}

// Two files, and a quota of −1 means none.
void read_v1(const std::string& folder, double& quota) {
  int64_t limit = 0;
  int64_t period = 0;
  if (read_number(folder + "/cpu.cfs_quota_us", limit) &&
      read_number(folder + "/cpu.cfs_period_us", period) && limit > 0 && period > 0) {
    lower(quota, static_cast<double>(limit) / static_cast<double>(period));
  }
}

double read_quota(const std::string& root) {
  double quota = 0;
  for (const ControlGroup& group : control_groups(root, "cpu")) {
    group.version == 2 ? read_v2(group.folder, quota) : read_v1(group.folder, quota);
  }
  return quota;
}

}  // namespace

int32_t thread_count(const CpuSnapshot& snapshot) {
  int64_t count = static_cast<int64_t>(snapshot.allowed.size());
  if (!snapshot.core.empty()) {
    std::vector<int64_t> cores = snapshot.core;
    std::sort(cores.begin(), cores.end());
    count = std::min<int64_t>(count, std::unique(cores.begin(), cores.end()) - cores.begin());
  }
  if (snapshot.quota > 0) {
    count = static_cast<int64_t>(std::min(static_cast<double>(count), std::ceil(snapshot.quota)));
  }
  return static_cast<int32_t>(std::max<int64_t>(1, count));
}

CpuSnapshot read_cpu_snapshot(const std::string& root, std::vector<int32_t> allowed) {
  CpuSnapshot snapshot;
  snapshot.allowed = allowed.empty() ? affinity() : std::move(allowed);
  for (const int32_t processor : snapshot.allowed) {
    const std::string topology =
        root + "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/";
    int64_t package = 0;
    int64_t core = 0;
    if (!read_number(topology + "core_id", core)) {
      snapshot.core.clear();
      break;
    }
    read_number(topology + "physical_package_id", package);
    snapshot.core.push_back(package * (int64_t{1} << 32) + core);
  }
  snapshot.quota = read_quota(root);
  return snapshot;
}

}  // namespace weir
