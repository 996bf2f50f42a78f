// SPDX-License-Identifier: Apache-2.0
//
// Parts of tensors and what is put together from them: Slice, Split, Gather, Concat, Pad.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

// A slice of one axis: `count` elements from `start` by `step`.
struct AxisSlice {
  Dim start;
  int64_t step = 1;
  Dim count;
};

// A bound from the end counts from behind; INT64_MAX and INT64_MIN mean as far as there is.
Dim from_front(const Dim& bound, const Dim& size) {
  const Range range = bound.range();
  if (range.min >= 0) {
    return bound;
  }
  if (range.max < 0) {
    return size + bound;
  }
  return select(less(bound, 0), size + bound, bound);
}

bool is_far(const Dim& bound) {
  return bound.is_constant() && (bound.constant() > kDimMax || bound.constant() < -kDimMax);
}

Dim clamp(const Dim& bound, const Dim& size, const Dim& least, const Dim& most) {
  if (is_far(bound)) {
    return bound.constant() > 0 ? most : least;
  }
  return max(min(from_front(bound, size), most), least);
}

// "To the end", which versions 10 and 11 of the operator sets spell so in both directions.
bool is_open_end(const Dim& end) {
  return end.is_constant(INT64_MAX) || end.is_constant(INT32_MAX);
}

AxisSlice slice_axis(const Dim& size, const Dim& start, const Dim& end, int64_t step) {
  if (step > 0) {
    const Dim first = clamp(start, size, 0, size);
    const Dim last = clamp(end, size, 0, size);
    return {first, step, max(ceil_div(last - first, step), 0)};
  }
  // Backwards: from the last element at most (which an empty axis has before its first), to before the first.
  const Dim first = is_far(start) ? (start.constant() > 0 ? size - 1 : min(Dim(0), size - 1))
                                  : min(max(from_front(start, size), 0), size - 1);
  const Dim last = is_open_end(end) ? Dim(-1) : clamp(end, size, -1, size - 1);
  return {max(first, 0), step, max(ceil_div(last - first, step), 0)};
}

// Emits a slice of operand 0 as output `output`; known elements are selected on the spot.
Result<void> give_slice(NodeLowering& node, size_t output, std::span<const AxisSlice> axes,
                        std::string_view part) {
  const Dims& shape = node.shape(0);
  SliceAttributes attributes;
  TensorType wanted{node.element_type(0), {}, {}};
  std::vector<int64_t> starts;
  std::vector<int64_t> counts;
  bool whole = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    attributes.starts.push_back(axes[i].start);
    attributes.steps.push_back(axes[i].step);
    wanted.shape.push_back(axes[i].count);
    whole = whole && axes[i].step == 1 && axes[i].count == shape[i];
    if (axes[i].start.is_constant() && axes[i].count.is_constant()) {
      starts.push_back(axes[i].start.constant());
      counts.push_back(axes[i].count.constant());
    }
  }
  if (whole) {
    node.alias_input(output, 0);
    return {};
  }
  if (const Known* elements = node.shape_elements(0); elements != nullptr && starts.size() == axes.size()) {
    node.set_known(output, node.element_type(0), slice(*elements, starts, attributes.steps, counts));
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit_as(Op::kSlice, std::move(attributes), {x}, std::move(wanted), part));
  node.set_output(output, y);
  return {};
}

std::vector<AxisSlice> whole_axes(const Dims& shape) {
  std::vector<AxisSlice> axes;
  for (const Dim& dim : shape) {
    axes.push_back({0, 1, dim});
  }
  return axes;
}

// Bounds were attributes before version 10, then inputs.
struct SliceBounds {
  Dims starts;
  Dims ends;
  std::vector<int64_t> axes;
  std::vector<int64_t> steps;
};

