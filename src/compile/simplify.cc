// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compile/pass.h"
#include "compile/rewrite.h"
#include "compile/tile_rewrite.h"

namespace weir {
namespace {

// The value that the node's only output repeats unchanged, or kNoValue.
ValueId repeated_value(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || node.inputs[0] == kNoValue) {
    return kNoValue;
  }
  ValueId source = node.inputs[0];
  switch (node.op) {
    case Op::kElementwise: {
      const std::optional<int> passed =
          passed_input(std::get<ElementwiseAttributes>(node.attributes).program);
      if (!passed) {
        return kNoValue;
      }
      source = node.inputs[static_cast<size_t>(*passed)];
      break;
    }
    case Op::kReshape:
    case Op::kExpand:
    case Op::kCopy:
      break;
    case Op::kConcat:
      if (node.inputs.size() != 1) {
        return kNoValue;
      }
      break;
    case Op::kTranspose: {
      const auto& permutation = std::get<TransposeAttributes>(node.attributes).permutation;
      if (!std::ranges::is_sorted(permutation)) {
        return kNoValue;
      }
      break;
    }
    case Op::kSlice: {
      const auto& steps = std::get<SliceAttributes>(node.attributes).steps;
      if (std::ranges::any_of(steps, [](int64_t step) { return step != 1; })) {
        return kNoValue;  // all elements, but in another order
      }
      break;
    }
    case Op::kPad:
      break;  // an equal shape says that nothing is added, unless it crops as much as it adds
    default:
      return kNoValue;
  }
  if (node.op == Op::kPad) {
    const auto& pad = std::get<PadAttributes>(node.attributes);
    const auto zero = [](const Dim& dim) { return dim.is_constant(0); };
    if (!std::ranges::all_of(pad.begin, zero) || !std::ranges::all_of(pad.end, zero)) {
      return kNoValue;
    }
  }
  const TensorType& from = graph.value(source).type;
  const TensorType& to = graph.value(node.outputs[0]).type;
  return from.shape == to.shape && from.element_type == to.element_type ? source : kNoValue;
}

}  // namespace

Result<void> simplify(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  for (NodeId id : order) {
    Node& node = graph.node(id);
    if (node.dead) {
      continue;
    }
    if (node.op == Op::kElementwise) {
      normalize_elementwise(graph, node);
    }
    if (node.op == Op::kReshape) {  // a reshape of a reshape
      const NodeId producer = graph.value(node.inputs[0]).producer;
      if (producer != kNoNode && graph.node(producer).op == Op::kReshape) {
        node.inputs[0] = graph.node(producer).inputs[0];
      }
    }
    if (const ValueId source = repeated_value(graph, node); source != kNoValue) {
      const ValueId output = node.outputs[0];
      if (!graph.is_output(output) || graph.value(source).producer != kNoNode) {
        graph.replace_uses(output, source);
      }
    }
  }
  graph.remove_unused();
  return {};
}

}  // namespace weir
