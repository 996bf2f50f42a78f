// SPDX-License-Identifier: Apache-2.0
//
// Importing as a whole: inputs and their dimensions, what becomes of constants and shape arithmetic, and
// errors.
#include "import/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "import/testing/evaluate.h"
#include "import/testing/model_builder.h"

namespace weir {
namespace {

using ::testing::AllOf;
using testing::Array;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::ModelBuilder;
using ::testing::Not;
using testing::only_node;

constexpr int32_t kFloat = onnx::TensorProto::FLOAT;
constexpr int32_t kInt64 = onnx::TensorProto::INT64;

std::string type_of_output(const Result<Graph>& graph) {
  return graph ? graph->value(graph->outputs()[0].value).type.to_string() : graph.error().to_string();
}

ImportOptions dims(std::initializer_list<std::string_view> overrides) {
  ImportOptions options;
  for (std::string_view text : overrides) {
    options.dims.push_back(*parse_dim_override(text));
  }
  return options;
}

ImportOptions shapes(std::initializer_list<std::string_view> overrides) {
  ImportOptions options;
  for (std::string_view text : overrides) {
    options.shapes.push_back(*parse_shape_override(text));
  }
  return options;
}

ModelBuilder relu_model(const std::vector<std::string>& input_dims) {
  ModelBuilder model(13);
  model.input("x", kFloat, input_dims);
  model.node("Relu", {"x"}, {"y"}, "relu");
  model.output("y");
  return model;
}

// x + z of the same named dimensions.
ModelBuilder two_inputs(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  ModelBuilder model(13);
  model.input("x", kFloat, first).input("z", kFloat, second);
  model.node("Add", {"x", "z"}, {"y"});
  model.output("y");
  return model;
}

TEST(ImportTest, KeepsNamesOriginsAndMetadata) {
  ModelBuilder model = relu_model({"n", "3"});
  onnx::StringStringEntryProto& entry = *model.proto().add_metadata_props();
  entry.set_key("character");
  entry.set_value("a\nb");
  const auto graph = model.import();
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(graph->name, "test");
  EXPECT_THAT(graph->metadata, ElementsAre(std::pair("character", "a\nb")));
  const Node* node = only_node(*graph, Op::kElementwise);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->name, "relu");
  EXPECT_EQ(node->origin, "Relu");
  EXPECT_EQ(graph->value(node->outputs[0]).name, "y");
  EXPECT_EQ(graph->outputs()[0].name, "y");
}

TEST(ImportTest, NamedDimensionsAreOneSymbolAndOthersAreFresh) {
  auto graph = two_inputs({"n", "w"}, {"n", "w"}).import();
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(graph->symbols.size(), 2u);
  EXPECT_TRUE(graph->constraints.empty());
  EXPECT_EQ(type_of_output(graph), "float32[n, w]");
  // '?', a negative number and an absent one say nothing, not even that they are equal.
  graph = two_inputs({"?", "-1", ""}, {"?", "-1", ""}).import();
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(graph->symbols.size(), 6u);
  EXPECT_EQ(graph->constraints.size(), 3u);
  EXPECT_EQ(graph->symbols.symbols()[0]->range, kOpenDim);
  EXPECT_EQ(graph->symbols.symbols()[4]->source, (SymbolSource{SymbolSource::Kind::kDimension, 1, 1}));
}

TEST(ImportTest, OverridesOfDimensionsAndShapes) {
  ModelBuilder model = two_inputs({"n", "w", "3"}, {"n", "w", "1"});
  EXPECT_EQ(type_of_output(model.import(dims({"n=2", "w=5"}))), "float32[2, 5, 3]");
  const auto ranged = model.import(dims({"n=1..8"}));
  ASSERT_TRUE(ranged);
  EXPECT_EQ(ranged->symbols.symbols()[0]->range, (Range{1, 8}));
  // A shape for one input gives the name of its axis everywhere.
  EXPECT_EQ(type_of_output(model.import(shapes({"x=4x?x3"}))), "float32[4, w, 3]");
  EXPECT_EQ(type_of_output(model.import(shapes({"x=4x6x7"}))), "float32[4, 6, 7]");
  EXPECT_THAT(error_of(model.import(dims({"m=1"}))),
              HasSubstr("dimension 'm' is given, and the model's inputs name (n, w)"));
  EXPECT_THAT(error_of(model.import(shapes({"q=1"}))), HasSubstr("'q', and the model has inputs (x, z)"));
  EXPECT_THAT(error_of(model.import(shapes({"x=1x2"}))), HasSubstr("a shape of (2) axes, and has (3)"));
  EXPECT_THAT(error_of(model.import(shapes({"x=4x?x3", "z=5x?x1"}))),
              HasSubstr("is given (4..4) and (5..5)"));
}

TEST(ImportTest, AShapeWithoutANameIsThatOfTheOnlyInput) {
  ImportOptions options;
  options.shapes = {{"", {Range{4, 4}, std::nullopt}}};
  EXPECT_EQ(type_of_output(relu_model({"n", "3"}).import(options)), "float32[4, 3]");
  EXPECT_THAT(error_of(two_inputs({"n"}, {"n"}).import(options)),
              HasSubstr("A shape without a name is for models of one input, and this has (2): x, z."));
}

// The name that is shown for one is the name to give, whatever is given for others.
TEST(ImportTest, DimensionsWithoutANameTakeTheOneThatIsShown) {
  ModelBuilder model = two_inputs({"?", "n", "?"}, {"1", "n", "dim2"});
  EXPECT_EQ(type_of_output(model.import()), "float32[dim0, n, dim3]");  // dim2 is the model's own
  EXPECT_EQ(type_of_output(model.import(dims({"dim0=4"}))), "float32[4, n, dim3]");
  EXPECT_EQ(type_of_output(model.import(dims({"dim3=5", "n=2"}))), "float32[dim0, 2, 5]");
  const auto ranged = model.import(dims({"dim3=1..8", "dim0=1"}));
  ASSERT_TRUE(ranged) << error_of(ranged);
  EXPECT_EQ(ranged->symbols.symbols()[1]->name, "dim3");
  EXPECT_EQ(ranged->symbols.symbols()[1]->range, (Range{1, 8}));
  EXPECT_THAT(error_of(model.import(dims({"dim1=4"}))),
              HasSubstr("dimension 'dim1' is given, and the model's inputs name (dim0, dim2, dim3, n)"));
  ImportOptions both = dims({"dim0=4"});
  both.shapes = shapes({"x=5x?x?"}).shapes;
  EXPECT_THAT(error_of(model.import(both)), HasSubstr("'dim0' is given (4..4) and (5..5)"));
}

TEST(ImportTest, OverridesAsText) {
  EXPECT_EQ(parse_dim_override("a=b=3")->first, "a=b");
  EXPECT_EQ(parse_dim_override("n=1..8")->second, (Range{1, 8}));
  EXPECT_TRUE(parse_shape_override("x=")->second.empty());
  EXPECT_EQ(parse_shape_override("x=1..4x?x7")->second.size(), 3u);
  for (const char* text : {"n", "=1", "n=", "n=-1", "n=3..1", "n=1..", "n=x", "n=99999999999999999999"}) {
    EXPECT_FALSE(parse_dim_override(text)) << text;
  }
  for (const char* text : {"x", "x=1x", "x=x1", "x=1xx2", "x=1,2"}) {
    EXPECT_FALSE(parse_shape_override(text)) << text;
  }
}

TEST(ImportTest, InitialisersThatAreInputsAreConstants) {
  ModelBuilder model = two_inputs({"2"}, {"2"});
  model.floats("z", {2}, {10, 20});
  const auto graph = model.import();
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(graph->inputs().size(), 1u);
  const auto outputs = testing::evaluate(*graph, std::array{Array::floats({2}, {1, 2})});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0].elements<float>(), ElementsAre(11, 22));
}

