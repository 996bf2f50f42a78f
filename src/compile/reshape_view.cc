// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compile/lower.h"

namespace weir {
namespace {

struct Axis {
  Dim extent;
  Dim stride;
};

}  // namespace

std::optional<Dims> reshape_view(std::span<const Dim> shape, std::span<const Dim> strides,
                                 std::span<const Dim> target, std::span<const int64_t> sample) {
  std::vector<Axis> axes;  // those that matter: an axis of extent 1 has any stride
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1)) {
      axes.push_back({shape[i], strides[i]});
    }
  }
  Dims result(target.size(), Dim(1));
  size_t in = 0;
  size_t out = 0;
  const auto skip_ones = [&] {
    while (out < target.size() && target[out].is_constant(1)) {
      ++out;
    }
  };
  skip_ones();
  while (in < axes.size() && out < target.size()) {
    // The smallest group of axes on both sides with the same product.
    const size_t in_begin = in;
    const size_t out_begin = out;
    Dim in_product = axes[in++].extent;
    Dim out_product = target[out++];
    while (!(in_product == out_product)) {
      const Result<int64_t> in_size = in_product.evaluate(sample);
      const Result<int64_t> out_size = out_product.evaluate(sample);
      if (!in_size || !out_size) {
        return std::nullopt;
      }
      if (*in_size <= *out_size && in < axes.size()) {
        in_product *= axes[in++].extent;
      } else if (*in_size > *out_size && out < target.size()) {
        out_product *= target[out++];
      } else {
        return std::nullopt;
      }
    }
    for (size_t i = in_begin; i + 1 < in; ++i) {
      if (!(axes[i].stride == axes[i + 1].stride * axes[i + 1].extent)) {
        return std::nullopt;
      }
    }
    Dim stride = axes[in - 1].stride;
    for (size_t i = out; i-- > out_begin;) {
      result[i] = stride;
      stride = stride * target[i];
    }
    skip_ones();
  }
  const bool complete = in == axes.size() && out == target.size();
  return complete ? std::optional<Dims>(std::move(result)) : std::nullopt;
}

std::vector<int64_t> sample_symbols(const SymbolTable& symbols, std::span<const int64_t> typical) {
  std::vector<int64_t> sample;
  for (const auto& symbol : symbols.symbols()) {
    const auto id = static_cast<size_t>(symbol->id);
    int64_t value = id < typical.size() ? typical[id] : 0;
    if (value == 0) {
      // Distinct, and divisible by what strides of networks divide by.
      const bool leading = symbol->source.kind == SymbolSource::Kind::kDimension && symbol->source.index == 0;
      value = leading ? 1 : 320 + 64 * static_cast<int64_t>(id);
    }
    sample.push_back(std::clamp(value, symbol->range.min, symbol->range.max));
  }
  return sample;
}

}  // namespace weir
