// SPDX-License-Identifier: Apache-2.0
//
// What single operators become: attributes, operands and refusals. Their results are compared with ONNX's own
// cases and with another runtime in tests/onnx.
#include "import/onnx/converters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "import/testing/evaluate.h"
#include "import/testing/model_builder.h"

namespace weir::onnx_import {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using weir::testing::Array;
using weir::testing::error_of;
using weir::testing::evaluate;
using weir::testing::ModelBuilder;
using weir::testing::only_node;
using weir::testing::set_integer;
using weir::testing::set_integers;
using weir::testing::set_real;
using weir::testing::set_text;

constexpr int32_t kFloat = onnx::TensorProto::FLOAT;

// A model of one node with output y; `change` sets attributes.
Result<Graph> import_one(int64_t opset, const std::string& op, const std::vector<std::string>& x_dims,
                         const std::vector<std::string>& operands,
                         const std::function<void(ModelBuilder&, onnx::NodeProto&)>& change = {}) {
  ModelBuilder model(opset);
  model.input("x", kFloat, x_dims);
  onnx::NodeProto& node = model.node(op, operands, {"y"}, "node");
  if (change) {
    change(model, node);
  }
  model.output("y");
  return model.import();
}

std::string output_type(const Result<Graph>& graph) {
  return graph ? graph->value(graph->outputs()[0].value).type.to_string() : error_of(graph);
}

TEST(ConverterTableTest, IsConsistent) {
  std::set<std::tuple<std::string_view, std::string_view, int64_t>> seen;
  for (const auto& family : {elementwise_converters(), activation_converters(), convolution_converters(),
                             product_converters(), normalisation_converters(), shape_converters(),
                             selection_converters(), resize_converters(), composed_converters()}) {
    for (const Converter& converter : family) {
      EXPECT_TRUE(seen.emplace(converter.domain, converter.op, converter.since).second) << converter.op;
      EXPECT_NE(find_converter(converter.domain, converter.op, kNewestOpset), nullptr) << converter.op;
    }
  }
  EXPECT_EQ(find_converter("", "Resize", 9), nullptr);
  EXPECT_EQ(find_converter("", "Resize", 10)->since, 10);
  EXPECT_EQ(find_converter("", "Resize", 13)->since, 11);
  EXPECT_EQ(find_converter("com.example", "Add", 13), nullptr);
}

TEST(ConvTest, SamePaddingOnAnOpenSide) {
  const auto graph =
      import_one(13, "Conv", {"1", "1", "h", "5"}, {"x", "w"}, [](ModelBuilder& model, auto& node) {
        model.floats("w", {1, 1, 3, 3}, std::vector<float>(9, 1));
        set_text(node, "auto_pad", "SAME_UPPER");
        set_integers(node, "strides", {2, 2});
      });
  ASSERT_TRUE(graph) << error_of(graph);
  const auto& attributes = std::get<ConvAttributes>(only_node(*graph, Op::kConv)->attributes);
  for (int64_t h : {1, 4, 5, 8}) {
    const int64_t total = std::max<int64_t>(((h + 1) / 2 - 1) * 2 + 3 - h, 0);
    EXPECT_EQ(*attributes.pads_begin[0].evaluate(std::array{h}), total / 2) << h;
    EXPECT_EQ(*attributes.pads_end[0].evaluate(std::array{h}), total - total / 2) << h;
    const TensorType& type = graph->value(graph->outputs()[0].value).type;
    EXPECT_EQ(*type.shape[2].evaluate(std::array{h}), (h + 1) / 2) << h;
  }
  EXPECT_EQ(attributes.pads_begin[1], Dim(1));
}

TEST(ConvTest, RefusesWhatDoesNotFit) {
  const auto error = [](const std::vector<std::string>& dims, std::vector<int64_t> w,
                        const std::function<void(onnx::NodeProto&)>& change) {
    return error_of(import_one(13, "Conv", dims, {"x", "w"}, [&](ModelBuilder& model, onnx::NodeProto& node) {
      int64_t count = 1;
      for (int64_t dim : w) {
        count *= dim;
      }
      model.floats("w", w, std::vector<float>(static_cast<size_t>(count), 1));
      change(node);
    }));
  };
  const std::vector<std::string> image = {"1", "2", "8", "8"};
  EXPECT_THAT(error(image, {4, 3, 3, 3}, [](auto&) {}), HasSubstr("as many input channels"));
  EXPECT_THAT(error(image, {4, 2, 3}, [](auto&) {}), HasSubstr("take one rank"));
  EXPECT_THAT(error(image, {4, 2, 9, 9}, [](auto&) {}), HasSubstr("at least as large as its kernel"));
  EXPECT_THAT(error(image, {4, 2, 3, 3}, [](auto& n) { set_integers(n, "kernel_shape", {3, 2}); }),
              HasSubstr("and the weights have type"));
  EXPECT_THAT(error(image, {4, 2, 3, 3}, [](auto& n) { set_integers(n, "pads", {1, 1}); }),
              HasSubstr("'pads' has (2) elements, and takes (4)"));
  EXPECT_THAT(error(image, {4, 2, 3, 3}, [](auto& n) { set_integers(n, "pads", {0, 0, -1, 0}); }),
              HasSubstr("Attribute 'pads' has an element (-1)"));
  EXPECT_THAT(error(image, {4, 2, 3, 3}, [](auto& n) { set_integers(n, "strides", {0, 1}); }),
              HasSubstr("Attribute 'strides' has an element (0)"));
}

TEST(ConvTransposeTest, RefusesWeightsOfAnotherRank) {
  for (const char* auto_pad : {"NOTSET", "SAME_UPPER"}) {
    EXPECT_THAT(error_of(import_one(13, "ConvTranspose", {"1", "2", "8"}, {"x", "w"},
                                    [auto_pad](ModelBuilder& model, onnx::NodeProto& node) {
                                      model.floats("w", {2, 1, 2, 2}, std::vector<float>(8, 1));
                                      set_text(node, "auto_pad", auto_pad);
                                    })),
                HasSubstr("take one rank"));
  }
}

TEST(PoolTest, CeilModeNeverBeginsBehindTheInput) {
  // Padded to 6, windows of 2 by 3: a third would begin behind the input.
  const auto pool = [](const std::string& width) {
    return import_one(13, "MaxPool", {"1", "1", width}, {"x"}, [](auto&, auto& node) {
      set_integers(node, "kernel_shape", {2});
      set_integers(node, "strides", {3});
      set_integers(node, "pads", {0, 1});
      set_integer(node, "ceil_mode", 1);
    });
  };
  EXPECT_EQ(output_type(pool("5")), "float32[1, 1, 2]");
  EXPECT_EQ(output_type(pool("6")), "float32[1, 1, 2]");
  EXPECT_EQ(output_type(pool("7")), "float32[1, 1, 3]");
  const auto open = pool("w");
  ASSERT_TRUE(open) << error_of(open);
  for (int64_t w = 2; w < 20; ++w) {
    const int64_t count = std::min((w + 1 - 2 + 2) / 3 + 1, (w - 1) / 3 + 1);
    EXPECT_EQ(*open->value(open->outputs()[0].value).type.shape[2].evaluate(std::array{w}), count) << w;
  }
}

TEST(BatchNormalizationTest, FoldsConstantsInDoublePrecision) {
  const auto graph = import_one(13, "BatchNormalization", {"1", "2", "1"}, {"x", "s", "b", "m", "v"},
                                [](ModelBuilder& model, onnx::NodeProto& node) {
                                  model.floats("s", {2}, {2, 3}).floats("b", {2}, {1, -1});
                                  model.floats("m", {2}, {0.5, 4}).floats("v", {2}, {4, 9});
                                  set_real(node, "epsilon", 0);
                                });
  ASSERT_TRUE(graph) << error_of(graph);
  const auto outputs = evaluate(*graph, std::array{Array::floats({1, 2, 1}, {2.5, 7})});
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  EXPECT_THAT((*outputs)[0].elements<float>(), ElementsAre(3, 2));
  const Node* node = only_node(*graph, Op::kElementwise);
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->inputs.size(), 3u);
}