TEST(ImportTest, WeightsOfConstantNodesStayInTheFile) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"1", "1", "4", "4"});
  onnx::AttributeProto& value = *model.node("Constant", {}, {"w"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = testing::float_tensor("", {1, 1, 2, 2}, {1, 2, 3, 4});
  model.node("Identity", {"w"}, {"same"});
  model.node("Conv", {"x", "same"}, {"y"});
  model.output("y");
  const std::string bytes = model.bytes();
  const auto graph = import_onnx(std::as_bytes(std::span(bytes.data(), bytes.size())), nullptr);
  ASSERT_TRUE(graph) << error_of(graph);
  const Node* conv = only_node(*graph, Op::kConv);
  ASSERT_NE(conv, nullptr);
  const std::byte* data = graph->value(conv->inputs[1]).constant->data();
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  EXPECT_TRUE(data >= begin && data + 16 <= begin + bytes.size());
}

TEST(ImportTest, ShapeArithmeticBecomesExpressions) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"batch", "seq", "12"});
  model.int64s("first", {2}, {0, 1}).int64s("heads", {2}, {4, -1});
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "first"}, {"leading"});
  onnx::NodeProto& concat = model.node("Concat", {"leading", "heads"}, {"target"});
  testing::set_integer(concat, "axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  model.output("y");
  const auto graph = model.import();
  EXPECT_EQ(type_of_output(graph), "float32[batch, seq, 4, 3]");
  EXPECT_EQ(graph->order().size(), 1u);
  EXPECT_TRUE(graph->constraints.empty());
}

