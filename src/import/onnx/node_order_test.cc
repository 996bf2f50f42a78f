// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/node_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/testing/model_builder.h"

namespace weir::onnx_import {
namespace {

using ::testing::ElementsAre;
using weir::testing::ModelBuilder;

Result<NodeOrder> order_of(ModelBuilder& model) {
  return order_nodes(model.graph(), [](std::string_view name) { return name == "x"; });
}

std::string error_of(ModelBuilder& model) {
  const auto order = order_of(model);
  return order ? "ordered" : order.error().to_string();
}

TEST(NodeOrderTest, KeepsTheOrderOfTheFileWhereItIsOne) {
  ModelBuilder model(13);
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"x"}, {"b"});
  model.node("Add", {"a", "b"}, {"y"});
  model.output("y");
  EXPECT_THAT(order_of(model)->nodes, ElementsAre(0, 1, 2));
}

TEST(NodeOrderTest, SortsWhatIsNotAndLeavesOutWhatNothingReads) {
  ModelBuilder model(13);
  model.node("Add", {"b", "a"}, {"y"});
  model.node("Relu", {"a"}, {"b"});
  model.node("Relu", {"x"}, {"a"});
  model.node("Relu", {"a"}, {"unread"});
  model.output("y");
  const auto order = order_of(model);
  ASSERT_TRUE(order) << order.error().to_string();
  EXPECT_THAT(order->nodes, ElementsAre(2, 1, 0));
  EXPECT_TRUE(order->needed.contains("a"));
  EXPECT_FALSE(order->needed.contains("unread"));
}

TEST(NodeOrderTest, ReadsThroughSubgraphs) {
  ModelBuilder model(13);
  onnx::NodeProto& branch = model.node("If", {"x"}, {"y"});
  onnx::AttributeProto& body = *branch.add_attribute();
  body.set_name("then_branch");
  onnx::NodeProto& inner = *body.mutable_g()->add_node();
  inner.set_op_type("Add");
  inner.add_input("outer");
  inner.add_input("own");
  inner.add_output("t");
  body.mutable_g()->add_initializer()->set_name("own");
  body.mutable_g()->add_output()->set_name("t");
  model.node("Relu", {"x"}, {"outer"});
  model.output("y");
  EXPECT_THAT(order_of(model)->nodes, ElementsAre(1, 0));
}

TEST(NodeOrderTest, NamesTheNodesOfACycle) {
  ModelBuilder model(13);
  model.node("Relu", {"x"}, {"start"}, "outside");
  model.node("Add", {"c", "start"}, {"a"}, "first");
  model.node("Relu", {"a"}, {"b"}, "second");
  model.node("Relu", {"b"}, {"c"});
  model.output("b");
  EXPECT_EQ(error_of(model), "The nodes 'second', 'c', 'first' form a cycle, and a graph has none.");
}

TEST(NodeOrderTest, MissingAndDoubleValuesAreErrors) {
  ModelBuilder missing(13);
  missing.node("Add", {"x", "nothing"}, {"y"}, "sum");
  missing.output("y");
  EXPECT_EQ(error_of(missing), "Node 'sum' (Add) reads value 'nothing', which nothing writes.");
  ModelBuilder twice(13);
  twice.node("Relu", {"x"}, {"y"}, "one");
  twice.node("Abs", {"x"}, {"y"}, "other");
  twice.output("y");
  EXPECT_EQ(error_of(twice), "Value 'y' is written by node 'one' and by node 'other'.");
  ModelBuilder output(13);
  output.output("z");
  EXPECT_EQ(error_of(output), "Output 'z' of the model is written by no node.");
}

TEST(NodeOrderTest, LongChainsDoNotExhaustTheStack) {
  ModelBuilder model(13);
  constexpr int kNodes = 100'000;
  for (int i = kNodes; i > 0; --i) {
    model.node("Relu", {i == 1 ? "x" : fmt::format("v{}", i - 1)}, {fmt::format("v{}", i)});
  }
  model.output(fmt::format("v{}", kNodes));
  const auto order = order_of(model);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->nodes.size(), static_cast<size_t>(kNodes));
  EXPECT_EQ(order->nodes.front(), kNodes - 1);
}

}  // namespace
}  // namespace weir::onnx_import