Result<SliceBounds> read_slice_bounds(NodeLowering& node) {
  SliceBounds bounds;
  std::optional<std::vector<int64_t>> axes;
  if (node.version() < 10) {
    WEIR_TRY(node.require_inputs(1, 1));
    WEIR_TRY(node.require_attribute("starts"));
    WEIR_TRY(node.require_attribute("ends"));
    WEIR_ASSIGN(const std::optional<std::vector<int64_t>> starts, node.integers("starts"));
    WEIR_ASSIGN(const std::optional<std::vector<int64_t>> ends, node.integers("ends"));
    WEIR_ASSIGN(axes, node.integers("axes"));
    bounds.starts.assign(starts->begin(), starts->end());
    bounds.ends.assign(ends->begin(), ends->end());
  } else {
    WEIR_TRY(node.require_inputs(3, 5));
    WEIR_ASSIGN(bounds.starts, node.dims(1, "starts"));
    WEIR_ASSIGN(bounds.ends, node.dims(2, "ends"));
    if (node.has(3)) {
      WEIR_ASSIGN(axes, node.integers(3, "axes"));
    }
    if (node.has(4)) {
      WEIR_ASSIGN(bounds.steps, node.integers(4, "steps"));
    }
  }
  const size_t count = bounds.starts.size();
  if (!axes) {
    axes.emplace(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (bounds.steps.empty()) {
    bounds.steps.assign(count, 1);
  }
  if (bounds.ends.size() != count || axes->size() != count || bounds.steps.size() != count) {
    return node.wrong(
        "Slice has ({}) starts, ({}) ends, ({}) axes and ({}) steps, and takes as many of each.", count,
        bounds.ends.size(), axes->size(), bounds.steps.size());
  }
  WEIR_TRY(node.normal_axes(*axes, node.rank(0)));
  bounds.axes = *std::move(axes);
  return bounds;
}

Result<void> convert_slice(NodeLowering& node) {
  WEIR_ASSIGN(const SliceBounds bounds, read_slice_bounds(node));
  const Dims& shape = node.shape(0);
  std::vector<AxisSlice> axes = whole_axes(shape);
  for (size_t i = 0; i < bounds.axes.size(); ++i) {
    WEIR_ASSIGN(const int64_t axis, node.normal_axis(bounds.axes[i], node.rank(0)));
    if (bounds.steps[i] == 0 || bounds.steps[i] < -kDimMax || bounds.steps[i] > kDimMax) {
      return node.wrong("The step of axis ({}) is ({}), and takes (1) to ({}), forwards or backwards.", axis,
                        bounds.steps[i], kDimMax);
    }
    const auto at = static_cast<size_t>(axis);
    axes[at] = slice_axis(shape[at], bounds.starts[i], bounds.ends[i], bounds.steps[i]);
  }
  return give_slice(node, 0, axes, "");
}

// The sizes of the parts: declared, or equal ones.
Result<Dims> split_sizes(NodeLowering& node, int64_t axis) {
  const Dim& size = node.shape(0)[static_cast<size_t>(axis)];
  const auto outputs = static_cast<int64_t>(node.proto().output_size());
  WEIR_TRY(node.require_inputs(1, node.version() < 13 ? 1 : 2));
  WEIR_ASSIGN(const std::optional<std::vector<int64_t>> declared, node.integers("split"));
  Dims sizes;
  if (node.has(1)) {
    WEIR_ASSIGN(sizes, node.dims(1, "split"));
  } else if (declared) {
    sizes.assign(declared->begin(), declared->end());
  }
  if (sizes.empty()) {
    WEIR_ASSIGN(const int64_t parts, node.integer("num_outputs", outputs));
    if (parts != outputs) {
      return node.wrong("Attribute 'num_outputs' is ({}), and the node has ({}) outputs.", parts, outputs);
    }
    // From version 18 the last part may be smaller.
    const bool uneven = node.version() >= 18;
    if (size.is_constant() && !uneven && size.constant() % parts != 0) {
      return node.wrong("Axis ({}) has ({}) elements, which do not split into ({}) equal parts.", axis,
                        size.constant(), parts);
    }
    const Dim part = uneven ? ceil_div(size, parts) : exact_div(size, parts);
    sizes.assign(static_cast<size_t>(parts), part);
    if (uneven) {
      sizes.back() = size - part * (parts - 1);
      if (sizes.back().is_constant() && sizes.back().constant() < 0) {
        return node.wrong("Axis ({}) has ({}) elements, too few for ({}) parts, all but the last of ({}).",
                          axis, size.to_string(), parts, part.to_string());
      }
    }
  }
  if (static_cast<int64_t>(sizes.size()) != outputs) {
    return node.wrong("Split has ({}) sizes, and ({}) outputs.", sizes.size(), outputs);
  }
  Dim total = 0;
  for (const Dim& part : sizes) {
    if (part.is_constant() && part.constant() < 0) {
      return node.wrong("Split has a size ({}), and (0) is the least.", part.constant());
    }
    total += part;
  }
  const std::optional<bool> fits = proves_equal(total, size);
  if (fits == false) {
    return node.wrong("Split has sizes of ({}) in all, and axis ({}) has ({}) elements.", total.to_string(),
                      axis, size.to_string());
  }
  if (!fits) {
    add_constraint(node.lowering().graph(), {Constraint::Kind::kEqual, total, size,
                                             fmt::format("Split '{}' takes all of its axis", node.name())});
  }
  return sizes;
}

Result<void> convert_split(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 2));
  WEIR_ASSIGN(const int64_t declared_axis, node.integer("axis", 0));
  WEIR_ASSIGN(const int64_t axis, node.normal_axis(declared_axis, node.rank(0)));
  const auto at = static_cast<size_t>(axis);
  WEIR_ASSIGN(const Dims sizes, split_sizes(node, axis));
  Dim offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (node.wants(i)) {
      std::vector<AxisSlice> axes = whole_axes(node.shape(0));
      axes[at] = {offset, 1, sizes[i]};
      WEIR_TRY(give_slice(node, i, axes, fmt::format("{}", i)));
    }
    offset += sizes[i];
  }
  return {};
}

