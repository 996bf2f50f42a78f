// SPDX-License-Identifier: Apache-2.0
//
// Every way in which a graph can contradict itself, and what is said of it, word by word.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/testing/results.h"
#include "graph/graph.h"

namespace weir {
namespace {

TensorType f32(Dims shape) {
  return {ElementType::kFloat32, std::move(shape), {}};
}

// x, then 'first' (a), then 'second' (b), which is output y.
struct Chain {
  Graph graph;
  ValueId x, a, b;
  NodeId first, second;

  Chain() {
    graph.name = "g";
    x = graph.add_input("x", f32({2, 3}));
    first = add("first", x, "a");
    a = graph.node(first).outputs[0];
    second = add("second", a, "b");
    b = graph.node(second).outputs[0];
    graph.set_outputs({{"y", b}});
  }

  NodeId add(std::string_view name, ValueId input, std::string output) {
    TileProgram program({ElementType::kFloat32});
    program.append(ScalarOp::kExp, {0});
    return graph.add_node(Op::kElementwise, name, ElementwiseAttributes{std::move(program)}, {input},
                          {NewValue{std::move(output), f32({2, 3})}});
  }
};

struct Damage {
  const char* name;
  void (*make)(Chain& chain);
  const char* error;
};

const Damage kDamages[] = {
    {"AnOpenConstant",
     [](Chain& chain) {
       const Dim n = chain.graph.symbols.add("n", {1, 4}, {SymbolSource::Kind::kDimension, 0, 0});
       chain.graph.add_constant("c", f32({n}), Constant::copy(std::array<std::byte, 4>{}));
     },
     "Constant 'c' has type (float32[n]), and its dimensions are to be numbers."},
    {"AShortConstant",
     [](Chain& chain) {
       chain.graph.add_constant("c", f32({2}), Constant::copy(std::array<std::byte, 4>{}));
     },
     "Constant 'c' of type (float32[2]) has (4) bytes."},
    {"AnElementTypeThatIsNone",
     [](Chain& chain) { chain.graph.value(chain.x).type.element_type = static_cast<ElementType>(200); },
     "Value 'x' (id 0) has no valid type."},
    {"TooManyAxes", [](Chain& chain) { chain.graph.value(chain.x).type.shape = Dims(kMaxRank + 1, 1); },
     "Value 'x' (id 0) has no valid type."},
    {"StridesOfAnotherRank", [](Chain& chain) { chain.graph.value(chain.x).type.strides = {1}; },
     "Value 'x' (id 0) has (1) strides and rank (2)."},
    {"ElementsOfAnotherCount", [](Chain& chain) { chain.graph.value(chain.x).elements = Dims{1, 2}; },
     "Value 'x' (id 0) of type (float32[2, 3]) has (2) known elements."},
    {"AValueWithoutSource", [](Chain& chain) { chain.graph.value(chain.x).input = -1; },
     "Value 'x' (id 0) has (0) sources of node, input and constant, and it takes one."},
    {"AValueWithTwoSources",
     [](Chain& chain) { chain.graph.value(chain.x).constant = Constant::copy(std::array<std::byte, 24>{}); },
     "Value 'x' (id 0) has (2) sources of node, input and constant, and it takes one."},
    {"AnOperandThatIsNotThere", [](Chain& chain) { chain.graph.node(chain.second).inputs[0] = 99; },
     "Elementwise 'second' reads value (99) as operand (0), which does not exist.\n  - while verifying graph "
     "'g'"},
    {"AReadBeforeTheWrite", [](Chain& chain) { chain.graph.set_order({chain.second, chain.first}); },
     "Elementwise 'second' reads value 'a' (id 1) before it is written.\n  - while verifying graph 'g'"},
    {"AnOutputOfAnotherNode", [](Chain& chain) { chain.graph.value(chain.b).producer_output = 1; },
     "Elementwise 'second' has output (0), value (2), which does not name it as its producer.\n"
     "  - while verifying graph 'g'"},
    {"NoOutput", [](Chain& chain) { chain.graph.node(chain.second).outputs = {kNoValue}; },
     "Elementwise 'second' has no output.\n  - while verifying graph 'g'"},
    {"AnOutputTooMany", [](Chain& chain) { chain.graph.node(chain.second).outputs.push_back(kNoValue); },
     "Elementwise 'second' has (2) outputs, and its operator gives (1).\n  - while verifying graph 'g'"},
    {"AnotherType", [](Chain& chain) { chain.graph.value(chain.b).type.shape = {3, 3}; },
     "Elementwise 'second' has output (0) of type (float32[3, 3]), and inference gives (float32[2, 3]).\n"
     "  - while verifying graph 'g'"},
    {"AnOrderThatNamesANodeTwice",
     [](Chain& chain) { chain.graph.set_order({chain.first, chain.second, chain.first}); },
     "The order of graph 'g' names node (0) that is dead, twice there or does not exist."},
    {"AnOrderThatNamesNoNode", [](Chain& chain) { chain.graph.set_order({chain.first, 7}); },
     "The order of graph 'g' names node (7) that is dead, twice there or does not exist."},
    {"AnOrderWithoutANode", [](Chain& chain) { chain.graph.set_order({chain.first}); },
     "Node 'second' of graph 'g' is not in its order."},
    {"AnOutputWithoutValue", [](Chain& chain) { chain.graph.set_outputs({{"y", 99}}); },
     "Output 'y' of graph 'g' has no value."},
    {"TwoOutputsOfOneName", [](Chain& chain) { chain.graph.set_outputs({{"y", chain.a}, {"y", chain.b}}); },
     "Graph 'g' has two outputs of name 'y'."},
};

class GraphVerify : public ::testing::TestWithParam<Damage> {};

TEST_P(GraphVerify, NamesWhatIsBroken) {
  Chain chain;
  ASSERT_TRUE(verify(chain.graph));
  GetParam().make(chain);
  EXPECT_ERROR(verify(chain.graph), StatusCode::kInternal, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(All, GraphVerify, ::testing::ValuesIn(kDamages),
                         [](const ::testing::TestParamInfo<Damage>& damage) { return damage.param.name; });

TEST(GraphVerifyTest, ChecksAttributes) {
  Chain chain;
  chain.graph.node(chain.first).attributes = ReduceAttributes{};
  EXPECT_THAT(verify(chain.graph).error().message(),
              ::testing::HasSubstr("operator (Elementwise) does not take"));
}

}  // namespace
}  // namespace weir