TEST(ElementwiseTest, ScalarsBecomeImmediatesUnlessTheyGiveTheRank) {
  const auto add = [](const std::vector<std::string>& dims, std::vector<int64_t> constant_dims) {
    return import_one(13, "Add", dims, {"x", "c"}, [&](ModelBuilder& model, onnx::NodeProto&) {
      model.floats("c", constant_dims, {2.5});
    });
  };
  const auto scalar = add({"n", "3"}, {});
  ASSERT_TRUE(scalar);
  const Node* node = only_node(*scalar, Op::kElementwise);
  EXPECT_EQ(node->inputs.size(), 1u);
  EXPECT_EQ(std::get<ElementwiseAttributes>(node->attributes).program.instructions()[0].value[0], 2.5);
  const auto vector = add({}, {1, 1});
  EXPECT_EQ(output_type(vector), "float32[1, 1]");
  EXPECT_EQ(only_node(*vector, Op::kElementwise)->inputs.size(), 2u);
}

TEST(ElementwiseTest, ValuesOfActivations) {
  const std::vector<float> x = {-3, -0.5, 0, 1, 30};
  const auto apply = [&x](const std::string& op, const std::function<void(onnx::NodeProto&)>& change) {
    const auto graph = import_one(24, op, {"5"}, {"x"}, [&](auto&, auto& node) { change(node); });
    const auto outputs = evaluate(*graph, std::array{Array::floats({5}, x)});
    return outputs ? (*outputs)[0].elements<float>() : std::vector<float>();
  };
  const auto expected = [&x](auto function) {
    std::vector<float> y;
    for (float value : x) {
      y.push_back(static_cast<float>(function(static_cast<double>(value))));
    }
    return y;
  };
  const auto softplus = [](double v) { return std::log1p(std::exp(v)); };
  const auto none = [](onnx::NodeProto&) {};
  EXPECT_THAT(apply("Softplus", none), Pointwise(FloatNear(1e-5F), expected(softplus)));
  EXPECT_THAT(apply("Mish", none),
              Pointwise(FloatNear(1e-5F), expected([&](double v) { return v * std::tanh(softplus(v)); })));
  EXPECT_THAT(
      apply("Elu", [](auto& n) { set_real(n, "alpha", 0.5); }),
      Pointwise(FloatNear(1e-6F), expected([](double v) { return v < 0 ? 0.5 * std::expm1(v) : v; })));
  EXPECT_THAT(apply("Swish", [](auto& n) { set_real(n, "alpha", 2); }),
              Pointwise(FloatNear(1e-5F), expected([](double v) { return v / (1 + std::exp(-2 * v)); })));
  EXPECT_THAT(apply("Gelu", none), Pointwise(FloatNear(1e-5F), expected([](double v) {
                                               return v / 2 * (1 + std::erf(v / std::sqrt(2)));
                                             })));
}

