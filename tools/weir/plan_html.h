// SPDX-License-Identifier: Apache-2.0
//
// The drawing of a memory plan: one HTML file without anything from outside. Memory against steps, a box a
// tensor at its offset over its lifetime, peak and bounds as lines, details under the pointer; then the
// ledger, the largest tensors, the steps with their implementations, and the notices.
//
//   WEIR_TRY(write_file("plan.html", plan_html(report)));
//
// The page is plan_page.html, which the build embeds.
#pragma once

#include <string>

#include "tools/weir/plan_report.h"

namespace weir::cli {

std::string plan_html(const PlanReport& report);

}  // namespace weir::cli
