// SPDX-License-Identifier: Apache-2.0
//
// The passes over the graph, one file each, in the order in which compile() runs them. Each keeps the graph
// valid (verify runs between passes in debug builds and tests) and gives the same graph for the same input.
#pragma once

#include "base/status.h"
#include "compile/compile.h"
#include "graph/graph.h"

namespace weir {

struct PassContext {
  const CompileOptions* options = nullptr;
};

// Evaluates what depends on constants only, with the reference implementations. Views of large constants stay
// views.
Result<void> fold_constants(Graph& graph, PassContext& context);

// Local rewrites: removes identities, turns one-element constants into immediates, merges equal operands, and
// spells known chains as one operation (x·sigmoid(x) as silu, …).
Result<void> simplify(Graph& graph, PassContext& context);

// Recognises layer normalisation spelled out as means, differences and roots.
Result<void> fuse_layer_normalization(Graph& graph, PassContext& context);

// Factors of a matrix product's operands go behind it, where they cost nothing.
Result<void> hoist_scale(Graph& graph, PassContext& context);

// A per-channel multiply and add after a convolution or matrix product goes into its weights and bias, a
// constant zero Pad before it into its padding.
Result<void> fuse_affine(Graph& graph, PassContext& context);

// Chains of elementwise operators become one tile program.
Result<void> fuse_elementwise(Graph& graph, PassContext& context);

// Elementwise operators go into the convolution or matrix product that produces their operand.
Result<void> fuse_epilogue(Graph& graph, PassContext& context);

}  // namespace weir
