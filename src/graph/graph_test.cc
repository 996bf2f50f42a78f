// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorType f32(Dims shape) {
  return {ElementType::kFloat32, std::move(shape), {}};
}

Attributes unary(ScalarOp op) {
  TileProgram program({ElementType::kFloat32});
  program.append(op, {0});
  return ElementwiseAttributes{std::move(program)};
}

NodeId add_unary(Graph& graph, ScalarOp op, std::string_view name, ValueId input, NodeId before = kNoNode) {
  return graph.add_node(Op::kElementwise, name, unary(op), {input},
                        {NewValue{std::string(name) + ".y", graph.value(input).type}}, before);
}

struct Chain {
  Graph graph;
  ValueId x, a, b;
  NodeId first, second;
};

Chain make_chain() {
  Chain chain;
  chain.x = chain.graph.add_input("x", f32({2, 3}));
  chain.first = add_unary(chain.graph, ScalarOp::kExp, "first", chain.x);
  chain.a = chain.graph.node(chain.first).outputs[0];
  chain.second = add_unary(chain.graph, ScalarOp::kAbs, "second", chain.a);
  chain.b = chain.graph.node(chain.second).outputs[0];
  chain.graph.set_outputs({{"y", chain.b}});
  return chain;
}

TEST(ConstantTest, AllocatesZeroedAlignedBytes) {
  std::byte* writable = nullptr;
  const Constant constant = *Constant::allocate(5, writable);
  ASSERT_NE(writable, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(writable) % 64, 0u);
  EXPECT_EQ(constant.bytes().size(), 5u);
  for (std::byte byte : constant.bytes()) {
    EXPECT_EQ(byte, std::byte{0});
  }
}

TEST(ConstantTest, ViewKeepsItsOwnerAlive) {
  auto owner = std::make_shared<std::array<std::byte, 2>>();
  std::weak_ptr<std::array<std::byte, 2>> watch = owner;
  {
    const Constant constant = Constant::view(*owner, owner);
    EXPECT_EQ(constant.data(), owner->data());
    owner.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

TEST(ConstantTest, CopyIsIndependent) {
  std::array<std::byte, 3> bytes = {std::byte{1}, std::byte{2}, std::byte{3}};
  const Constant constant = Constant::copy(bytes);
  bytes[1] = std::byte{9};
  EXPECT_EQ(constant.bytes()[1], std::byte{2});
  EXPECT_EQ(Constant::copy({}).bytes().size(), 0u);
}

TEST(GraphTest, ChainIsOrderedAndVerified) {
  Chain chain = make_chain();
  EXPECT_THAT(chain.graph.order(), ElementsAre(chain.first, chain.second));
  EXPECT_EQ(chain.graph.value(chain.b).producer, chain.second);
  const auto verified = verify(chain.graph);
  EXPECT_TRUE(verified) << verified.error().to_string();
}

TEST(GraphTest, AddNodeBeforeAnotherAndReplaceUses) {
  Chain chain = make_chain();
  const NodeId between = add_unary(chain.graph, ScalarOp::kNeg, "between", chain.a, chain.second);
  EXPECT_THAT(chain.graph.order(), ElementsAre(chain.first, between, chain.second));
  const ValueId negated = chain.graph.node(between).outputs[0];
  chain.graph.node(chain.second).inputs[0] = negated;
  const std::vector<Graph::Use> uses = chain.graph.uses(chain.a);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].node, between);
  EXPECT_EQ(uses[0].operand, 0);
  EXPECT_TRUE(verify(chain.graph));

  chain.graph.replace_uses(chain.b, negated);
  EXPECT_EQ(chain.graph.outputs()[0].value, negated);
  EXPECT_TRUE(chain.graph.is_output(negated));
  EXPECT_FALSE(chain.graph.is_output(chain.b));
}

