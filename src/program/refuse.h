// SPDX-License-Identifier: Apache-2.0
//
// What the parts of the verifier share. Inner to src/program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"

namespace weir::internal {

template <typename T>
bool is_position(int32_t position, const std::vector<T>& list) {
  return position >= 0 && static_cast<size_t>(position) < list.size();
}

template <typename... Args>
std::unexpected<Status> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return fail(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

}  // namespace weir::internal
