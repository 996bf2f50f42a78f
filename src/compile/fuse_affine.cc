// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "compile/pass.h"
#include "compile/rewrite.h"

namespace weir {
namespace {

// y = scale·x + shift, one entry a channel.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;

  bool depends_on_x() const {
    return std::ranges::any_of(scale, [](double s) { return s != 0; });
  }
};

// One number a channel from a constant that broadcasts to `output` along no other axis; nothing for others.
std::optional<std::vector<double>> per_channel(const Value& value, const TensorType& output, int channel_axis,
                                               int64_t channels) {
  const std::optional<std::vector<float>> elements = float_constant(value);
  if (!elements || value.type.rank() > output.rank()) {
    return std::nullopt;
  }
  const int offset = output.rank() - value.type.rank();
  for (int i = 0; i < value.type.rank(); ++i) {
    if (offset + i != channel_axis && !value.type.shape[static_cast<size_t>(i)].is_constant(1)) {
      return std::nullopt;
    }
  }
  const auto count = static_cast<int64_t>(elements->size());
  if (count != channels && count != 1) {
    return std::nullopt;
  }
  std::vector<double> result(static_cast<size_t>(channels));
  for (size_t c = 0; c < result.size(); ++c) {
    result[c] = (*elements)[count == 1 ? 0 : c];
  }
  return result;
}

// The map that an elementwise node makes of its operand `x`, where it is affine with constants a channel.
std::optional<Affine> affine_map(const Graph& graph, const Node& node, ValueId x, int channel_axis,
                                 int64_t channels) {
  const TileProgram& program = std::get<ElementwiseAttributes>(node.attributes).program;
  const TensorType& output = graph.value(node.outputs[0]).type;
  const auto size = static_cast<size_t>(channels);
  std::vector<Affine> values;
  for (ValueId input : node.inputs) {
    if (input == x) {
      values.push_back({std::vector<double>(size, 1.0), std::vector<double>(size, 0.0)});
      continue;
    }
    auto constant = per_channel(graph.value(input), output, channel_axis, channels);
    if (!constant) {
      return std::nullopt;
    }
    values.push_back({std::vector<double>(size, 0.0), std::move(*constant)});
  }
  for (const TileInstruction& instruction : program.instructions()) {
    Affine result{std::vector<double>(size), std::vector<double>(size)};
    const Affine* a = arity(instruction.op) > 0 ? &values[instruction.operands[0]] : nullptr;
    const Affine* b = arity(instruction.op) > 1 ? &values[instruction.operands[1]] : nullptr;
    for (size_t c = 0; c < size; ++c) {
      switch (instruction.op) {
        case ScalarOp::kImmediate:
          result.shift[c] = instruction.value[0];
          break;
        case ScalarOp::kAdd:
          result.scale[c] = a->scale[c] + b->scale[c];
          result.shift[c] = a->shift[c] + b->shift[c];
          break;
        case ScalarOp::kSub:
          result.scale[c] = a->scale[c] - b->scale[c];
          result.shift[c] = a->shift[c] - b->shift[c];
          break;
        case ScalarOp::kMul:
          if (a->depends_on_x() && b->depends_on_x()) {
            return std::nullopt;
          }
          result.scale[c] = a->scale[c] * b->shift[c] + b->scale[c] * a->shift[c];
          result.shift[c] = a->shift[c] * b->shift[c];
          break;
        case ScalarOp::kDiv:
          if (b->depends_on_x()) {
            return std::nullopt;
          }
          result.scale[c] = a->scale[c] / b->shift[c];
          result.shift[c] = a->shift[c] / b->shift[c];
          break;
        case ScalarOp::kSqrt:
          if (a->depends_on_x()) {
            return std::nullopt;
          }
          result.shift[c] = std::sqrt(a->shift[c]);
          break;
        default:
          return std::nullopt;
      }
    }
    values.push_back(std::move(result));
  }
  return values.back();
}

// Multiplies the weights that make output channel c by scale[c].
std::vector<float> scaled_weights(std::vector<float> weights, const Node& node, const TensorType& type,
                                  std::span<const double> scale) {
  const auto channels = static_cast<int64_t>(scale.size());
  const auto total = static_cast<int64_t>(weights.size());
  for (int64_t i = 0; i < total; ++i) {
    int64_t channel = 0;
    if (node.op == Op::kConv) {
      channel = i / (total / channels);
    } else if (node.op == Op::kMatMul) {
      channel = i % channels;
    } else {  // ConvTranspose: [C, M/group, kernel…]
      const int64_t inputs = type.shape[0].constant();
      const int64_t group_outputs = type.shape[1].constant();
      const int64_t kernel = total / (inputs * group_outputs);
      const int64_t group = (i / (group_outputs * kernel)) / (inputs / (channels / group_outputs));
      channel = group * group_outputs + (i / kernel) % group_outputs;
    }
    auto& weight = weights[static_cast<size_t>(i)];
    weight = static_cast<float>(weight * scale[static_cast<size_t>(channel)]);
  }
  return weights;
}

// Puts the affine map that reads the node's result into its weights and bias.
bool fuse_into(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses) {
  const ValueId result = graph.node(id).outputs[0];
  const NodeId reader = only_reader(graph, uses, result);
  if (reader == kNoNode || graph.node(reader).op != Op::kElementwise) {
    return false;
  }
  const Node& node = graph.node(id);
  const TensorType& type = graph.value(result).type;
  const int channel_axis = node.op == Op::kMatMul ? type.rank() - 1 : 1;
  const Dim& channel_dim = type.shape[static_cast<size_t>(channel_axis)];
  const Epilogue* epilogue = epilogue_of(node.attributes);
  if (type.element_type != ElementType::kFloat32 || !channel_dim.is_constant() || !epilogue->empty() ||
      type.shape != graph.value(graph.node(reader).outputs[0]).type.shape) {
    return false;
  }
  const int64_t channels = channel_dim.constant();
  const std::optional<Affine> map = affine_map(graph, graph.node(reader), result, channel_axis, channels);
  if (!map) {
    return false;
  }
  // A factor that is not finite makes NaN of other elements in the weights than behind the sum.
  if (!std::ranges::all_of(map->scale, [](double s) { return std::isfinite(s); })) {
    return false;
  }
  const bool scales = std::ranges::any_of(map->scale, [](double s) { return s != 1.0; });
  const Value& weights_value = graph.value(node.inputs[1]);
  std::optional<std::vector<float>> weights = scales ? float_constant(weights_value) : std::nullopt;
  if (scales && (!weights || (node.op == Op::kMatMul && weights_value.type.rank() != 2))) {
    return false;
  }
  std::vector<double> bias(static_cast<size_t>(channels), 0.0);
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    const std::optional<std::vector<float>> old = float_constant(graph.value(node.inputs[2]));
    if (!old) {
      return false;
    }
    std::ranges::copy(*old, bias.begin());
  }
  std::vector<float> new_bias(bias.size());
  for (size_t c = 0; c < bias.size(); ++c) {
    new_bias[c] = static_cast<float>(bias[c] * map->scale[c] + map->shift[c]);
  }
  const std::string base = graph.value(graph.node(reader).outputs[0]).name;
  ValueId weights_id = node.inputs[1];
  if (scales) {
    const TensorType weights_type = weights_value.type;
    const std::vector<float> scaled = scaled_weights(std::move(*weights), node, weights_type, map->scale);
    weights_id =
        graph.add_constant(base + ".weights", weights_type, Constant::copy(std::as_bytes(std::span(scaled))));
  }
  const ValueId bias_id = graph.add_constant(base + ".bias", {ElementType::kFloat32, {channels}, {}},
                                             Constant::copy(std::as_bytes(std::span(new_bias))));
  for (const ValueId constant : graph.node(reader).inputs) {
    graph.value(constant).consumed = true;  // and the result, which is none
  }
  Node& target = graph.node(id);
  for (size_t i = scales ? 1 : 2; i < std::min<size_t>(target.inputs.size(), kFixedOperands); ++i) {
    if (target.inputs[i] != kNoValue) {
      graph.value(target.inputs[i]).consumed = true;
    }
  }
  target.inputs.resize(kFixedOperands, kNoValue);
  target.inputs[1] = weights_id;
  target.inputs[2] = bias_id;
  target.origin += "+" + graph.node(reader).origin;
  const ValueId replaced = graph.node(reader).outputs[0];
  const std::string name = graph.value(replaced).name;
  graph.replace_uses(replaced, result);
  graph.value(result).name = name;
  graph.remove_node(reader);
  return true;
}

