// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/tensor_output.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

double widen(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25));
}

template <typename T>
std::vector<double> convert(const Array& array) {
  return {array.as<T>().begin(), array.as<T>().end()};
}

std::vector<double> to_doubles(const Array& array) {
  switch (array.type) {
    case ElementType::kFloat32:
      return convert<float>(array);
    case ElementType::kFloat64:
      return convert<double>(array);
    case ElementType::kFloat16: {
      std::vector<double> values;
      for (uint16_t half : array.as<uint16_t>()) values.push_back(widen(half));
      return values;
    }
    case ElementType::kInt8:
      return convert<int8_t>(array);
    case ElementType::kUint8:
    case ElementType::kBool:
      return convert<uint8_t>(array);
    case ElementType::kInt16:
      return convert<int16_t>(array);
    case ElementType::kUint16:
      return convert<uint16_t>(array);
    case ElementType::kInt32:
      return convert<int32_t>(array);
    case ElementType::kUint32:
      return convert<uint32_t>(array);
    case ElementType::kInt64:
      return convert<int64_t>(array);
    case ElementType::kUint64:
      return convert<uint64_t>(array);
    default:
      return {};
  }
}

}  // namespace

Summary summarize(const Array& array) {
  const std::vector<double> values = to_doubles(array);
  Summary summary;
  summary.first.assign(values.begin(), values.begin() + std::min<ptrdiff_t>(8, std::ssize(values)));
  int64_t finite = 0;
  double sum = 0;
  for (double value : values) {
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.min = finite == 0 ? value : std::min(summary.min, value);
    summary.max = finite == 0 ? value : std::max(summary.max, value);
    sum += value;
    ++finite;
  }
  if (finite > 0) summary.mean = sum / static_cast<double>(finite);
  return summary;
}

Result<std::vector<std::string>> read_labels(const std::string& path) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, read_file(path, int64_t{64} << 20));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> labels;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    labels.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (labels.empty()) return fail(StatusCode::kInvalidArgument, "File '{}' holds no labels.", path);
  return labels;
}

Result<ClassRows> class_rows(std::span<const int64_t> shape) {
  const auto above_one = [](int64_t extent) { return extent != 1; };
  ClassRows found;
  for (const int64_t extent : shape) {
    found.classes *= extent;
  }
  // A column stays one row.
  const bool column = !shape.empty() && std::ranges::count_if(shape.subspan(1), above_one) == 0;
  if (shape.size() > 1 && shape[0] > 0 && !column) {
    found.rows = shape[0];
    found.classes /= shape[0];
  }
  if (found.classes < 1 ||
      (!column && std::ranges::count_if(shape.subspan(std::min<size_t>(shape.size(), 1)), above_one) > 1)) {
    return fail(StatusCode::kInvalidArgument,
                "The output has the shape ({}), and classes are a row of scores for each of a batch, as in "
                "(8x1000) or "
                "(8x1000x1x1); use --task raw.",
                fmt::join(shape, "x"));
  }
  return found;
}

Result<std::vector<std::vector<Class>>> classify(const Array& output, std::span<const std::string> labels,
                                                 int64_t count) {
  WEIR_ASSIGN(const ClassRows shape, class_rows(output.shape));
  const std::vector<double> all = to_doubles(output);
  if (all.empty()) {
    return fail(StatusCode::kUnimplemented,
                "The output has scores of type ({}), which are not read; use --task raw.",
                to_string(output.type));
  }
  const auto odd = std::ranges::find_if_not(all, [](double v) { return std::isfinite(v); });
  if (odd != all.end()) {
    return fail(
        StatusCode::kDataLoss,
        "Score ({}) of the output is ({}), and classes are ordered by finite numbers; use --task raw.",
        odd - all.begin(), *odd);
  }
  std::vector<std::vector<Class>> rows;
  for (int64_t row = 0; row < shape.rows; ++row) {
    const auto begin = all.begin() + row * shape.classes;
    std::vector<double> scores(begin, begin + shape.classes);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    // Ten thousand float32 probabilities add up to 1 within about 1e-3.
    if (std::ranges::min(scores) < 0 || std::abs(sum - 1) > 1e-2) {
      const double most = std::ranges::max(scores);
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - most);
      for (double& score : scores) score /= total;
    }
    std::vector<int64_t> order(scores.size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](int64_t i) { return scores[static_cast<size_t>(i)]; });
    std::vector<Class>& classes = rows.emplace_back();
    for (int64_t i : order) {
      if (std::ssize(classes) == count) break;
      classes.push_back(
          {i, i < std::ssize(labels) ? labels[static_cast<size_t>(i)] : "", scores[static_cast<size_t>(i)]});
    }
  }
  return rows;
}

Result<void> check_tokens(ElementType type, std::span<const int64_t> shape) {
  if (type != ElementType::kFloat32 || shape.size() != 3) {
    return fail(StatusCode::kInvalidArgument,
                "Task 'embed' takes an output of float32 [batch, tokens, features], and the first one is {} "
                "of rank ({}).",
                weir::to_string(type), shape.size());
  }
  return {};
}

Result<std::vector<std::vector<float>>> embed(const Array& tokens, const Array* mask) {
  WEIR_TRY(check_tokens(tokens.type, tokens.shape));
  const int64_t batch = tokens.shape[0];
  const int64_t length = tokens.shape[1];
  const int64_t features = tokens.shape[2];
  std::vector<std::vector<float>> result;
  const std::span<const float> values = tokens.as<float>();
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<double> sum(static_cast<size_t>(features), 0.0);
    for (int64_t t = 0; t < length; ++t) {
      if (mask != nullptr && mask->as<int64_t>()[static_cast<size_t>(b * length + t)] == 0) {
        continue;
      }
      for (int64_t f = 0; f < features; ++f) {
        sum[static_cast<size_t>(f)] += values[static_cast<size_t>((b * length + t) * features + f)];
      }
    }
    double norm = 0;
    for (double value : sum) {
      norm += value * value;
    }
    norm = std::max(std::sqrt(norm), 1e-12);
    std::vector<float> unit;
    for (double value : sum) {
      unit.push_back(static_cast<float>(value / norm));
    }
    result.push_back(std::move(unit));
  }
  return result;
}

std::string file_name_of(std::string_view name) {
  std::string file(name.substr(0, 100));
  for (char& c : file) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == '_';
    if (!safe) c = '_';
  }
  if (file.empty() || file[0] == '.') file.insert(file.begin(), '_');
  return file;
}

}  // namespace weir::cli
