// SPDX-License-Identifier: Apache-2.0
//
// Which of a model's constants a session may give another value, so that it reaches everything that depends
// on it.
//
// A pass that computes something from a constant marks it as consumed; one that has fewer uses at the end
// than in the model counts as consumed too. Any other reaches what it reached in the model. Constants that
// are declared swappable are not looked at by any pass.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/lower.h"
#include "graph/graph.h"

namespace weir {

// Of each value: by live nodes and outputs.
std::vector<int32_t> count_uses(const Graph& graph);

// The named constants of the graph that count_uses() saw before the passes, as they are after them.
std::vector<LoweredConstant> list_constants(const Graph& graph, std::span<const int32_t> uses_before);

}  // namespace weir
