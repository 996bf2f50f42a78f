// SPDX-License-Identifier: Apache-2.0
//
// The state of lowering one graph (see lower.h): what each node runs on, where each value lies, and the steps
// so far. Private to lower*.cc; used by one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compile/lower.h"
#include "compile/rewrite.h"
#include "kernels/layout.h"

namespace weir {

// Orders of axes in memory, outermost first.
std::vector<int> row_major_order(int rank);
std::vector<int> channels_last_order(int rank);  // axis 1 innermost
Dim byte_count(ElementType type, std::span<const Dim> shape);

class Lowering {
 public:
  Lowering(const Graph& graph, const CompileOptions& options)
      : graph_(graph),
        options_(options),
        sample_(sample_symbols(graph.symbols, options.typical)),
        view_of_(static_cast<size_t>(graph.value_count()), -1),
        planned_(static_cast<size_t>(graph.value_count()), -1),
        channels_last_(static_cast<size_t>(graph.value_count()), false),
        prepared_(static_cast<size_t>(graph.value_count()), false),
        selections_(static_cast<size_t>(graph.node_count())) {}

  Result<Lowered> run();

 private:
  // --- what each node will run on, and the layouts that follow

  Result<void> choose(NodeId id);

  SelectionRules selection_rules() const {
    return {options_.reference_only, options_.prefer_memory, options_.portable};
  }

  // A constant or a view of one.
  bool is_constant(ValueId value) const;

  // Conservative: a reshape of a plain constant; one of a transposed constant may need a copy.
  bool reshape_of_constant_is_view(const Node& node) const {
    return graph_.value(node.inputs[0]).constant.has_value();
  }

  static bool static_shape(const TensorType& type) {
    return std::ranges::all_of(type.shape, [](const Dim& dim) { return dim.is_constant(); });
  }

  static bool has_negative_step(const Node& node) {
    const auto* slice = std::get_if<SliceAttributes>(&node.attributes);
    return slice != nullptr && std::ranges::any_of(slice->steps, [](int64_t step) { return step < 0; });
  }

  // Whether the node's results will lie channels last, and whether they depend on shapes only.
  void predict(NodeId id);

  // Whether a reshape leaves the first two axes as they are, so that pixels are merged or split among
  // themselves.
  bool keeps_channels(const Node& reshape) const;

  std::vector<int> order_of(ValueId value) const;

  // --- storages and views

  int32_t add_storage(LoweredStorage storage);

  int32_t add_view(LoweredView view);

  LoweredView& view(int32_t index) { return lowered_.views[static_cast<size_t>(index)]; }
  LoweredStorage& storage(int32_t index) { return lowered_.storages[static_cast<size_t>(index)]; }

  int32_t add_tensor(std::string_view name, const TensorType& type, std::span<const int> order,
                     StorageKind kind, int32_t index = -1);

  void add_inputs_and_constants();

  // The part of `parent` that starts at `start` along `axis`, with `shape`.
  int32_t add_part(int32_t parent, std::string_view name, const Dims& shape, int64_t axis, const Dim& start);

  // Lets the producers of a concatenation's operands write into the whole. Outer concatenations come first,
  // so that a concatenation of concatenations is one storage too.
  void reserve_concatenations();

  // Lets `part` be written into `place`, a part of `whole`; where `part` is a reshape or a transpose, the
  // value behind it.
  void reserve(ValueId part, ValueId whole, int32_t place);

  // The value whose slices along `axis`, from first to last, the operands from `first` on are; `covered` is
  // their number.
  ValueId split_value(const Node& concat, size_t first, int64_t axis, size_t& covered) const;

  // Whether the slice takes all of every axis but `axis`, and that one from `start` on in steps of one.
  bool starts_along(const Node& slice, int64_t axis, const Dim& start) const;

  bool can_write_into(ValueId part, ValueId whole) const;

  bool producer_accepts(ValueId value, int32_t target);

  // --- nodes

  Result<void> lower_node(NodeId id);

  std::optional<Dims> reshape_strides(const Node& node);

  // The node's output as another view of its input's storage.
  void add_alias(const Node& node, Dims strides, const Dim& offset);

  void lower_transpose(const Node& node);

  void lower_expand(const Node& node);

  void lower_slice(const Node& node);

  Result<void> lower_concat(const Node& node);

  std::string why_not_in_place(ValueId input) const;

  Result<void> lower_compute(NodeId id);

  // Lists weights that are larger packed than plain.
  void note_growth(const Node& node, const OpDesc& desc, const PackRequest& pack,
                   const Implementation& implementation);
  int32_t output_view(ValueId output, LayoutRule rule, const LoweredStep& step, bool prepared);

  // Operands packed with one id from the same bytes are stored once.
  int32_t add_packed(int32_t source, const PackRequest& request);

  bool same_elements(int32_t a, int32_t b);

  // The operand with strides that satisfy `rule`: itself, or a copy that later steps share.
  Result<int32_t> with_layout(ValueId value, int32_t operand, LayoutRule rule, const Node& node);

  Result<void> add_copy(int32_t source, int32_t target, bool prepared, std::string_view name,
                        std::string reason);

  void add_notice(NoticeKind kind, std::string what, std::string reason, Dim bytes);

  // --- outputs

  Result<void> finish_outputs();

  static std::string_view why_output_copied(const LoweredStorage& holder) {
    switch (holder.kind) {
      case StorageKind::kInput:
        return "is a view of an input";
      case StorageKind::kConstant:
      case StorageKind::kPrepared:
        return "is a constant";
      case StorageKind::kOutput:
        return "shares its elements with another output";
      case StorageKind::kState:
        return holder.index % 2 == 0 ? "is a view of a state" : "shares its elements with a state";
      default:
        return "is computed in another layout";
    }
  }

  const Graph& graph_;
  const CompileOptions& options_;
  std::vector<int64_t> sample_;
  std::vector<int32_t> view_of_;     // value → view, once lowered
  std::vector<int32_t> planned_;     // value → the part of a concatenation that its producer writes
  std::vector<bool> channels_last_;  // value: predicted
  std::vector<bool> prepared_;       // value: depends on shapes and constants only
  std::vector<Selection> selections_;
  std::map<std::pair<ValueId, bool>, int32_t> copies_;
  Lowered lowered_;
};

}  // namespace weir
