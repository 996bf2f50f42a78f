// SPDX-License-Identifier: Apache-2.0
#include "import/testing/model_builder.h"

#include <charconv>
#include <span>

namespace weir::testing {
namespace {

onnx::AttributeProto& add_attribute(onnx::NodeProto& node, const std::string& name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

template <typename T>
onnx::TensorProto tensor_of(const std::string& name, int32_t type, const std::vector<int64_t>& dims,
                            const std::vector<T>& elements) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(elements.data(), elements.size() * sizeof(T));
  return tensor;
}

}  // namespace

ModelBuilder::ModelBuilder(int64_t opset) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

ModelBuilder& ModelBuilder::input(const std::string& name, int32_t type,
                                  const std::vector<std::string>& dims) {
  onnx::ValueInfoProto& value = *graph().add_input();
  value.set_name(name);
  onnx::TypeProto_Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& dim : dims) {
    onnx::TensorShapeProto_Dimension& added = *tensor.mutable_shape()->add_dim();
    int64_t number = 0;
    const auto [end, error] = std::from_chars(dim.data(), dim.data() + dim.size(), number);
    if (error == std::errc() && end == dim.data() + dim.size()) {
      added.set_dim_value(number);
    } else if (!dim.empty()) {
      added.set_dim_param(dim);
    }
  }
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

onnx::NodeProto& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                    const std::vector<std::string>& outputs, const std::string& name) {
  onnx::NodeProto& added = *graph().add_node();
  added.set_op_type(op);
  added.set_name(name);
  added.mutable_input()->Add(inputs.begin(), inputs.end());
  added.mutable_output()->Add(outputs.begin(), outputs.end());
  return added;
}

ModelBuilder& ModelBuilder::floats(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::vector<float>& elements) {
  *graph().add_initializer() = float_tensor(name, dims, elements);
  return *this;
}

ModelBuilder& ModelBuilder::int64s(const std::string& name, const std::vector<int64_t>& dims,
                                   const std::vector<int64_t>& elements) {
  *graph().add_initializer() = int64_tensor(name, dims, elements);
  return *this;
}

Result<Graph> ModelBuilder::import(const ImportOptions& options) const {
  return import_bytes(bytes(), options);
}

void set_integer(onnx::NodeProto& node, const std::string& name, int64_t value) {
  add_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_integers(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  add_attribute(node, name, onnx::AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
}

void set_real(onnx::NodeProto& node, const std::string& name, float value) {
  add_attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  add_attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}

onnx::TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<float>& elements) {
  return tensor_of(name, onnx::TensorProto::FLOAT, dims, elements);
}

onnx::TensorProto int64_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& elements) {
  return tensor_of(name, onnx::TensorProto::INT64, dims, elements);
}

Result<Graph> import_bytes(std::string bytes, const ImportOptions& options) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return import_onnx(std::as_bytes(std::span(owner->data(), owner->size())), owner, options);
}

std::string error_of(const Result<Graph>& graph) {
  return graph ? "imported" : graph.error().to_string();
}

const Node* only_node(const Graph& graph, Op op) {
  const Node* found = nullptr;
  for (NodeId id : graph.order()) {
    if (graph.node(id).op == op) {
      if (found != nullptr) {
        return nullptr;
      }
      found = &graph.node(id);
    }
  }
  return found;
}

}  // namespace weir::testing