TEST(LstmTest, RefusesFormsThatKernelsLack) {
  const auto error = [](const std::function<void(ModelBuilder&, onnx::NodeProto&)>& change) {
    return error_of(
        import_one(14, "LSTM", {"5", "2", "3"}, {"x", "w", "r"}, [&](ModelBuilder& model, auto& node) {
          model.floats("w", {1, 16, 3}, std::vector<float>(48, 1))
              .floats("r", {1, 16, 4}, std::vector<float>(64, 1));
          change(model, node);
        }));
  };
  EXPECT_EQ(error([](auto&, auto&) {}), "imported");
  EXPECT_THAT(error([](auto&, auto& n) { set_real(n, "clip", 3); }), HasSubstr("has attribute 'clip'"));
  EXPECT_THAT(error([](auto&, auto& n) { set_integer(n, "input_forget", 1); }),
              HasSubstr("'input_forget' is (1)"));
  EXPECT_THAT(error([](auto&, auto& n) { set_text(n, "direction", "sideways"); }),
              HasSubstr("'direction' is (sideways)"));
  EXPECT_THAT(error([](auto&, auto& n) { set_integer(n, "hidden_size", 5); }), HasSubstr("weights"));
  EXPECT_THAT(error([](ModelBuilder& m, auto& n) {
                m.floats("p", {1, 12}, std::vector<float>(12, 1));
                for (const char* input : {"", "", "", "", "p"}) {
                  n.add_input(input);
                }
              }),
              HasSubstr("peephole weights"));
  EXPECT_THAT(error([](auto&, auto& n) {
                onnx::AttributeProto& attribute = *n.add_attribute();
                attribute.set_name("activations");
                attribute.set_type(onnx::AttributeProto::STRINGS);
                for (const char* name : {"Relu", "Tanh", "Tanh"}) {
                  attribute.add_strings(name);
                }
              }),
              HasSubstr("activations (Relu, Tanh, Tanh)"));
}

