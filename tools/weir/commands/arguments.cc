// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/arguments.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace weir::cli {
namespace {

// All of `text`, or nothing.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Model names may hold '=', values never do.
std::pair<std::string, std::string_view> split_name(std::string_view text) {
  const size_t at = text.rfind('=');
  if (at == std::string_view::npos) return {"", text};
  return {std::string(text.substr(0, at)), text.substr(at + 1)};
}

bool is_extent(int64_t value) {
  return value >= 0 && value <= kDimMax;
}

}  // namespace

std::string quoted_list(std::span<const std::string> names) {
  if (names.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += "'" + names[i] + "'";
  }
  return text;
}

Result<ShapeArgument> parse_shape(std::string_view text) {
  auto [name, extents] = split_name(text);
  ShapeArgument argument{std::move(name), {}};
  for (std::string_view part : split(extents, 'x')) {
    const std::optional<int64_t> extent = number<int64_t>(part);
    if (!extent || !is_extent(*extent)) {
      return fail(StatusCode::kInvalidArgument,
                  "The shape '{}' has '{}' for an extent, and whole numbers of at least 0 between 'x' are "
                  "needed, as in "
                  "'images=1x3x224x224'.",
                  text, part);
    }
    argument.shape.push_back(*extent);
  }
  if (argument.shape.size() > static_cast<size_t>(kMaxRank)) {
    return fail(StatusCode::kInvalidArgument, "The shape '{}' has ({}) axes, and ({}) is the most.", text,
                argument.shape.size(), kMaxRank);
  }
  return argument;
}

Result<DimArgument> parse_dim(std::string_view text) {
  auto [name, value] = split_name(text);
  const size_t dots = value.find("..");
  const std::optional<int64_t> low = number<int64_t>(value.substr(0, dots));
  const std::optional<int64_t> high =
      dots == std::string_view::npos ? low : number<int64_t>(value.substr(dots + 2));
  if (name.empty() || !low || !high || !is_extent(*low) || !is_extent(*high)) {
    return fail(
        StatusCode::kInvalidArgument,
        "The dimension '{}' is neither a name with a value ('batch=4') nor one with a range ('seq=1..512').",
        text);
  }
  if (*low > *high) {
    return fail(StatusCode::kInvalidArgument,
                "The dimension '{}' has a range that ends ({}) before it starts ({}).", text, *high, *low);
  }
  return DimArgument{std::move(name), {*low, *high}};
}

Result<std::vector<StateArgument>> parse_states(std::string_view text) {
  std::vector<StateArgument> states;
  for (std::string_view part : split(text, ',')) {
    const size_t at = part.find('=');
    StateArgument state;
    if (at != std::string_view::npos) {
      state.input = part.substr(0, at);
      state.output = part.substr(at + 1);
    }
    if (state.input.empty() || state.output.empty() || state.output.find('=') != std::string::npos) {
      return fail(StatusCode::kInvalidArgument,
                  "The state '{}' is no pair of an input and the output that feeds it, as in 'h=hn' or "
                  "'h=hn,c=cn'.",
                  part);
    }
    states.push_back(std::move(state));
  }
  return states;
}

Result<InputArgument> parse_input(std::string_view text) {
  // A '=' after a slash belongs to the path.
  const size_t slash = text.find('/');
  const size_t at = text.substr(0, slash).rfind('=');
  // Names with slashes exist too: then the last '=' splits, where what is before it is no path from here.
  const size_t split_at = at != std::string_view::npos                     ? at
                          : text.starts_with('/') || text.starts_with('.') ? std::string_view::npos
                                                                           : text.rfind('=');
  InputArgument argument;
  if (split_at == std::string_view::npos) {
    argument.path = text;
  } else {
    argument.input = text.substr(0, split_at);
    argument.path = text.substr(split_at + 1);
  }
  if (argument.path.empty() || split_at == 0) {
    return fail(StatusCode::kInvalidArgument,
                "The input '{}' is neither a file ('photo.png') nor a name with a file ('images=photo.png').",
                text);
  }
  return argument;
}

Result<std::vector<float>> parse_channel_values(std::string_view text) {
  std::vector<float> values;
  for (std::string_view part : split(text, ',')) {
    const std::vector<std::string_view> terms = split(part, '/');
    std::optional<float> value = number<float>(terms[0]);
    if (value && terms.size() == 2) {
      const std::optional<float> divisor = number<float>(terms[1]);
      value = divisor && *divisor != 0 ? std::optional<float>(*value / *divisor) : std::nullopt;
    }
    if (!value || !std::isfinite(*value) || terms.size() > 2) {
      return fail(StatusCode::kInvalidArgument,
                  "The value '{}' is neither a number nor a fraction, as in '0.5' or '1/255'.", part);
    }
    values.push_back(*value);
  }
  if (values.size() != 1 && values.size() != 3) {
    return fail(StatusCode::kInvalidArgument,
                "The list '{}' has ({}) values, and 1 or 3 (red, green, blue) are taken.", text,
                values.size());
  }
  return values;
}

}  // namespace weir::cli