// Takes a zero Pad of spatial axes before a convolution into the convolution's own padding.
bool fuse_pad(Graph& graph, NodeId id, const std::vector<std::vector<Graph::Use>>& uses) {
  const Node& pad = graph.node(id);
  const auto& attributes = std::get<PadAttributes>(pad.attributes);
  const NodeId reader = only_reader(graph, uses, pad.outputs[0]);
  if (reader == kNoNode || graph.node(reader).op != Op::kConv ||
      uses[static_cast<size_t>(pad.outputs[0])].size() != 1 ||
      graph.node(reader).inputs[0] != pad.outputs[0] || attributes.mode != PadMode::kConstant ||
      attributes.value != 0 || pad.inputs.size() != 1) {
    return false;
  }
  for (size_t i = 0; i < attributes.begin.size(); ++i) {
    const bool spatial = i >= 2;
    const bool zero = attributes.begin[i].is_constant(0) && attributes.end[i].is_constant(0);
    const bool adds = attributes.begin[i].range().min >= 0 && attributes.end[i].range().min >= 0;
    if (spatial ? !adds : !zero) {
      return false;
    }
  }
  Node& conv = graph.node(reader);
  auto& conv_attributes = std::get<ConvAttributes>(conv.attributes);
  for (size_t i = 2; i < attributes.begin.size(); ++i) {
    conv_attributes.pads_begin[i - 2] += attributes.begin[i];
    conv_attributes.pads_end[i - 2] += attributes.end[i];
  }
  conv.inputs[0] = pad.inputs[0];
  conv.origin = pad.origin + "+" + conv.origin;
  graph.remove_node(id);
  return true;
}

}  // namespace

Result<void> fuse_affine(Graph& graph, PassContext&) {
  const std::vector<NodeId> order = graph.order();
  auto uses = graph.all_uses();
  for (NodeId id : order) {
    if (graph.node(id).dead) {
      continue;
    }
    const Op op = graph.node(id).op;
    if (op == Op::kPad) {
      if (fuse_pad(graph, id, uses)) {
        uses = graph.all_uses();
      }
    } else if (op == Op::kConv || op == Op::kConvTranspose || op == Op::kMatMul) {
      while (fuse_into(graph, id, uses)) {
        uses = graph.all_uses();
      }
    }
  }
  graph.remove_unused();
  return {};
}

}  // namespace weir
