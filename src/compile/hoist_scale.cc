// SPDX-License-Identifier: Apache-2.0
//
// (c·A)·(d·B) = (c·d)·(A·B): attention scales its queries and keys, a pass over each, before their product.
// Behind the product the one factor costs a multiplication in a register. Products with constant weights are
// left alone: a factor before them ends a chain (GELU's ½) that is known as a whole.
#include <algorithm>
#include <cmath>
#include <optional>

#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

constexpr double kLeastFactor = 0x1p-10;
constexpr double kGreatestFactor = 0x1p10;

struct Scaled {
  ValueId value = kNoValue;
  double factor = 1;
  NodeId node = kNoNode;
};

// What `value` is a number times of, where nothing else reads the multiple.
std::optional<Scaled> scaled(const Graph& graph, const std::vector<std::vector<Graph::Use>>& uses,
                             ValueId value) {
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || only_reader(graph, uses, value) == kNoNode) {
    return std::nullopt;
  }
  const Node& node = graph.node(producer);
  const std::optional<ScalarOp> op = single_operation(node);
  if ((op != ScalarOp::kMul && op != ScalarOp::kDiv) || node.inputs.size() != 1) {
    return std::nullopt;
  }
  const auto instructions = std::get<ElementwiseAttributes>(node.attributes).program.instructions();
  if (instructions.size() != 2) {
    return std::nullopt;  // x·x has no immediate
  }
  const double number = instructions[0].value[0];
  const bool divides_number = op == ScalarOp::kDiv && instructions[1].operands[0] != 0;
  const double factor = op == ScalarOp::kMul ? number : 1 / number;
  // Factors of another order guard the product against overflow, or are no numbers.
  if (divides_number || !(std::abs(factor) >= kLeastFactor && std::abs(factor) <= kGreatestFactor)) {
    return std::nullopt;
  }
  return Scaled{node.inputs[0], factor, producer};
}

bool hoist(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses) {
  const ValueId result = graph.node(id).outputs[0];
  const TensorType type = graph.value(result).type;
  const Node& product = graph.node(id);
  const bool has_bias = product.inputs.size() > 2 && product.inputs[2] != kNoValue;
  const auto is_constant = [&](ValueId value) { return graph.value(value).constant.has_value(); };
  if (is_constant(product.inputs[0]) || is_constant(product.inputs[1])) {
    return false;
  }
  if (type.element_type != ElementType::kFloat32 || has_bias || !epilogue_of(product.attributes)->empty()) {
    return false;
  }
  double factor = 1;
  std::string origin = product.origin;
  for (size_t operand : {size_t{0}, size_t{1}}) {
    if (const std::optional<Scaled> found = scaled(graph, uses, product.inputs[operand])) {
      factor *= found->factor;
      origin.insert(0, graph.node(found->node).origin + "+");
      graph.node(id).inputs[operand] = found->value;
    }
  }
  if (factor == 1) {
    return origin != graph.node(id).origin;
  }
  TileProgram multiply({ElementType::kFloat32});
  multiply.append(ScalarOp::kMul, {0, multiply.immediate(factor)});
  const std::string name = graph.value(result).name;
  graph.value(result).name = name + ".unscaled";
  const auto& order = graph.order();
  const auto next = std::ranges::find(order, id) + 1;
  const NodeId scale =
      graph.add_node(Op::kElementwise, graph.node(id).name + ".scale", ElementwiseAttributes{multiply},
                     {result}, {NewValue{name, type}}, next == order.end() ? kNoNode : *next);
  graph.node(scale).origin = "Mul";
  graph.node(id).origin = origin;
  const ValueId multiple = graph.node(scale).outputs[0];
  graph.replace_uses(result, multiple);
  graph.node(scale).inputs[0] = result;
  return true;
}

}  // namespace

Result<void> hoist_scale(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  auto uses = graph.all_uses();
  for (NodeId id : order) {
    if (!graph.node(id).dead && graph.node(id).op == Op::kMatMul && hoist(graph, id, uses)) {
      uses = graph.all_uses();
    }
  }
  graph.remove_unused();
  return {};
}

}  // namespace weir
