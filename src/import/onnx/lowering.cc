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
      return fail(
          StatusCode::kInvalidArgument,
          "Value '{}' has type ({}), and extents of (0) to ({}) with a product within that are the most.",
          value.name, value.type.to_string(), kDimMax);
    }
    if (value.constant) {
      value.id = graph_.add_constant(value.name, value.type, *value.constant);
      graph_.value(value.id).swappable = value.swappable;
    } else {
      WEIR_ASSIGN(value.id, materialise_known(value, value.known.value()));
    }
  }
  return value.id;
}

Result<ValueId> Lowering::materialise_known(const ImportedValue& value, const Known& known) {
  const ElementType type = value.type.element_type;
  if (std::ranges::all_of(known.elements, &Scalar::is_number)) {
    std::byte* data = nullptr;
    WEIR_ASSIGN(Constant constant,
                Constant::allocate(byte_size(type, static_cast<int64_t>(known.elements.size())), data),
                "while making constant '{}'", value.name);
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
                  "Value '{}' of type ({}) mixes number ({}) and expressions of dimensions, and is read as "
                  "data, which takes whole numbers beside expressions.",
                  value.name, value.type.to_string(), *scalar.real);
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

}  // namespace weir::onnx_import
