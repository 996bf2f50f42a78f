// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/request_shape.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "tools/weir/commands/suggest.h"

namespace weir::cli {

std::string range_text(Range range) {
  return range.max < kDimMax ? fmt::format("{} to {}", range.min, range.max)
                             : fmt::format("{} or more", range.min);
}

RequestShape::RequestShape(std::vector<NamedType> inputs, const SymbolTable& symbols)
    : inputs_(std::move(inputs)),
      symbols_(symbols.symbols().begin(), symbols.symbols().end()),
      known_(symbols_.size()) {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (symbols_[i]->range.min == symbols_[i]->range.max) {
      known_[i] = Known{symbols_[i]->range.min, "the program"};
    }
  }
}

std::optional<size_t> RequestShape::symbol_of(const Dim& dim) const {
  if (dim.is_constant()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const SymbolSource& source = symbols_[i]->source;
    if (source.kind == SymbolSource::Kind::kDimension &&
        inputs_[static_cast<size_t>(source.input)].type.shape[static_cast<size_t>(source.index)] == dim) {
      return i;
    }
  }
  return std::nullopt;
}

std::string RequestShape::axis_of(const Symbol& symbol) const {
  return fmt::format("{} {} of input '{}'",
                     symbol.source.kind == SymbolSource::Kind::kDimension ? "axis" : "element",
                     symbol.source.index, inputs_[static_cast<size_t>(symbol.source.input)].name);
}

std::string RequestShape::open_list() const {
  std::vector<std::string> list;
  for (const auto& symbol : symbols_) {
    list.push_back(fmt::format("'{}' ({})", symbol->name, range_text(symbol->range)));
  }
  return fmt::format("{}", fmt::join(list, ", "));
}

Result<void> RequestShape::know(size_t symbol, int64_t value, const std::string& source) {
  const Symbol& of = *symbols_[symbol];
  if (value < of.range.min || value > of.range.max) {
    return fail(StatusCode::kOutOfRange,
                "Dimension '{}' ({}) is ({}) by {}, and the program was compiled for ({}).", of.name,
                axis_of(of), value, source, range_text(of.range));
  }
  if (known_[symbol] && known_[symbol]->value != value) {
    return fail(StatusCode::kInvalidArgument, "Dimension '{}' ({}) is ({}) by {}, and ({}) by {}.", of.name,
                axis_of(of), known_[symbol]->value, known_[symbol]->source, value, source);
  }
  if (!known_[symbol]) {
    known_[symbol] = Known{value, source};
  }
  return {};
}

Result<void> RequestShape::take_options(std::span<const ShapeArgument> shapes,
                                        std::span<const DimArgument> dims) {
  std::vector<std::string> input_names;
  for (const NamedType& input : inputs_) {
    input_names.push_back(input.name);
  }
  std::vector<const ShapeArgument*> given(inputs_.size(), nullptr);
  for (const ShapeArgument& shape : shapes) {
    size_t index = 0;
    if (!shape.input.empty()) {
      index = static_cast<size_t>(std::ranges::find(input_names, shape.input) - input_names.begin());
      if (index == inputs_.size()) {
        return fail(StatusCode::kNotFound, "The program has no input '{}' for --shape; its inputs are {}.",
                    shape.input, quoted_list(input_names));
      }
    } else if (inputs_.size() != 1) {
      return fail(StatusCode::kInvalidArgument,
                  "A --shape without a name is for programs of one input, and this has ({}): {}.",
                  inputs_.size(), quoted_list(input_names));
    }
    if (given[index] != nullptr) {
      return fail(StatusCode::kInvalidArgument, "Input '{}' is given two shapes, ({}) and ({}).",
                  inputs_[index].name, fmt::join(given[index]->shape, "x"), fmt::join(shape.shape, "x"));
    }
    given[index] = &shape;
    WEIR_TRY(take_input(index, shape.shape, "--shape"));
  }
  std::vector<std::string> names;
  for (const auto& symbol : symbols_) {
    names.push_back(symbol->name);
  }
  for (const DimArgument& dim : dims) {
    const auto symbol = static_cast<size_t>(std::ranges::find(names, dim.symbol) - names.begin());
    if (symbol == names.size()) {
      if (names.empty()) {
        return fail(StatusCode::kNotFound,
                    "The program has no open dimension '{}' for --dim: it takes {}; other shapes need the "
                    "model to be compiled again.",
                    dim.symbol, fmt::join(describe(), ", "));
      }
      const std::string meant = nearest(dim.symbol, names);
      return fail(StatusCode::kNotFound,
                  "The program has no open dimension '{}' for --dim{}; its open dimensions are {}.",
                  dim.symbol, meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant), open_list());
    }
    if (dim.range.min != dim.range.max) {
      return fail(StatusCode::kInvalidArgument,
                  "Dimension '{}' is given as ({}) to ({}), and a program that is compiled already takes one "
                  "number, as in --dim {}={}.",
                  dim.symbol, dim.range.min, dim.range.max, dim.symbol, dim.range.max);
    }
    WEIR_TRY(know(symbol, dim.range.min, "--dim"));
  }
  return {};
}

