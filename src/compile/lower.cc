// SPDX-License-Identifier: Apache-2.0
#include "compile/lower.h"

#include <algorithm>
#include <numeric>

#include "compile/declare_states.h"
#include "compile/lowering.h"

namespace weir {

std::vector<int> row_major_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> channels_last_order(int rank) {
  std::vector<int> order = row_major_order(rank);
  if (rank > 2) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  return order;
}

Dim byte_count(ElementType type, std::span<const Dim> shape) {
  return product(shape) * (bit_width(type) / 8);
}

Result<Lowered> Lowering::run() {
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

Result<void> Lowering::choose(NodeId id) {
  const Node& node = graph_.node(id);
  OpDesc desc = graph_.desc(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    desc.constant[i] = node.inputs[i] != kNoValue && is_constant(node.inputs[i]);
  }
  WEIR_ASSIGN(selections_[static_cast<size_t>(id)], select(desc, selection_rules()));
  return {};
}

bool Lowering::is_constant(ValueId value) const {
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

void Lowering::predict(NodeId id) {
  const Node& node = graph_.node(id);
  const Selection& selection = selections_[static_cast<size_t>(id)];
  bool prepared = node.op != Op::kCustom;  // those may need a workspace, which prepare steps have not
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

bool Lowering::keeps_channels(const Node& reshape) const {
  const Dims& from = graph_.value(reshape.inputs[0]).type.shape;
  const Dims& to = graph_.value(reshape.outputs[0]).type.shape;
  return from.size() > 2 && to.size() > 2 && from[0] == to[0] && from[1] == to[1];
}

std::vector<int> Lowering::order_of(ValueId value) const {
  const int rank = graph_.value(value).type.rank();
  return channels_last_[static_cast<size_t>(value)] ? channels_last_order(rank) : row_major_order(rank);
}

int32_t Lowering::add_storage(LoweredStorage storage) {
  lowered_.storages.push_back(std::move(storage));
  return static_cast<int32_t>(lowered_.storages.size()) - 1;
}

int32_t Lowering::add_view(LoweredView view) {
  lowered_.views.push_back(std::move(view));
  return static_cast<int32_t>(lowered_.views.size()) - 1;
}

int32_t Lowering::add_tensor(std::string_view name, const TensorType& type, std::span<const int> order,
                             StorageKind kind, int32_t index) {
  LoweredStorage holder;
  holder.kind = kind;
  holder.bytes = byte_count(type.element_type, type.shape);
  holder.index = index;
  return add_view({std::string(name), type.element_type, type.shape, dense_strides(type.shape, order), Dim(0),
                   add_storage(std::move(holder))});
}

void Lowering::add_inputs_and_constants() {
  for (size_t i = 0; i < graph_.inputs().size(); ++i) {
    const Value& value = graph_.value(graph_.inputs()[i]);
    const PortPlace place = input_place(graph_, static_cast<int32_t>(i));
    view_of_[static_cast<size_t>(graph_.inputs()[i])] =
        add_tensor(value.name, value.type, row_major_order(value.type.rank()), place.kind, place.index);
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

int32_t Lowering::add_part(int32_t parent, std::string_view name, const Dims& shape, int64_t axis,
                           const Dim& start) {
  LoweredView part = view(parent);
  part.name = name;
  part.shape = shape;
  part.offset += start * part.strides[static_cast<size_t>(axis)];
  return add_view(std::move(part));
}

Result<void> Lowering::lower_node(NodeId id) {
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

std::optional<Dims> Lowering::reshape_strides(const Node& node) {
  const LoweredView& source = view(view_of_[static_cast<size_t>(node.inputs[0])]);
  return reshape_view(source.shape, source.strides, graph_.value(node.outputs[0]).type.shape, sample_);
}

void Lowering::add_alias(const Node& node, Dims strides, const Dim& offset) {
  LoweredView alias = view(view_of_[static_cast<size_t>(node.inputs[0])]);
  const Value& value = graph_.value(node.outputs[0]);
  alias.name = value.name;
  alias.shape = value.type.shape;
  alias.strides = std::move(strides);
  alias.offset += offset;
  view_of_[static_cast<size_t>(node.outputs[0])] = add_view(std::move(alias));
}

void Lowering::lower_transpose(const Node& node) {
  const Dims source = view(view_of_[static_cast<size_t>(node.inputs[0])]).strides;
  Dims strides;
  for (int64_t axis : std::get<TransposeAttributes>(node.attributes).permutation) {
    strides.push_back(source[static_cast<size_t>(axis)]);
  }
  add_alias(node, std::move(strides), Dim(0));
}

void Lowering::lower_expand(const Node& node) {
  const LoweredView& source = view(view_of_[static_cast<size_t>(node.inputs[0])]);
  const Dims& target = graph_.value(node.outputs[0]).type.shape;
  const size_t added = target.size() - source.shape.size();
  Dims strides(target.size(), Dim(0));
  for (size_t i = 0; i < source.shape.size(); ++i) {
    // Only a literal 1 is repeated: any other extent is equal to the target's, by a constraint where it is
    // not the same expression.
    if (!source.shape[i].is_constant(1)) {
      strides[added + i] = source.strides[i];
    }
  }
  add_alias(node, std::move(strides), Dim(0));
}

void Lowering::lower_slice(const Node& node) {
  const auto& attributes = std::get<SliceAttributes>(node.attributes);
  Dims strides = view(view_of_[static_cast<size_t>(node.inputs[0])]).strides;
  Dim offset = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    offset += attributes.starts[i] * strides[i];
    strides[i] = strides[i] * attributes.steps[i];
  }
  add_alias(node, std::move(strides), offset);
}

Result<void> Lowering::lower_compute(NodeId id) {
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
      note_growth(node, graph_.desc(id), *pack, selection.first());
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

void Lowering::note_growth(const Node& node, const OpDesc& desc, const PackRequest& pack,
                           const Implementation& implementation) {
  if (!grows(pack, desc)) {
    return;
  }
  const TensorType& plain = *desc.inputs[static_cast<size_t>(pack.input)];
  const int64_t bytes = byte_size(plain.element_type, plain.element_count().constant());
  add_notice(NoticeKind::kInfo, "weights",
             fmt::format("the weights of node '{}' take {} bytes as {} wants them, and {} in the model",
                         node.name, pack.bytes, implementation.name, bytes),
             Dim(pack.bytes - bytes));
}

int32_t Lowering::output_view(ValueId output, LayoutRule rule, const LoweredStep& step, bool prepared) {
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

int32_t Lowering::add_packed(int32_t source, const PackRequest& request) {
  for (size_t i = 0; i < lowered_.storages.size(); ++i) {
    const LoweredStorage& other = lowered_.storages[i];
    if (other.pack_id == request.id && other.pack_source >= 0 && same_elements(other.pack_source, source)) {
      return static_cast<int32_t>(i);
    }
  }
  LoweredStorage packed;
  const ValueId constant = storage(view(source).storage).constant;
  const bool packed_later = options_.portable || graph_.value(constant).swappable;
  packed.kind = packed_later ? StorageKind::kPacked : StorageKind::kConstant;
  packed.bytes = request.bytes;
  packed.constant = constant;
  packed.pack_id = request.id;
  packed.pack = request;
  packed.pack_source = source;
  return add_storage(std::move(packed));
}

bool Lowering::same_elements(int32_t a, int32_t b) {
  return view(a).storage == view(b).storage && view(a).offset == view(b).offset &&
         view(a).shape == view(b).shape && has_strides(view(a).shape, view(a).strides, view(b).strides);
}

Result<int32_t> Lowering::with_layout(ValueId value, int32_t operand, LayoutRule rule, const Node& node) {
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

Result<void> Lowering::add_copy(int32_t source, int32_t target, bool prepared, std::string_view name,
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
  WEIR_ASSIGN(copy.selection, select(desc, selection_rules()));
  if (!prepared) {
    add_notice(NoticeKind::kCost, "copy", std::move(reason), byte_count(from.element_type, from.shape));
  }
  (prepared ? lowered_.prepare_steps : lowered_.steps).push_back(std::move(copy));
  return {};
}

void Lowering::add_notice(NoticeKind kind, std::string what, std::string reason, Dim bytes) {
  lowered_.notices.push_back({kind, std::move(what), std::move(reason), std::move(bytes)});
}

Result<void> Lowering::finish_outputs() {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const NamedValue& output = graph_.outputs()[i];
    const int32_t source = view_of_[static_cast<size_t>(output.value)];
    const LoweredView found = view(source);
    LoweredStorage& holder = storage(found.storage);
    const bool whole = holder.kind == StorageKind::kActivation && found.offset.is_constant(0) &&
                       has_strides(found.shape, found.strides, dense_strides(found.shape)) &&
                       byte_count(found.type, found.shape) == holder.bytes;
    const PortPlace place = output_place(graph_, static_cast<int32_t>(i));
    int32_t result = source;
    if (whole) {
      holder.kind = place.kind;
      holder.index = place.index;
      LoweredView exact = found;
      exact.strides = dense_strides(found.shape);
      result = add_view(std::move(exact));
    } else {
      const std::string why(why_output_copied(holder));  // before: adding a tensor moves the storages
      result = add_tensor(output.name, {found.type, found.shape, {}},
                          row_major_order(static_cast<int>(found.shape.size())), place.kind, place.index);
      WEIR_TRY(add_copy(source, result, false, output.name,
                        fmt::format("{} '{}' {}", place.kind == StorageKind::kState ? "state" : "output",
                                    output.name, why)));
    }
    lowered_.outputs.push_back(result);
  }
  return {};
}

Result<Lowered> lower(const Graph& graph, const CompileOptions& options) {
  return Lowering(graph, options).run();
}

}  // namespace weir
