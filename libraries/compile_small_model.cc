// SPDX-License-Identifier: Apache-2.0
//
// compile_small_model MODEL.onnx PROGRAM.weir PORTABLE.weir: writes all, y = x · w + b over float32[n, 2].
#include <cstdio>
#include <fstream>

#include "api/model.h"
#include "import/testing/model_builder.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    return 2;
  }
  weir::testing::ModelBuilder model(13);
  model.graph().set_name("small");
  model.input("x", onnx::TensorProto::FLOAT, {"n", "2"});
  model.floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  model.floats("b", {3}, {0.5, 0.25, 0.125});
  model.node("MatMul", {"x", "w"}, {"xw"}, "product");
  model.node("Add", {"xw", "b"}, {"y"}, "sum");
  model.output("y");
  std::ofstream(argv[1], std::ios::binary) << model.bytes();
  for (const bool portable : {false, true}) {
    weir::ModelOptions options;
    options.compile.portable = portable;
    const auto compiled = weir::compile_model(argv[1], argv[portable ? 3 : 2], options);
    if (!compiled) {
      std::fprintf(stderr, "%s\n", compiled.error().to_string().c_str());
      return 1;
    }
  }
  return 0;
}
