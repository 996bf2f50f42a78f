// SPDX-License-Identifier: Apache-2.0
//
// Every error of a model as a whole, word by word: its file, inputs, initialisers, names and branches, what
// is chosen for its dimensions, and the limits of limits.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/onnx/import.h"
#include "import/onnx/limits.h"
#include "import/testing/model_builder.h"
#include "import/testing/node_text.h"

namespace weir {
namespace {

using testing::error_of;
using testing::model_of;
using testing::ModelBuilder;

constexpr int32_t kFloat = onnx::TensorProto::FLOAT;

ModelBuilder relu() {
  ModelBuilder model(13);
  model.input("x", kFloat, {"n", "", "3"});
  model.node("Relu", {"x"}, {"y"}, "act");
  model.output("y");
  return model;
}

ModelBuilder with_input(const std::function<void(onnx::ValueInfoProto&)>& change) {
  ModelBuilder model = relu();
  change(*model.graph().mutable_input(0));
  return model;
}

TEST(ImportErrorsTest, OfTheFile) {
  EXPECT_EQ(error_of(testing::import_bytes("")), "The file is no ONNX model: it has no graph.");
  EXPECT_EQ(error_of(testing::import_bytes("\x89PNG\r\n\x1a\n")),
            "The model is cut off or is no ONNX file: field (1281) has (8) bytes, and (6) are left at offset "
            "(0) of (8).");
  // An input of the graph that is one broken byte, which only protobuf looks into.
  EXPECT_EQ(error_of(testing::import_bytes("\x3a\x03\x5a\x01\x0f")),
            "The model is cut off or is no ONNX file: protobuf can't read its structure.");
  ModelBuilder opset = relu();
  opset.proto().mutable_opset_import(0)->set_version(6);
  EXPECT_EQ(error_of(opset.import()), "The model uses opset (6), and (7) to (28) are supported.");
  opset.proto().mutable_opset_import(0)->set_domain("com.example");
  EXPECT_EQ(error_of(opset.import()), "The model names no version of ONNX's operators.");
  opset.proto().clear_opset_import();
  EXPECT_EQ(error_of(opset.import()), "The file is no ONNX model: it has no operator sets.");
}

TEST(ImportErrorsTest, OfInputs) {
  const std::string context = "\n  - while importing input 'x'";
  const auto tensor = [](onnx::ValueInfoProto& input) { return input.mutable_type()->mutable_tensor_type(); };
  EXPECT_EQ(error_of(with_input([](auto& input) { input.clear_name(); }).import()),
            "The model's input (0) has no name.\n  - while importing input ''");
  EXPECT_EQ(error_of(with_input([](auto& input) { input.mutable_type()->mutable_sequence_type(); }).import()),
            "The input is no tensor, and only tensors are supported." + context);
  EXPECT_EQ(error_of(with_input([&](auto& input) {
                       tensor(input)->set_elem_type(onnx::TensorProto::STRING);
                     }).import()),
            "The input has element type (STRING), and numbers and bool are supported." + context);
  EXPECT_EQ(error_of(with_input([&](auto& input) { tensor(input)->clear_shape(); }).import()),
            "The model says no shape for the input; a shape override ('x=…') gives one." + context);
  EXPECT_EQ(error_of(with_input([&](auto& input) {
                       tensor(input)->mutable_shape()->mutable_dim(2)->set_dim_value(INT64_MAX);
                     }).import()),
            "Axis (2) has dimension (9223372036854775807), and (281474976710656) is the most." + context);
  EXPECT_EQ(error_of(model_of("13 Relu(float[1,1,1,1,1,1,1,1,1])").import()),
            "The input has rank (9), and (8) is the most.\n  - while importing input 'a'");
  EXPECT_EQ(error_of(model_of("13 Relu(float[16777217,16777217])").import()),
            "The input has type (float32[16777217, 16777217]), and extents of (0) to (281474976710656) with "
            "a product within that are the most.\n"
            "  - while importing input 'a'");
  ModelBuilder twice = relu();
  twice.input("x", kFloat, {"2"});
  EXPECT_EQ(error_of(twice.import()),
            "Value 'x' is defined twice: by the model's input and by the model's input." + context);
}

TEST(ImportErrorsTest, OfChosenDimensionsAndShapes) {
  const auto with = [](const auto& choose) {
    ImportOptions options;
    choose(options);
    return error_of(relu().import(options));
  };
  EXPECT_EQ(with([](ImportOptions& options) { options.dims = {{"n", {5, 3}}}; }),
            "Dimension 'n' is given range (5..3), and takes one from (0) to (281474976710656).");
  EXPECT_EQ(with([](ImportOptions& options) { options.dims = {{"n", {1, 2}}, {"n", {1, 3}}}; }),
            "Dimension 'n' is given (1..2) and (1..3).");
  EXPECT_EQ(with([](ImportOptions& options) { options.dims = {{"m", {1, 1}}}; }),
            "A dimension 'm' is given, and the model's inputs name (dim1, n).");
  EXPECT_EQ(with([](ImportOptions& options) {
              options.shapes = {{"x", {std::nullopt, Range{-1, 3}, std::nullopt}}};
            }),
            "Dimension 'dim1' is given range (-1..3), and takes one from (0) to (281474976710656).\n  - "
            "while importing input 'x'");
  EXPECT_EQ(with([](ImportOptions& options) {
              options.shapes = {{"x", {std::nullopt, std::nullopt, Range{5, 3}}}};
            }),
            "Axis (2) is given range (5..3), and takes one from (0) to (281474976710656).\n  - while "
            "importing input 'x'");
  EXPECT_EQ(with([](ImportOptions& options) { options.shapes = {{"x", {Range{1, 1}}}}; }),
            "Input 'x' is given a shape of (1) axes, and has (3).");
  EXPECT_EQ(with([](ImportOptions& options) { options.shapes = {{"z", {Range{1, 1}}}}; }),
            "A shape is given for 'z', and the model has inputs (x).");
  EXPECT_EQ(with([](ImportOptions& options) { options.shape_inputs = {"z"}; }),
            "'z' is named as shape input, and the model has inputs (x).");
  EXPECT_EQ(
      with([](ImportOptions& options) { options.shape_inputs = {"x"}; }),
      "The input has type (float32[n, dim1, 3]), and a shape input takes int32 or int64, a static shape "
      "and up to (1024) elements.\n"
      "  - while importing input 'x'");
}

TEST(ImportErrorsTest, OfOverridesAsText) {
  const auto dim = [](std::string_view text) {
    const auto parsed = parse_dim_override(text);
    return parsed ? "parsed" : parsed.error().to_string();
  };
  const auto shape = [](std::string_view text) {
    const auto parsed = parse_shape_override(text);
    return parsed ? "parsed" : parsed.error().to_string();
  };
  EXPECT_EQ(dim("n"), "Override 'n' has no name and value, such as 'batch=1'.");
  EXPECT_EQ(dim("=1"), "Override '=1' has no name and value, such as 'batch=1'.");
  EXPECT_EQ(dim("n=3..1"),
            "Dimension '3..1' is no number and no ascending range such as (1..512), from (0) to "
            "(281474976710656).\n"
            "  - while reading override 'n=3..1'");
  EXPECT_EQ(shape("x"), "Override 'x' has no name and value, such as 'x=1x3x224x224'.");
  EXPECT_EQ(shape("x=1x"), "Override 'x=1x' ends in 'x', and takes a dimension there.");
  EXPECT_EQ(
      shape("x=1xx2"),
      "Dimension '' is no number and no ascending range such as (1..512), from (0) to (281474976710656).\n"
      "  - while reading override 'x=1xx2'");
}

TEST(ImportErrorsTest, OfInitialisersOutputsAndNames) {
  ModelBuilder constants = relu();
  constants.floats("c", {1}, {1}).floats("c", {1}, {2});
  EXPECT_EQ(error_of(constants.import()), "The model has two initialisers of name 'c'.");
  ModelBuilder sparse = model_of("13 Add(float[2], float[2])");
  sparse.graph().mutable_input(1)->set_name("unused");
  sparse.graph().add_sparse_initializer()->mutable_values()->set_name("b");
  EXPECT_EQ(error_of(sparse.import()), "Initialiser 'b' is sparse, and dense ones are supported.");
  ModelBuilder outputs = relu();
  outputs.output("y");
  EXPECT_EQ(error_of(outputs.import()), "The model has two outputs of name 'y'.");
  ModelBuilder unwritten = relu();
  unwritten.output("z");
  EXPECT_EQ(error_of(unwritten.import()), "Output 'z' of the model is written by no node.");
  ModelBuilder redefined = relu();
  redefined.input("z", kFloat, {"3"});
  redefined.node("Neg", {"z"}, {"x"}, "again");
  redefined.output("x");
  EXPECT_EQ(error_of(redefined.import()),
            "Value 'x' is defined twice: by the model's input and by Neg 'again'.\n  - while importing node "
            "'again' (Neg, ai.onnx 13)");
  ImportOptions options;
  options.swappable = {"weigths"};
  ModelBuilder weights = model_of("13 Add(float[2], float*[2])");
  weights.graph().mutable_initializer(0)->set_name("weights");
  weights.graph().mutable_node(0)->set_input(1, "weights");
  EXPECT_EQ(error_of(weights.import(options)),
            "Constant 'weigths' is not one of the (1) that the model's outputs need; near it: 'weights'.");
}

// A tensor that is made of shapes and read as data.
TEST(ImportErrorsTest, OfElementsThatFollowFromShapes) {
  ModelBuilder mixed = model_of("13 Cast(shape[n], to=1)");
  mixed.floats("half", {1}, {0.5F});
  testing::set_integer(mixed.node("Concat", {"y", "half"}, {"z"}), "axis", 0);
  mixed.output("z");
  EXPECT_EQ(error_of(mixed.import()),
            "Value 'z' of type (float32[2]) mixes number (0.5) and expressions of dimensions, and is read as "
            "data, which takes whole numbers beside expressions.\n"
            "  - while importing output 'z'");
  ModelBuilder range = model_of("13 Cast(shape[n], to=1)");
  range.floats("zero", {}, {0}).floats("half", {}, {0.5F});
  range.node("Range", {"zero", "y", "half"}, {"z"}, "steps");
  range.output("z");
  EXPECT_THAT(error_of(range.import()),
              ::testing::EndsWith(": The range mixes fractions and expressions of dimensions, and whole "
                                  "numbers beside expressions are supported."));
  // An extent that is no tensor's comes up where the value is asked for.
  ModelBuilder negative = model_of("13 Expand(int64{1}, int64{-2,0})");
  EXPECT_EQ(error_of(negative.import()),
            "Value 'y' has type (int64[-2, 0]), and extents of (0) to (281474976710656) with a product "
            "within that are the most.\n  - while importing output 'y'");
}

TEST(ImportErrorsTest, OfBranches) {
  const auto branching = [](const std::vector<std::string>& inputs, const std::vector<std::string>& results) {
    ModelBuilder model(13);
    model.input("x", kFloat, {"2"}).int64s("yes", {}, {1}).int64s("no", {}, {0});
    onnx::NodeProto& node = model.node("If", inputs, {"y"}, "choose");
    onnx::AttributeProto& body = *node.add_attribute();
    body.set_name("then_branch");
    body.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& inner = *body.mutable_g()->add_node();
    inner.set_op_type("Relu");
    inner.add_input("x");
    inner.add_output("t");
    for (const std::string& result : results) {
      body.mutable_g()->add_output()->set_name(result);
    }
    model.output("y");
    return error_of(model.import());
  };
  const std::string context = "\n  - while importing node 'choose' (If, ai.onnx 13)";
  EXPECT_EQ(branching({"yes"}, {"t"}), "imported");
  EXPECT_EQ(branching({"yes", "yes"}, {"t"}), "If has (2) inputs, and takes its condition alone." + context);
  EXPECT_EQ(branching({""}, {"t"}), "If lacks input (0), its condition." + context);
  EXPECT_EQ(branching({"yes"}, {"t", "x"}), "If has (1) outputs, and its then_branch gives (2)." + context);
  EXPECT_EQ(branching({"yes"}, {"u"}), "Node 'choose' (If) reads value 'u', which nothing writes.");
  EXPECT_EQ(branching({"no"}, {"t"}),
            "If lacks attribute 'else_branch', the branch that its condition takes." + context);
}

// Gives what it takes.
class Same final : public CustomOperator {
 public:
  Same() : CustomOperator({.domain = "ai.onnx", .name = "Same", .first_opset = 2, .last_opset = 13}) {}
  const Implementation& implementation() const override { std::abort(); }  // not asked while importing
  void run(const CustomCall&) const override {}

