// SPDX-License-Identifier: Apache-2.0
#include "compile/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace weir {
namespace {

// Nodes that say no more than what they read and how many bytes they write: float vectors.
class OrderedGraph {
 public:
  Graph graph;

  ValueId add(std::vector<ValueId> inputs, int64_t bytes) {
    const std::string name = "v" + std::to_string(graph.value_count());
    const NodeId id = graph.add_node(Op::kElementwise, name, {}, std::move(inputs),
                                     {NewValue{name, {ElementType::kFloat32, {Dim(bytes / 4)}, {}}}});
    return graph.node(id).outputs[0];
  }
};

// The most bytes that live at once, counted naively: every result but the graph's outputs from its node to
// its last reader.
int64_t peak_of(const Graph& graph, const std::vector<NodeId>& order) {
  int64_t most = 0;
  for (size_t now = 0; now < order.size(); ++now) {
    int64_t live = 0;
    for (size_t i = 0; i <= now; ++i) {
      const ValueId value = graph.node(order[i]).outputs[0];
      size_t last = i;
      for (size_t j = i; j < order.size(); ++j) {
        if (std::ranges::count(graph.node(order[j]).inputs, value) > 0) {
          last = j;
        }
      }
      if (last >= now && !graph.is_output(value)) {
        live += graph.value(value).type.shape[0].constant() * 4;
      }
    }
    most = std::max(most, live);
  }
  return most;
}

void expect_valid(const Graph& graph, const std::vector<NodeId>& order) {
  EXPECT_THAT(order, testing::UnorderedElementsAreArray(graph.order()));
  std::set<ValueId> known(graph.inputs().begin(), graph.inputs().end());
  for (NodeId id : order) {
    for (ValueId input : graph.node(id).inputs) {
      EXPECT_TRUE(known.contains(input));
    }
    known.insert(graph.node(id).outputs[0]);
  }
}

int64_t best_of(const Graph& graph) {
  int64_t best = peak_of(graph, graph.order());
  for (const std::vector<NodeId>& order : orders_for_memory(graph)) {
    expect_valid(graph, order);
    best = std::min(best, peak_of(graph, order));
  }
  return best;
}

TEST(OrdersForMemory, FinishABranchBeforeTheNext) {
  OrderedGraph g;
  const ValueId x = g.graph.add_input("x", {ElementType::kFloat32, {Dim(16)}, {}});
  std::vector<ValueId> wide;
  for (int i = 0; i < 4; ++i) {
    wide.push_back(g.add({x}, 4096));
  }
  std::vector<ValueId> narrow;
  for (ValueId value : wide) {
    narrow.push_back(g.add({value}, 64));
  }
  g.graph.set_outputs({{"y", g.add(narrow, 64)}});
  EXPECT_EQ(peak_of(g.graph, g.graph.order()), 4 * 4096 + 64);
  EXPECT_EQ(best_of(g.graph), 4096 + 4 * 64);  // one wide result and the narrow ones
}

TEST(OrdersForMemory, AreNoneForAChainOrWithoutSizes) {
  OrderedGraph chain;
  ValueId last = chain.graph.add_input("x", {ElementType::kFloat32, {Dim(16)}, {}});
  for (int i = 0; i < 5; ++i) {
    last = chain.add({last}, 64 << i);
  }
  chain.graph.set_outputs({{"y", last}});
  EXPECT_THAT(orders_for_memory(chain.graph), testing::IsEmpty());
  OrderedGraph open;
  const Dim n = open.graph.symbols.add("n", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0});
  const ValueId x = open.graph.add_input("x", {ElementType::kFloat32, {n}, {}});
  const ValueId a = open.add({x}, 64);
  const ValueId b = open.add({x}, 64);
  open.graph.set_outputs({{"y", open.add({b, a}, 64)}});
  EXPECT_THAT(orders_for_memory(open.graph), testing::IsEmpty());
}

// Two branches of which the wide one is to go first: how wide they are depends on a dimension.
TEST(OrdersForMemory, TakeTheSizesAtTheGivenValues) {
  OrderedGraph g;
  const Dim n = g.graph.symbols.add("n", {1, 4096}, {SymbolSource::Kind::kDimension, 0, 0});
  const ValueId x = g.graph.add_input("x", {ElementType::kFloat32, {n}, {}});
  const auto add = [&](std::vector<ValueId> inputs, const Dim& count) {
    const std::string name = "v" + std::to_string(g.graph.value_count());
    const NodeId id = g.graph.add_node(Op::kElementwise, name, {}, std::move(inputs),
                                       {NewValue{name, {ElementType::kFloat32, {count}, {}}}});
    return g.graph.node(id).outputs[0];
  };
  const ValueId a = add({x}, Dim(1024));
  const ValueId b = add({x}, n);
  const ValueId after_a = add({a}, Dim(1));
  const ValueId after_b = add({b}, Dim(1));
  g.graph.set_outputs({{"y", add({after_a, after_b}, Dim(1))}});
  const auto first = [&](int64_t value) {
    const std::vector<int64_t> symbols = {value};
    const auto orders = orders_for_memory(g.graph, symbols);
    return orders.empty() ? kNoValue : g.graph.node(orders[0].front()).outputs[0];
  };
  EXPECT_EQ(first(1), b);
  EXPECT_EQ(first(4096), a);
}

// Trees, whose least peak an exhaustive search over all orders finds.
TEST(OrdersForMemory, AreOptimalForSmallTrees) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    OrderedGraph g;
    const ValueId x = g.graph.add_input("x", {ElementType::kFloat32, {Dim(16)}, {}});
    std::vector<ValueId> loose;
    for (int i = 0; i < 3; ++i) {
      loose.push_back(g.add({x}, 64 << (random() % 6)));
    }
    for (int i = 0; i < 3; ++i) {
      const size_t at = random() % loose.size();
      loose[at] = g.add({loose[at]}, 64 << (random() % 6));
    }
    g.graph.set_outputs({{"y", g.add(loose, 64)}});
    std::vector<NodeId> order = g.graph.order();
    std::ranges::sort(order);
    int64_t least = INT64_MAX;
    do {
      std::map<ValueId, bool> known = {{x, true}};
      const bool valid = std::ranges::all_of(order, [&](NodeId id) {
        known[g.graph.node(id).outputs[0]] = true;
        return std::ranges::all_of(g.graph.node(id).inputs,
                                   [&](ValueId input) { return known.contains(input); });
      });
      if (valid) {
        least = std::min(least, peak_of(g.graph, order));
      }
    } while (std::ranges::next_permutation(order).found);
    // Sethi and Ullman's order is the best of those that finish one operand before the next, which is not
    // always the best of all: a chain may pause where it is narrow.
    EXPECT_LE(best_of(g.graph), least * 5 / 4) << "round " << round;
  }
}

}  // namespace
}  // namespace weir
