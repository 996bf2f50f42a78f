// SPDX-License-Identifier: Apache-2.0
//
// The nodes of an ONNX graph in an order in which each follows what it reads.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"

namespace weir::onnx_import {

struct NodeOrder {
  std::vector<int> nodes;                  // positions in graph.node, only what the outputs need
  std::unordered_set<std::string> needed;  // names of values that a node of the list or an output reads
};

// The node's name, or its first output's where it has none.
std::string node_label(const onnx::NodeProto& node);

// All names that a node reads: its inputs and what its subgraphs take from outside.
std::vector<std::string_view> names_read(const onnx::NodeProto& node);

// Keeps the file's order where it is one. `is_defined` says whether a name comes from outside the nodes. A
// cycle, a value that is written twice and one that nothing writes are errors that name the nodes.
Result<NodeOrder> order_nodes(const onnx::GraphProto& graph,
                              const std::function<bool(std::string_view)>& is_defined);

}  // namespace weir::onnx_import
