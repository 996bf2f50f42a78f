// SPDX-License-Identifier: Apache-2.0
#include "compile/lower.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace weir {
namespace {

bool is_view_op(Op op) {
  return op == Op::kReshape || op == Op::kTranspose || op == Op::kSlice || op == Op::kExpand;
}

std::vector<int> row_major_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Axis 1 innermost.
std::vector<int> channels_last_order(int rank) {
  std::vector<int> order = row_major_order(rank);
  if (rank > 2) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  return order;
}

bool has_strides(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> wanted) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!shape[i].is_constant(1) && !(strides[i] == wanted[i])) {
      return false;
    }
  }
  return true;
}

bool satisfies(LayoutRule rule, std::span<const Dim> shape, std::span<const Dim> strides) {
  const auto dense_axis = [&](size_t axis) {
    return shape[axis].is_constant(1) || strides[axis].is_constant(1);
  };
  switch (rule) {
    case LayoutRule::kAny:
      return std::ranges::all_of(strides, [](const Dim& stride) { return stride.range().min >= 0; });
    case LayoutRule::kRowMajor:
      return has_strides(shape, strides, dense_strides(shape));
    case LayoutRule::kInnerDense:
      return shape.empty() || dense_axis(shape.size() - 1);
    case LayoutRule::kChannelsDense:
      return shape.size() < 2 || dense_axis(1);
  }
  return false;
}

