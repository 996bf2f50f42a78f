// SPDX-License-Identifier: Apache-2.0
//
// Small models: between them they use every kind of converter, shape arithmetic, constants in all forms.
#include <span>

#include "import/testing/model_builder.h"
#include "seeds.h"

namespace weir::fuzz {
namespace {

using testing::ModelBuilder;
using testing::set_integer;
using testing::set_integers;
using testing::set_text;

constexpr int32_t kFloat = onnx::TensorProto::FLOAT;
constexpr int32_t kInt64 = onnx::TensorProto::INT64;

std::vector<float> ramp(int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(i % 5) * 0.25F - 0.5F);
  }
  return values;
}

ModelBuilder convolution() {
  ModelBuilder m(17);
  m.input("x", kFloat, {"batch", "3", "8", "6"})
      .floats("w", {4, 3, 3, 3}, ramp(108))
      .floats("b", {4}, ramp(4));
  set_integers(m.node("Conv", {"x", "w", "b"}, {"c"}), "pads", {1, 1, 1, 1});
  m.node("Relu", {"c"}, {"r"});
  m.floats("dw", {4, 1, 3, 3}, ramp(36));
  onnx::NodeProto& depthwise = m.node("Conv", {"r", "dw"}, {"d"});
  set_integer(depthwise, "group", 4);
  set_integers(depthwise, "strides", {2, 2});
  set_text(depthwise, "auto_pad", "SAME_UPPER");
  m.floats("s", {4}, {1, 2, 0.5F, 1}).floats("v", {4}, {1, 1, 4, 0.25F});
  m.node("BatchNormalization", {"d", "s", "b", "b", "v"}, {"n"});
  m.node("Sigmoid", {"n"}, {"g"});
  m.node("Mul", {"n", "g"}, {"y"});
  m.output("y");
  return m;
}

ModelBuilder reshapes() {
  ModelBuilder m(17);
  m.input("x", kFloat, {"batch", "seq", "12"});
  m.node("Shape", {"x"}, {"shape"});
  m.int64s("zero", {1}, {0}).int64s("one", {1}, {1}).int64s("heads", {2}, {3, 4});
  m.node("Gather", {"shape", "zero"}, {"batch"});
  m.node("Gather", {"shape", "one"}, {"seq"});
  set_integer(m.node("Concat", {"batch", "seq", "heads"}, {"target"}), "axis", 0);
  m.node("Reshape", {"x", "target"}, {"h"});
  set_integers(m.node("Transpose", {"h"}, {"t"}), "perm", {0, 2, 1, 3});
  set_integers(m.node("Transpose", {"h"}, {"k"}), "perm", {0, 2, 3, 1});
  m.node("MatMul", {"t", "k"}, {"scores"});
  set_integer(m.node("Softmax", {"scores"}, {"p"}), "axis", -1);
  m.node("MatMul", {"p", "t"}, {"o"});
  set_integers(m.node("Transpose", {"o"}, {"u"}), "perm", {0, 2, 1, 3});
  m.int64s("flat", {3}, {0, 0, -1});
  m.node("Reshape", {"u", "flat"}, {"z"});
  m.floats("g", {12}, ramp(12)).floats("b", {12}, ramp(12));
  m.node("LayerNormalization", {"z", "g", "b"}, {"y"});
  m.output("y");
  return m;
}

ModelBuilder shape_arithmetic() {
  ModelBuilder m(13);
  m.input("x", kFloat, {"n", "2", "height", "width"});
  m.node("Shape", {"x"}, {"shape"});
  m.int64s("starts", {1}, {2}).int64s("ends", {1}, {4}).int64s("axes", {1}, {0}).int64s("two", {1}, {2});
  m.node("Slice", {"shape", "starts", "ends", "axes"}, {"sides"});
  m.node("Mul", {"sides", "two"}, {"doubled"});
  m.node("Slice", {"shape", "axes", "starts", "axes"}, {"front"});
  set_integer(m.node("Concat", {"front", "doubled"}, {"sizes"}), "axis", 0);
  onnx::NodeProto& resize = m.node("Resize", {"x", "", "", "sizes"}, {"r"});
  set_text(resize, "mode", "linear");
  m.int64s("pads", {8}, {0, 0, 1, 1, 0, 0, 1, 1});
  m.node("Pad", {"r", "pads"}, {"p"});
  onnx::NodeProto& pool = m.node("MaxPool", {"p"}, {"m"});
  set_integers(pool, "kernel_shape", {2, 2});
  set_integers(pool, "strides", {2, 2});
  m.node("ConstantOfShape", {"sizes"}, {"c"});
  m.node("Expand", {"c", "sizes"}, {"e"});
  m.node("ReduceMean", {"m"}, {"mean"});
  m.node("Add", {"mean", "e"}, {"y"});
  m.output("y").output("m");
  return m;
}

