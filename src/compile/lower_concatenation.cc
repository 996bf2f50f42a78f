// SPDX-License-Identifier: Apache-2.0
//
// Concatenations: the producers of the operands write into the whole where they can.
#include <algorithm>

#include "compile/lowering.h"

namespace weir {

void Lowering::reserve_concatenations() {
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

void Lowering::reserve(ValueId part, ValueId whole, int32_t place) {
  for (;;) {
    const NodeId producer = graph_.value(part).producer;
    if (producer == kNoNode || graph_.is_output(part)) {
      break;
    }
    const Node& node = graph_.node(producer);
    std::optional<Dims> strides;
    if (node.op == Op::kReshape) {
      strides = reshape_view(view(place).shape, view(place).strides, graph_.value(node.inputs[0]).type.shape,
                             sample_);
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

ValueId Lowering::split_value(const Node& concat, size_t first, int64_t axis, size_t& covered) const {
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

bool Lowering::starts_along(const Node& slice, int64_t axis, const Dim& start) const {
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

bool Lowering::can_write_into(ValueId part, ValueId whole) const {
  const Value& value = graph_.value(part);
  return value.producer != kNoNode && !value.constant && !is_view_op(graph_.node(value.producer).op) &&
         planned_[static_cast<size_t>(part)] < 0 && !graph_.is_output(part) &&
         prepared_[static_cast<size_t>(part)] == prepared_[static_cast<size_t>(whole)];
}

bool Lowering::producer_accepts(ValueId value, int32_t target) {
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

Result<void> Lowering::lower_concat(const Node& node) {
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

std::string Lowering::why_not_in_place(ValueId input) const {
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

}  // namespace weir