TEST(ImportTest, KnownElementsThatAreReadAsDataAreMaterialised) {
  ModelBuilder model(13);
  model.input("x", kInt64, {"n", "3"});
  model.node("Shape", {"x"}, {"shape"});
  model.int64s("one", {}, {1});
  model.node("Gather", {"shape", "one"}, {"width"});
  model.node("Mul", {"x", "width"}, {"scaled"});
  model.node("Sub", {"scaled", "rows"}, {"y"});
  model.int64s("zero", {}, {0});
  model.node("Gather", {"shape", "zero"}, {"rows"});
  model.output("y").output("shape");
  const auto graph = model.import();
  ASSERT_TRUE(graph) << error_of(graph);
  const auto outputs = testing::evaluate(*graph, std::array{Array::int64s({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0].elements<int64_t>(), ElementsAre(1, 4, 7, 10, 13, 16));
  EXPECT_THAT((*outputs)[1].elements<int64_t>(), ElementsAre(2, 3));
}

TEST(ImportTest, ElementsOfShapeInputsAreSymbols) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"6"}).input("shape", kInt64, {"2"});
  model.node("Reshape", {"x", "shape"}, {"y"});
  model.output("y");
  EXPECT_THAT(error_of(model.import()), HasSubstr("depends on data"));
  ImportOptions options;
  options.shape_inputs = {"shape"};
  const auto graph = model.import(options);
  EXPECT_EQ(type_of_output(graph), "float32[shape[0], shape[1]]");
  const auto outputs = testing::evaluate(
      *graph, std::array{Array::floats({6}, {1, 2, 3, 4, 5, 6}), Array::int64s({2}, {2, 3})});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0].shape(), ElementsAre(2, 3));
  EXPECT_FALSE(testing::evaluate(
      *graph, std::array{Array::floats({6}, {1, 2, 3, 4, 5, 6}), Array::int64s({2}, {2, 4})}));
  options.shape_inputs = {"x"};
  EXPECT_THAT(error_of(model.import(options)), HasSubstr("a shape input takes int32 or int64"));
}