// Elements of a known list at known places.
std::optional<Known> gather_known(const Known& data, size_t axis, const Known& indices) {
  int64_t outer = 1;
  int64_t inner = 1;
  Known result;
  for (size_t i = 0; i < data.shape.size(); ++i) {
    if (i == axis) {
      result.shape.insert(result.shape.end(), indices.shape.begin(), indices.shape.end());
      continue;
    }
    (i < axis ? outer : inner) *= data.shape[i];
    result.shape.push_back(data.shape[i]);
  }
  const int64_t size = data.shape[axis];
  const int64_t count = outer * inner * static_cast<int64_t>(indices.elements.size());
  if (count > kMaxKnownElements) {
    return std::nullopt;
  }
  if (count == 0) {
    return result;  // the other factors may be of any size
  }
  for (int64_t o = 0; o < outer; ++o) {
    for (const Scalar& scalar : indices.elements) {
      if (!scalar.numerator.is_constant()) {
        return std::nullopt;
      }
      int64_t index = scalar.numerator.constant();
      index += index < 0 ? size : 0;
      if (index < 0 || index >= size) {
        return std::nullopt;
      }
      for (int64_t i = 0; i < inner; ++i) {
        result.elements.push_back(data.elements[static_cast<size_t>((o * size + index) * inner + i)]);
      }
    }
  }
  return result;
}

