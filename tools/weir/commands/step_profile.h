// SPDX-License-Identifier: Apache-2.0
//
// `weir bench --profile`: the time of every step, and what bounds it, as a table and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/peaks.h"
#include "runtime/session.h"

namespace weir::cli {

struct StepProfile {
  std::string name;
  std::string origin;
  std::string_view op;
  std::string_view implementation;
  double milliseconds = 0;       // median
  double busy_milliseconds = 0;  // of all participants together, in the median run of the step
  StepWork work;
  Verdict verdict;
};

struct RunProfile {
  Peaks peaks;
  std::vector<StepProfile> steps;  // in the program's order
};

// Measures the peaks, and each step in a recording that keeps timestamps, at one shape for each input.
Result<RunProfile> measure_profile(Session& session, Isa isa, std::span<const std::vector<int64_t>> shapes);

// Steps by time, then totals by operator and by implementation, and the peaks.
std::string profile_text(const RunProfile& profile);
// Adds "profile", "profile_totals" and "peaks".
void add_profile(const RunProfile& profile, nlohmann::ordered_json& json);

}  // namespace weir::cli