TEST(ImportTest, OutputsMayBeInputsAndConstants) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"2"}).floats("c", {1}, {5});
  model.node("Identity", {"x"}, {"y"});
  model.output("y").output("c").output("x");
  const auto graph = model.import();
  ASSERT_TRUE(graph) << error_of(graph);
  const auto outputs = testing::evaluate(*graph, std::array{Array::floats({2}, {1, 2})});
  ASSERT_TRUE(outputs);
  EXPECT_THAT((*outputs)[0].elements<float>(), ElementsAre(1, 2));
  EXPECT_THAT((*outputs)[1].elements<float>(), ElementsAre(5));
}

TEST(ImportTest, UnsupportedNodesAreReportedTogether) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"n", "3"});
  model.node("Relu", {"x"}, {"r"}, "first");
  model.node("Frobnicate", {"r", ""}, {"f"}, "odd");
  model.node("Relu", {"f"}, {"skipped"});
  model.node("Untangle", {"skipped"}, {"u"}, "behind the odd one");
  onnx::NodeProto& custom = model.node("Twist", {"x"}, {"t"}, "custom");
  custom.set_domain("com.example");
  onnx::NodeProto& resize = model.node("Resize", {"x", "", "scales"}, {"z"}, "crop");
  testing::set_text(resize, "coordinate_transformation_mode", "tf_crop_and_resize");
  model.floats("scales", {2}, {2, 2});
  model.node("Einsum", {"x"}, {"unread"}, "needed by nobody");
  model.output("skipped").output("t").output("u").output("z");
  const auto graph = model.import();
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(graph.error().message(),
            "The model has (4) nodes that are not supported: 1 × ai.onnx.Frobnicate, 1 × ai.onnx.Resize, 1 × "
            "ai.onnx.Untangle, 1 × com.example.Twist.");
  EXPECT_THAT(error_of(graph),
              HasSubstr("Frobnicate (ai.onnx 13) 'odd' of 'r' float32[n, 3] from Relu 'first', none: "
                        "The operator is not supported."));
  EXPECT_THAT(error_of(graph),
              HasSubstr("Twist (com.example 1) 'custom' of 'x' float32[n, 3] from the model's input"));
  EXPECT_THAT(error_of(graph),
              HasSubstr("Untangle (ai.onnx 13) 'behind the odd one' of 'skipped' from Relu"));
  EXPECT_THAT(error_of(graph), HasSubstr("and (1) nodes of supported operators depend on these"));
  EXPECT_THAT(error_of(graph), HasSubstr("coordinate_transformation_mode (tf_crop_and_resize)"));
  EXPECT_THAT(error_of(graph), HasSubstr("register it with weir_runtime_register_operator"));
  EXPECT_THAT(error_of(graph), Not(HasSubstr("Einsum")));
}

TEST(ImportTest, OutputsThatAreNotSupportedMatterOnlyWhereTheyAreRead) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"1", "1", "4", "4"});
  onnx::NodeProto& pool = model.node("MaxPool", {"x"}, {"y", "indices"});
  testing::set_integers(pool, "kernel_shape", {2, 2});
  model.output("y");
  EXPECT_TRUE(model.import());
  model.output("indices");
  EXPECT_THAT(error_of(model.import()), HasSubstr("Output (1), 'indices', is read"));
}

TEST(ImportTest, AConditionFromShapesChoosesTheBranch) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"2", "n"}).int64s("rank", {1}, {2});
  model.node("Shape", {"x"}, {"s"});
  model.node("Shape", {"s"}, {"ss"});
  model.node("Equal", {"ss", "rank"}, {"same"});
  onnx::NodeProto& branch = model.node("If", {"same"}, {"y"});
  for (const auto& [name, op] : {std::pair("then_branch", "Neg"), std::pair("else_branch", "Frobnicate")}) {
    onnx::AttributeProto& body = *branch.add_attribute();
    body.set_name(name);
    body.set_type(onnx::AttributeProto::GRAPH);
    onnx::NodeProto& node = *body.mutable_g()->add_node();
    node.set_op_type(op);
    node.add_input("x");
    node.add_output("t");
    body.mutable_g()->add_output()->set_name("t");
  }
  model.output("y");
  const auto graph = model.import();
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(to_string(std::get<ElementwiseAttributes>(graph->node(graph->order()[0]).attributes)
                          .program.instructions()[0]
                          .op),
            "neg");
}

