// SPDX-License-Identifier: Apache-2.0
//
// A plan to look at and to test the drawing with: the network is made up, its placement is not.
#pragma once

#include <cstdint>

#include "tools/weir/plan_report.h"

namespace weir::cli {

// A convolutional network of about 4 · `blocks` steps with residual connections, workspaces, views and
// notices.
PlanReport made_up_plan(int32_t blocks);

}  // namespace weir::cli
