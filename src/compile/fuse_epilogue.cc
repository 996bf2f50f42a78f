// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

Epilogue& epilogue(Attributes& attributes) {
  return std::holds_alternative<ConvAttributes>(attributes) ? std::get<ConvAttributes>(attributes).epilogue
                                                            : std::get<MatMulAttributes>(attributes).epilogue;
}

bool takes_epilogue(Op op) {
  return op == Op::kConv || op == Op::kConvTranspose || op == Op::kMatMul;
}

// The operand of elementwise node `id` whose producer can do the node's work: of several the last in
// execution order, since its other operands must be there before it runs.
int fusible_operand(const Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses,
                    std::span<const int32_t> position) {
  const Node& node = graph.node(id);
  const TensorType& type = graph.value(node.outputs[0]).type;
  int best = -1;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& input = graph.value(node.inputs[i]);
    if (input.producer == kNoNode || !takes_epilogue(graph.node(input.producer).op) ||
        only_reader(graph, uses, node.inputs[i]) != id || input.type.shape != type.shape ||
        input.type.element_type != ElementType::kFloat32 || type.element_type != ElementType::kFloat32) {
      continue;
    }
    if (best < 0 ||
        position[static_cast<size_t>(input.producer)] >
            position[static_cast<size_t>(graph.value(node.inputs[static_cast<size_t>(best)]).producer)]) {
      best = static_cast<int>(i);
    }
  }
  return best;
}

bool fuse(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses,
          std::span<const int32_t> position) {
  const int operand = fusible_operand(graph, id, uses, position);
  if (operand < 0) {
    return false;
  }
  const Node& node = graph.node(id);
  const ValueId accumulated = node.inputs[static_cast<size_t>(operand)];
  const NodeId producer_id = graph.value(accumulated).producer;
  const Node& producer = graph.node(producer_id);

  Attributes attributes = producer.attributes;
  Epilogue& program = epilogue(attributes);
  if (program.empty()) {
    program = TileProgram({ElementType::kFloat32});  // passes the result through
  }
  std::optional<TileProgram> composed =
      std::get<ElementwiseAttributes>(node.attributes).program.compose(program, operand);
  if (!composed) {
    return false;
  }
  program = std::move(*composed);

  std::vector<ValueId> inputs = producer.inputs;
  inputs.resize(std::max<size_t>(inputs.size(), kFixedOperands), kNoValue);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (static_cast<int>(i) != operand) {
      inputs.push_back(node.inputs[i]);
    }
  }
  const ValueId result = node.outputs[0];
  const NewValue output{graph.value(result).name, graph.value(result).type};
  const std::string name = producer.name;
  const std::string origin = producer.origin + "+" + node.origin;
  const NodeId fused =
      graph.add_node(producer.op, name, std::move(attributes), std::move(inputs), {output}, id);
  graph.node(fused).origin = origin;
  graph.replace_uses(result, graph.node(fused).outputs[0]);
  graph.remove_node(id);
  graph.remove_node(producer_id);
  return true;
}

std::vector<int32_t> positions(const Graph& graph) {
  std::vector<int32_t> position(static_cast<size_t>(graph.node_count()), -1);
  for (size_t i = 0; i < graph.order().size(); ++i) {
    position[static_cast<size_t>(graph.order()[i])] = static_cast<int32_t>(i);
  }
  return position;
}

}  // namespace

Result<void> fuse_epilogue(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  auto uses = graph.all_uses();
  std::vector<int32_t> position = positions(graph);
  for (NodeId id : order) {
    if (!graph.node(id).dead && graph.node(id).op == Op::kElementwise && fuse(graph, id, uses, position)) {
      uses = graph.all_uses();
      position = positions(graph);
    }
  }
  return {};
}

}  // namespace weir
