// SPDX-License-Identifier: Apache-2.0
//
// States: pairs of an input and an output of a model that the program keeps to itself. What a run leaves in
// the output is what the next one finds in the input.
//
//   WEIR_TRY(declare_states(graph, {{.input = "h", .output = "hn"}}));
//
// The graph keeps both among its inputs and outputs, so that passes see nothing new; lowering gives them
// storages of kind state instead of ports.
#pragma once

#include <span>

#include "compile/compile.h"
#include "graph/graph.h"
#include "program/program.h"

namespace weir {

// Fills Graph::states. Errors: a name that the model does not have or that is given twice, types or shapes
// that are not provably the same, an input that the shapes of others depend on.
Result<void> declare_states(Graph& graph, std::span<const StateChoice> choices);

// What an input or output of the graph is in the program.
struct PortPlace {
  StorageKind kind = StorageKind::kInput;
  int32_t index = 0;  // as Storage::index
};
PortPlace input_place(const Graph& graph, int32_t position);
PortPlace output_place(const Graph& graph, int32_t position);

// Where the program takes the value of a symbol from: of its inputs, of which states are none.
SymbolSource program_source(const Graph& graph, const Symbol& symbol);

}  // namespace weir
