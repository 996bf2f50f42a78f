// SPDX-License-Identifier: Apache-2.0
//
// The verifier's walk over the steps. Inner to src/program.
#pragma once

#include <optional>
#include <span>

#include "base/status.h"
#include "program/program.h"

namespace weir::internal {

// The value of dimension `position` where it does not depend on a shape. `values` are those of all dimensions
// in a static program, else empty.
inline std::optional<int64_t> known_dim(const Program& program, std::span<const int64_t> values,
                                        int32_t position) {
  const auto at = static_cast<size_t>(position);
  if (!values.empty()) {
    return values[at];
  }
  return program.dims[at].op == DimOp::kConstant ? std::optional<int64_t>(program.dims[at].value)
                                                 : std::nullopt;
}

// Steps, prepare steps, and that every output is written. All lists that steps point into are verified.
Result<void> verify_steps(const Program& program, std::span<const int64_t> values);

}  // namespace weir::internal