// Every index that is a number lies on the axis. Where that is not known, it is a condition on the axis.
Result<void> require_indices(NodeLowering& node, const Known& indices, int64_t axis) {
  const Dim& size = node.shape(0)[static_cast<size_t>(axis)];
  std::optional<int64_t> farthest;
  int64_t least = 0;  // elements that the axis has to have
  for (const Scalar& scalar : indices.elements) {
    if (const std::optional<int64_t> index = scalar.numerator.as_constant()) {
      const int64_t bounded = std::clamp(*index, -INT64_MAX, INT64_MAX - 1);
      const int64_t needed = bounded < 0 ? -bounded : bounded + 1;
      if (needed > least) {
        farthest = index;
        least = needed;
      }
    }
  }
  const std::optional<bool> outside = farthest ? proves_less(size, least) : false;
  if (outside == true) {
    return node.wrong("An index is ({}), and axis ({}) has ({}) elements.", *farthest, axis,
                      size.to_string());
  }
  if (!outside) {
    add_constraint(node.lowering().graph(), {Constraint::Kind::kAtLeast, size, least,
                                             fmt::format("Gather '{}' takes element ({}) of axis ({})",
                                                         node.name(), *farthest, axis)});
  }
  return {};
}

Result<void> convert_gather(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  WEIR_ASSIGN(const int64_t declared_axis, node.integer("axis", 0));
  WEIR_ASSIGN(const int64_t axis, node.normal_axis(declared_axis, node.rank(0)));
  const auto at = static_cast<size_t>(axis);
  const Dim& size = node.shape(0)[at];
  if (node.element_type(1) != ElementType::kInt64 && node.element_type(1) != ElementType::kInt32) {
    return node.wrong("The indices have type ({}), and take int32 or int64.", node.type(1).to_string());
  }
  const Known* indices = node.known(1);
  if (indices != nullptr) {
    WEIR_TRY(require_indices(node, *indices, axis));
    if (const Known* elements = node.shape_elements(0)) {
      if (std::optional<Known> result = gather_known(*elements, at, *indices)) {
        node.set_known(0, node.element_type(0), *std::move(result));
        return {};
      }
    }
  }
  // One known index is a slice, which is a view.
  if (indices != nullptr && indices->elements.size() == 1) {
    std::vector<AxisSlice> axes = whole_axes(node.shape(0));
    SliceAttributes attributes;
    TensorType wanted = node.type(0);
    wanted.shape[at] = 1;
    attributes.starts.assign(axes.size(), 0);
    attributes.starts[at] = from_front(indices->elements[0].numerator, size);
    attributes.steps.assign(axes.size(), 1);
    WEIR_ASSIGN(const ValueId data, node.value(0));
    WEIR_ASSIGN(ValueId y, node.emit_as(Op::kSlice, std::move(attributes), {data}, std::move(wanted)));
    Dims shape(node.shape(0).begin(), node.shape(0).begin() + axis);
    shape.insert(shape.end(), node.shape(1).begin(), node.shape(1).end());
    shape.insert(shape.end(), node.shape(0).begin() + axis + 1, node.shape(0).end());
    WEIR_ASSIGN(y, node.emit_reshape(y, std::move(shape), "shape"));
    node.set_output(0, y);
    return {};
  }
  WEIR_ASSIGN(const ValueId data, node.value(0));
  WEIR_ASSIGN(const ValueId positions, node.value(1));
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kGather, GatherAttributes{axis}, {data, positions}));
  node.set_output(0, y);
  return {};
}

