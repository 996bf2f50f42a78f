// SPDX-License-Identifier: Apache-2.0
//
// Operators on shapes (Shape, Size, ConstantOfShape, Range, Constant) and those that only give a tensor
// another one (Reshape, Squeeze, Transpose, Expand, …).
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/checked.h"
#include "graph/infer.h"
#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

std::optional<std::vector<int64_t>> constants_of(std::span<const Dim> dims) {
  std::vector<int64_t> constants;
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) {
      return std::nullopt;
    }
    constants.push_back(dim.constant());
  }
  return constants;
}

// The operand under another shape: constants and known elements stay what they are.
Result<void> give_shape(NodeLowering& node, Dims shape) {
  const std::optional<std::vector<int64_t>> constants = constants_of(shape);
  const Known* elements = node.shape_elements(0);
  if (constants && (node.is_constant(0) || elements != nullptr)) {
    const Result<int64_t> count = checked_product(*constants);
    if (!count || node.type(0).element_count() != Dim(*count)) {
      return node.wrong("A tensor of type ({}) takes shape ({}), which has another number of elements.",
                        node.type(0).to_string(), fmt::join(*constants, ", "));
    }
    if (node.is_constant(0)) {
      ImportedValue value;
      value.type = {node.element_type(0), std::move(shape), {}};
      value.constant = node.constant(0);
      node.set_value(0, std::move(value));
    } else {
      node.set_known(0, node.element_type(0), {*constants, elements->elements});
    }
    return {};
  }
  if (shape == node.shape(0)) {
    node.alias_input(0, 0);
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit_reshape(x, std::move(shape)));
  node.set_output(0, y);
  return {};
}

Result<void> convert_reshape(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  WEIR_ASSIGN(Dims target, node.dims(1, "shape"));
  if (node.rank(1) != 1) {
    return node.wrong("The shape has type ({}), and takes rank 1.", node.type(1).to_string());
  }
  WEIR_ASSIGN(const int64_t allow_zero, node.integer("allowzero", 0));
  std::optional<size_t> open;  // the −1
  Dim others = 1;
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].is_constant(0) && allow_zero == 0) {
      if (i >= node.shape(0).size()) {
        return node.wrong("The shape copies dimension ({}) of a tensor of rank ({}).", i, node.rank(0));
      }
      target[i] = node.shape(0)[i];
    }
    if (target[i].is_constant(-1)) {
      if (open) {
        return node.wrong("The shape has (-1) at ({}) and ({}), and takes it once.", *open, i);
      }
      open = i;
      continue;
    }
    if (target[i].is_constant() && target[i].constant() < 0) {
      return node.wrong("The shape has an element ({}), and (-1) is the least.", target[i].constant());
    }
    others *= target[i];
  }
  if (open) {
    const Dim total = node.type(0).element_count();
    const bool numbers = total.is_constant() && others.is_constant();
    if (others.is_constant(0) || (numbers && total.constant() % others.constant() != 0)) {
      return node.wrong("A tensor of type ({}) has ({}) elements, which ({}) does not divide.",
                        node.type(0).to_string(), total.to_string(), others.to_string());
    }
    target[*open] = exact_div(total, others);
  }
  return give_shape(node, std::move(target));
}

Result<void> convert_flatten(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_ASSIGN(int64_t axis, node.integer("axis", 1));
  const int64_t rank = node.rank(0);
  if (axis < -rank || axis > rank) {
    return node.wrong("Axis ({}) lies outside a tensor of rank ({}).", axis, rank);
  }
  axis += axis < 0 ? rank : 0;
  const std::span<const Dim> dims(node.shape(0));
  return give_shape(node, {product(dims.first(static_cast<size_t>(axis))),
                           product(dims.subspan(static_cast<size_t>(axis)))});
}

// Axes were an attribute before version 13, then an input.
Result<std::optional<std::vector<int64_t>>> read_axes(NodeLowering& node) {
  if (node.version() < 13) {
    WEIR_TRY(node.require_inputs(1, 1));
    return node.integers("axes");
  }
  WEIR_TRY(node.require_inputs(1, 2));
  if (!node.has(1)) {
    return std::optional<std::vector<int64_t>>();
  }
  WEIR_ASSIGN(std::vector<int64_t> axes, node.integers(1, "axes"));
  return std::optional<std::vector<int64_t>>(std::move(axes));
}

