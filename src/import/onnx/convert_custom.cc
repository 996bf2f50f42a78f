// SPDX-License-Identifier: Apache-2.0
//
// Nodes of operators that a user registered.
#include <algorithm>
#include <cstring>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

// More belongs into an input, where it is a constant with a place in the plan.
constexpr size_t kMostTensorBytes = size_t{1} << 20;

Result<CustomAttribute> read_tensor(NodeLowering& node, const std::string& attribute,
                                    const onnx::TensorProto& tensor) {
  CustomAttribute own;
  own.kind = CustomAttribute::Kind::kTensor;
  WEIR_ASSIGN(const TensorType type, TensorReader::type_of(tensor));
  WEIR_ASSIGN(const Constant constant, node.lowering().reader().read(tensor));
  const std::span<const std::byte> bytes = constant.bytes();
  if (bytes.size() > kMostTensorBytes) {
    return node.unsupported(
        "Attribute '{}' is a tensor of ({}) bytes, and ({}) are the most; make it an input.", attribute,
        bytes.size(), kMostTensorBytes);
  }
  own.element_type = type.element_type;
  for (const Dim& dim : type.shape) {
    own.integers.push_back(dim.constant());
  }
  own.text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return own;
}

Result<CustomAttribute> read_attribute(NodeLowering& node, const onnx::AttributeProto& proto) {
  CustomAttribute own;
  switch (proto.type()) {
    case onnx::AttributeProto::INT:
      own.kind = CustomAttribute::Kind::kInteger;
      own.integers = {proto.i()};
      break;
    case onnx::AttributeProto::FLOAT:
      own.kind = CustomAttribute::Kind::kReal;
      own.reals = {static_cast<double>(proto.f())};
      break;
    case onnx::AttributeProto::STRING:
      own.kind = CustomAttribute::Kind::kText;
      own.text = proto.s();
      break;
    case onnx::AttributeProto::INTS:
      own.kind = CustomAttribute::Kind::kIntegers;
      own.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case onnx::AttributeProto::FLOATS:
      own.kind = CustomAttribute::Kind::kReals;
      own.reals.assign(proto.floats().begin(), proto.floats().end());
      break;
    case onnx::AttributeProto::TENSOR: {
      WEIR_ASSIGN(own, read_tensor(node, proto.name(), proto.t()));
      break;
    }
    default:
      return node.unsupported(
          "Attribute '{}' is of type ({}), and custom operators take integers, floating-point numbers, lists "
          "of them, a "
          "string or a tensor.",
          proto.name(), onnx::AttributeProto::AttributeType_Name(proto.type()));
  }
  own.name = proto.name();
  return own;
}

}  // namespace

Result<void> convert_custom(NodeLowering& node, std::string_view domain,
                            const std::shared_ptr<const CustomOperator>& op) {
  const CustomDescription& description = op->description();
  if (node.version() < description.first_opset || node.version() > description.last_opset) {
    return node.unsupported("Custom operator {} is registered for versions ({} to {}) of the operator set.",
                            op->full_name(), description.first_opset, description.last_opset);
  }
  CustomAttributes attributes;
  attributes.domain = domain;
  attributes.name = description.name;
  attributes.opset = node.version();
  attributes.version = description.version;
  attributes.outputs = node.proto().output_size();
  attributes.definition = op;
  for (const onnx::AttributeProto& proto : node.proto().attribute()) {
    WEIR_ASSIGN(CustomAttribute own, read_attribute(node, proto), "while reading attribute '{}'",
                proto.name());
    attributes.attributes.push_back(std::move(own));
  }
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < node.input_count(); ++i) {
    ValueId input = kNoValue;
    if (node.has(i)) {
      WEIR_ASSIGN(input, node.value(i), "while reading input ({})", i);
    }
    inputs.push_back(input);
  }
  WEIR_ASSIGN(const std::vector<ValueId> outputs,
              node.emit_all(Op::kCustom, std::move(attributes), std::move(inputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    node.set_output(i, outputs[i]);
  }
  node.set_origin(outputs[0], op->full_name());
  return {};
}

}  // namespace weir::onnx_import
