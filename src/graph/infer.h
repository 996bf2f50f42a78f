// SPDX-License-Identifier: Apache-2.0
//
// Shape inference: the output types of an operator from its input types and attributes, and what is known of
// the elements of small integer tensors (shape arithmetic as expressions).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace weir {

// What joins two dimensions that meet in broadcasting; collects the constraints that could not be proved.
struct InferContext {
  std::vector<Constraint>* constraints = nullptr;
  std::string_view node;  // named in constraints and errors
};

// The broadcast of two dimensions: equal ones stay; a literal 1 gives the other; else an equality constraint
// is added.
Result<Dim> broadcast(const Dim& a, const Dim& b, InferContext& context);
Result<Dims> broadcast(std::span<const Dims> shapes, InferContext& context);

// Output element types and shapes (row-major strides left empty). For kReshape, kExpand, kSlice, kFill,
// kRange, kDimTensor and kResize the target shape is what the caller wants and is only checked: pass it as
// `wanted`. A pool takes one too, for the further window of ceil mode; without it the windows are counted
// down.
Result<std::vector<TensorType>> infer_types(Op op, const Attributes& attributes,
                                            std::span<const TensorType* const> inputs,
                                            std::span<const TensorType> wanted, InferContext& context);

// No extent that is a number is negative, and all of them with their product are within kDimMax: what any
// tensor takes, so that sizes of static shapes fit in 64 bits.
bool has_possible_size(const TensorType& type);

}  // namespace weir
