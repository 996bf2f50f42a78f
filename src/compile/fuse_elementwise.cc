// SPDX-License-Identifier: Apache-2.0
#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

// Composes one producer that only `id` reads into it. False where there is none.
bool fuse_one(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses) {
  Node& node = graph.node(id);
  TileProgram& program = std::get<ElementwiseAttributes>(node.attributes).program;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const NodeId producer_id = graph.value(input).producer;
    if (producer_id == kNoNode || graph.node(producer_id).op != Op::kElementwise ||
        only_reader(graph, uses, input) != id ||
        graph.value(input).type.shape != graph.value(node.outputs[0]).type.shape) {
      continue;
    }
    const Node& producer = graph.node(producer_id);
    std::optional<TileProgram> composed =
        program.compose(std::get<ElementwiseAttributes>(producer.attributes).program, static_cast<int>(i));
    if (!composed) {
      continue;
    }
    std::vector<ValueId> inputs = producer.inputs;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (k != i) {
        inputs.push_back(node.inputs[k]);
      }
    }
    program = std::move(*composed);
    node.inputs = std::move(inputs);
    node.origin = producer.origin + "+" + node.origin;
    graph.remove_node(producer_id);
    normalize_elementwise(graph, graph.node(id));
    return true;
  }
  return false;
}

}  // namespace

Result<void> fuse_elementwise(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  auto uses = graph.all_uses();
  for (NodeId id : order) {
    if (graph.node(id).dead || graph.node(id).op != Op::kElementwise) {
      continue;
    }
    while (fuse_one(graph, id, uses)) {
      uses = graph.all_uses();
    }
  }
  return {};
}

}  // namespace weir
