// SPDX-License-Identifier: Apache-2.0
//
//   mean = ReduceMean(x);  d = x − mean;  y = d / √(ReduceMean(d·d) + ε) · scale + bias
//
// over the last axes, as exporters spell it before the operator existed.
#include <algorithm>
#include <numeric>

#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

struct Match {
  ValueId x = kNoValue;
  int64_t axis = 0;
  double epsilon = 0;
};

const Node* producer_of(const Graph& graph, ValueId value) {
  const NodeId producer = value == kNoValue ? kNoNode : graph.value(value).producer;
  return producer == kNoNode ? nullptr : &graph.node(producer);
}

const Node* producer_of(const Graph& graph, ValueId value, ScalarOp op) {
  const Node* producer = producer_of(graph, value);
  return producer != nullptr && single_operation(*producer) == op ? producer : nullptr;
}

// The node's input where it is a mean over the last axes that keeps them; sets `axis` to the first.
ValueId mean_of_last_axes(const Graph& graph, ValueId value, int64_t& axis) {
  const Node* mean = producer_of(graph, value);
  if (mean == nullptr || mean->op != Op::kReduce) {
    return kNoValue;
  }
  const auto& attributes = std::get<ReduceAttributes>(mean->attributes);
  const int64_t rank = graph.value(mean->inputs[0]).type.rank();
  axis = rank - static_cast<int64_t>(attributes.axes.size());
  for (size_t i = 0; i < attributes.axes.size(); ++i) {
    if (attributes.axes[i] != axis + static_cast<int64_t>(i)) {
      return kNoValue;
    }
  }
  return attributes.kind == ReduceKind::kMean && attributes.keep_dims ? mean->inputs[0] : kNoValue;
}

std::optional<Match> match_quotient(const Graph& graph, const Node& quotient) {
  if (single_operation(quotient) != ScalarOp::kDiv || quotient.inputs.size() != 2 ||
      graph.value(quotient.outputs[0]).type.element_type != ElementType::kFloat32) {
    return std::nullopt;
  }
  const ValueId difference_value = quotient.inputs[0];
  const Node* difference = producer_of(graph, difference_value, ScalarOp::kSub);
  const Node* root = producer_of(graph, quotient.inputs[1], ScalarOp::kSqrt);
  if (difference == nullptr || root == nullptr || difference->inputs.size() != 2) {
    return std::nullopt;
  }
  Match match;
  match.x = difference->inputs[0];
  int64_t variance_axis = 0;
  if (mean_of_last_axes(graph, difference->inputs[1], match.axis) != match.x) {
    return std::nullopt;
  }
  const Node* sum = producer_of(graph, root->inputs[0], ScalarOp::kAdd);
  // One operand and a number: v + v has one instruction.
  if (sum == nullptr || sum->inputs.size() != 1 ||
      std::get<ElementwiseAttributes>(sum->attributes).program.instructions().size() != 2) {
    return std::nullopt;
  }
  const auto instructions = std::get<ElementwiseAttributes>(sum->attributes).program.instructions();
  match.epsilon = instructions.front().value[0];
  const ValueId square_value = mean_of_last_axes(graph, sum->inputs[0], variance_axis);
  const Node* square = producer_of(graph, square_value, ScalarOp::kMul);
  if (square == nullptr || variance_axis != match.axis || square->inputs != std::vector{difference_value} ||
      std::get<ElementwiseAttributes>(square->attributes).program.instructions().size() !=
          1) {  // d·c has two
    return std::nullopt;
  }
  return match;
}

// The constant operand of `node`, a two-operand elementwise `op` of `value` and a constant of the normalised
// shape.
ValueId affine_operand(const Graph& graph, NodeId id, ScalarOp op, ValueId value,
                       std::span<const Dim> normalized) {
  if (id == kNoNode || single_operation(graph.node(id)) != op || graph.node(id).inputs.size() != 2) {
    return kNoValue;
  }
  const std::vector<ValueId>& inputs = graph.node(id).inputs;
  const ValueId other = inputs[0] == value ? inputs[1] : inputs[0];
  const Value& constant = graph.value(other);
  return constant.constant && std::ranges::equal(constant.type.shape, normalized) ? other : kNoValue;
}

}  // namespace

Result<void> fuse_layer_normalization(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  for (NodeId id : order) {
    if (graph.node(id).dead) {
      continue;
    }
    const std::optional<Match> match = match_quotient(graph, graph.node(id));
    if (!match) {
      continue;
    }
    const auto uses = graph.all_uses();
    const ValueId quotient = graph.node(id).outputs[0];
    const TensorType x_type = graph.value(match->x).type;
    const std::span<const Dim> normalized = std::span(x_type.shape).subspan(static_cast<size_t>(match->axis));

    const NodeId product = only_reader(graph, uses, quotient);
    const ValueId scale = affine_operand(graph, product, ScalarOp::kMul, quotient, normalized);
    if (scale == kNoValue) {
      continue;
    }
    NodeId last = product;
    const ValueId scaled = graph.node(product).outputs[0];
    const NodeId sum = only_reader(graph, uses, scaled);
    const ValueId bias = affine_operand(graph, sum, ScalarOp::kAdd, scaled, normalized);
    if (bias != kNoValue) {
      last = sum;
    }
    const ValueId result = graph.node(last).outputs[0];
    const NewValue output{graph.value(result).name, graph.value(result).type};
    const NodeId fused = graph.add_node(Op::kLayerNormalization, graph.node(id).name,
                                        LayerNormalizationAttributes{match->axis, match->epsilon},
                                        {match->x, scale, bias}, {output}, last);
    graph.node(fused).origin = "LayerNormalization (recognised)";
    graph.replace_uses(result, graph.node(fused).outputs[0]);
    graph.remove_unused();
  }
  return {};
}

}  // namespace weir
