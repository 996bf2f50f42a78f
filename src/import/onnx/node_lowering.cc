// SPDX-License-Identifier: Apache-2.0
//
// What converters ask of a node and give to it.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "graph/infer.h"
#include "import/onnx/limits.h"
#include "import/onnx/lowering.h"

namespace weir::onnx_import {

NodeLowering::NodeLowering(Lowering& lowering, const onnx::NodeProto& proto, std::string name,
                           int64_t version, std::vector<ImportedValue*> inputs, std::vector<bool> wanted)
    : lowering_(lowering),
      proto_(proto),
      name_(std::move(name)),
      version_(version),
      inputs_(std::move(inputs)),
      wanted_(std::move(wanted)),
      outputs_(wanted_.size()) {}

Result<void> NodeLowering::require_inputs(size_t least, size_t most) const {
  if (inputs_.size() > most) {
    return wrong("The node has ({}) inputs, and ({}) is the most.", inputs_.size(), most);
  }
  for (size_t i = 0; i < least; ++i) {
    if (!has(i)) {
      return wrong("The node lacks input ({}), and its first ({}) are required.", i, least);
    }
  }
  return {};
}

Result<ValueId> NodeLowering::value(size_t i) {
  if (!has(i)) {
    return std::unexpected(require_inputs(i + 1, inputs_.size() + 1).error());
  }
  return lowering_.materialise(*inputs_[i]);
}

const Known* NodeLowering::shape_elements(size_t i) {
  const ElementType type = element_type(i);
  const bool shape_type =
      type == ElementType::kInt64 || type == ElementType::kInt32 || type == ElementType::kBool;
  return shape_type || derived(i) ? known(i) : nullptr;
}

Result<Dims> NodeLowering::dims(size_t i, std::string_view what) {
  if (!has(i)) {
    return std::unexpected(require_inputs(i + 1, inputs_.size() + 1).error());
  }
  if (is_floating_point(element_type(i))) {
    return wrong("Input ({}), the {}, has type ({}), and takes integers.", i, what, type(i).to_string());
  }
  const Known* elements = known(i);
  if (elements == nullptr) {
    return unsupported(
        "Input ({}), the {} '{}' of type ({}) from {}, depends on data, and it has to follow from shapes and "
        "constants.",
        i, what, inputs_[i]->name, type(i).to_string(), inputs_[i]->producer);
  }
  Dims result;
  for (const Scalar& scalar : elements->elements) {
    result.push_back(scalar.numerator);
  }
  return result;
}

Result<std::vector<int64_t>> NodeLowering::integers(size_t i, std::string_view what) {
  WEIR_ASSIGN(const Dims elements, dims(i, what));
  std::vector<int64_t> result;
  for (const Dim& element : elements) {
    if (!element.is_constant()) {
      return unsupported(
          "Input ({}), the {}, has an element ({}) that depends on dimensions, and takes numbers.", i, what,
          element.to_string());
    }
    result.push_back(element.constant());
  }
  return result;
}

std::optional<double> NodeLowering::scalar(size_t i) {
  const Known* elements = known(i);
  if (elements == nullptr || elements->elements.size() != 1 || !elements->elements[0].is_number()) {
    return std::nullopt;
  }
  const Scalar& element = elements->elements[0];
  return element.real ? *element.real : static_cast<double>(element.numerator.constant());
}

Result<void> NodeLowering::require_same_type(std::span<const size_t> operands) const {
  const size_t* first = nullptr;
  for (const size_t& operand : operands) {
    if (!has(operand)) {
      continue;
    }
    if (first == nullptr) {
      first = &operand;
    } else if (element_type(operand) != element_type(*first)) {
      return wrong("Inputs ({}) and ({}) have types ({}) and ({}), and take one element type.", *first,
                   operand, type(*first).to_string(), type(operand).to_string());
    }
  }
  return {};
}

Result<void> NodeLowering::require_floating_point(size_t i) const {
  if (!is_floating_point(element_type(i))) {
    return unsupported("Input ({}) has type ({}), and floating-point types are supported.", i,
                       type(i).to_string());
  }
  return {};
}

Result<void> NodeLowering::require_numbers(size_t i) const {
  if (element_type(i) == ElementType::kBool) {
    return unsupported("Input ({}) has type ({}), and numbers are supported.", i, type(i).to_string());
  }
  return {};
}

Result<void> NodeLowering::require_bool(size_t i) const {
  if (element_type(i) != ElementType::kBool) {
    return unsupported("Input ({}) has type ({}), and bool is supported.", i, type(i).to_string());
  }
  return {};
}

Result<void> NodeLowering::require_broadcast(size_t i, const Dims& shape) const {
  const Dims& own = type(i).shape;
  bool fits = own.size() <= shape.size();
  for (size_t k = 0; fits && k < own.size(); ++k) {
    const Dim& wanted = shape[shape.size() - own.size() + k];
    const std::optional<bool> equal = own[k].is_constant(1) ? true : proves_equal(own[k], wanted);
    fits = equal != false;
    if (!equal) {
      add_constraint(lowering_.graph(),
                     {Constraint::Kind::kEqual, wanted, own[k],
                      fmt::format("{} '{}' broadcasts input ({})", proto_.op_type(), name_, i)});
    }
  }
  if (!fits) {
    return wrong("Input ({}) has type ({}), which does not broadcast to ({}).", i, type(i).to_string(),
                 fmt::join(shape | std::views::transform(&Dim::to_string), ", "));
  }
  return {};
}

const onnx::AttributeProto* NodeLowering::attribute(std::string_view attribute_name) const {
  for (const onnx::AttributeProto& candidate : proto_.attribute()) {
    if (candidate.name() == attribute_name) {
      return &candidate;
    }
  }
  return nullptr;
}

Result<void> NodeLowering::require_attribute(std::string_view attribute_name) const {
  if (attribute(attribute_name) == nullptr) {
    return wrong("The node lacks attribute '{}', which it needs.", attribute_name);
  }
  return {};
}

Result<int64_t> NodeLowering::integer(std::string_view attribute_name, int64_t otherwise) const {
  const onnx::AttributeProto* found = attribute(attribute_name);
  if (found == nullptr) {
    return otherwise;
  }
  if (found->type() != onnx::AttributeProto::INT) {
    return wrong("Attribute '{}' is no integer.", attribute_name);
  }
  return found->i();
}

Result<int64_t> NodeLowering::integer(std::string_view attribute_name, int64_t otherwise, int64_t least,
                                      int64_t most) const {
  WEIR_ASSIGN(const int64_t value, integer(attribute_name, otherwise));
  if (value < least || value > most) {
    return wrong("Attribute '{}' is ({}), and takes ({}) to ({}).", attribute_name, value, least, most);
  }
  return value;
}

Result<double> NodeLowering::real(std::string_view attribute_name, double otherwise) const {
  const onnx::AttributeProto* found = attribute(attribute_name);
  if (found == nullptr) {
    return otherwise;
  }
  if (found->type() != onnx::AttributeProto::FLOAT) {
    return wrong("Attribute '{}' is no floating-point number.", attribute_name);
  }
  return static_cast<double>(found->f());
}

Result<double> NodeLowering::finite(std::string_view attribute_name, double otherwise) const {
  WEIR_ASSIGN(const double value, real(attribute_name, otherwise));
  if (!std::isfinite(value)) {
    return wrong("Attribute '{}' is ({}), and takes a finite number.", attribute_name, value);
  }
  return value;
}

Result<std::string> NodeLowering::text(std::string_view attribute_name, std::string_view otherwise) const {
  const onnx::AttributeProto* found = attribute(attribute_name);
  if (found == nullptr) {
    return std::string(otherwise);
  }
  if (found->type() != onnx::AttributeProto::STRING) {
    return wrong("Attribute '{}' is no string.", attribute_name);
  }
  return found->s();
}

Result<std::optional<std::vector<float>>> NodeLowering::reals(std::string_view attribute_name) const {
  const onnx::AttributeProto* found = attribute(attribute_name);
  if (found == nullptr) {
    return std::optional<std::vector<float>>();
  }
  if (found->type() != onnx::AttributeProto::FLOATS) {
    return wrong("Attribute '{}' is no list of floating-point numbers.", attribute_name);
  }
  return std::optional<std::vector<float>>(
      std::vector<float>(found->floats().begin(), found->floats().end()));
}

Result<std::optional<std::vector<int64_t>>> NodeLowering::integers(std::string_view attribute_name) const {
  const onnx::AttributeProto* found = attribute(attribute_name);
  if (found == nullptr) {
    return std::optional<std::vector<int64_t>>();
  }
  if (found->type() != onnx::AttributeProto::INTS) {
    return wrong("Attribute '{}' is no list of integers.", attribute_name);
  }
  return std::optional<std::vector<int64_t>>(
      std::vector<int64_t>(found->ints().begin(), found->ints().end()));
}

Result<std::vector<int64_t>> NodeLowering::integers(std::string_view attribute_name, size_t count,
                                                    int64_t otherwise) const {
  WEIR_ASSIGN(std::optional<std::vector<int64_t>> found, integers(attribute_name));
  if (!found || found->empty()) {
    return std::vector<int64_t>(count, otherwise);
  }
  if (found->size() != count) {
    return wrong("Attribute '{}' has ({}) elements, and takes ({}).", attribute_name, found->size(), count);
  }
  return *std::move(found);
}

Result<void> NodeLowering::require_elements(std::string_view attribute_name,
                                            std::span<const int64_t> elements, int64_t least,
                                            int64_t most) const {
  for (int64_t element : elements) {
    if (element < least || element > most) {
      return wrong("Attribute '{}' has an element ({}), and takes ({}) to ({}).", attribute_name, element,
                   least, most);
    }
  }
  return {};
}

Result<std::vector<int64_t>> NodeLowering::integers(std::string_view attribute_name, size_t count,
                                                    int64_t otherwise, int64_t least, int64_t most) const {
  WEIR_ASSIGN(std::vector<int64_t> values, integers(attribute_name, count, otherwise));
  WEIR_TRY(require_elements(attribute_name, values, least, most));
  return values;
}

Result<int64_t> NodeLowering::normal_axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    return wrong("Axis ({}) lies outside a tensor of rank ({}).", axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

Result<std::vector<int64_t>> NodeLowering::normal_axes(std::span<const int64_t> axes, int64_t rank) const {
  std::vector<int64_t> result;
  for (int64_t axis : axes) {
    WEIR_ASSIGN(const int64_t normal, normal_axis(axis, rank));
    result.push_back(normal);
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) {
    return wrong("An axis is named twice in ({}).", fmt::join(axes, ", "));
  }
  return result;
}

Result<std::vector<ValueId>> NodeLowering::emit_node(Op op, Attributes attributes,
                                                     std::vector<ValueId> inputs,
                                                     std::span<const TensorType> wanted,
                                                     std::string_view part) {
  Graph& graph = lowering_.graph();
  const std::string name = part.empty() ? name_ : fmt::format("{}/{}", name_, part);
  std::vector<const TensorType*> types;
  for (ValueId input : inputs) {
    types.push_back(input == kNoValue ? nullptr : &graph.value(input).type);
  }
  std::vector<Constraint> constraints;
  InferContext context{&constraints, name};
  WEIR_ASSIGN(std::vector<TensorType> results, infer_types(op, attributes, types, wanted, context));
  for (Constraint& constraint : constraints) {
    add_constraint(graph, std::move(constraint));
  }
  std::vector<std::optional<NewValue>> outputs;
  for (TensorType& type : results) {
    outputs.emplace_back(NewValue{"", std::move(type)});
  }
  const NodeId node = graph.add_node(op, name, std::move(attributes), std::move(inputs), std::move(outputs));
  graph.node(node).origin = proto_.op_type();
  return graph.node(node).outputs;
}

Result<ValueId> NodeLowering::emit(Op op, Attributes attributes, std::vector<ValueId> inputs,
                                   std::string_view part) {
  WEIR_ASSIGN(const std::vector<ValueId> outputs,
              emit_node(op, std::move(attributes), std::move(inputs), {}, part));
  return outputs[0];
}

Result<ValueId> NodeLowering::emit_as(Op op, Attributes attributes, std::vector<ValueId> inputs,
                                      TensorType wanted, std::string_view part) {
  WEIR_ASSIGN(const std::vector<ValueId> outputs,
              emit_node(op, std::move(attributes), std::move(inputs), std::span(&wanted, 1), part));
  return outputs[0];
}

Result<std::vector<ValueId>> NodeLowering::emit_all(Op op, Attributes attributes,
                                                    std::vector<ValueId> inputs) {
  return emit_node(op, std::move(attributes), std::move(inputs), {}, "");
}

Result<ValueId> NodeLowering::emit_reshape(ValueId x, Dims shape, std::string_view part) {
  const TensorType& type = type_of(x);
  if (type.shape == shape) {
    return x;
  }
  return emit_as(Op::kReshape, NoAttributes{}, {x}, {type.element_type, std::move(shape), {}}, part);
}

Result<ValueId> NodeLowering::emit_transpose(ValueId x, std::vector<int64_t> permutation,
                                             std::string_view part) {
  if (std::ranges::is_sorted(permutation)) {
    return x;
  }
  return emit(Op::kTranspose, TransposeAttributes{std::move(permutation)}, {x}, part);
}

void NodeLowering::set_value(size_t i, ImportedValue value) {
  if (i >= outputs_.size()) {
    return;
  }
  value.name = proto_.output(static_cast<int>(i));
  value.producer = fmt::format("{} '{}'", proto_.op_type(), name_);
  outputs_[i].value = std::move(value);
}

void NodeLowering::set_output(size_t i, ValueId id) {
  if (i >= outputs_.size()) {
    return;
  }
  Value& node_value = lowering_.graph().value(id);
  if (node_value.name.empty()) {
    node_value.name = proto_.output(static_cast<int>(i));
  }
  ImportedValue value;
  value.type = node_value.type;
  value.id = id;
  set_value(i, std::move(value));
}

void NodeLowering::set_origin(ValueId output, std::string origin) {
  Graph& graph = lowering_.graph();
  graph.node(graph.value(output).producer).origin = std::move(origin);
}

void NodeLowering::set_known(size_t i, ElementType element_type, Known known) {
  ImportedValue value;
  value.type.element_type = element_type;
  value.type.shape.assign(known.shape.begin(), known.shape.end());
  value.known = std::move(known);
  value.derived = true;
  set_value(i, std::move(value));
}

void NodeLowering::set_alias(size_t i, ImportedValue* value) {
  if (i < outputs_.size()) {
    outputs_[i].alias = value;
  }
}

Result<void> NodeLowering::finish() {
  if (lowering_.graph().constraints.size() > kMaxConstraints) {
    return fail(
        StatusCode::kResourceExhausted,
        "The model has more than ({}) conditions on its dimensions, and that is the most; numbers for its "
        "dimensions decide them.",
        kMaxConstraints);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (wants(i) && outputs_[i].alias == nullptr && !outputs_[i].value) {
      return unsupported("Output ({}), '{}', is read, and it is not supported.", i,
                         proto_.output(static_cast<int>(i)));
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::string& output = proto_.output(static_cast<int>(i));
    if (output.empty()) {
      continue;
    }
    if (outputs_[i].alias != nullptr) {
      WEIR_TRY(lowering_.define_alias(output, outputs_[i].alias));
    } else if (outputs_[i].value) {
      WEIR_TRY(lowering_.define(output, *std::move(outputs_[i].value)));
    }
  }
  return {};
}

}  // namespace weir::onnx_import
