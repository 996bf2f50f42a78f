// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

// How many nodes read each value, kept while nodes are fused: a chain of thousands takes its length, not the
// square.
class Readers {
 public:
  explicit Readers(const Graph& graph)
      : counts_(static_cast<size_t>(graph.value_count()), 0), seen_(counts_.size(), 0) {
    for (NodeId id : graph.order()) {
      add(graph.node(id).inputs, 1);
    }
  }
  bool has_one(ValueId value) const { return counts_[static_cast<size_t>(value)] == 1; }
  // One reader with these operands more (1) or less (-1).
  void add(std::span<const ValueId> inputs, int count) {
    ++call_;
    for (const ValueId input : inputs) {
      if (input != kNoValue && std::exchange(seen_[static_cast<size_t>(input)], call_) != call_) {
        counts_[static_cast<size_t>(input)] += count;
      }
    }
  }

 private:
  std::vector<int> counts_;
  std::vector<int64_t> seen_;  // the call that met the value last
  int64_t call_ = 0;
};

// Composes one producer that only `id` reads into it. False where there is none.
bool fuse_one(Graph& graph, NodeId id, Readers& readers) {
  Node& node = graph.node(id);
  TileProgram& program = std::get<ElementwiseAttributes>(node.attributes).program;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    const NodeId producer_id = graph.value(input).producer;
    if (producer_id == kNoNode || graph.node(producer_id).op != Op::kElementwise || !readers.has_one(input) ||
        graph.is_output(input) || graph.value(input).type.shape != graph.value(node.outputs[0]).type.shape) {
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
    readers.add(producer.inputs, -1);
    readers.add(node.inputs, -1);
    program = std::move(*composed);
    node.inputs = std::move(inputs);
    node.origin = producer.origin + "+" + node.origin;
    graph.remove_node(producer_id);
    normalize_elementwise(graph, graph.node(id));
    readers.add(graph.node(id).inputs, 1);
    return true;
  }
  return false;
}

}  // namespace

Result<void> fuse_elementwise(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  Readers readers(graph);
  for (NodeId id : order) {
    if (graph.node(id).dead || graph.node(id).op != Op::kElementwise) {
      continue;
    }
    while (fuse_one(graph, id, readers)) {
    }
  }
  return {};
}

}  // namespace weir