 protected:
  Result<std::vector<TensorType>> shape(const CustomAttributes&, std::span<const TensorType* const> inputs,
                                        std::string_view, std::vector<Constraint>&) const override {
    return std::vector<TensorType>{{inputs[0]->element_type, inputs[0]->shape, {}}};
  }
  Result<CustomPlan> plan(const ConcreteOp&, std::string_view) const override { return CustomPlan{}; }
  Result<CustomExtent> extent(const ConcreteOp&, std::string_view) const override { return CustomExtent{}; }
};

TEST(ImportErrorsTest, OfCustomOperators) {
  ImportOptions options;
  options.operators = CustomOperators::with(nullptr, std::make_shared<Same>()).value();
  const auto error = [&options](std::string_view text) {
    const auto graph = model_of(text).import(options);
    const std::string whole = error_of(graph);
    const size_t reason = whole.rfind(": ");
    return graph ? "imported" : whole.substr(reason + 2);
  };
  EXPECT_EQ(error("13 Same(float[2], of=[1,2], by=float{0.5})"), "imported");
  EXPECT_EQ(error("14 Same(float[2])"),
            "Custom operator ai.onnx.Same is registered for versions (2 to 13) of the operator set.");
  EXPECT_EQ(error("13 Same(float[2], by=[\"a\",\"b\"])"),
            "Attribute 'by' is of type (STRINGS), and custom operators take integers, floating-point "
            "numbers, lists of them, a string or a tensor.");
  EXPECT_EQ(error("13 Same(float[2], by=float*[262145])"),
            "Attribute 'by' is a tensor of (1048580) bytes, and (1048576) are the most; make it an input.");
}

TEST(ImportErrorsTest, OfTooManyNodes) {
  ModelBuilder model(13);
  model.input("x0", kFloat, {"2"});
  for (int64_t i = 0; i <= onnx_import::kMaxNodes; ++i) {
    model.node("Identity", {"x" + std::to_string(i)}, {"x" + std::to_string(i + 1)});
  }
  model.output("x65537");
  EXPECT_EQ(error_of(model.import()),
            "The model has more than (65536) nodes, branches included, and that is the most.");
  ModelBuilder ports(13);
  for (int i = 0; i < 4097; ++i) {
    ports.input("x" + std::to_string(i), kFloat, {"2"});
  }
  EXPECT_EQ(error_of(ports.import()),
            "The model has (4097) inputs and (0) outputs, and (4096) are the most.");
}

// A concatenation of tensors of unnamed dimensions: seven conditions for each but the first.
TEST(ImportErrorsTest, OfTooManyConditions) {
  ModelBuilder model(13);
  onnx::NodeProto node;
  for (int i = 0; i < 2342; ++i) {
    const std::string name = "x" + std::to_string(i);
    model.input(name, kFloat, std::vector<std::string>(8));
    node.add_input(name);
  }
  node.set_op_type("Concat");
  node.set_name("join");
  node.add_output("y");
  testing::set_integer(node, "axis", 0);
  *model.graph().add_node() = node;
  model.output("y");
  EXPECT_EQ(error_of(model.import()),
            "The model has more than (16384) conditions on its dimensions, and that is the most; numbers for "
            "its dimensions decide them.\n"
            "  - while importing node 'join' (Concat, ai.onnx 13)");
}

// Every step writes n / 3 + n of the n before: twice as many operations.
TEST(ImportErrorsTest, OfTooLargeExpressions) {
  const auto grown = [](int steps) {
    ModelBuilder model = model_of("13 Identity(shape[n])");
    model.int64s("three", {1}, {3}).int64s("many", {1}, {1024});
    model.graph().mutable_output()->Clear();
    std::string last = "y";
    for (int i = 0; i < steps; ++i) {
      const std::string at = std::to_string(i);
      model.node("Div", {last, "three"}, {"third" + at});
      model.node("Add", {last, "third" + at}, {"grown" + at});
      last = "grown" + at;
    }
    model.node("Identity", {last}, {"last"});
    return model;
  };
  ModelBuilder one = grown(12);
  one.output("last");
  EXPECT_EQ(error_of(one.import()),
            "Value 'grown11' has an expression of (8191) operations over dimensions, and (4096) is the "
            "most.\n  - while importing node 'grown11' (Add, ai.onnx 13)");
  ModelBuilder all = grown(10);
  for (int i = 0; i < 9; ++i) {
    const std::string name = "all" + std::to_string(i);
    all.node("Expand", {"last", "many"}, {name}, name);
    all.output(name);
  }
  EXPECT_EQ(error_of(all.import()),
            "The model's shapes take more than (16777216) operations on dimensions by value 'all7', and that "
            "is the most.\n  - while importing node 'all7' (Expand, ai.onnx 13)");
}

}  // namespace
}  // namespace weir
