// SPDX-License-Identifier: Apache-2.0
//
// Orders of execution that may hold less at once than the model's own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace weir {

// Permutations of graph.order() that keep producers before consumers, and none that is the graph's own order.
// Sizes are those at `symbols`, one value each; there are none where they have no size. One takes, again and
// again, the node that adds the least to what lives; one finishes the operand that needs the most before it
// begins another (Sethi and Ullman, "The generation of optimal code for arithmetic expressions", 1970).
std::vector<std::vector<NodeId>> orders_for_memory(const Graph& graph, std::span<const int64_t> symbols = {});

}  // namespace weir