Dim byte_count(ElementType type, std::span<const Dim> shape) {
  return product(shape) * (bit_width(type) / 8);
}

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

  Result<Lowered> run() {
    for (NodeId id : graph_.order()) {
      WEIR_TRY(choose(id), "while choosing an implementation of node '{}' ({})", graph_.node(id).name,
               graph_.node(id).origin);
      predict(id);
    }
    add_inputs_and_constants();
    reserve_concatenations();
    for (NodeId id : graph_.order()) {
      WEIR_TRY(lower_node(id), "while lowering node '{}' ({})", graph_.node(id).name, graph_.node(id).origin);
    }
    WEIR_TRY(finish_outputs());
    return std::move(lowered_);
  }

 private:
  // --- what each node will run on, and the layouts that follow

  Result<void> choose(NodeId id) {
    const Node& node = graph_.node(id);
    OpDesc desc = graph_.desc(id);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      desc.constant[i] = node.inputs[i] != kNoValue && is_constant(node.inputs[i]);
    }
    WEIR_ASSIGN(selections_[static_cast<size_t>(id)], select(desc, options_.reference_only));
    return {};
  }

  // A constant or a view of one.
  bool is_constant(ValueId value) const {
    while (!graph_.value(value).constant) {
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNoNode || !is_view_op(graph_.node(producer).op) ||
          graph_.node(producer).op == Op::kExpand || has_negative_step(graph_.node(producer)) ||
          !static_shape(graph_.value(value).type)) {
        return false;
      }
      if (graph_.node(producer).op == Op::kReshape && !reshape_of_constant_is_view(graph_.node(producer))) {
        return false;
      }
      value = graph_.node(producer).inputs[0];
    }
    return true;
  }

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
  void predict(NodeId id) {
    const Node& node = graph_.node(id);
    const Selection& selection = selections_[static_cast<size_t>(id)];
    bool prepared = true;
    bool any_channels_last = false;
    for (ValueId input : node.inputs) {
      if (input == kNoValue) {
        continue;
      }
      prepared &= graph_.value(input).constant.has_value() || prepared_[static_cast<size_t>(input)];
      any_channels_last |= channels_last_[static_cast<size_t>(input)];
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) {
        continue;
      }
      const auto output = static_cast<size_t>(node.outputs[i]);
      const int rank = graph_.value(node.outputs[i]).type.rank();
      prepared_[output] = prepared;
      if (node.op == Op::kReshape) {
        channels_last_[output] = any_channels_last && keeps_channels(node);
        continue;
      }
      if (node.op == Op::kTranspose || node.op == Op::kExpand) {
        continue;
      }
      const LayoutRule rule = selection.layouts[node.inputs.size() + i];
      const bool follows = rule == LayoutRule::kAny || node.op == Op::kSlice || node.op == Op::kConcat;
      channels_last_[output] =
          rank > 2 && (rule == LayoutRule::kChannelsDense || (follows && any_channels_last));
    }
  }

  // Whether a reshape leaves the first two axes as they are, so that pixels are merged or split among
  // themselves.
  bool keeps_channels(const Node& reshape) const {
    const Dims& from = graph_.value(reshape.inputs[0]).type.shape;
    const Dims& to = graph_.value(reshape.outputs[0]).type.shape;
    return from.size() > 2 && to.size() > 2 && from[0] == to[0] && from[1] == to[1];
  }

  std::vector<int> order_of(ValueId value) const {
    const int rank = graph_.value(value).type.rank();
    return channels_last_[static_cast<size_t>(value)] ? channels_last_order(rank) : row_major_order(rank);
  }

  // --- storages and views

  int32_t add_storage(LoweredStorage storage) {
    lowered_.storages.push_back(std::move(storage));
    return static_cast<int32_t>(lowered_.storages.size()) - 1;
  }

  int32_t add_view(LoweredView view) {
    lowered_.views.push_back(std::move(view));
    return static_cast<int32_t>(lowered_.views.size()) - 1;
  }

  LoweredView& view(int32_t index) { return lowered_.views[static_cast<size_t>(index)]; }
  LoweredStorage& storage(int32_t index) { return lowered_.storages[static_cast<size_t>(index)]; }

  int32_t add_tensor(std::string_view name, const TensorType& type, std::span<const int> order,
                     StorageKind kind, int32_t index = -1) {
    LoweredStorage holder;
    holder.kind = kind;
    holder.bytes = byte_count(type.element_type, type.shape);
    holder.index = index;
    return add_view({std::string(name), type.element_type, type.shape, dense_strides(type.shape, order),
                     Dim(0), add_storage(std::move(holder))});
  }

  void add_inputs_and_constants() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Value& value = graph_.value(graph_.inputs()[i]);
      view_of_[static_cast<size_t>(graph_.inputs()[i])] =
          add_tensor(value.name, value.type, row_major_order(value.type.rank()), StorageKind::kInput,
                     static_cast<int32_t>(i));
    }
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const Value& value = graph_.value(id);
      if (value.constant && !value.dead) {
        const int32_t added =
            add_tensor(value.name, value.type, row_major_order(value.type.rank()), StorageKind::kConstant);
        storage(view(added).storage).constant = id;
        view_of_[static_cast<size_t>(id)] = added;
      }
    }
  }

  // The part of `parent` that starts at `start` along `axis`, with `shape`.
  int32_t add_part(int32_t parent, std::string_view name, const Dims& shape, int64_t axis, const Dim& start) {
    LoweredView part = view(parent);
    part.name = name;
    part.shape = shape;
    part.offset += start * part.strides[static_cast<size_t>(axis)];
    return add_view(std::move(part));
  }

  // Lets the producers of a concatenation's operands write into the whole. Outer concatenations come first,
  // so that a concatenation of concatenations is one storage too.
  void reserve_concatenations() {
    const std::vector<NodeId>& order = graph_.order();
    for (size_t k = order.size(); k-- > 0;) {
      const Node& node = graph_.node(order[k]);
      if (node.op != Op::kConcat) {
        continue;
      }
      const ValueId whole = node.outputs[0];
      const Value& value = graph_.value(whole);
      if (planned_[static_cast<size_t>(whole)] < 0) {
        const bool output = graph_.is_output(whole);
        planned_[static_cast<size_t>(whole)] = add_tensor(
            value.name, value.type, output ? row_major_order(value.type.rank()) : order_of(whole),
            prepared_[static_cast<size_t>(whole)] ? StorageKind::kPrepared : StorageKind::kActivation);
      }
      const int64_t axis = std::get<ConcatAttributes>(node.attributes).axis;
      Dim start = 0;
      for (size_t i = 0; i < node.inputs.size();) {
        // An operand, or the value that a run of operands are the slices of.
        size_t covered = 1;
        ValueId part = split_value(node, i, axis, covered);
        if (part == kNoValue) {
          part = node.inputs[i];
        }
        if (std::ranges::count(node.inputs, part) <= 1) {
          const Value& written = graph_.value(part);
          reserve(
              part, whole,
              add_part(planned_[static_cast<size_t>(whole)], written.name, written.type.shape, axis, start));
        }
        for (const size_t end = i + covered; i < end; ++i) {
          start += graph_.value(node.inputs[i]).type.shape[static_cast<size_t>(axis)];
        }
      }
    }
  }

  // Lets `part` be written into `place`, a part of `whole`; where `part` is a reshape or a transpose, the
  // value behind it.
  void reserve(ValueId part, ValueId whole, int32_t place) {
    for (;;) {
      const NodeId producer = graph_.value(part).producer;
      if (producer == kNoNode || graph_.is_output(part)) {
        break;
      }
      const Node& node = graph_.node(producer);
      std::optional<Dims> strides;
      if (node.op == Op::kReshape) {
        strides = reshape_view(view(place).shape, view(place).strides,
                               graph_.value(node.inputs[0]).type.shape, sample_);
      } else if (node.op == Op::kTranspose) {
        const auto& permutation = std::get<TransposeAttributes>(node.attributes).permutation;
        strides = Dims(permutation.size());
        for (size_t axis = 0; axis < permutation.size(); ++axis) {
          (*strides)[static_cast<size_t>(permutation[axis])] = view(place).strides[axis];
        }
      } else {
        break;
      }
      if (!strides) {
        return;
      }
      part = node.inputs[0];
      LoweredView behind = view(place);
      behind.name = graph_.value(part).name;
      behind.shape = graph_.value(part).type.shape;
      behind.strides = std::move(*strides);
      place = add_view(std::move(behind));
    }
    if (can_write_into(part, whole) && producer_accepts(part, place)) {
      planned_[static_cast<size_t>(part)] = place;
    }
  }

  // The value whose slices along `axis`, from first to last, the operands from `first` on are; `covered` is
  // their number.
  ValueId split_value(const Node& concat, size_t first, int64_t axis, size_t& covered) const {
    ValueId source = kNoValue;
    Dim reached = 0;
    for (size_t i = first; i < concat.inputs.size(); ++i) {
      const NodeId producer = graph_.value(concat.inputs[i]).producer;
      if (producer == kNoNode || graph_.node(producer).op != Op::kSlice) {
        return kNoValue;
      }
      const Node& slice = graph_.node(producer);
      if ((source != kNoValue && slice.inputs[0] != source) || !starts_along(slice, axis, reached)) {
        return kNoValue;
      }
      source = slice.inputs[0];
      reached += graph_.value(concat.inputs[i]).type.shape[static_cast<size_t>(axis)];
      if (reached == graph_.value(source).type.shape[static_cast<size_t>(axis)]) {
        covered = i - first + 1;
        return source;
      }
    }
    return kNoValue;
  }

  // Whether the slice takes all of every axis but `axis`, and that one from `start` on in steps of one.
  bool starts_along(const Node& slice, int64_t axis, const Dim& start) const {
    const auto& attributes = std::get<SliceAttributes>(slice.attributes);
    const Dims& from = graph_.value(slice.inputs[0]).type.shape;
    const Dims& to = graph_.value(slice.outputs[0]).type.shape;
    for (size_t i = 0; i < from.size(); ++i) {
      const bool along = static_cast<int64_t>(i) == axis;
      if (attributes.steps[i] != 1 || !(along ? attributes.starts[i] == start : from[i] == to[i])) {
        return false;
      }
    }
    return true;
  }

  bool can_write_into(ValueId part, ValueId whole) const {
    const Value& value = graph_.value(part);
    return value.producer != kNoNode && !value.constant && !is_view_op(graph_.node(value.producer).op) &&
           planned_[static_cast<size_t>(part)] < 0 && !graph_.is_output(part) &&
           prepared_[static_cast<size_t>(part)] == prepared_[static_cast<size_t>(whole)];
  }

  bool producer_accepts(ValueId value, int32_t target) {
    const NodeId producer = graph_.value(value).producer;
    const Node& node = graph_.node(producer);
    if (node.op == Op::kConcat) {
      return true;  // its own operands are asked in turn
    }
    const LayoutRule rule =
        selections_[static_cast<size_t>(producer)]
            .layouts[node.inputs.size() + static_cast<size_t>(graph_.value(value).producer_output)];
    return satisfies(rule, view(target).shape, view(target).strides);
  }

  // --- nodes

  Result<void> lower_node(NodeId id) {
    const Node& node = graph_.node(id);
    switch (node.op) {
      case Op::kReshape:
        if (const auto strides = reshape_strides(node)) {
          add_alias(node, *strides, Dim(0));
          return {};
        }
        break;
      case Op::kTranspose:
        lower_transpose(node);
        return {};
      case Op::kExpand:
        lower_expand(node);
        return {};
      case Op::kSlice:
        if (!has_negative_step(node)) {
          lower_slice(node);
          return {};
        }
        break;
      case Op::kConcat:
        return lower_concat(node);
      default:
        break;
    }
    return lower_compute(id);
  }

  std::optional<Dims> reshape_strides(const Node& node) {
    const LoweredView& source = view(view_of_[static_cast<size_t>(node.inputs[0])]);
    return reshape_view(source.shape, source.strides, graph_.value(node.outputs[0]).type.shape, sample_);
  }

  // The node's output as another view of its input's storage.
  void add_alias(const Node& node, Dims strides, const Dim& offset) {
    LoweredView alias = view(view_of_[static_cast<size_t>(node.inputs[0])]);
    const Value& value = graph_.value(node.outputs[0]);
    alias.name = value.name;
    alias.shape = value.type.shape;
    alias.strides = std::move(strides);
    alias.offset += offset;
    view_of_[static_cast<size_t>(node.outputs[0])] = add_view(std::move(alias));
  }

  void lower_transpose(const Node& node) {
    const Dims source = view(view_of_[static_cast<size_t>(node.inputs[0])]).strides;
    Dims strides;
    for (int64_t axis : std::get<TransposeAttributes>(node.attributes).permutation) {
      strides.push_back(source[static_cast<size_t>(axis)]);
    }
    add_alias(node, std::move(strides), Dim(0));
  }

  void lower_expand(const Node& node) {
    const LoweredView& source = view(view_of_[static_cast<size_t>(node.inputs[0])]);
    const Dims& target = graph_.value(node.outputs[0]).type.shape;
    const size_t added = target.size() - source.shape.size();
    Dims strides(target.size(), Dim(0));
    for (size_t i = 0; i < source.shape.size(); ++i) {
      if (source.shape[i] == target[added + i]) {
        strides[added + i] = source.strides[i];
      }
    }
    add_alias(node, std::move(strides), Dim(0));
  }

  void lower_slice(const Node& node) {
    const auto& attributes = std::get<SliceAttributes>(node.attributes);
    Dims strides = view(view_of_[static_cast<size_t>(node.inputs[0])]).strides;
    Dim offset = 0;
    for (size_t i = 0; i < strides.size(); ++i) {
      offset += attributes.starts[i] * strides[i];
      strides[i] = strides[i] * attributes.steps[i];
    }
    add_alias(node, std::move(strides), offset);
  }

  Result<void> lower_concat(const Node& node) {
    const int32_t whole = planned_[static_cast<size_t>(node.outputs[0])];
    view_of_[static_cast<size_t>(node.outputs[0])] = whole;
    const int64_t axis = std::get<ConcatAttributes>(node.attributes).axis;
    Dim start = 0;
    for (ValueId input : node.inputs) {
      const int32_t source = view_of_[static_cast<size_t>(input)];
      const Dims shape = view(source).shape;
      const int32_t part = add_part(whole, graph_.value(input).name, shape, axis, start);
      if (!same_elements(source, part)) {
        WEIR_TRY(add_copy(source, part, prepared_[static_cast<size_t>(node.outputs[0])], node.name,
                          fmt::format("operand '{}' of Concat '{}' {}", graph_.value(input).name, node.name,
                                      why_not_in_place(input))));
      }
      start += shape[static_cast<size_t>(axis)];
    }
    return {};
  }

  std::string why_not_in_place(ValueId input) const {
    const Value& value = graph_.value(input);
    if (value.constant) {
      return "is a constant";
    }
    if (value.producer == kNoNode) {
      return "is an input of the model";
    }
    if (is_view_op(graph_.node(value.producer).op)) {
      return "is a view of another tensor";
    }
    if (graph_.is_output(input)) {
      return "is an output of the model";
    }
    return "lies in another concatenation, or its producer cannot write with these strides";
  }

  Result<void> lower_compute(NodeId id) {
    const Node& node = graph_.node(id);
    Selection selection = selections_[static_cast<size_t>(id)];
    LoweredStep step;
    step.name = node.name;
    step.origin = node.origin;
    step.op = node.op;
    step.attributes = node.attributes;
    const bool prepared = node.outputs[0] != kNoValue && prepared_[static_cast<size_t>(node.outputs[0])];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) {
        step.inputs.push_back(-1);
        continue;
      }
      int32_t operand = view_of_[static_cast<size_t>(node.inputs[i])];
      const auto pack = std::ranges::find(selection.packs, static_cast<int>(i), &PackRequest::input);
      if (pack != selection.packs.end()) {
        step.packed.push_back({static_cast<int32_t>(i), add_packed(operand, *pack)});
      } else {
        WEIR_ASSIGN(operand, with_layout(node.inputs[i], operand, selection.layouts[i], node));
      }
      step.inputs.push_back(operand);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) {
        step.outputs.push_back(-1);
        continue;
      }
      const int32_t output =
          output_view(node.outputs[i], selection.layouts[node.inputs.size() + i], step, prepared);
      view_of_[static_cast<size_t>(node.outputs[i])] = output;
      step.outputs.push_back(output);
    }
    if (selection.first().reference && !options_.reference_only && !prepared) {
      add_notice(NoticeKind::kCost, "reference",
                 fmt::format("node '{}' ({}) runs on the reference implementation{}", node.name, node.origin,
                             selection.refused.empty() ? "" : ": " + selection.refused.front().reason),
                 Dim(0));
    }
    step.selection = std::move(selection);
    (prepared ? lowered_.prepare_steps : lowered_.steps).push_back(std::move(step));
    return {};
  }

  int32_t output_view(ValueId output, LayoutRule rule, const LoweredStep& step, bool prepared) {
    const Value& value = graph_.value(output);
    if (planned_[static_cast<size_t>(output)] >= 0) {
      return planned_[static_cast<size_t>(output)];
    }
    bool channels_last = rule == LayoutRule::kChannelsDense && value.type.rank() > 2;
    if (rule == LayoutRule::kAny && !graph_.is_output(output) && value.type.rank() > 2) {
      channels_last = std::ranges::any_of(step.inputs, [&](int32_t input) {
        return input >= 0 && view(input).shape.size() == value.type.shape.size() &&
               !has_strides(view(input).shape, view(input).strides, dense_strides(view(input).shape)) &&
               satisfies(LayoutRule::kChannelsDense, view(input).shape, view(input).strides);
      });
    }
    return add_tensor(
        value.name, value.type,
        channels_last ? channels_last_order(value.type.rank()) : row_major_order(value.type.rank()),
        prepared ? StorageKind::kPrepared : StorageKind::kActivation);
  }

  // Operands packed with one id from the same bytes are stored once.
  int32_t add_packed(int32_t source, const PackRequest& request) {
    for (size_t i = 0; i < lowered_.storages.size(); ++i) {
      const LoweredStorage& other = lowered_.storages[i];
      if (other.pack_id == request.id && other.pack_source >= 0 && same_elements(other.pack_source, source)) {
        return static_cast<int32_t>(i);
      }
    }
    LoweredStorage packed;
    packed.kind = StorageKind::kConstant;
    packed.bytes = request.bytes;
    packed.constant = storage(view(source).storage).constant;
    packed.pack_id = request.id;
    packed.pack = request;
    packed.pack_source = source;
    return add_storage(std::move(packed));
  }

  bool same_elements(int32_t a, int32_t b) {
    return view(a).storage == view(b).storage && view(a).offset == view(b).offset &&
           view(a).shape == view(b).shape && has_strides(view(a).shape, view(a).strides, view(b).strides);
  }

  // The operand with strides that satisfy `rule`: itself, or a copy that later steps share.
  Result<int32_t> with_layout(ValueId value, int32_t operand, LayoutRule rule, const Node& node) {
    const LoweredView source = view(operand);
    if (satisfies(rule, source.shape, source.strides)) {
      return operand;
    }
    const auto key = std::pair(value, rule == LayoutRule::kChannelsDense);
    if (const auto found = copies_.find(key); found != copies_.end()) {
      return found->second;
    }
    const int rank = static_cast<int>(source.shape.size());
    const bool prepared = prepared_[static_cast<size_t>(value)] || graph_.value(value).constant;
    const int32_t target =
        add_tensor(source.name, {source.type, source.shape, {}},
                   rule == LayoutRule::kChannelsDense ? channels_last_order(rank) : row_major_order(rank),
                   prepared ? StorageKind::kPrepared : StorageKind::kActivation);
    WEIR_TRY(add_copy(operand, target, prepared, source.name,
                      fmt::format("operand '{}' of node '{}' ({}) lies with other strides than it takes",
                                  source.name, node.name, node.origin)));
    copies_.emplace(key, target);
    return target;
  }

  Result<void> add_copy(int32_t source, int32_t target, bool prepared, std::string_view name,
                        std::string reason) {
    LoweredStep copy;
    copy.name = fmt::format("{}.copy", name);
    copy.origin = "Copy";
    copy.op = Op::kCopy;
    copy.inputs = {source};
    copy.outputs = {target};
    const TensorType from{view(source).type, view(source).shape, view(source).strides};
    const TensorType to{view(target).type, view(target).shape, view(target).strides};
    OpDesc desc;
    desc.op = Op::kCopy;
    desc.attributes = &copy.attributes;
    desc.inputs = {&from};
    desc.outputs = {&to};
    desc.constant = {false};
    WEIR_ASSIGN(copy.selection, select(desc, options_.reference_only));
    if (!prepared) {
      add_notice(NoticeKind::kCost, "copy", std::move(reason), byte_count(from.element_type, from.shape));
    }
    (prepared ? lowered_.prepare_steps : lowered_.steps).push_back(std::move(copy));
    return {};
  }

  void add_notice(NoticeKind kind, std::string what, std::string reason, Dim bytes) {
    lowered_.notices.push_back({kind, std::move(what), std::move(reason), std::move(bytes)});
  }

  // --- outputs

  Result<void> finish_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const NamedValue& output = graph_.outputs()[i];
      const int32_t source = view_of_[static_cast<size_t>(output.value)];
      const LoweredView found = view(source);
      LoweredStorage& holder = storage(found.storage);
      const bool whole = holder.kind == StorageKind::kActivation && found.offset.is_constant(0) &&
                         has_strides(found.shape, found.strides, dense_strides(found.shape)) &&
                         byte_count(found.type, found.shape) == holder.bytes;
      int32_t result = source;
      if (whole) {
        holder.kind = StorageKind::kOutput;
        holder.index = static_cast<int32_t>(i);
        LoweredView exact = found;
        exact.strides = dense_strides(found.shape);
        result = add_view(std::move(exact));
      } else {
        result = add_tensor(output.name, {found.type, found.shape, {}},
                            row_major_order(static_cast<int>(found.shape.size())), StorageKind::kOutput,
                            static_cast<int32_t>(i));
        WEIR_TRY(add_copy(source, result, false, output.name,
                          fmt::format("output '{}' {}", output.name, why_output_copied(holder.kind))));
      }
      lowered_.outputs.push_back(result);
    }
    return {};
  }

  static std::string_view why_output_copied(StorageKind kind) {
    switch (kind) {
      case StorageKind::kInput:
        return "is a view of an input";
      case StorageKind::kConstant:
      case StorageKind::kPrepared:
        return "is a constant";
      case StorageKind::kOutput:
        return "shares its elements with another output";
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

}  // namespace

Result<Lowered> lower(const Graph& graph, const CompileOptions& options) {
  return Lowering(graph, options).run();
}

void compute_lifetimes(Lowered& lowered) {
  for (LoweredStorage& storage : lowered.storages) {
    storage.first_step = -1;
    storage.last_step = -1;
  }
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const auto touch = [&](int32_t view) {
      if (view < 0) {
        return;
      }
      LoweredStorage& storage =
          lowered.storages[static_cast<size_t>(lowered.views[static_cast<size_t>(view)].storage)];
      if (storage.first_step < 0) {
        storage.first_step = static_cast<int32_t>(s);
      }
      storage.last_step = static_cast<int32_t>(s);
    };
    std::ranges::for_each(lowered.steps[s].inputs, touch);
    std::ranges::for_each(lowered.steps[s].outputs, touch);
  }
}

