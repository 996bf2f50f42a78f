// SPDX-License-Identifier: Apache-2.0
#include "compile/constant_list.h"

#include <algorithm>
#include <map>

namespace weir {

std::vector<int32_t> count_uses(const Graph& graph) {
  std::vector<int32_t> uses(static_cast<size_t>(graph.value_count()), 0);
  for (const NodeId id : graph.order()) {
    for (const ValueId input : graph.node(id).inputs) {
      if (input != kNoValue) {
        ++uses[static_cast<size_t>(input)];
      }
    }
  }
  for (const NamedValue& output : graph.outputs()) {
    ++uses[static_cast<size_t>(output.value)];
  }
  return uses;
}

std::vector<LoweredConstant> list_constants(const Graph& graph, std::span<const int32_t> uses_before) {
  const std::vector<int32_t> uses = count_uses(graph);
  std::vector<LoweredConstant> constants;
  std::map<std::string_view, int> times;
  for (size_t i = 0; i < uses_before.size(); ++i) {  // later ones were made by passes
    const auto id = static_cast<ValueId>(i);
    const Value& value = graph.value(id);
    if (uses_before[i] == 0 || value.name.empty() || value.producer != kNoNode || value.input >= 0) {
      continue;
    }
    const bool read = std::ranges::find(graph.read_constants, value.name) != graph.read_constants.end();
    const bool whole = value.constant && !value.consumed && uses[i] >= uses_before[i];
    constants.push_back({value.name, id,
                         read    ? ConstantFate::kImported
                         : whole ? ConstantFate::kPlain
                                 : ConstantFate::kFolded});
    ++times[value.name];
  }
  for (const std::string& name : graph.read_constants) {
    if (times[name]++ == 0) {
      constants.push_back({name, kNoValue, ConstantFate::kImported});
    }
  }
  // Subgraphs may use a name again: then it names none.
  std::erase_if(constants, [&](const LoweredConstant& constant) {
    return constant.value != kNoValue &&
           std::ranges::count(constants, constant.name, &LoweredConstant::name) > 1;
  });
  return constants;
}

}  // namespace weir
