// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/lowering.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/near_names.h"
#include "graph/infer.h"
#include "import/onnx/limits.h"
#include "shape/dim_size.h"

namespace weir::onnx_import {
namespace {

template <typename T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::optional<Scalar> load_scalar(ElementType type, const std::byte* data, int64_t index) {
  switch (type) {
    case ElementType::kFloat32:
      return Scalar::number(static_cast<double>(load<float>(data, index)));
    case ElementType::kFloat64:
      return Scalar::number(load<double>(data, index));
    case ElementType::kFloat16:
      return Scalar::number(float16_value(load<uint16_t>(data, index)));
    case ElementType::kBFloat16:
      return Scalar::number(bfloat16_value(load<uint16_t>(data, index)));
    case ElementType::kInt64:
      return Scalar::of(load<int64_t>(data, index));
    case ElementType::kInt32:
      return Scalar::of(int64_t{load<int32_t>(data, index)});
    case ElementType::kUint32:
      return Scalar::of(int64_t{load<uint32_t>(data, index)});
    case ElementType::kInt16:
      return Scalar::of(int64_t{load<int16_t>(data, index)});
    case ElementType::kUint16:
      return Scalar::of(int64_t{load<uint16_t>(data, index)});
    case ElementType::kInt8:
      return Scalar::of(int64_t{load<int8_t>(data, index)});
    case ElementType::kUint8:
    case ElementType::kBool:
      return Scalar::of(int64_t{load<uint8_t>(data, index)});
    case ElementType::kUint64: {
      const auto value = load<uint64_t>(data, index);
      return value <= INT64_MAX ? std::optional<Scalar>(Scalar::of(static_cast<int64_t>(value)))
                                : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// A known number as an element of a constant.
void store_scalar(ElementType type, const Scalar& scalar, int64_t index, std::byte* data) {
  const auto put = [data, index](auto value) {
    std::memcpy(data + index * static_cast<int64_t>(sizeof(value)), &value, sizeof(value));
  };
  const int64_t integer = scalar.numerator.as_constant().value_or(0);
  const double number = scalar.real.value_or(static_cast<double>(integer));
  switch (bit_width(type)) {
    case 64:
      return type == ElementType::kFloat64 ? put(number) : put(integer);
    case 32:
      return type == ElementType::kFloat32 ? put(static_cast<float>(number))
                                           : put(static_cast<uint32_t>(integer));
    case 16:
      return put(static_cast<uint16_t>(integer));
    default:
      return put(static_cast<uint8_t>(integer));
  }
}

bool is_number(const Scalar& scalar) {
  return scalar.real || (scalar.numerator.is_constant() && scalar.denominator.is_constant(1));
}

}  // namespace

void add_constraint(Graph& graph, Constraint constraint) {
  const auto same = [&constraint](const Constraint& other) {
    return other.kind == constraint.kind && other.a == constraint.a && other.b == constraint.b;
  };
  if (graph.constraints.size() <= kMaxConstraints && std::ranges::none_of(graph.constraints, same)) {
    graph.constraints.push_back(std::move(constraint));
  }
}

ImportedValue* Lowering::find(std::string_view name) {
  const std::string key(name);
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (const auto found = scopes_[i].find(key); found != scopes_[i].end()) {
      return found->second;
    }
  }
  return nullptr;
}

Result<void> Lowering::take_expressions(std::string_view name, const ImportedValue& value) {
  const auto take = [&](const Dim& dim) -> Result<void> {
    const int64_t size = size_of(dim);
    if (size > kMaxExpressionSize) {
      return fail(StatusCode::kResourceExhausted,
                  "Value '{}' has an expression of ({}) operations over dimensions, and ({}) is the most.",
                  name, size, kMaxExpressionSize);
    }
    expression_work_ += size;
    return {};
  };
  for (const Dim& dim : value.type.shape) {
    WEIR_TRY(take(dim));
  }
  if (value.known) {
    for (const Scalar& scalar : value.known->elements) {
      WEIR_TRY(take(scalar.numerator));
      WEIR_TRY(take(scalar.denominator));
    }
  }
  if (expression_work_ > kMaxExpressionWork) {
    return fail(StatusCode::kResourceExhausted,
                "The model's shapes take more than ({}) operations on dimensions by value '{}', and that is "
                "the most.",
                kMaxExpressionWork, name);
  }
  return {};
}

Result<void> Lowering::define(std::string_view name, ImportedValue value) {
  WEIR_TRY(take_expressions(name, value));
  value.swappable = value.constant && std::ranges::find(swappable_, name) != swappable_.end();
  values_.push_back(std::move(value));
  return define_alias(name, &values_.back());
}

Result<void> Lowering::define_alias(std::string_view name, ImportedValue* value) {
  const auto [place, added] = scopes_.back().emplace(std::string(name), value);
  if (!added) {
    return fail(StatusCode::kInvalidArgument, "Value '{}' is defined twice: by {} and by {}.", name,
                place->second->producer, value->producer);
  }
  return {};
}

Result<ImportedValue> Lowering::constant_value(const onnx::TensorProto& tensor, std::string_view name) {
  ImportedValue value;
  value.name = name;
  value.producer = "an initialiser";
  WEIR_ASSIGN(value.type, TensorReader::type_of(tensor));
  WEIR_ASSIGN(value.constant, reader_.read(tensor));
  return value;
}

Result<void> Lowering::finish_constants() {
  std::vector<std::string_view> names;
  for (const ImportedValue& value : values_) {
    if (value.constant && !value.name.empty()) {
      names.push_back(value.name);
      if (value.read) {
        graph_.read_constants.push_back(value.name);
      }
    }
  }
  for (const std::string& wanted : swappable_) {
    if (std::ranges::find(names, wanted) == names.end()) {
      return fail(StatusCode::kNotFound,
                  "Constant '{}' is not one of the ({}) that the model's outputs need{}.", wanted,
                  names.size(), near_names(wanted, names));
    }
  }
  return {};
}

const Known* Lowering::known(ImportedValue& value) {
  if (value.swappable) {
    return nullptr;
  }
  if (!value.known && !value.examined && value.constant) {
    value.examined = true;
    Known known;
    const int64_t count = value.type.element_count().constant();  // checked when it was read
    for (const Dim& dim : value.type.shape) {
      known.shape.push_back(dim.constant());
    }
    if (count > kMaxKnownElements) {
      return nullptr;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::optional<Scalar> scalar = load_scalar(value.type.element_type, value.constant->data(), i);
      if (!scalar) {
        return nullptr;
      }
      known.elements.push_back(std::move(*scalar));
    }
    value.known = std::move(known);
  }
  value.read = value.read || value.known;
  return value.known ? &*value.known : nullptr;
}

Result<ValueId> Lowering::materialise(ImportedValue& value) {
  if (value.id == kNoValue) {
    if (!has_possible_size(value.type)) {  // as an Expand to a negative extent makes it
      return fail(StatusCode::kInvalidArgument,
                  "Value '{}' has type ({}), and no tensor has a negative extent.", value.name,
                  value.type.to_string());
    }
    if (value.constant) {
      value.id = graph_.add_constant(value.name, value.type, *value.constant);
      graph_.value(value.id).swappable = value.swappable;
    } else if (value.known) {
      WEIR_ASSIGN(value.id, materialise_known(value));
    } else {
      return fail(StatusCode::kInternal, "Value '{}' has no source.", value.name);
    }
  }
  return value.id;
}

Result<ValueId> Lowering::materialise_known(const ImportedValue& value) {
  const Known& known = *value.known;
  const ElementType type = value.type.element_type;
  if (std::ranges::all_of(known.elements, is_number)) {
    std::byte* data = nullptr;
    Constant constant =
        Constant::allocate(byte_size(type, static_cast<int64_t>(known.elements.size())), data);
    if (data == nullptr) {
      return fail(StatusCode::kResourceExhausted, "There is no memory for constant '{}'.", value.name);
    }
    for (size_t i = 0; i < known.elements.size(); ++i) {
      store_scalar(type, known.elements[i], static_cast<int64_t>(i), data);
    }
    return graph_.add_constant(value.name, value.type, std::move(constant));
  }
  Dims numerators;
  Dims denominators;
  for (const Scalar& scalar : known.elements) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (scalar.real && (!(std::abs(*scalar.real) <= kExact) || *scalar.real != std::floor(*scalar.real))) {
      return fail(StatusCode::kUnimplemented,
                  "Value '{}' mixes fractions and expressions of dimensions, and it is read as data.",
                  value.name);
    }
    numerators.push_back(scalar.real ? Dim(static_cast<int64_t>(*scalar.real)) : scalar.numerator);
    denominators.push_back(scalar.real ? Dim(1) : scalar.denominator);
  }
  const bool quotient = std::ranges::any_of(denominators, [](const Dim& dim) { return !dim.is_constant(1); });
  const auto add_tensor = [&](const Dims& elements, bool last) {
    const TensorType integers{ElementType::kInt64, value.type.shape, {}};
    NodeId node = graph_.add_node(Op::kDimTensor, value.name, DimTensorAttributes{elements}, {},
                                  {NewValue{last ? value.name : "", integers}});
    graph_.node(node).origin = "Shape";
    ValueId id = graph_.node(node).outputs[0];
    graph_.value(id).elements = elements;
    return id;
  };
  const auto add_elementwise = [&](TileProgram program, std::vector<ValueId> inputs, bool last) {
    const NodeId node =
        graph_.add_node(Op::kElementwise, value.name, ElementwiseAttributes{std::move(program)},
                        std::move(inputs), {NewValue{last ? value.name : "", value.type}});
    graph_.node(node).origin = "Cast";
    return graph_.node(node).outputs[0];
  };
  const bool cast = type != ElementType::kInt64;
  const ValueId integers = add_tensor(numerators, !cast);
  if (!cast) {
    return integers;
  }
  if (!quotient) {
    TileProgram program({ElementType::kInt64});
    program.append_cast(0, type);
    return add_elementwise(std::move(program), {integers}, true);
  }
  TileProgram program({ElementType::kInt64, ElementType::kInt64});
  const int a = program.append_cast(0, type);
  const int b = program.append_cast(1, type);
  program.append(ScalarOp::kDiv, {a, b});
  return add_elementwise(std::move(program), {integers, add_tensor(denominators, false)}, true);
}

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
    return wrong("The node lacks input ({}), which it needs.", i);
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
    return wrong("The node lacks input ({}), the {}.", i, what);
  }
  const Known* elements = known(i);
  if (elements == nullptr || is_floating_point(element_type(i))) {
    return unsupported(
        "The {} (input {}, '{}' of type {}, from {}) depends on data, and it has to follow from shapes and "
        "constants.",
        what, i, inputs_[i]->name, type(i).to_string(), inputs_[i]->producer);
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
          "The {} (input {}) has an element ({}) that depends on dimensions, and takes numbers.", what, i,
          element.to_string());
    }
    result.push_back(element.constant());
  }
  return result;
}

std::optional<double> NodeLowering::scalar(size_t i) {
  const Known* elements = known(i);
  if (elements == nullptr || elements->elements.size() != 1 || !is_number(elements->elements[0])) {
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

const onnx::AttributeProto* NodeLowering::attribute(std::string_view attribute_name) const {
  for (const onnx::AttributeProto& candidate : proto_.attribute()) {
    if (candidate.name() == attribute_name) {
      return &candidate;
    }
  }
  return nullptr;
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
    outputs.push_back(NewValue{"", std::move(type)});
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