Result<void> convert_squeeze(NodeLowering& node) {
  WEIR_ASSIGN(std::optional<std::vector<int64_t>> declared, read_axes(node));
  const Dims& shape = node.shape(0);
  std::vector<int64_t> axes;
  if (declared) {
    WEIR_ASSIGN(axes, node.normal_axes(*declared, node.rank(0)));
  } else {
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i].is_constant(1)) {
        axes.push_back(static_cast<int64_t>(i));
      } else if (proves_equal(shape[i], 1) != false) {
        return node.unsupported(
            "Squeeze without axes takes ({}), where dimension ({}) may be 1; a range or a number for it "
            "decides that.",
            node.type(0).to_string(), shape[i].to_string());
      }
    }
  }
  Dims squeezed;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!std::ranges::binary_search(axes, static_cast<int64_t>(i))) {
      squeezed.push_back(shape[i]);
      continue;
    }
    const std::optional<bool> one = proves_equal(shape[i], 1);
    if (one == false) {
      return node.wrong("Axis ({}) of a tensor of type ({}) is squeezed, and takes an extent of 1.", i,
                        node.type(0).to_string());
    }
    if (!one) {
      add_constraint(node.lowering().graph(),
                     {Constraint::Kind::kEqual, shape[i], 1,
                      fmt::format("Squeeze '{}' removes a dimension of 1", node.name())});
    }
  }
  return give_shape(node, std::move(squeezed));
}

Result<void> convert_unsqueeze(NodeLowering& node) {
  WEIR_ASSIGN(std::optional<std::vector<int64_t>> declared, read_axes(node));
  if (!declared) {
    return node.wrong("Unsqueeze lacks its axes (attribute 'axes', from version 13 on input 1).");
  }
  const int64_t rank = node.rank(0) + static_cast<int64_t>(declared->size());
  if (rank > kMaxRank) {
    return node.unsupported("The result has rank ({}), and ({}) is the most.", rank, kMaxRank);
  }
  WEIR_ASSIGN(const std::vector<int64_t> axes, node.normal_axes(*declared, rank));
  Dims shape = node.shape(0);
  for (int64_t axis : axes) {
    shape.insert(shape.begin() + axis, 1);
  }
  return give_shape(node, std::move(shape));
}

Result<void> convert_transpose(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  const int64_t rank = node.rank(0);
  WEIR_ASSIGN(std::optional<std::vector<int64_t>> declared, node.integers("perm"));
  std::vector<int64_t> permutation;
  if (declared && !(declared->empty() && rank > 0)) {
    if (static_cast<int64_t>(declared->size()) != rank) {
      return node.wrong("Attribute 'perm' has ({}) axes, and the input has rank ({}).", declared->size(),
                        rank);
    }
    WEIR_TRY(node.normal_axes(*declared, rank));
    for (int64_t axis : *declared) {
      WEIR_ASSIGN(permutation.emplace_back(), node.normal_axis(axis, rank));
    }
  } else {
    permutation.resize(static_cast<size_t>(rank));
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  if (const Known* elements = node.shape_elements(0)) {
    node.set_known(0, node.element_type(0), transpose(*elements, permutation));
    return {};
  }
  if (std::ranges::is_sorted(permutation)) {
    node.alias_input(0, 0);
    return {};
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit_transpose(x, std::move(permutation)));
  node.set_output(0, y);
  return {};
}

Result<void> convert_expand(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 2));
  WEIR_ASSIGN(Dims target, node.dims(1, "shape"));
  std::vector<Constraint> constraints;
  InferContext context{&constraints, node.name()};
  const std::array<Dims, 2> shapes = {node.shape(0), std::move(target)};
  WEIR_ASSIGN(Dims shape, broadcast(shapes, context));
  for (Constraint& constraint : constraints) {
    add_constraint(node.lowering().graph(), std::move(constraint));
  }
  if (shape == node.shape(0)) {
    node.alias_input(0, 0);
    return {};
  }
  if (const std::optional<std::vector<int64_t>> constants = constants_of(shape);
      constants && node.shape_elements(0) != nullptr) {
    if (std::optional<Known> result = broadcast_to(*node.shape_elements(0), *constants)) {
      node.set_known(0, node.element_type(0), *std::move(result));
      return {};
    }
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y,
              node.emit_as(Op::kExpand, NoAttributes{}, {x}, {node.element_type(0), std::move(shape), {}}));
  node.set_output(0, y);
  return {};
}

Result<void> convert_identity(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  node.alias_input(0, 0);
  return {};
}