Result<void> convert_concat(NodeLowering& node) {
  const size_t count = node.input_count();
  WEIR_TRY(node.require_inputs(std::max<size_t>(count, 1), SIZE_MAX));
  std::vector<size_t> all(count);
  std::iota(all.begin(), all.end(), size_t{0});
  WEIR_TRY(node.require_same_type(all));
  WEIR_TRY(node.require_attribute("axis"));
  WEIR_ASSIGN(const int64_t declared_axis, node.integer("axis", 0));
  WEIR_ASSIGN(const int64_t axis, node.normal_axis(declared_axis, node.rank(0)));
  if (count == 1) {
    node.alias_input(0, 0);
    return {};
  }
  bool known = node.rank(0) == 1;
  bool shapes = false;
  for (size_t i = 0; i < count && known; ++i) {
    known = node.known(i) != nullptr && node.rank(i) == 1;
    shapes = shapes || (known && node.shape_elements(i) != nullptr);
  }
  if (known && shapes) {
    Known result;
    for (size_t i = 0; i < count; ++i) {
      const std::vector<Scalar>& elements = node.known(i)->elements;
      result.elements.insert(result.elements.end(), elements.begin(), elements.end());
    }
    result.shape = {static_cast<int64_t>(result.elements.size())};
    if (result.shape[0] <= kMaxKnownElements) {
      node.set_known(0, node.element_type(0), std::move(result));
      return {};
    }
  }
  std::vector<ValueId> operands;
  for (size_t i = 0; i < count; ++i) {
    WEIR_ASSIGN(operands.emplace_back(), node.value(i));
  }
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kConcat, ConcatAttributes{axis}, std::move(operands)));
  node.set_output(0, y);
  return {};
}

// Pads were attributes before version 11, then inputs.
Result<void> convert_pad(NodeLowering& node) {
  WEIR_TRY(node.version() < 11 ? node.require_inputs(1, 1) : node.require_inputs(2, 4));
  PadAttributes attributes;
  Dims pads;
  std::vector<int64_t> axes(static_cast<size_t>(node.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.version() < 11) {
    WEIR_ASSIGN(const std::optional<std::vector<int64_t>> declared, node.integers("pads"));
    if (declared) {
      pads.assign(declared->begin(), declared->end());
    }
    WEIR_ASSIGN(attributes.value, node.real("value", 0));
  } else {
    WEIR_ASSIGN(pads, node.dims(1, "pads"));
    if (node.has(2)) {
      const std::optional<double> value = node.scalar(2);
      if (!value || node.element_type(2) != node.element_type(0)) {
        return node.unsupported(
            "Input (2), the value, has type ({}), and takes a number of type ({}) that does not depend on "
            "data.",
            node.type(2).to_string(), to_string(node.element_type(0)));
      }
      attributes.value = *value;
    }
    if (node.has(3)) {
      WEIR_ASSIGN(const std::vector<int64_t> declared, node.integers(3, "axes"));
      WEIR_TRY(node.normal_axes(declared, node.rank(0)));
      axes.clear();
      for (int64_t axis : declared) {
        WEIR_ASSIGN(axes.emplace_back(), node.normal_axis(axis, node.rank(0)));
      }
    }
  }
  WEIR_ASSIGN(const std::string mode, node.text("mode", "constant"));
  if (mode == "reflect") {
    attributes.mode = PadMode::kReflect;
  } else if (mode == "edge") {
    attributes.mode = PadMode::kEdge;
  } else if (mode == "wrap") {
    attributes.mode = PadMode::kWrap;
  } else if (mode != "constant") {
    return node.wrong("Attribute 'mode' is ({}), and takes constant, reflect, edge or wrap.", mode);
  }
  if (pads.size() != 2 * axes.size()) {
    return node.wrong("Pad has ({}) pads for ({}) axes, and takes two for each.", pads.size(), axes.size());
  }
  attributes.begin.assign(static_cast<size_t>(node.rank(0)), 0);
  attributes.end = attributes.begin;
  bool none = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    attributes.begin[static_cast<size_t>(axes[i])] = pads[i];
    attributes.end[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
    none = none && pads[i].is_constant(0) && pads[i + axes.size()].is_constant(0);
  }
  if (none) {
    node.alias_input(0, 0);
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kPad, std::move(attributes), {x}));
  node.set_output(0, y);
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Concat", 4, convert_concat},
    {"", "Gather", 1, convert_gather},
    {"", "Pad", 2, convert_pad},
    {"", "Slice", 1, convert_slice},
    {"", "Split", 2, convert_split},
});

}  // namespace

std::span<const Converter> selection_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
