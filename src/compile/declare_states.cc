// SPDX-License-Identifier: Apache-2.0
#include "compile/declare_states.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "shape/dim_table.h"

namespace weir {
namespace {

bool is_state_input(const Graph& graph, int32_t position) {
  return std::ranges::find(graph.states, position, &GraphState::input) != graph.states.end();
}

template <typename List, typename Name>
std::string quoted(const List& list, Name name) {
  std::string text;
  for (const auto& entry : list) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name(entry));
  }
  return text;
}

Result<int32_t> find_input(const Graph& graph, std::string_view wanted) {
  const auto name = [&](ValueId id) -> const std::string& { return graph.value(id).name; };
  const auto found = std::ranges::find(graph.inputs(), wanted, name);
  if (found == graph.inputs().end()) {
    return fail(StatusCode::kInvalidArgument,
                "State '{}' is not one of the model's inputs ({}); a state is declared as INPUT=OUTPUT.",
                wanted, quoted(graph.inputs(), name));
  }
  return static_cast<int32_t>(found - graph.inputs().begin());
}

Result<int32_t> find_output(const Graph& graph, const StateChoice& choice) {
  const auto found = std::ranges::find(std::as_const(graph).outputs(), choice.output, &NamedValue::name);
  if (found == std::as_const(graph).outputs().end()) {
    return fail(StatusCode::kInvalidArgument,
                "State '{}' is fed from '{}', which is not one of the model's outputs ({}).", choice.input,
                choice.output,
                quoted(std::as_const(graph).outputs(), [](const NamedValue& output) { return output.name; }));
  }
  return static_cast<int32_t>(found - std::as_const(graph).outputs().begin());
}

Result<void> check_types(const Graph& graph, const GraphState& state) {
  const Value& input = graph.value(graph.inputs()[static_cast<size_t>(state.input)]);
  const NamedValue& fed = graph.outputs()[static_cast<size_t>(state.output)];
  const TensorType& from = graph.value(fed.value).type;
  std::string_view remedy;
  if (input.type.element_type != from.element_type || input.type.shape.size() != from.shape.size()) {
    remedy = "feed it from another output";
  } else if (input.type.shape != from.shape) {
    bool differ = false;  // where both are numbers
    for (size_t axis = 0; axis < from.shape.size(); ++axis) {
      const std::optional<int64_t> a = input.type.shape[axis].as_constant();
      differ = differ || (a && from.shape[axis].is_constant() && from.shape[axis].constant() != *a);
    }
    remedy = differ ? "feed it from another output, or give the input another shape with --shape"
                    : "give the open dimensions a number with --dim or --shape";
  }
  if (remedy.empty()) {
    return {};
  }
  return fail(
      StatusCode::kInvalidArgument,
      "State '{}' is ({}), and output '{}' that feeds it is ({}): the two have to be the same for every "
      "shape; {}.",
      input.name, input.type.to_string(), fed.name, from.to_string(), remedy);
}

// Another input than a state that has this dimension as it is.
std::optional<SymbolSource> other_source(const Graph& graph, const Symbol& symbol) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (is_state_input(graph, static_cast<int32_t>(i))) {
      continue;
    }
    const Dims& shape = graph.value(graph.inputs()[i]).type.shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      DimTable table;
      const auto position = static_cast<size_t>(table.add(shape[axis]));
      const DimTableEntry& entry = table.entries()[position];
      if (entry.op == DimOp::kSymbol && entry.value == symbol.id) {
        return SymbolSource{SymbolSource::Kind::kDimension, static_cast<int32_t>(i),
                            static_cast<int32_t>(axis)};
      }
    }
  }
  return std::nullopt;
}

Result<void> check_sources(const Graph& graph) {
  for (const auto& symbol : graph.symbols.symbols()) {
    const SymbolSource& source = symbol->source;
    if (!is_state_input(graph, source.input)) {
      continue;
    }
    const std::string& name = graph.value(graph.inputs()[static_cast<size_t>(source.input)]).name;
    if (source.kind == SymbolSource::Kind::kElement) {
      return fail(StatusCode::kInvalidArgument,
                  "Input '{}' cannot be a state: it is a shape input, whose elements are sizes of tensors.",
                  name);
    }
    if (!other_source(graph, *symbol)) {
      return fail(
          StatusCode::kInvalidArgument,
          "Dimension '{}' (axis {} of state '{}') is open, and no input that is left gives it a value; "
          "give --dim {}=N or --shape {}=….",
          symbol->name, source.index, name, symbol->name, name);
    }
  }
  return {};
}

}  // namespace

Result<void> declare_states(Graph& graph, std::span<const StateChoice> choices) {
  for (const StateChoice& choice : choices) {
    GraphState state;
    WEIR_ASSIGN(state.input, find_input(graph, choice.input));
    WEIR_ASSIGN(state.output, find_output(graph, choice));
    for (const GraphState& other : graph.states) {
      if (other.input == state.input || other.output == state.output) {
        return fail(StatusCode::kInvalidArgument,
                    "State '{}' is fed from '{}', and one of the two belongs to another state already.",
                    choice.input, choice.output);
      }
    }
    WEIR_TRY(check_types(graph, state));
    graph.states.push_back(state);
  }
  return check_sources(graph);
}

PortPlace input_place(const Graph& graph, int32_t position) {
  int32_t before = 0;
  for (size_t i = 0; i < graph.states.size(); ++i) {
    if (graph.states[i].input == position) {
      return {StorageKind::kState, 2 * static_cast<int32_t>(i)};
    }
    before += graph.states[i].input < position ? 1 : 0;
  }
  return {StorageKind::kInput, position - before};
}

PortPlace output_place(const Graph& graph, int32_t position) {
  int32_t before = 0;
  for (size_t i = 0; i < graph.states.size(); ++i) {
    if (graph.states[i].output == position) {
      return {StorageKind::kState, 2 * static_cast<int32_t>(i) + 1};
    }
    before += graph.states[i].output < position ? 1 : 0;
  }
  return {StorageKind::kOutput, position - before};
}

SymbolSource program_source(const Graph& graph, const Symbol& symbol) {
  SymbolSource source = symbol.source;
  if (is_state_input(graph, source.input)) {
    source = other_source(graph, symbol).value_or(source);  // declare_states found that there is one
  }
  source.input = input_place(graph, source.input).index;
  return source;
}

}  // namespace weir
