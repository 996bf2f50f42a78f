// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <array>

namespace weir {

std::string_view to_string(StatusCode code) {
  static constexpr std::array<std::string_view, 16> kNames = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS"};
  return kNames[static_cast<size_t>(code)];
}

std::string Status::to_string() const {
  std::string text = message_;
  for (const std::string& line : context_) {
    text += "\n  - " + line;
  }
  return text;
}

}  // namespace weir
