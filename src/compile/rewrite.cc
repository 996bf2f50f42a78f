// SPDX-License-Identifier: Apache-2.0
#include "compile/rewrite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compile/tile_rewrite.h"
#include "graph/infer.h"

namespace weir {
namespace {

template <typename T>
T read_as(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof(T));
  return value;
}

}  // namespace

bool is_view_op(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kSlice || op == Op::kExpand;
}

TensorSpec concrete_spec(const TensorType& type) {
  std::vector<int64_t> shape;
  shape.reserve(type.shape.size());
  for (const Dim& dim : type.shape) {
    shape.push_back(dim.constant());
  }
  return TensorSpec::dense(type.element_type, shape);
}

std::optional<int64_t> static_bytes(const TensorType& type) {
  int64_t count = 1;
  for (const Dim& dim : type.shape) {
    if (!dim.is_constant() || __builtin_mul_overflow(count, dim.constant(), &count) || count > kDimMax) {
      return std::nullopt;
    }
  }
  return byte_size(type.element_type, count);
}

std::optional<double> scalar_constant(const Value& value) {
  if (!value.constant || value.swappable || !value.type.element_count().is_constant(1)) {
    return std::nullopt;
  }
  const std::byte* data = value.constant->data();
  switch (value.type.element_type) {
    case ElementType::kFloat32:
      return read_as<float>(data);
    case ElementType::kFloat64:
      return read_as<double>(data);
    case ElementType::kInt32:
      return read_as<int32_t>(data);
    case ElementType::kInt64: {
      const auto integer = read_as<int64_t>(data);
      constexpr int64_t kExact = int64_t{1} << 53;  // beyond, a real number does not hold every integer
      return integer >= -kExact && integer <= kExact ? std::optional<double>(static_cast<double>(integer))
                                                     : std::nullopt;
    }
    case ElementType::kBool:
      return read_as<uint8_t>(data);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<float>> float_constant(const Value& value) {
  if (!value.constant || value.swappable || value.type.element_type != ElementType::kFloat32) {
    return std::nullopt;
  }
  const std::span<const std::byte> bytes = value.constant->bytes();
  std::vector<float> elements(bytes.size() / sizeof(float));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(float));
  return elements;
}

NodeId only_reader(const Graph& graph, const std::vector<std::vector<Graph::Use>>& uses, ValueId value) {
  const auto& readers = uses[static_cast<size_t>(value)];
  if (readers.empty() || graph.is_output(value)) {
    return kNoNode;
  }
  const NodeId first = readers.front().node;
  return std::ranges::all_of(readers, [&](const Graph::Use& use) { return use.node == first; }) ? first
                                                                                                : kNoNode;
}

std::optional<ScalarOp> single_operation(const Node& node) {
  const auto* elementwise = std::get_if<ElementwiseAttributes>(&node.attributes);
  if (elementwise == nullptr || elementwise->program.empty()) {
    return std::nullopt;
  }
  const auto instructions = elementwise->program.instructions();
  const bool single =
      std::ranges::all_of(instructions.first(instructions.size() - 1),
                          [](const TileInstruction& i) { return i.op == ScalarOp::kImmediate; });
  return single ? std::optional<ScalarOp>(instructions.back().op) : std::nullopt;
}

namespace {

// Whether the operands at `kept` broadcast to the node's shape without the others.
bool keep_shape(const Graph& graph, const Node& node, std::span<const int> kept) {
  const Dims& shape = graph.value(node.outputs[0]).type.shape;
  std::vector<Dims> shapes;
  for (int input : kept) {
    shapes.push_back(graph.value(node.inputs[static_cast<size_t>(input)]).type.shape);
  }
  if (std::ranges::find(shapes, shape) != shapes.end()) {
    return true;
  }
  std::vector<Constraint> unproved;
  InferContext context{&unproved, node.name};
  const Result<Dims> joined = broadcast(shapes, context);
  return joined && unproved.empty() && *joined == shape;
}

}  // namespace

void normalize_elementwise(Graph& graph, Node& node) {
  TileProgram& program = std::get<ElementwiseAttributes>(node.attributes).program;
  for (size_t i = node.inputs.size(); i-- > 0;) {
    const std::optional<double> number = scalar_constant(graph.value(node.inputs[i]));
    std::vector<int> others;
    for (size_t other = 0; other < node.inputs.size(); ++other) {
      if (other != i) {
        others.push_back(static_cast<int>(other));
      }
    }
    std::optional<TileProgram> shorter;
    if (number && !others.empty() && keep_shape(graph, node, others)) {
      shorter = with_immediate(program, static_cast<int>(i), *number);
    }
    if (shorter) {
      program = *std::move(shorter);
      graph.value(node.inputs[i]).consumed = true;
      node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  std::vector<ValueId> distinct;
  std::vector<ElementType> types;
  std::vector<int> map;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto found = std::ranges::find(distinct, node.inputs[i]);
    map.push_back(static_cast<int>(found - distinct.begin()));
    if (found == distinct.end()) {
      distinct.push_back(node.inputs[i]);
      types.push_back(program.input_types()[i]);
    }
  }
  if (distinct.size() != node.inputs.size()) {
    program = program.remap(map, types);
    node.inputs = distinct;
  }
  program = tidy(program);
  std::vector<int> kept;
  TileProgram fewer = without_unused_inputs(program, kept);
  if (kept.size() == node.inputs.size() || !keep_shape(graph, node, kept)) {
    return;  // an operand that no instruction reads may still give the result its shape
  }
  program = std::move(fewer);
  std::vector<ValueId> inputs;
  for (int input : kept) {
    inputs.push_back(node.inputs[static_cast<size_t>(input)]);
  }
  node.inputs = std::move(inputs);
}

}  // namespace weir