void alias_in_place(Lowered& lowered) {
  compute_lifetimes(lowered);
  for (size_t s = 0; s < lowered.steps.size(); ++s) {
    const LoweredStep& step = lowered.steps[s];
    for (const InPlacePair& pair : step.selection.in_place) {
      const int32_t input = step.inputs[static_cast<size_t>(pair.input)];
      const int32_t output = step.outputs[static_cast<size_t>(pair.output)];
      if (input < 0 || output < 0) {
        continue;
      }
      const LoweredView& from = lowered.views[static_cast<size_t>(input)];
      const LoweredView& to = lowered.views[static_cast<size_t>(output)];
      LoweredStorage& source = lowered.storages[static_cast<size_t>(from.storage)];
      LoweredStorage& target = lowered.storages[static_cast<size_t>(to.storage)];
      const bool same_view = from.type == to.type && from.shape == to.shape && from.strides == to.strides &&
                             from.offset.is_constant(0) && to.offset.is_constant(0) &&
                             source.bytes == target.bytes;
      const bool read_once =
          std::ranges::count_if(step.inputs, [&](int32_t other) {
            return other >= 0 && lowered.views[static_cast<size_t>(other)].storage == from.storage;
          }) == 1;
      if (!same_view || !read_once || from.storage == to.storage || source.kind != StorageKind::kActivation ||
          target.kind != StorageKind::kActivation || source.last_step != static_cast<int32_t>(s) ||
          target.first_step != static_cast<int32_t>(s)) {
        continue;
      }
      source.last_step = target.last_step;
      const int32_t merged = from.storage;
      const int32_t gone = to.storage;
      for (LoweredView& view : lowered.views) {
        if (view.storage == gone) {
          view.storage = merged;
        }
      }
      target.first_step = target.last_step = -1;  // no view is left
      break;
    }
  }
}

}  // namespace weir