Result<void> RequestShape::take_input(size_t input, std::span<const int64_t> shape,
                                      const std::string& source) {
  const Dims& dims = inputs_[input].type.shape;
  if (shape.size() != dims.size()) {
    return fail(StatusCode::kInvalidArgument, "Input '{}' is {}, and {} gives it ({}) axes.",
                inputs_[input].name, inputs_[input].type.to_string(), source, shape.size());
  }
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis].is_constant() && dims[axis].constant() != shape[axis]) {
      return fail(StatusCode::kInvalidArgument,
                  "Axis {} of input '{}' is ({}) by {}, and the program was compiled for ({}).", axis,
                  inputs_[input].name, shape[axis], source, dims[axis].constant());
    }
    // What is neither a number nor a symbol alone is compared when the shape is prepared.
    if (const std::optional<size_t> symbol = symbol_of(dims[axis])) {
      WEIR_TRY(know(*symbol, shape[axis], source));
    }
  }
  return {};
}

void RequestShape::assume_batch_of_one() {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const SymbolSource& source = symbols_[i]->source;
    if (!known_[i] && source.kind == SymbolSource::Kind::kDimension && source.index == 0) {
      known_[i] = Known{std::max<int64_t>(1, symbols_[i]->range.min), ""};
    }
  }
}

bool RequestShape::is_complete() const {
  return std::ranges::all_of(known_, [](const auto& known) { return known.has_value(); });
}

std::optional<int64_t> RequestShape::value(size_t symbol) const {
  return known_[symbol] ? std::optional(known_[symbol]->value) : std::nullopt;
}

Result<std::vector<int64_t>> RequestShape::symbols() const {
  std::vector<int64_t> values;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (!known_[i]) {
      const Symbol& symbol = *symbols_[i];
      return fail(StatusCode::kInvalidArgument,
                  "Dimension '{}' ({}) is open, and this needs a number: give --dim {}=N or --shape {}=….",
                  symbol.name, axis_of(symbol), symbol.name,
                  inputs_[static_cast<size_t>(symbol.source.input)].name);
    }
    values.push_back(known_[i]->value);
  }
  return values;
}

std::vector<int64_t> RequestShape::shape(size_t input) const {
  std::vector<int64_t> all;
  for (const auto& known : known_) {
    all.push_back(known ? known->value : 0);
  }
  std::vector<int64_t> shape;
  for (const Dim& dim : inputs_[input].type.shape) {
    if (dim.is_constant()) {
      shape.push_back(dim.constant());
    } else if (const std::optional<size_t> symbol = symbol_of(dim)) {
      shape.push_back(known_[*symbol] ? known_[*symbol]->value : -1);
    } else {
      shape.push_back(is_complete() ? dim.evaluate(all).value_or(-1) : -1);
    }
  }
  return shape;
}

std::vector<std::vector<int64_t>> RequestShape::shapes() const {
  std::vector<std::vector<int64_t>> all;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    all.push_back(shape(i));
  }
  return all;
}

std::vector<std::string> RequestShape::describe() const {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    std::vector<std::string> extents;
    const std::vector<int64_t> known = shape(i);
    for (size_t axis = 0; axis < known.size(); ++axis) {
      extents.push_back(known[axis] >= 0 ? std::to_string(known[axis])
                                         : inputs_[i].type.shape[axis].to_string());
    }
    inputs.push_back(fmt::format("{} {}[{}]", inputs_[i].name, weir::to_string(inputs_[i].type.element_type),
                                 fmt::join(extents, ", ")));
  }
  return inputs;
}

}  // namespace weir::cli