TEST(ImportTest, ErrorsOfTheModelNameTheNode) {
  ModelBuilder types = two_inputs({"2"}, {"2"});
  types.graph().mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(kInt64);
  EXPECT_THAT(error_of(types.import()), AllOf(HasSubstr("types (float32[2]) and (int64[2])"),
                                              HasSubstr("while importing node 'y' (Add, ai.onnx 13)")));
  EXPECT_THAT(error_of(two_inputs({"2"}, {"3"}).import()),
              HasSubstr("(2) and (3), which are neither equal nor 1"));
  ModelBuilder missing(13);
  missing.input("x", kFloat, {"2"});
  missing.node("Add", {"x"}, {"y"});
  missing.output("y");
  EXPECT_THAT(error_of(missing.import()), HasSubstr("lacks input (1)"));
  ModelBuilder attribute = relu_model({"2"});
  onnx::NodeProto& softmax = attribute.node("Softmax", {"x"}, {"z"});
  testing::set_text(softmax, "axis", "one");
  attribute.output("z");
  EXPECT_THAT(error_of(attribute.import()), HasSubstr("Attribute 'axis' is no integer."));
  softmax.clear_attribute();
  testing::set_integer(softmax, "axis", INT64_MIN);
  EXPECT_THAT(error_of(attribute.import()), HasSubstr("outside a tensor of rank (1)"));
}

TEST(ImportTest, ErrorsOfTheFile) {
  EXPECT_THAT(error_of(testing::import_bytes("")), HasSubstr("no graph"));
  EXPECT_THAT(error_of(testing::import_bytes("\x89PNG\r\n\x1a\n")), HasSubstr("no ONNX file"));
  const auto missing = import_onnx("/nonexistent/model.onnx");
  EXPECT_EQ(missing.error().code(), StatusCode::kNotFound);
  ModelBuilder opset = relu_model({"2"});
  opset.proto().mutable_opset_import(0)->set_version(6);
  EXPECT_THAT(error_of(opset.import()), HasSubstr("opset (6), and (7) to (28)"));
  opset.proto().mutable_opset_import(0)->set_domain("com.example");
  EXPECT_THAT(error_of(opset.import()), HasSubstr("no version of ONNX's operators"));
  opset.proto().clear_opset_import();
  EXPECT_THAT(error_of(opset.import()), HasSubstr("no operator sets"));
}

TEST(ImportTest, ErrorsOfInputsAndInitialisers) {
  ModelBuilder sequence = relu_model({"2"});
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(error_of(sequence.import()), HasSubstr("The input is no tensor"));
  ModelBuilder strings = relu_model({"2"});
  strings.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::STRING);
  EXPECT_THAT(error_of(strings.import()), HasSubstr("element type (STRING)"));
  ModelBuilder shapeless = relu_model({"2"});
  shapeless.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_THAT(error_of(shapeless.import()), HasSubstr("a shape override ('x=…')"));
  EXPECT_EQ(type_of_output(shapeless.import(shapes({"x=2x3"}))), "float32[2, 3]");
  EXPECT_THAT(error_of(relu_model({"9223372036854775807"}).import()),
              HasSubstr("dimension (9223372036854775807)"));
  EXPECT_THAT(error_of(relu_model(std::vector<std::string>(9, "1")).import()), HasSubstr("rank (9)"));
  ModelBuilder twice = two_inputs({"2"}, {"2"});
  twice.graph().mutable_input(1)->set_name("x");
  EXPECT_THAT(error_of(twice.import()), HasSubstr("'x' is defined twice"));
  ModelBuilder constants = two_inputs({"1"}, {"1"});
  constants.floats("z", {1}, {1}).floats("z", {1}, {2});
  EXPECT_THAT(error_of(constants.import()), HasSubstr("two initialisers of name 'z'"));
  ModelBuilder outputs = relu_model({"2"});
  outputs.output("y");
  EXPECT_THAT(error_of(outputs.import()), HasSubstr("two outputs of name 'y'"));
}

