// SPDX-License-Identifier: Apache-2.0
//
// An ONNX model as a Graph.
//
//   ImportOptions options;
//   WEIR_ASSIGN(auto batch, parse_dim_override("batch=1..8"));
//   options.dims.push_back(batch);
//   WEIR_ASSIGN(Graph graph, import_onnx("model.onnx", options));
//
// Weights stay in the mapped file, which the graph keeps open. Shape arithmetic of the model becomes
// expressions. Nodes that can't be imported are collected and reported in one error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/trace.h"
#include "graph/graph.h"
#include "op/custom_operator.h"

namespace weir {

// A node that cannot be imported, of an operator or a form of one that is not supported.
struct UnsupportedNode {
  std::string op;
  std::string domain;
  int64_t version = 0;
  std::string name;
  std::string reason;    // a sentence
  bool unknown = false;  // the operator itself, not only the form
};

struct Unsupported {
  std::vector<UnsupportedNode> nodes;  // all, in the model's order
  size_t unexamined = 0;               // of supported operators that depend on these
};

struct ImportOptions {
  // Dimensions by the names that the model gives them, or those that it does not name by the "dim0", "dim1",
  // … that the graph shows for them; a range of one number makes it static.
  std::vector<std::pair<std::string, Range>> dims;
  // Shapes of inputs (an empty name: the only input), one entry an axis; nothing keeps what the model says. A
  // name that the model gives to an axis takes the range wherever it stands.
  std::vector<std::pair<std::string, std::vector<std::optional<Range>>>> shapes;
  // Integer inputs of static shape whose elements may be sizes: they become symbols.
  std::vector<std::string> shape_inputs;
  // Constants by name whose elements nothing may depend on but at run time, so that a session can give them
  // other values. One that a shape or an attribute follows from is an error.
  std::vector<std::string> swappable;
  // Takes what is not supported, where an import fails for that: the error lists only the first. Null:
  // nothing.
  Unsupported* unsupported = nullptr;
  Tracer* trace = nullptr;
  // Operators that users registered; they go before Weir's own. Null: none.
  std::shared_ptr<const CustomOperators> operators;
};

// Dimensions that the model leaves open take this range.
inline constexpr Range kOpenDim = {1, kDimMax};

Result<Graph> import_onnx(const std::string& path, const ImportOptions& options = {});
// From memory, which `owner` keeps alive as long as the graph's constants live. Without a folder, so without
// external data.
Result<Graph> import_onnx(std::span<const std::byte> model, std::shared_ptr<const void> owner,
                          const ImportOptions& options = {});

// "batch=4", "seq=1..512".
Result<std::pair<std::string, Range>> parse_dim_override(std::string_view text);
// "x=1x3x224x224", "x=1..8x3x?x?"; '?' keeps the model's dimension, "x=" is a scalar.
Result<std::pair<std::string, std::vector<std::optional<Range>>>> parse_shape_override(std::string_view text);

}  // namespace weir
