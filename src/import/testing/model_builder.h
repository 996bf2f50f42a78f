// SPDX-License-Identifier: Apache-2.0
//
// Small ONNX models for tests.
//
//   ModelBuilder model(13);
//   model.input("x", onnx::TensorProto::FLOAT, {"batch", "3"});
//   model.floats("w", {3}, {1, 2, 3});
//   model.node("Add", {"x", "w"}, {"y"});
//   model.output("y");
//   Result<Graph> graph = model.import();
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "import/onnx/import.h"

namespace weir::testing {

class ModelBuilder {
 public:
  explicit ModelBuilder(int64_t opset);

  onnx::ModelProto& proto() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  // A dimension is a number, or a name as the file has it; "" leaves it out.
  ModelBuilder& input(const std::string& name, int32_t type, const std::vector<std::string>& dims);
  ModelBuilder& output(const std::string& name);
  // The node's name is `name`, or else empty. The node may be changed until the next one is added.
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, const std::string& name = "");
  // Initialisers, with raw_data.
  ModelBuilder& floats(const std::string& name, const std::vector<int64_t>& dims,
                       const std::vector<float>& elements);
  ModelBuilder& int64s(const std::string& name, const std::vector<int64_t>& dims,
                       const std::vector<int64_t>& elements);

  std::string bytes() const { return model_.SerializeAsString(); }
  Result<Graph> import(const ImportOptions& options = {}) const;

 private:
  onnx::ModelProto model_;
};

void set_integer(onnx::NodeProto& node, const std::string& name, int64_t value);
void set_integers(onnx::NodeProto& node, const std::string& name, const std::vector<int64_t>& values);
void set_real(onnx::NodeProto& node, const std::string& name, float value);
void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value);
onnx::TensorProto float_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<float>& elements);
onnx::TensorProto int64_tensor(const std::string& name, const std::vector<int64_t>& dims,
                               const std::vector<int64_t>& elements);

// Imports bytes that the graph keeps alive.
Result<Graph> import_bytes(std::string bytes, const ImportOptions& options = {});

// The error's text with its context; "imported" where there is none.
std::string error_of(const Result<Graph>& graph);

// The only node of the graph with this operator; null where there is none or more than one.
const Node* only_node(const Graph& graph, Op op);

}  // namespace weir::testing
