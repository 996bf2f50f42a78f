// SPDX-License-Identifier: Apache-2.0
//
// What the passes ask of a graph again and again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace weir {

// Operators whose result may be another view of their operand.
bool is_view_op(Op op);

// The type with numbers, dense in row-major order. Only for static shapes.
TensorSpec concrete_spec(const TensorType& type);

// Bytes of a dense tensor, where the shape is static and the size fits.
std::optional<int64_t> static_bytes(const TensorType& type);

// The value of a constant with one element, as a real number; nothing for others, nor for swappable ones.
std::optional<double> scalar_constant(const Value& value);

// The elements of a float32 constant, copied (its bytes may be unaligned); nothing for others, nor for
// swappable ones.
std::optional<std::vector<float>> float_constant(const Value& value);

// The only node that reads `value`, however often; kNoNode where there are several or none or it is a graph
// output.
NodeId only_reader(const Graph& graph, const std::vector<std::vector<Graph::Use>>& uses, ValueId value);

// The scalar operation that an elementwise node is, where it is just one; nothing for others.
std::optional<ScalarOp> single_operation(const Node& node);

// Tidies an elementwise node: one-element constants become immediates, equal operands one, and the program is
// tidied.
void normalize_elementwise(Graph& graph, Node& node);

}  // namespace weir
