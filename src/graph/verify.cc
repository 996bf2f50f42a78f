// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <unordered_set>

#include "base/checked.h"
#include "graph/graph.h"
#include "graph/infer.h"

namespace weir {
namespace {

template <typename... Args>
std::unexpected<Status> broken(fmt::format_string<Args...> format, Args&&... args) {
  return fail(StatusCode::kInternal, format, std::forward<Args>(args)...);
}

bool valid_value(const Graph& graph, ValueId id) {
  return id >= 0 && id < graph.value_count();
}

Result<void> verify_constant(const Value& value) {
  std::vector<int64_t> shape;
  for (const Dim& dim : value.type.shape) {
    if (!dim.is_constant() || dim.constant() < 0) {
      return broken("Constant '{}' has type ({}), and its dimensions are to be numbers.", value.name,
                    value.type.to_string());
    }
    shape.push_back(dim.constant());
  }
  WEIR_ASSIGN(const int64_t count, checked_product(shape), "while verifying constant '{}'", value.name);
  const auto bytes = static_cast<int64_t>(value.constant->bytes().size());
  if (count > INT64_MAX / 64 || bytes != byte_size(value.type.element_type, count)) {
    return broken("Constant '{}' of type ({}) has ({}) bytes.", value.name, value.type.to_string(), bytes);
  }
  return {};
}

Result<void> verify_value(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!is_valid(value.type.element_type) || value.type.rank() > kMaxRank) {
    return broken("Value '{}' (id {}) has no valid type.", value.name, id);
  }
  if (!value.type.strides.empty() && value.type.strides.size() != value.type.shape.size()) {
    return broken("Value '{}' (id {}) has ({}) strides and rank ({}).", value.name, id,
                  value.type.strides.size(), value.type.rank());
  }
  if (value.elements && value.type.element_count() != Dim(static_cast<int64_t>(value.elements->size()))) {
    return broken("Value '{}' (id {}) of type ({}) has ({}) known elements.", value.name, id,
                  value.type.to_string(), value.elements->size());
  }
  const int sources = (value.producer != kNoNode) + (value.input >= 0) + (value.constant.has_value() ? 1 : 0);
  if (sources != 1) {
    return broken("Value '{}' (id {}) has ({}) sources of node, input and constant, and it takes one.",
                  value.name, id, sources);
  }
  if (value.constant) {
    return verify_constant(value);
  }
  return {};
}

Result<void> verify_types(const Graph& graph, const Node& node) {
  std::vector<const TensorType*> inputs;
  for (ValueId id : node.inputs) {
    inputs.push_back(id == kNoValue ? nullptr : &graph.value(id).type);
  }
  std::vector<TensorType> wanted;
  if (node.op != Op::kLstm && node.outputs.size() == 1 && node.outputs[0] != kNoValue) {
    wanted.push_back(graph.value(node.outputs[0]).type);
  }
  std::vector<Constraint> unproved;
  InferContext context{&unproved, node.name};
  WEIR_ASSIGN(const std::vector<TensorType> types,
              infer_types(node.op, node.attributes, inputs, wanted, context));
  if (types.size() != node.outputs.size()) {
    return broken("{} '{}' has ({}) outputs, and its operator gives ({}).", to_string(node.op), node.name,
                  node.outputs.size(), types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (node.outputs[i] == kNoValue) {
      continue;
    }
    const TensorType& type = graph.value(node.outputs[i]).type;
    bool same = type.element_type == types[i].element_type && type.rank() == types[i].rank();
    for (size_t axis = 0; same && axis < type.shape.size(); ++axis) {
      same = proves_equal(type.shape[axis], types[i].shape[axis]) != false;
    }
    if (!same) {
      return broken("{} '{}' has output ({}) of type ({}), and inference gives ({}).", to_string(node.op),
                    node.name, i, type.to_string(), types[i].to_string());
    }
  }
  return {};
}

Result<void> verify_node(const Graph& graph, NodeId id, std::vector<bool>& available) {
  const Node& node = graph.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId operand = node.inputs[i];
    if (operand == kNoValue) {
      continue;
    }
    if (!valid_value(graph, operand) || graph.value(operand).dead) {
      return broken("{} '{}' reads value ({}) as operand ({}), which does not exist.", to_string(node.op),
                    node.name, operand, i);
    }
    if (!available[static_cast<size_t>(operand)]) {
      return broken("{} '{}' reads value '{}' (id {}) before it is written.", to_string(node.op), node.name,
                    graph.value(operand).name, operand);
    }
  }
  bool any = false;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    if (output == kNoValue) {
      continue;
    }
    any = true;
    if (!valid_value(graph, output) || graph.value(output).dead || graph.value(output).producer != id ||
        graph.value(output).producer_output != static_cast<int32_t>(i)) {
      return broken("{} '{}' has output ({}), value ({}), which does not name it as its producer.",
                    to_string(node.op), node.name, i, output);
    }
    WEIR_TRY(verify_value(graph, output));
    available[static_cast<size_t>(output)] = true;
  }
  if (!any) {
    return broken("{} '{}' has no output.", to_string(node.op), node.name);
  }
  return verify_types(graph, node);
}

}  // namespace

Result<void> verify(const Graph& graph) {
  std::vector<bool> available(static_cast<size_t>(graph.value_count()), false);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.dead || value.producer != kNoNode) {
      continue;
    }
    WEIR_TRY(verify_value(graph, id));
    available[static_cast<size_t>(id)] = true;
  }
  std::vector<bool> ordered(static_cast<size_t>(graph.node_count()), false);
  for (NodeId id : graph.order()) {
    if (id < 0 || id >= graph.node_count() || graph.node(id).dead || ordered[static_cast<size_t>(id)]) {
      return broken("The order of graph '{}' names node ({}) that is dead, twice there or does not exist.",
                    graph.name, id);
    }
    ordered[static_cast<size_t>(id)] = true;
    WEIR_TRY(verify_node(graph, id, available), "while verifying graph '{}'", graph.name);
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) {
    if (!graph.node(id).dead && !ordered[static_cast<size_t>(id)]) {
      return broken("Node '{}' of graph '{}' is not in its order.", graph.node(id).name, graph.name);
    }
  }
  std::unordered_set<std::string_view> names;
  for (const NamedValue& output : graph.outputs()) {
    if (!valid_value(graph, output.value) || !available[static_cast<size_t>(output.value)]) {
      return broken("Output '{}' of graph '{}' has no value.", output.name, graph.name);
    }
    if (!names.insert(output.name).second) {
      return broken("Graph '{}' has two outputs of name '{}'.", graph.name, output.name);
    }
  }
  return {};
}

}  // namespace weir
