// SPDX-License-Identifier: Apache-2.0
//
// Overrides of dimensions and shapes as text.
#include <charconv>

#include "import/onnx/import.h"

namespace weir {
namespace {

std::optional<int64_t> parse_size(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > kDimMax) {
    return std::nullopt;
  }
  return value;
}

// "4" or "1..512".
Result<Range> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  const std::optional<int64_t> min = parse_size(text.substr(0, dots));
  const std::optional<int64_t> max = dots == std::string_view::npos ? min : parse_size(text.substr(dots + 2));
  if (!min || !max || *min > *max) {
    return fail(StatusCode::kInvalidArgument,
                "Dimension '{}' is no number and no ascending range such as (1..512), from (0) to ({}).",
                text, kDimMax);
  }
  return Range{*min, *max};
}

// The name and what follows the last '=', since names may have one.
Result<std::pair<std::string_view, std::string_view>> split_name(std::string_view text,
                                                                 std::string_view example) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(StatusCode::kInvalidArgument, "Override '{}' has no name and value, such as '{}'.", text,
                example);
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace

Result<std::pair<std::string, Range>> parse_dim_override(std::string_view text) {
  WEIR_ASSIGN(const auto parts, split_name(text, "batch=1"));
  WEIR_ASSIGN(const Range range, parse_range(parts.second), "while reading override '{}'", text);
  return std::pair(std::string(parts.first), range);
}

Result<std::pair<std::string, std::vector<std::optional<Range>>>> parse_shape_override(
    std::string_view text) {
  WEIR_ASSIGN(const auto parts, split_name(text, "x=1x3x224x224"));
  std::vector<std::optional<Range>> dims;
  std::string_view rest = parts.second;
  while (!rest.empty()) {
    const size_t end = rest.find('x');
    const std::string_view dim = rest.substr(0, end);
    if (dim == "?") {
      dims.emplace_back();
    } else {
      WEIR_ASSIGN(dims.emplace_back(), parse_range(dim), "while reading override '{}'", text);
    }
    if (end == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(end + 1);
    if (rest.empty()) {
      return fail(StatusCode::kInvalidArgument, "Override '{}' ends in 'x', and takes a dimension there.",
                  text);
    }
  }
  return std::pair(std::string(parts.first), std::move(dims));
}

}  // namespace weir