// No other runtime at hand runs layout 1: compared with layout 0 on transposed tensors.
TEST(LstmTest, LayoutOneHasTheBatchFirst) {
  std::vector<float> w(48);
  std::vector<float> r(64);
  for (size_t i = 0; i < 64; ++i) {
    r[i] = static_cast<float>(i % 7) / 10 - 0.3F;
    w[i % 48] = static_cast<float>(i % 5) / 8 - 0.2F;
  }
  const auto run = [&](int64_t layout, const std::vector<std::string>& dims, const Array& x) {
    ModelBuilder model(14);
    model.input("x", kFloat, dims).floats("w", {1, 16, 3}, w).floats("r", {1, 16, 4}, r);
    set_integer(model.node("LSTM", {"x", "w", "r"}, {"y", "h"}), "layout", layout);
    model.output("y").output("h");
    const auto graph = model.import();
    EXPECT_TRUE(graph) << error_of(graph);
    return *evaluate(*graph, std::array{x});
  };
  std::vector<float> steps_first(5 * 2 * 3);
  std::vector<float> batch_first(5 * 2 * 3);
  for (size_t t = 0; t < 5; ++t) {
    for (size_t b = 0; b < 2; ++b) {
      for (size_t i = 0; i < 3; ++i) {
        steps_first[(t * 2 + b) * 3 + i] = batch_first[(b * 5 + t) * 3 + i] =
            static_cast<float>(t + 2 * b + i) / 9;
      }
    }
  }
  const auto expected = run(0, {"5", "2", "3"}, Array::floats({5, 2, 3}, steps_first));  // [5,1,2,4], [1,2,4]
  const auto got = run(1, {"2", "5", "3"}, Array::floats({2, 5, 3}, batch_first));       // [2,5,1,4], [2,1,4]
  EXPECT_THAT(got[0].shape(), ElementsAre(2, 5, 1, 4));
  EXPECT_THAT(got[1].shape(), ElementsAre(2, 1, 4));
  EXPECT_EQ(got[1].elements<float>(), expected[1].elements<float>());
  for (size_t t = 0; t < 5; ++t) {
    for (size_t b = 0; b < 2; ++b) {
      for (size_t h = 0; h < 4; ++h) {
        EXPECT_EQ(got[0].elements<float>()[(b * 5 + t) * 4 + h],
                  expected[0].elements<float>()[(t * 2 + b) * 4 + h]);
      }
    }
  }
}