ModelBuilder sequence() {
  ModelBuilder m(14);
  m.input("ids", kInt64, {"steps"}).floats("table", {5, 4}, ramp(20));
  m.node("Gather", {"table", "ids"}, {"e"});
  m.int64s("one", {1}, {1});
  m.node("Unsqueeze", {"e", "one"}, {"x"});
  m.floats("w", {1, 12, 4}, ramp(48)).floats("r", {1, 12, 3}, ramp(36)).floats("b", {1, 24}, ramp(24));
  set_integer(m.node("LSTM", {"x", "w", "r", "b"}, {"l", "hn", "cn"}), "hidden_size", 3);
  m.node("Squeeze", {"l", "one"}, {"s"});
  m.floats("g", {3, 2}, ramp(6)).floats("c", {2}, ramp(2));
  m.int64s("flat", {2}, {-1, 3});
  m.node("Reshape", {"s", "flat"}, {"f"});
  m.node("Gemm", {"f", "g", "c"}, {"q"});
  set_integer(m.node("Split", {"q"}, {"y", "z"}), "axis", 1);
  m.output("y").output("z").output("hn");
  return m;
}

ModelBuilder constants() {
  ModelBuilder m(17);
  m.input("x", kFloat, {"4"});
  onnx::TensorProto& packed = *m.graph().add_initializer();
  packed.set_name("packed");
  packed.set_data_type(kFloat);
  packed.add_dims(4);
  for (int i = 0; i < 4; ++i) {
    packed.add_float_data(static_cast<float>(i));
  }
  onnx::TensorProto& narrow = *m.graph().add_initializer();
  narrow.set_name("narrow");
  narrow.set_data_type(onnx::TensorProto::INT8);
  narrow.add_dims(4);
  for (int i = 0; i < 4; ++i) {
    narrow.add_int32_data(i - 2);
  }
  set_integer(m.node("Cast", {"narrow"}, {"wide"}), "to", kFloat);
  m.node("Add", {"x", "packed"}, {"a"});
  m.node("Mul", {"a", "wide"}, {"b"});
  onnx::AttributeProto& value = *m.node("Constant", {}, {"c"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = testing::float_tensor("c", {1}, {2});
  m.node("Pow", {"b", "c"}, {"p"});
  m.node("Less", {"p", "x"}, {"l"});
  m.node("Where", {"l", "p", "x"}, {"w"});
  m.floats("lo", {}, {-1}).floats("hi", {}, {6});
  m.node("Clip", {"w", "lo", "hi"}, {"y"});
  m.output("y");
  return m;
}

ModelBuilder branches() {
  ModelBuilder m(17);
  m.input("x", kFloat, {"n", "4"});
  m.node("Shape", {"x"}, {"shape"});
  m.int64s("one", {}, {1}).int64s("four", {}, {4});
  m.node("Gather", {"shape", "one"}, {"width"});
  m.node("Equal", {"width", "four"}, {"is_four"});
  const auto branch = [](const char* op) {
    onnx::GraphProto graph;
    graph.set_name(op);
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.add_input("x");
    node.add_output("inner");
    graph.add_output()->set_name("inner");
    return graph;
  };
  onnx::NodeProto& choice = m.node("If", {"is_four"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = branch(name[0] == 't' ? "Relu" : "Neg");
  }
  m.output("y");
  return m;
}

ModelBuilder pictures() {
  ModelBuilder m(11);
  m.input("x", kFloat, {"1", "4", "h", "w"});
  set_integer(m.node("DepthToSpace", {"x"}, {"d"}), "blocksize", 2);
  m.floats("up", {1, 2, 2, 2}, ramp(8));
  set_integers(m.node("ConvTranspose", {"d", "up"}, {"t"}), "strides", {2, 2});
  onnx::NodeProto& pool = m.node("AveragePool", {"t"}, {"a"});
  set_integers(pool, "kernel_shape", {3, 3});
  set_integers(pool, "pads", {1, 1, 1, 1});
  m.node("GlobalAveragePool", {"a"}, {"g"});
  m.node("Flatten", {"g"}, {"f"});
  m.floats("scale", {1}, {3}).floats("shift", {1}, {0.5F});
  m.node("HardSigmoid", {"a"}, {"s"});
  m.node("InstanceNormalization", {"s", "up2", "up2"}, {"i"});
  m.floats("up2", {2}, {1, 2});
  m.output("i").output("f");
  return m;
}

}  // namespace

std::vector<Seed> onnx_seeds() {
  std::vector<Seed> seeds;
  const auto add = [&](const char* name, const ModelBuilder& model) {
    const std::string bytes = model.bytes();
    const auto view = std::as_bytes(std::span(bytes.data(), bytes.size()));
    seeds.push_back({std::string(name) + ".onnx", {view.begin(), view.end()}});
  };
  add("convolution", convolution());
  add("reshapes", reshapes());
  add("shape_arithmetic", shape_arithmetic());
  add("sequence", sequence());
  add("constants", constants());
  add("branches", branches());
  add("pictures", pictures());
  return seeds;
}

}  // namespace weir::fuzz
