// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_order.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace weir::onnx_import {
namespace {

void append_names_read(const onnx::NodeProto& node, std::vector<std::string_view>& names);

// What the nodes of a subgraph read that the subgraph does not define itself.
void append_captured(const onnx::GraphProto& graph, std::vector<std::string_view>& names) {
  std::unordered_set<std::string_view> defined;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    defined.insert(input.name());
  }
  for (const onnx::TensorProto& initializer : graph.initializer()) {
    defined.insert(initializer.name());
  }
  std::vector<std::string_view> read;
  for (const onnx::NodeProto& node : graph.node()) {
    append_names_read(node, read);
    defined.insert(node.output().begin(), node.output().end());
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    read.push_back(output.name());
  }
  for (std::string_view name : read) {
    if (!defined.contains(name)) {
      names.push_back(name);
    }
  }
}

// Recursion is as deep as graphs nest, which the scan of the file bounds.
void append_names_read(const onnx::NodeProto& node, std::vector<std::string_view>& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) {
      names.push_back(input);
    }
  }
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      append_captured(attribute.g(), names);
    }
    for (const onnx::GraphProto& graph : attribute.graphs()) {
      append_captured(graph, names);
    }
  }
}

class Ordering {
 public:
  Ordering(const onnx::GraphProto& graph, const std::function<bool(std::string_view)>& is_defined)
      : graph_(graph), is_defined_(is_defined) {}

  Result<NodeOrder> run() {
    WEIR_TRY(find_producers());
    WEIR_TRY(find_predecessors());
    WEIR_TRY(find_needed());
    WEIR_TRY(sort());
    return std::move(order_);
  }

 private:
  Result<void> find_producers() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& output : graph_.node(i).output()) {
        if (output.empty()) {
          continue;
        }
        const auto [place, added] = producers_.emplace(output, i);
        if (!added) {
          return fail(StatusCode::kInvalidArgument, "Value '{}' is written by node '{}' and by node '{}'.",
                      output, node_label(graph_.node(place->second)), node_label(graph_.node(i)));
        }
      }
    }
    return {};
  }

  Result<void> find_predecessors() {
    predecessors_.resize(static_cast<size_t>(graph_.node_size()));
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (std::string_view name : names_read(graph_.node(i))) {
        if (const auto producer = producers_.find(name); producer != producers_.end()) {
          predecessors_[static_cast<size_t>(i)].push_back(producer->second);
        } else if (!is_defined_(name)) {
          return fail(StatusCode::kInvalidArgument, "Node '{}' ({}) reads value '{}', which nothing writes.",
                      node_label(graph_.node(i)), graph_.node(i).op_type(), name);
        }
      }
    }
    return {};
  }

  Result<void> find_needed() {
    is_needed_.assign(static_cast<size_t>(graph_.node_size()), false);
    std::vector<int> stack;
    const auto need = [&](int node) {
      if (!is_needed_[static_cast<size_t>(node)]) {
        is_needed_[static_cast<size_t>(node)] = true;
        stack.push_back(node);
      }
    };
    for (const onnx::ValueInfoProto& output : graph_.output()) {
      order_.needed.insert(output.name());
      if (const auto producer = producers_.find(output.name()); producer != producers_.end()) {
        need(producer->second);
      } else if (!is_defined_(output.name())) {
        return fail(StatusCode::kInvalidArgument, "Output '{}' of the model is written by no node.",
                    output.name());
      }
    }
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      for (std::string_view name : names_read(graph_.node(node))) {
        order_.needed.emplace(name);
      }
      for (int predecessor : predecessors_[static_cast<size_t>(node)]) {
        need(predecessor);
      }
    }
    return {};
  }

  // Repeatedly takes the first node of the file whose predecessors have been taken.
  Result<void> sort() {
    const size_t count = predecessors_.size();
    std::vector<int> waiting(count, 0);
    std::vector<std::vector<int>> successors(count);
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    int needed = 0;
    for (size_t i = 0; i < count; ++i) {
      if (!is_needed_[i]) {
        continue;
      }
      ++needed;
      waiting[i] = static_cast<int>(predecessors_[i].size());
      for (int predecessor : predecessors_[i]) {
        successors[static_cast<size_t>(predecessor)].push_back(static_cast<int>(i));
      }
      if (waiting[i] == 0) {
        ready.push(static_cast<int>(i));
      }
    }
    while (!ready.empty()) {
      const int node = ready.top();
      ready.pop();
      order_.nodes.push_back(node);
      for (int successor : successors[static_cast<size_t>(node)]) {
        if (--waiting[static_cast<size_t>(successor)] == 0) {
          ready.push(successor);
        }
      }
    }
    if (static_cast<int>(order_.nodes.size()) != needed) {
      return cycle(waiting);
    }
    return {};
  }

  // Follows waiting predecessors from a waiting node until one repeats.
  std::unexpected<Status> cycle(const std::vector<int>& waiting) const {
    const auto is_waiting = [&waiting](int node) { return waiting[static_cast<size_t>(node)] > 0; };
    int node = static_cast<int>(std::ranges::find_if(waiting, [](int w) { return w > 0; }) - waiting.begin());
    std::vector<int> path;
    while (std::ranges::find(path, node) == path.end()) {
      path.push_back(node);
      const std::vector<int>& before = predecessors_[static_cast<size_t>(node)];
      node = *std::ranges::find_if(before, is_waiting);
    }
    path.erase(path.begin(), std::ranges::find(path, node));
    std::vector<std::string> labels;
    for (int member : path) {
      labels.push_back(fmt::format("'{}'", node_label(graph_.node(member))));
    }
    std::ranges::reverse(labels);
    constexpr size_t kMostNamed = 10;
    const size_t rest = labels.size() > kMostNamed ? labels.size() - kMostNamed : 0;
    labels.resize(labels.size() - rest);
    return fail(StatusCode::kInvalidArgument, "The nodes {} {}form a cycle, and a graph has none.",
                fmt::join(labels, ", "), rest > 0 ? fmt::format("and ({}) more ", rest) : "");
  }

  const onnx::GraphProto& graph_;
  const std::function<bool(std::string_view)>& is_defined_;
  std::unordered_map<std::string_view, int> producers_;
  std::vector<std::vector<int>> predecessors_;
  std::vector<bool> is_needed_;
  NodeOrder order_;
};

}  // namespace

std::string node_label(const onnx::NodeProto& node) {
  if (!node.name().empty()) {
    return node.name();
  }
  for (const std::string& output : node.output()) {
    if (!output.empty()) {
      return output;
    }
  }
  return node.op_type();
}

std::vector<std::string_view> names_read(const onnx::NodeProto& node) {
  std::vector<std::string_view> names;
  append_names_read(node, names);
  return names;
}

Result<NodeOrder> order_nodes(const onnx::GraphProto& graph,
                              const std::function<bool(std::string_view)>& is_defined) {
  return Ordering(graph, is_defined).run();
}

}  // namespace weir::onnx_import
