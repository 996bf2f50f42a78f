// SPDX-License-Identifier: Apache-2.0
#include "api/testing/models.h"

#include <cmath>
#include <fstream>
#include <vector>

#include "import/testing/model_builder.h"

namespace weir::testing {

std::string doubler_model(int32_t softmaxes) {
  ModelBuilder model(13);
  model.graph().set_name("doubler");
  model.input("x", onnx::TensorProto::FLOAT, {"n", "4"});
  model.input("rows", onnx::TensorProto::INT64, {"2"});
  model.node("Gather", {"x", "rows"}, {"picked"}, "pick");
  std::string last = "x";
  for (int32_t i = 0; i < softmaxes; ++i) {
    const std::string next = "s" + std::to_string(i);
    set_integer(model.node("Softmax", {last}, {next}, next), "axis", -1);
    last = next;
  }
  model.node("Add", {last, last}, {"y"}, "double");
  model.output("y");
  model.output("picked");
  return model.bytes();
}

std::string small_network() {
  ModelBuilder model(13);
  model.graph().set_name("small");
  uint32_t state = 1;
  const auto weights = [&](const std::string& name, const std::vector<int64_t>& shape, float scale) {
    int64_t count = 1;
    for (const int64_t extent : shape) {
      count *= extent;
    }
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      state = state * 1664525U + 1013904223U;
      values.push_back((static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5F) * scale);
    }
    model.floats(name, shape, values);
  };
  const auto conv = [&](const std::string& from, const std::string& to, int64_t in, int64_t out) {
    weights(to + ".w", {out, in, 3, 3}, 2.0F / std::sqrt(static_cast<float>(in * 9)));
    weights(to + ".b", {out}, 0.5F);
    set_integers(model.node("Conv", {from, to + ".w", to + ".b"}, {to}, to), "pads", {1, 1, 1, 1});
  };
  model.input("x", onnx::TensorProto::FLOAT, {"n", "8", "24", "24"});
  conv("x", "a", 8, 24);
  model.node("Relu", {"a"}, {"a.relu"});
  conv("a.relu", "b", 24, 24);
  model.node("Sigmoid", {"b"}, {"b.sigmoid"});
  conv("a.relu", "c", 24, 24);
  model.node("Add", {"b.sigmoid", "c"}, {"sum"});
  conv("sum", "d", 24, 32);
  model.node("Relu", {"d"}, {"d.relu"});
  model.node("GlobalAveragePool", {"d.relu"}, {"pooled"});
  model.node("Flatten", {"pooled"}, {"flat"});
  weights("e.w", {32, 10}, 1.0F);
  model.node("MatMul", {"flat", "e.w"}, {"product"});
  set_integer(model.node("Softmax", {"product"}, {"y"}), "axis", -1);
  model.output("y");
  return model.bytes();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace weir::testing
