// SPDX-License-Identifier: Apache-2.0
//
// A first inference: open a model, see what it takes, write an input, run, read the output. README.md shows
// this text.
#include <algorithm>
#include <cstdio>
#include <weir/weir.hpp>

int main(int argc, char** argv) try {
  const weir::Runtime runtime;
  const weir::Device device = weir::Device::cpu(runtime);
  // Compiled the first time, then found in a cache.
  const weir::Session session(runtime, device, argc > 1 ? argv[1] : "model.onnx");

  // The model leaves some dimensions open; this is the shape that we want to run.
  weir::Shape shape = session.input(0).shape;
  const weir::Shape wanted = {1, 3, 48, 192};
  for (size_t i = 0; i < shape.size() && i < wanted.size(); ++i) {
    if (shape[i] < 0) shape[i] = wanted[i];
  }
  // Memory is known before anything is allocated, line by line.
  const weir_ledger plan = session.plan({shape});
  std::printf("planned: %lld bytes (%lld of them constants)\n", (long long)plan.total,
              (long long)plan.constants);

  const weir::Request request = session.request();
  request.prepare({shape});
  const weir::TensorView input = request.input(0);  // the request's own tensor: nothing is copied
  for (int64_t i = 0; i < input.element_count(); ++i) {
    input.as<float>()[i] = static_cast<float>(i % 255) / 127.5f - 1.0f;
  }
  request.run();  // allocates nothing

  const weir::TensorView output = request.output(0);
  const float* scores = output.as<float>();
  const float* best = std::max_element(scores, scores + output.element_count());
  std::printf("best: class %lld with %.4f\n", (long long)(best - scores), *best);
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
