// SPDX-License-Identifier: Apache-2.0
//
// Percentiles of measured times.
#pragma once

#include <span>

namespace weir::cli {

struct Percentiles {
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
};

// All 0 for no values. Between two values a percentile is interpolated.
Percentiles percentiles_of(std::span<const double> values);

}  // namespace weir::cli
