// SPDX-License-Identifier: Apache-2.0
//
// first_result PROGRAM.weir: the least that a C++ program does from its start to a first result, over
// libweir_runtime alone. bench/second_start.py builds it and measures its processor time.
#include <algorithm>
#include <cstdio>
#include <weir/weir.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: first_result PROGRAM.weir\n");
    return 2;
  }
  const weir::Runtime runtime;
  const weir::Device device = weir::Device::cpu(runtime);
  const weir::Session session(runtime, device, argv[1]);
  const weir::Request request = session.request();
  const weir::TensorView input = request.input(0);
  std::fill_n(input.as<float>(), input.element_count(), 0.5f);
  request.run();
  const weir::TensorView output = request.output(0);
  std::printf("%g\n", static_cast<double>(output.as<float>()[0]));
  return 0;
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