Result<void> convert_dropout(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 3));
  if (node.has(2) && node.scalar(2) != 0) {
    return node.unsupported(
        "Dropout trains (input 2 is true or depends on data), and only its inference is supported.");
  }
  node.alias_input(0, 0);
  return {};
}

Result<void> convert_shape(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  const int64_t rank = node.rank(0);
  WEIR_ASSIGN(int64_t start, node.integer("start", 0));
  WEIR_ASSIGN(int64_t end, node.integer("end", rank));
  start = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
  end = std::clamp<int64_t>(end < 0 ? end + rank : end, start, rank);
  Known known{{end - start}, {}};
  for (int64_t i = start; i < end; ++i) {
    known.elements.push_back(Scalar::of(node.shape(0)[static_cast<size_t>(i)]));
  }
  node.set_known(0, ElementType::kInt64, std::move(known));
  return {};
}

Result<void> convert_size(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  node.set_known(0, ElementType::kInt64, {{}, {Scalar::of(node.type(0).element_count())}});
  return {};
}

template <typename T>
ImportedValue constant_of(ElementType type, Dims shape, std::span<const T> elements) {
  ImportedValue value;
  value.type = {type, std::move(shape), {}};
  value.constant = Constant::copy(std::as_bytes(elements));
  return value;
}

// Attribute 'value'.
Result<ImportedValue> read_value(NodeLowering& node, const onnx::AttributeProto& attribute) {
  if (!attribute.has_t()) {
    return node.wrong("Attribute 'value' is no tensor.");
  }
  return node.lowering().constant_value(attribute.t(), node.name());
}

Result<void> convert_constant(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(0, 0));
  if (const onnx::AttributeProto* tensor = node.attribute("value")) {
    WEIR_ASSIGN(ImportedValue value, read_value(node, *tensor));
    node.set_value(0, std::move(value));
    return {};
  }
  if (node.attribute("value_float") != nullptr) {
    WEIR_ASSIGN(const double number, node.real("value_float", 0));
    const auto element = static_cast<float>(number);
    node.set_value(0, constant_of<float>(ElementType::kFloat32, {}, std::span(&element, 1)));
    return {};
  }
  if (node.attribute("value_int") != nullptr) {
    WEIR_ASSIGN(const int64_t element, node.integer("value_int", 0));
    node.set_value(0, constant_of<int64_t>(ElementType::kInt64, {}, std::span(&element, 1)));
    return {};
  }
  WEIR_ASSIGN(const std::optional<std::vector<float>> reals, node.reals("value_floats"));
  if (reals) {
    node.set_value(0, constant_of<float>(ElementType::kFloat32, {std::ssize(*reals)}, *reals));
    return {};
  }
  WEIR_ASSIGN(const std::optional<std::vector<int64_t>> integers, node.integers("value_ints"));
  if (integers) {
    node.set_value(0, constant_of<int64_t>(ElementType::kInt64, {std::ssize(*integers)}, *integers));
    return {};
  }
  std::vector<std::string_view> names;
  for (const onnx::AttributeProto& attribute : node.proto().attribute()) {
    names.emplace_back(attribute.name());
  }
  return node.unsupported(
      "The constant has attributes ({}), and one of value, value_float, value_int, value_floats and "
      "value_ints "
      "is supported.",
      fmt::join(names, ", "));
}

Result<void> convert_constant_of_shape(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_ASSIGN(Dims shape, node.dims(0, "shape"));
  ElementType type = ElementType::kFloat32;
  Scalar element = Scalar::number(0);
  if (const onnx::AttributeProto* tensor = node.attribute("value")) {
    WEIR_ASSIGN(ImportedValue value, read_value(node, *tensor));
    const Known* known = node.lowering().known(value);
    if (known == nullptr || known->elements.size() != 1) {
      return node.unsupported("Attribute 'value' has type ({}), and takes one number.",
                              value.type.to_string());
    }
    type = value.type.element_type;
    element = known->elements[0];
  }
  for (const Dim& dim : shape) {
    if (dim.is_constant() && dim.constant() < 0) {
      return node.wrong("The shape has an element ({}), and (0) is the least.", dim.constant());
    }
  }
  const bool computed = type == ElementType::kInt64 || type == ElementType::kInt32 ||
                        type == ElementType::kBool || has_known_arithmetic(type);
  if (const std::optional<std::vector<int64_t>> constants = constants_of(shape); constants && computed) {
    if (std::optional<Known> known = broadcast_to({{}, {element}}, *constants)) {
      node.set_known(0, type, *std::move(known));
      return {};
    }
  }
  constexpr int64_t kExact = int64_t{1} << 53;
  if (!element.real && (element.numerator.constant() > kExact || element.numerator.constant() < -kExact)) {
    return node.unsupported("Attribute 'value' is ({}), and takes ({}) to ({}).",
                            element.numerator.constant(), -kExact, kExact);
  }
  const double value = element.real ? *element.real : static_cast<double>(element.numerator.constant());
  WEIR_ASSIGN(const ValueId y,
              node.emit_as(Op::kFill, FillAttributes{value}, {}, {type, std::move(shape), {}}));
  node.set_output(0, y);
  return {};
}

