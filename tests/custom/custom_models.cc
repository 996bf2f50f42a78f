// SPDX-License-Identifier: Apache-2.0
#include "custom_models.h"

#include <fstream>

#include "api/model.h"
#include "api_runtime/handles.h"
#include "import/testing/model_builder.h"

namespace custom_models {

namespace testing = weir::testing;

void write(const Model& model, const std::string& path) {
  testing::ModelBuilder builder(13);
  builder.graph().set_name("custom");
  if (model.opset > 0) {
    onnx::OperatorSetIdProto* set = builder.proto().add_opset_import();
    set->set_domain(model.domain);
    set->set_version(model.opset);
  }
  builder.input("x", onnx::TensorProto::FLOAT, model.dims);
  std::string operand = "x";
  if (model.doubled) {
    builder.node("Add", {"x", "x"}, {"xx"}, "double");
    operand = "xx";
  }
  if (model.transposed) {
    testing::set_integers(builder.node("Transpose", {operand}, {"turned"}, "turn"), "perm", {1, 0});
    operand = "turned";
  }
  std::vector<std::string> inputs = {operand};
  if (model.absent_input) {
    builder.floats("w", {4}, {1, 2, 3, 4});
    inputs.insert(inputs.end(), {"", "w"});
  }
  std::vector<std::string> outputs = {model.relu ? "raw" : "y"};
  for (int i = 1; i < model.outputs; ++i) {
    outputs.push_back("extra" + std::to_string(i));
  }
  onnx::NodeProto& node = builder.node(model.op, inputs, outputs, "probe");
  node.set_domain(model.domain);
  for (const auto& [name, value] : model.integers) {
    testing::set_integer(node, name, value);
  }
  for (const auto& [name, value] : model.reals) {
    testing::set_real(node, name, value);
  }
  for (const auto& [name, value] : model.texts) {
    testing::set_text(node, name, value);
  }
  if (model.all_kinds) {
    testing::set_integer(node, "i", -7);
    testing::set_real(node, "f", 0.5F);
    testing::set_text(node, "s", "some text");
    testing::set_integers(node, "is", {3, -1, 4});
    onnx::AttributeProto& reals = *node.add_attribute();
    reals.set_name("fs");
    reals.set_type(onnx::AttributeProto::FLOATS);
    reals.add_floats(1.5F);
    reals.add_floats(-2.25F);
    onnx::AttributeProto& tensor = *node.add_attribute();
    tensor.set_name("t");
    tensor.set_type(onnx::AttributeProto::TENSOR);
    *tensor.mutable_t() = testing::int64_tensor("t", {2, 2}, {10, 20, 30, 40});
  }
  if (model.graph_attribute) {
    onnx::AttributeProto& body = *node.add_attribute();
    body.set_name("body");
    body.set_type(onnx::AttributeProto::GRAPH);
    body.mutable_g()->set_name("body");
  }
  if (model.relu) {
    builder.node("Relu", {"raw"}, {"y"}, "relu");
  }
  builder.output("y");
  for (int i = 1; i < model.outputs; ++i) {
    builder.output("extra" + std::to_string(i));
  }
  std::ofstream(path, std::ios::binary) << builder.bytes();
}

std::string compile(const std::string& model, const std::string& program, const weir_runtime* runtime) {
  weir::ModelOptions options;
  options.operators = runtime->operators();
  const auto compiled = weir::compile_model(model, program, options);
  return compiled ? "" : compiled.error().to_string();
}

}  // namespace custom_models