TEST(ImportTest, HugeShapesAreErrorsOrExpressions) {
  const std::string huge = std::to_string(kDimMax);
  EXPECT_THAT(error_of(relu_model({huge, huge, huge}).import()),
              HasSubstr("extents of (0) to (281474976710656) with a product within that are the most"));
  ModelBuilder flatten = relu_model({huge, huge, huge});
  flatten.node("Flatten", {"y"}, {"f"});
  flatten.node("Size", {"x"}, {"s"});
  flatten.output("f").output("s");
  const auto graph = flatten.import();
  if (graph) {
    EXPECT_FALSE(testing::evaluate(*graph, {}));
  }
  ModelBuilder range(13);
  range.input("x", kFloat, {"1"});
  range.int64s("a", {}, {INT64_MIN}).int64s("b", {}, {INT64_MAX}).int64s("c", {}, {1});
  range.node("Range", {"a", "b", "c"}, {"r"});
  range.output("r");
  const auto result = range.import();
  if (result) {
    EXPECT_FALSE(result->value(result->outputs()[0].value).type.shape[0].as_constant().has_value());
  }
}

// Single bits of a model that uses many features are turned: whatever comes of it is a graph that verifies or
// an error.
TEST(ImportTest, DamagedModelsAreErrorsAndNeverCrash) {
  ModelBuilder model(13);
  model.input("x", kFloat, {"n", "2", "6", "h"});
  model.floats("w", {4, 2, 3, 3}, std::vector<float>(72, 0.5F)).floats("scales", {4}, {1, 1, 2, 2});
  model.int64s("target", {3}, {0, 4, -1}).int64s("axes", {1}, {0});
  onnx::TensorProto& packed = *model.graph().add_initializer();
  packed.set_name("packed");
  packed.set_data_type(kInt64);
  packed.add_dims(2);
  packed.add_int64_data(1);
  packed.add_int64_data(2);
  testing::set_integers(model.node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  model.node("Resize", {"c", "", "scales"}, {"r"});
  testing::set_integers(model.node("MaxPool", {"r"}, {"p"}), "kernel_shape", {2, 2});
  model.node("Reshape", {"p", "target"}, {"s"});
  model.node("Shape", {"s"}, {"shape"});
  model.node("Slice", {"shape", "axes", "packed"}, {"part"});
  model.node("Softmax", {"s"}, {"y"});
  model.output("y").output("part");
  const std::string bytes = model.bytes();
  std::mt19937 random(1);
  int errors = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = bytes;
    for (int flips = 1 + round % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1U << random() % 8);
    }
    errors += testing::import_bytes(damaged) ? 0 : 1;
  }
  EXPECT_GT(errors, 1000);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(testing::import_bytes(bytes.substr(0, size))) << size;
  }
}

TEST(ImportTest, ReadsFilesAndNamesThemInErrors) {
  const std::string path = ::testing::TempDir() + "import_test_model.onnx";
  std::ofstream(path, std::ios::binary) << relu_model({"2"}).bytes();
  auto graph = import_onnx(path);
  ASSERT_TRUE(graph) << error_of(graph);
  std::ofstream(path, std::ios::binary) << "no model";
  graph = import_onnx(path);
  EXPECT_THAT(error_of(graph), HasSubstr("while importing model '" + path + "'"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weir
