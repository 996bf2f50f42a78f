// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <algorithm>
#include <array>

#include "compile/constant_list.h"
#include "compile/declare_states.h"
#include "compile/emit.h"
#include "compile/lower.h"
#include "compile/pass.h"
#include "compile/rewrite.h"
#include "compile/within_limit.h"
#include "plan/placement.h"

namespace weir {
namespace {

struct Pass {
  std::string_view name;
  Result<void> (*run)(Graph&, PassContext&);
  bool fuses;
};

// Folding comes first and again after fusion has made new constants; simplify before every pass that matches
// patterns.
constexpr std::array kPasses = {
    Pass{"fold-constants", fold_constants, false},
    Pass{"simplify", simplify, false},
    Pass{"fuse-layer-normalization", fuse_layer_normalization, true},
    Pass{"hoist-scale", hoist_scale, true},
    Pass{"fuse-affine", fuse_affine, true},
    Pass{"fuse-elementwise", fuse_elementwise, true},
    Pass{"fuse-epilogue", fuse_epilogue, true},
    Pass{"simplify-fused", simplify, true},
};

// The least arena that the graph would need with a tensor of its own for every result; −1 for dynamic shapes.
int64_t unfused_bound(const Graph& graph) {
  std::vector<int32_t> last(static_cast<size_t>(graph.value_count()), -1);
  std::vector<ValueId> holder(static_cast<size_t>(graph.value_count()), kNoValue);
  std::vector<Block> blocks;
  std::vector<int32_t> block_of(static_cast<size_t>(graph.value_count()), -1);
  int32_t step = 0;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (ValueId input : node.inputs) {
      if (input != kNoValue && block_of[static_cast<size_t>(input)] >= 0) {
        blocks[static_cast<size_t>(block_of[static_cast<size_t>(input)])].last = step;
      }
    }
    for (ValueId output : node.outputs) {
      if (output == kNoValue) {
        continue;
      }
      const std::optional<int64_t> bytes = static_bytes(graph.value(output).type);
      if (!bytes) {
        return -1;
      }
      if (is_view_op(node.op)) {
        block_of[static_cast<size_t>(output)] = block_of[static_cast<size_t>(node.inputs[0])];
      } else if (!graph.is_output(output)) {
        block_of[static_cast<size_t>(output)] = static_cast<int32_t>(blocks.size());
        blocks.push_back({*bytes, step, step});
      }
    }
    ++step;
  }
  return lower_bound(blocks);
}

// Makes every result that a step will write an output, for comparing step by step.
void materialize(Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    for (ValueId output : node.outputs) {
      if (output != kNoValue && !graph.is_output(output) && !graph.value(output).name.empty()) {
        graph.outputs().push_back({graph.value(output).name, output});
      }
    }
  }
}

Result<Compiled> lower_and_emit(const std::shared_ptr<const Graph>& graph, std::span<const int32_t> uses,
                                const CompileOptions& options) {
  Lowered lowered;
  {
    const TraceSpan span(options.trace, "lower");
    WEIR_ASSIGN(lowered, lower(*graph, options), "while lowering model '{}'", graph->name);
    lowered.constants = list_constants(*graph, uses);
    if (options.fuse) {
      alias_in_place(lowered);
    }
    compute_lifetimes(lowered);
  }
  const TraceSpan span(options.trace, "emit");
  WEIR_ASSIGN(Compiled compiled, emit(graph, lowered, options), "while compiling model '{}'", graph->name);
  return compiled;
}

}  // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) {
    names.push_back(pass.name);
  }
  return names;
}

Result<Compiled> compile(Graph graph, const CompileOptions& options) {
  WEIR_TRY(declare_states(graph, options.states), "while declaring the states of model '{}'", graph.name);
  PassContext context{&options};
  int64_t unfused = -1;
  const std::vector<int32_t> uses = count_uses(graph);
  for (const Pass& pass : kPasses) {
    if (pass.fuses && !options.fuse) {
      continue;
    }
    if (pass.run == fuse_layer_normalization || (unfused < 0 && pass.fuses)) {
      unfused = unfused_bound(graph);
    }
    const TraceSpan span(options.trace, pass.name);
    WEIR_TRY(pass.run(graph, context), "while running pass '{}' on model '{}'", pass.name, graph.name);
    if (options.verify_passes) {
      WEIR_TRY(verify(graph), "while verifying model '{}' after pass '{}'", graph.name, pass.name);
    }
    if (options.after_pass) {
      options.after_pass(pass.name, to_string(graph));
    }
  }
  {
    const TraceSpan span(options.trace, "verify");
    WEIR_TRY(verify(graph), "while verifying model '{}' after all passes", graph.name);
  }
  if (options.materialize_steps) {
    materialize(graph);
  }
  auto shared = std::make_shared<Graph>(std::move(graph));
  const auto compile_once = [&](const CompileOptions& chosen) {
    return lower_and_emit(shared, uses, chosen);
  };
  WEIR_ASSIGN(Compiled compiled, options.memory_limit > 0
                                     ? compile_within_limit(*shared, options, compile_once)
                                     : compile_once(options));
  compiled.program.unfused_bound_bytes = unfused;
  return compiled;
}

}  // namespace weir