// Start, limit and step as whole numbers or expressions of dimensions.
Result<void> convert_whole_range(NodeLowering& node, const Dim& start, const Dim& limit, const Dim& delta) {
  const ElementType type = node.element_type(0);
  if (!delta.is_constant()) {
    return node.unsupported("The step of a range is ({}), and takes a number.", delta.to_string());
  }
  if (delta.is_constant(0)) {
    return node.wrong("The step of a range is (0), and takes another number.");
  }
  const Dim count = max(ceil_div(limit - start, delta), 0);
  const bool computed = !is_floating_point(type) || has_known_arithmetic(type);
  if (computed && count.is_constant() && count.constant() <= kMaxKnownElements) {
    Known known{{count.constant()}, {}};
    const bool real = is_floating_point(type);
    for (int64_t i = 0; i < count.constant(); ++i) {
      const Dim element = start + delta * i;
      known.elements.push_back(real && element.is_constant()
                                   ? Scalar::number(round_to(type, static_cast<double>(element.constant())))
                                   : Scalar::of(element));
    }
    node.set_known(0, type, std::move(known));
    return {};
  }
  WEIR_ASSIGN(const ValueId y,
              node.emit_as(Op::kRange, RangeAttributes{start, delta}, {}, {type, {count}, {}}));
  node.set_output(0, y);
  return {};
}

Result<void> convert_range(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(3, 3));
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kAll));
  WEIR_TRY(node.require_numbers(0));
  std::array<Scalar, 3> bounds;
  for (size_t i = 0; i < 3; ++i) {
    const Known* known = node.known(i);
    constexpr std::array<std::string_view, 3> kNames = {"start", "limit", "step"};
    if (known == nullptr || known->elements.size() != 1) {
      return node.unsupported(
          "Input ({}), the {}, has type ({}), and takes a scalar that follows from shapes and constants.", i,
          kNames[i], node.type(i).to_string());
    }
    bounds[i] = known->elements[0];
  }
  const auto whole = [](const Scalar& bound) -> std::optional<Dim> {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!bound.real) {
      return bound.denominator.is_constant(1) ? std::optional<Dim>(bound.numerator) : std::nullopt;
    }
    const bool exact = std::abs(*bound.real) <= kExact && *bound.real == std::floor(*bound.real);
    return exact ? std::optional<Dim>(static_cast<int64_t>(*bound.real)) : std::nullopt;
  };
  const auto [start, limit, delta] = bounds;
  if (const auto a = whole(start), b = whole(limit), c = whole(delta); a && b && c) {
    return convert_whole_range(node, *a, *b, *c);
  }
  if (!start.real || !limit.real || !delta.real) {
    return node.unsupported(
        "The range mixes fractions and expressions of dimensions, and whole numbers beside expressions are "
        "supported.");
  }
  if (*delta.real == 0) {
    return node.wrong("The step of a range is (0), and takes another number.");
  }
  const double count = std::max(std::ceil((*limit.real - *start.real) / *delta.real), 0.0);
  if (!(count < static_cast<double>(kDimMax))) {
    return node.wrong("The range has ({}) elements, and ({}) is the most.", count, kDimMax);
  }
  const ElementType type = node.element_type(0);
  WEIR_ASSIGN(const ValueId index, node.emit_as(Op::kRange, RangeAttributes{}, {},
                                                {type, {static_cast<int64_t>(count)}, {}}, "index"));
  TileProgram program({type});
  const int scaled = program.append(ScalarOp::kMul, {0, program.immediate(*delta.real, type)});
  program.append(ScalarOp::kAdd, {scaled, program.immediate(*start.real, type)});
  WEIR_ASSIGN(const ValueId y,
              node.emit(Op::kElementwise, ElementwiseAttributes{std::move(program)}, {index}));
  node.set_output(0, y);
  return {};
}

