// SPDX-License-Identifier: Apache-2.0
#include "compile/order.h"

#include <algorithm>
#include <functional>

#include "compile/rewrite.h"

namespace weir {
namespace {

// The bytes of a dense tensor at these values of the symbols; nothing where they do not count.
std::optional<int64_t> bytes_at(const TensorType& type, std::span<const int64_t> symbols) {
  TensorType fixed{type.element_type, {}, {}};
  for (const Dim& dim : type.shape) {
    const Result<int64_t> extent = dim.evaluate(symbols);
    if (!extent || *extent < 0) {
      return std::nullopt;
    }
    fixed.shape.emplace_back(*extent);
  }
  return static_bytes(fixed);
}

// What scheduling has to know of a graph of known shapes: who depends on whom, and which memory each node
// reads and writes. Views share the memory of what they show; inputs, constants and outputs of the graph take
// none here.
class Schedule {
 public:
  Schedule(const Graph& graph, std::span<const int64_t> symbols)
      : graph_(graph), symbols_(symbols), order_(graph.order()) {}

  // False where a tensor has no size.
  bool build() {
    std::vector<int32_t> memory_of(static_cast<size_t>(graph_.value_count()), -1);
    nodes_.resize(order_.size());
    for (size_t i = 0; i < order_.size(); ++i) {
      const Node& node = graph_.node(order_[i]);
      for (ValueId input : node.inputs) {
        if (input != kNoValue) {
          depend(i, input);
          read(i, memory_of[static_cast<size_t>(input)]);
        }
      }
      for (ValueId output : node.outputs) {
        if (output == kNoValue) {
          continue;
        }
        position_of_[static_cast<size_t>(output)] = static_cast<int32_t>(i);
        if (is_view_op(node.op)) {
          memory_of[static_cast<size_t>(output)] = memory_of[static_cast<size_t>(node.inputs[0])];
          continue;
        }
        const std::optional<int64_t> bytes = bytes_at(graph_.value(output).type, symbols_);
        if (!bytes) {
          return false;
        }
        if (!graph_.is_output(output)) {
          memory_of[static_cast<size_t>(output)] = static_cast<int32_t>(memory_.size());
          nodes_[i].writes.push_back(static_cast<int32_t>(memory_.size()));
          memory_.push_back({*bytes, 0});
        }
      }
    }
    return true;
  }

  std::vector<NodeId> least_growth() const {
    std::vector<size_t> waits(nodes_.size());
    std::vector<int32_t> readers(memory_.size());
    for (size_t m = 0; m < memory_.size(); ++m) {
      readers[m] = memory_[m].readers;
    }
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      waits[i] = nodes_[i].producers.size();
      if (waits[i] == 0) {
        ready.push_back(i);
      }
    }
    std::vector<NodeId> order;
    while (!ready.empty()) {
      // The least growth; of equal ones the first in the model.
      auto best = ready.begin();
      int64_t least = growth(*best, readers);
      for (auto candidate = ready.begin() + 1; candidate != ready.end(); ++candidate) {
        const int64_t bytes = growth(*candidate, readers);
        if (bytes < least || (bytes == least && *candidate < *best)) {
          best = candidate;
          least = bytes;
        }
      }
      const size_t chosen = *best;
      ready.erase(best);
      order.push_back(order_[chosen]);
      for (int32_t memory : nodes_[chosen].reads) {
        --readers[static_cast<size_t>(memory)];
      }
      for (size_t consumer : nodes_[chosen].consumers) {
        if (--waits[consumer] == 0) {
          ready.push_back(consumer);
        }
      }
    }
    return order;
  }

  std::vector<NodeId> largest_need_first() const {
    // The most that lives while a node and all before it run, and what it leaves: exact for trees.
    std::vector<int64_t> need(nodes_.size());
    std::vector<int64_t> leaves(nodes_.size());
    std::vector<std::vector<size_t>> visits(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      visits[i] = nodes_[i].producers;
      std::ranges::stable_sort(visits[i], std::greater{}, [&](size_t p) { return need[p] - leaves[p]; });
      int64_t held = 0;
      for (size_t producer : visits[i]) {
        need[i] = std::max(need[i], held + need[producer]);
        held += leaves[producer];
      }
      for (int32_t memory : nodes_[i].writes) {
        leaves[i] += memory_[static_cast<size_t>(memory)].bytes;
      }
      need[i] = std::max(need[i], held + leaves[i]);
    }
    std::vector<NodeId> order;
    std::vector<bool> seen(nodes_.size());
    struct Visit {
      size_t node;
      size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto finish = [&](size_t root) {
      if (seen[root]) {
        return;
      }
      seen[root] = true;
      stack.push_back({root});
      while (!stack.empty()) {
        Visit& top = stack.back();
        if (top.next < visits[top.node].size()) {
          const size_t producer = visits[top.node][top.next++];
          if (!seen[producer]) {
            seen[producer] = true;
            stack.push_back({producer});
          }
          continue;
        }
        order.push_back(order_[top.node]);
        stack.pop_back();
      }
    };
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].consumers.empty()) {
        finish(i);
      }
    }
    return order;
  }

 private:
  struct Memory {
    int64_t bytes = 0;
    int32_t readers = 0;
  };
  struct Entry {
    std::vector<size_t> producers;  // each once
    std::vector<size_t> consumers;
    std::vector<int32_t> reads;  // each once
    std::vector<int32_t> writes;
  };

  void depend(size_t node, ValueId input) {
    const int32_t producer = position_of_[static_cast<size_t>(input)];
    std::vector<size_t>& producers = nodes_[node].producers;
    if (producer >= 0 && std::ranges::find(producers, static_cast<size_t>(producer)) == producers.end()) {
      producers.push_back(static_cast<size_t>(producer));
      nodes_[static_cast<size_t>(producer)].consumers.push_back(node);
    }
  }

  void read(size_t node, int32_t memory) {
    if (memory >= 0 && std::ranges::find(nodes_[node].reads, memory) == nodes_[node].reads.end()) {
      nodes_[node].reads.push_back(memory);
      ++memory_[static_cast<size_t>(memory)].readers;
    }
  }

  // Bytes that live more after the node than before it.
  int64_t growth(size_t node, const std::vector<int32_t>& readers) const {
    int64_t bytes = 0;
    for (int32_t memory : nodes_[node].writes) {
      bytes += memory_[static_cast<size_t>(memory)].bytes;
    }
    for (int32_t memory : nodes_[node].reads) {
      bytes -= readers[static_cast<size_t>(memory)] == 1 ? memory_[static_cast<size_t>(memory)].bytes : 0;
    }
    return bytes;
  }

  const Graph& graph_;
  std::span<const int64_t> symbols_;
  const std::vector<NodeId>& order_;
  std::vector<int32_t> position_of_ = std::vector<int32_t>(static_cast<size_t>(graph_.value_count()), -1);
  std::vector<Entry> nodes_;  // by position in the order
  std::vector<Memory> memory_;
};

}  // namespace

std::vector<std::vector<NodeId>> orders_for_memory(const Graph& graph, std::span<const int64_t> symbols) {
  std::vector<std::vector<NodeId>> orders;
  Schedule schedule(graph, symbols);
  if (symbols.size() != graph.symbols.size() || !schedule.build()) {
    return orders;
  }
  for (std::vector<NodeId> order : {schedule.least_growth(), schedule.largest_need_first()}) {
    if (order != graph.order() && std::ranges::find(orders, order) == orders.end()) {
      orders.push_back(std::move(order));
    }
  }
  return orders;
}

}  // namespace weir
