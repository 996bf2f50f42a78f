// SPDX-License-Identifier: Apache-2.0
//
// The compiler: from a Graph to a Program and the constant blocks that its file will hold.
//
//   WEIR_ASSIGN(Graph graph, import_onnx(path, {}));
//   WEIR_ASSIGN(Compiled compiled, compile(std::move(graph), {}));
//   WEIR_TRY(write_program(compiled.program, compiled.blocks, "model.weir"));
//
// Compiling is deterministic: the same graph and options give the same program. It may take any memory;
// nothing of it stays afterwards but the Program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace.h"
#include "graph/graph.h"
#include "op/custom_operator.h"
#include "program/program_file.h"

namespace weir {

// An input that becomes a state, and the output that feeds it.
struct StateChoice {
  std::string input;
  std::string output;
};

struct CompileOptions {
  // These inputs and outputs are none of the program's: it keeps them from run to run, zero at first.
  std::vector<StateChoice> states;
  // Off: every node becomes a step of its own. For comparing step by step.
  bool fuse = true;
  // Every step's result becomes an output of the program, under the model's name for it. For comparing step
  // by step.
  bool materialize_steps = false;
  // Only reference implementations. For comparing.
  bool reference_only = false;
  // Verifies the graph after every pass, not only after the last.
  bool verify_passes = false;
  // Refuses implementations whose packed weights are much larger than the model's, though they may be faster.
  bool prefer_memory = false;
  // Constants stay plain and are packed when a session is opened, and steps may run on their reference: for
  // processors whose kernels want other layouts. The file is about as large as the model.
  bool portable = false;
  // Constants, arena, inputs, outputs and states must not take more than this many bytes together; 0: no
  // limit. Where dimensions are open: at the largest values of their ranges. See compile/within_limit.h.
  int64_t memory_limit = 0;
  // Called with the name of each pass and the graph after it (see pass_names()).
  std::function<void(std::string_view pass, const std::string& graph)> after_pass;
  // Values of the symbols at which a dynamic program's placement order is chosen; empty: a guess from their
  // ranges.
  std::vector<int64_t> typical;
  Tracer* trace = nullptr;
  // Of the graph's custom operators; null: none.
  std::shared_ptr<const CustomOperators> operators;
};

struct Compiled {
  Program program;
  std::vector<ConstantBlock> blocks;   // they read from `graph`
  std::shared_ptr<const Graph> graph;  // after all passes
};

Result<Compiled> compile(Graph graph, const CompileOptions& options);

// In the order in which they run.
std::vector<std::string_view> pass_names();

}  // namespace weir