TEST(GraphTest, AllUsesListsEveryOperand) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4}));
  TileProgram program({ElementType::kFloat32, ElementType::kFloat32});
  program.append(ScalarOp::kAdd, {0, 1});
  const NodeId sum = graph.add_node(Op::kElementwise, "sum", ElementwiseAttributes{program}, {x, x},
                                    {NewValue{"y", f32({4})}});
  graph.set_outputs({{"y", graph.node(sum).outputs[0]}});
  const auto uses = graph.all_uses();
  ASSERT_EQ(uses[static_cast<size_t>(x)].size(), 2u);
  EXPECT_EQ(uses[static_cast<size_t>(x)][1].operand, 1);
  EXPECT_EQ(graph.uses(x).size(), 2u);
}

TEST(GraphTest, RemoveUnusedKeepsInputsAndDropsDeadChains) {
  Chain chain = make_chain();
  const ValueId spare = chain.graph.add_input("spare", f32({1}));
  const ValueId constant =
      chain.graph.add_constant("c", f32({1}), Constant::copy(std::array<std::byte, 4>{}));
  chain.graph.set_outputs({{"y", chain.a}});
  chain.graph.remove_unused();
  EXPECT_THAT(chain.graph.order(), ElementsAre(chain.first));
  EXPECT_TRUE(chain.graph.node(chain.second).dead);
  EXPECT_TRUE(chain.graph.value(chain.b).dead);
  EXPECT_TRUE(chain.graph.value(constant).dead);
  EXPECT_FALSE(chain.graph.value(spare).dead);
  EXPECT_TRUE(verify(chain.graph));
}

TEST(GraphTest, RemoveUnusedMakesUnreadLstmOutputsAbsent) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({5, 2, 3}));
  const ValueId w = graph.add_input("w", f32({1, 16, 3}));
  const ValueId r = graph.add_input("r", f32({1, 16, 4}));
  LstmAttributes attributes;
  attributes.hidden_size = 4;
  const NodeId lstm = graph.add_node(
      Op::kLstm, "lstm", attributes, {x, w, r},
      {NewValue{"y", f32({5, 1, 2, 4})}, NewValue{"h", f32({1, 2, 4})}, NewValue{"c", f32({1, 2, 4})}});
  graph.set_outputs({{"h", graph.node(lstm).outputs[1]}});
  ASSERT_TRUE(verify(graph));
  graph.remove_unused();
  EXPECT_EQ(graph.node(lstm).outputs[0], kNoValue);
  EXPECT_NE(graph.node(lstm).outputs[1], kNoValue);
  EXPECT_EQ(graph.node(lstm).outputs[2], kNoValue);
  EXPECT_TRUE(verify(graph));
}

TEST(GraphTest, DescNamesTypesAndConstants) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 2, 8, 8}));
  const ValueId w = graph.add_constant("w", f32({4, 2, 1, 1}), Constant::copy(std::array<std::byte, 32>{}));
  ConvAttributes attributes;
  attributes.strides = attributes.dilations = {1, 1};
  attributes.pads_begin = attributes.pads_end = {0, 0};
  const NodeId conv =
      graph.add_node(Op::kConv, "conv", attributes, {x, w, kNoValue}, {NewValue{"y", f32({1, 4, 8, 8})}});
  graph.set_outputs({{"y", graph.node(conv).outputs[0]}});
  ASSERT_TRUE(verify(graph)) << verify(graph).error().to_string();
  const OpDesc desc = graph.desc(conv);
  EXPECT_EQ(desc.op, Op::kConv);
  EXPECT_THAT(desc.constant, ElementsAre(false, true, false));
  EXPECT_EQ(desc.inputs[2], nullptr);
  EXPECT_EQ(desc.outputs[0]->to_string(), "float32[1, 4, 8, 8]");
}

TEST(PrinterTest, PrintsALineANode) {
  Chain chain = make_chain();
  chain.graph.name = "chain";
  chain.graph.node(chain.first).origin = "Exp";
  const std::string text = to_string(chain.graph);
  EXPECT_THAT(text, HasSubstr("graph 'chain'\ninput x: float32[2, 3]\n"));
  EXPECT_THAT(text, HasSubstr("first.y: float32[2, 3] = Elementwise(x)"));
  EXPECT_THAT(text, HasSubstr("# 'first', Exp\n"));
  EXPECT_THAT(text, HasSubstr("output y = second.y: float32[2, 3]\n"));
}

}  // namespace
}  // namespace weir