TEST(ReshapeTest, ZeroAndMinusOne) {
  const auto reshape = [](const std::vector<std::string>& dims, std::vector<int64_t> target,
                          int64_t allow_zero) {
    return output_type(
        import_one(14, "Reshape", dims, {"x", "t"}, [&](ModelBuilder& model, onnx::NodeProto& node) {
          model.int64s("t", {static_cast<int64_t>(target.size())}, target);
          set_integer(node, "allowzero", allow_zero);
        }));
  };
  EXPECT_EQ(reshape({"n", "4", "6"}, {0, -1, 3}, 0), "float32[n, 8, 3]");
  EXPECT_EQ(reshape({"n", "4", "6"}, {-1, 24}, 0), "float32[n, 24]");
  EXPECT_EQ(reshape({"0", "4"}, {0, 9}, 1), "float32[0, 9]");
  EXPECT_THAT(reshape({"2", "4"}, {-1, 3}, 0), HasSubstr("which (3) does not divide"));
  EXPECT_THAT(reshape({"2", "4"}, {-1, -1}, 0), HasSubstr("takes it once"));
  EXPECT_THAT(reshape({"2", "4"}, {2, 5}, 0), HasSubstr("(8) and (10)"));
  EXPECT_THAT(reshape({"2", "4"}, {-2, 4}, 0), HasSubstr("an element (-2)"));
  EXPECT_THAT(reshape({"2"}, {1, 0}, 0), HasSubstr("copies dimension (1)"));
  EXPECT_THAT(reshape({"2", "0"}, {0, -1, 0}, 1), HasSubstr("which (0) does not divide"));
}

TEST(SqueezeTest, OpenDimensionsAreNotGuessed) {
  EXPECT_EQ(output_type(import_one(13, "Squeeze", {"1", "3", "1"}, {"x"})), "float32[3]");
  EXPECT_THAT(output_type(import_one(13, "Squeeze", {"1", "n"}, {"x"})), HasSubstr("dimension (n) may be 1"));
  const auto squeeze = [](const std::vector<std::string>& dims) {
    return import_one(11, "Squeeze", dims, {"x"}, [](auto&, auto& node) { set_integers(node, "axes", {0}); });
  };
  EXPECT_THAT(output_type(squeeze({"2", "3"})), HasSubstr("takes an extent of 1"));
  const auto open = squeeze({"n", "3"});
  ASSERT_TRUE(open);
  ASSERT_FALSE(open->constraints.empty());
  EXPECT_TRUE(check(open->constraints[0], std::array<int64_t, 1>{1}));
  EXPECT_FALSE(check(open->constraints[0], std::array<int64_t, 1>{2}));
}

TEST(GatherTest, OneKnownIndexIsAView) {
  const auto gather = [](int64_t index) {
    return import_one(13, "Gather", {"n", "5"}, {"x", "i"},
                      [index](ModelBuilder& model, onnx::NodeProto& node) {
                        model.int64s("i", {}, {index});
                        set_integer(node, "axis", 1);
                      });
  };
  const auto graph = gather(-2);
  ASSERT_TRUE(graph) << error_of(graph);
  EXPECT_EQ(only_node(*graph, Op::kGather), nullptr);
  EXPECT_EQ(std::get<SliceAttributes>(only_node(*graph, Op::kSlice)->attributes).starts[1], Dim(3));
  EXPECT_THAT(output_type(gather(5)), HasSubstr("An index is (5), and axis (1) has (5) elements."));
}

TEST(ResizeTest, ScalesThatAreNearAFractionCountAsIt) {
  const auto resize = [](const std::string& size, float scale) {
    return output_type(import_one(13, "Resize", {size}, {"x", "", "s"},
                                  [scale](ModelBuilder& model, auto&) { model.floats("s", {1}, {scale}); }));
  };
  EXPECT_EQ(resize("10", 0.7F), "float32[7]");
  EXPECT_EQ(resize("100", 0.29F), "float32[29]");
  EXPECT_EQ(resize("h", 2), "float32[2·h]");
  EXPECT_THAT(resize("10", 0), HasSubstr("The scale of axis (0) is (0)"));
  EXPECT_THAT(resize("10", NAN), HasSubstr("The scale of axis (0) is (nan)"));
}

}  // namespace
}  // namespace weir::onnx_import
