// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace weir {
namespace {

constexpr double kKibi = 1024.0;

using Unit = std::pair<std::string_view, double>;
constexpr std::array kUnits = {Unit{"", 1},
                               Unit{"B", 1},
                               Unit{"kB", 1e3},
                               Unit{"MB", 1e6},
                               Unit{"GB", 1e9},
                               Unit{"K", kKibi},
                               Unit{"M", kKibi* kKibi},
                               Unit{"G", kKibi* kKibi* kKibi},
                               Unit{"KiB", kKibi},
                               Unit{"MiB", kKibi* kKibi},
                               Unit{"GiB", kKibi* kKibi* kKibi}};

// All of `text` as a number.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

Result<int64_t> parse_bytes(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view unit = text.substr(digits);
  const auto* const known = std::ranges::find(kUnits, unit, &Unit::first);
  const std::optional<double> value = number<double>(text.substr(0, digits));
  if (known == kUnits.end() || !value || *value * known->second > 9e18) {
    return fail(StatusCode::kInvalidArgument,
                "The size '{}' is no number of bytes, as in '1048576', '64M', '64MiB' or '1.5GB'.", text);
  }
  // Whole numbers exactly, beyond 2^53 too.
  if (known->second == 1) {
    if (const std::optional<int64_t> whole = number<int64_t>(text.substr(0, digits))) {
      return *whole;
    }
    return fail(StatusCode::kInvalidArgument, "The size '{}' is no whole number of bytes.", text);
  }
  return static_cast<int64_t>(std::llround(*value * known->second));
}

}  // namespace weir