struct Blocks {
  int64_t size = 1;
  bool depth_first = false;  // a channel of depth is followed by its block, mode CRD
  Dims shape;                // N, C, H, W
};

Result<Blocks> read_blocks(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  Blocks blocks;
  WEIR_TRY(node.require_attribute("blocksize"));
  WEIR_ASSIGN(blocks.size, node.integer("blocksize", 1, 1, INT32_MAX));
  if (node.rank(0) != 4) {
    return node.wrong("Input (0) has type ({}), and takes rank 4.", node.type(0).to_string());
  }
  WEIR_ASSIGN(const std::string mode, node.text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD") {
    return node.wrong("Attribute 'mode' is ({}), and takes DCR or CRD.", mode);
  }
  blocks.depth_first = mode == "CRD";
  blocks.shape = node.shape(0);
  return blocks;
}

// The size of an axis of the input, divided.
Result<Dim> divided(NodeLowering& node, size_t axis, int64_t divisor) {
  const Dim& size = node.shape(0)[axis];
  if (size.is_constant() && size.constant() % divisor != 0) {
    return node.wrong("Axis ({}) has ({}) elements, which ({}) does not divide.", axis, size.constant(),
                      divisor);
  }
  return exact_div(size, divisor);
}

Result<void> convert_depth_to_space(NodeLowering& node) {
  WEIR_ASSIGN(const Blocks blocks, read_blocks(node));
  const Dims& x = blocks.shape;
  const Dim block = blocks.size;
  WEIR_ASSIGN(const Dim depth, divided(node, 1, blocks.size * blocks.size));
  WEIR_ASSIGN(ValueId y, node.value(0));
  WEIR_ASSIGN(y, node.emit_reshape(y,
                                   blocks.depth_first ? Dims{x[0], depth, block, block, x[2], x[3]}
                                                      : Dims{x[0], block, block, depth, x[2], x[3]},
                                   "blocks"));
  WEIR_ASSIGN(y, node.emit_transpose(y,
                                     blocks.depth_first ? std::vector<int64_t>{0, 1, 4, 2, 5, 3}
                                                        : std::vector<int64_t>{0, 3, 4, 1, 5, 2},
                                     "interleave"));
  WEIR_ASSIGN(y, node.emit_reshape(y, {x[0], depth, x[2] * block, x[3] * block}));
  node.set_output(0, y);
  return {};
}

Result<void> convert_space_to_depth(NodeLowering& node) {
  WEIR_ASSIGN(const Blocks blocks, read_blocks(node));
  const Dims& x = blocks.shape;
  const Dim block = blocks.size;
  WEIR_ASSIGN(const Dim height, divided(node, 2, blocks.size));
  WEIR_ASSIGN(const Dim width, divided(node, 3, blocks.size));
  WEIR_ASSIGN(ValueId y, node.value(0));
  WEIR_ASSIGN(y, node.emit_reshape(y, {x[0], x[1], height, block, width, block}, "blocks"));
  WEIR_ASSIGN(y, node.emit_transpose(y,
                                     blocks.depth_first ? std::vector<int64_t>{0, 1, 3, 5, 2, 4}
                                                        : std::vector<int64_t>{0, 3, 5, 1, 2, 4},
                                     "interleave"));
  WEIR_ASSIGN(y, node.emit_reshape(y, {x[0], x[1] * block * block, height, width}));
  node.set_output(0, y);
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Constant", 1, convert_constant},
    {"", "ConstantOfShape", 9, convert_constant_of_shape},
    {"", "DepthToSpace", 1, convert_depth_to_space},
    {"", "Dropout", 7, convert_dropout},
    {"", "Expand", 8, convert_expand},
    {"", "Flatten", 1, convert_flatten},
    {"", "Identity", 1, convert_identity},
    {"", "Range", 11, convert_range},
    {"", "Reshape", 5, convert_reshape},
    {"", "Shape", 1, convert_shape},
    {"", "Size", 1, convert_size},
    {"", "SpaceToDepth", 1, convert_space_to_depth},
    {"", "Squeeze", 1, convert_squeeze},
    {"", "Transpose", 1, convert_transpose},
    {"", "Unsqueeze", 1, convert_unsqueeze},
});

}  // namespace

std::span<const Converter> shape_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
