// SPDX-License-Identifier: Apache-2.0
//
// The graph as text: one line an input, a node and an output.
//
//   graph 'resnet18'
//   input x: float32[batch, 3, 224, 224]
//   h: float32[batch, 64, 112, 112] = Conv(x, w: constant float32[64, 3, 7, 7], -) strides=[2,2]  # 'conv1',
//   Conv output y = h: float32[batch, 64, 112, 112] where 'batch' in 1..281474976710656 requires …
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/graph.h"

namespace weir {
namespace {

std::string label(const Graph& graph, ValueId id) {
  if (id == kNoValue) {
    return "-";
  }
  const Value& value = graph.value(id);
  return value.name.empty() ? fmt::format("%{}", id) : value.name;
}

std::string elements_text(const Value& value) {
  if (!value.elements) {
    return "";
  }
  std::vector<std::string> elements;
  for (const Dim& element : *value.elements) {
    elements.push_back(element.to_string());
  }
  return fmt::format(" {{{}}}", fmt::join(elements, ", "));
}

std::string operand_text(const Graph& graph, ValueId id) {
  std::string text = label(graph, id);
  if (id != kNoValue && graph.value(id).constant) {
    text += fmt::format(": constant {}{}", graph.value(id).type.to_string(), elements_text(graph.value(id)));
  }
  return text;
}

void print_node(const Graph& graph, const Node& node, std::string& text) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += label(graph, node.outputs[i]);
    if (node.outputs[i] != kNoValue) {
      const Value& value = graph.value(node.outputs[i]);
      text += ": " + value.type.to_string() + elements_text(value);
    }
  }
  text += fmt::format(" = {}(", to_string(node.op));
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += operand_text(graph, node.inputs[i]);
  }
  text += ")";
  const std::string attributes = to_string(node.attributes);
  if (!attributes.empty()) {
    text += " " + attributes;
  }
  text += fmt::format("  # '{}'", node.name);
  if (!node.origin.empty()) {
    text += ", " + node.origin;
  }
  text += "\n";
}

std::string constraint_text(const Constraint& constraint) {
  const std::string a = constraint.a.to_string();
  const std::string b = constraint.b.to_string();
  switch (constraint.kind) {
    case Constraint::Kind::kEqual:
      return fmt::format("{} = {}", a, b);
    case Constraint::Kind::kDivides:
      return fmt::format("{} divides {}", b, a);
    case Constraint::Kind::kAtLeast:
      return fmt::format("{} >= {}", a, b);
    case Constraint::Kind::kAtMost:
      return fmt::format("{} <= {}", a, b);
  }
  return "";
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("graph '{}'\n", graph.name);
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    text += fmt::format("input {}: {}{}\n", label(graph, id), value.type.to_string(), elements_text(value));
  }
  for (NodeId id : graph.order()) {
    print_node(graph, graph.node(id), text);
  }
  for (const NamedValue& output : graph.outputs()) {
    text += fmt::format("output {} = {}", output.name, operand_text(graph, output.value));
    if (output.value != kNoValue && !graph.value(output.value).constant) {
      text += ": " + graph.value(output.value).type.to_string();
    }
    text += "\n";
  }
  for (const GraphState& state : graph.states) {
    text += fmt::format("state {} = {}\n", graph.value(graph.inputs()[static_cast<size_t>(state.input)]).name,
                        graph.outputs()[static_cast<size_t>(state.output)].name);
  }
  for (const auto& symbol : graph.symbols.symbols()) {
    text += fmt::format("where {} in {}..{}\n", symbol->name, symbol->range.min, symbol->range.max);
  }
  for (const Constraint& constraint : graph.constraints) {
    text += fmt::format("requires {}  # {}\n", constraint_text(constraint), constraint.what);
  }
  return text;
}

}  // namespace weir
