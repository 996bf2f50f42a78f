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

// The view that a tensor is where its dimensions have the values `dims`. Its rank is verified.
TensorSpec spec_of(const ProgramTensor& tensor, std::span<const int64_t> dims);

// Whether elements lie one after another, the last axis fastest; axes of extent 1 do not count. The view is
// verified.
bool is_row_major(const ProgramTensor& tensor, std::span<const int64_t> dims);

// Whether the view lies inside its storage; `dims` has a value for each dimension that the view names.
Result<void> verify_view(const Program& program, const ProgramTensor& tensor, std::span<const int64_t> dims);

// What a session packs from, and the constants that it may be given other values for. Steps are verified.
Result<void> verify_constant_list(const Program& program);

// The part of verify_shape that looks at storages and tensors, not at steps.
Result<void> verify_views(const Program& program, std::span<const int64_t> dims);

// The declarations of states: names, storages, types, and shapes as far as they are known without a shape.
Result<void> verify_states(const Program& program, std::span<const int64_t> values);

// The rest, for the values of one shape: both tensors are dense, equal in shape and fill their storages.
Result<void> verify_state_shapes(const Program& program, std::span<const int64_t> dims);

// Steps, prepare steps, and that every output is written; in a static program also that the shapes of
// operands fit their operators. All lists that steps point into are verified, in a static program the views
// too.
Result<void> verify_steps(const Program& program, std::span<const int64_t> values);

}  // namespace weir::internal
