// SPDX-License-Identifier: Apache-2.0
//
// Compiles: weir.hpp is C++17, alone.
#include "weir/weir.hpp"

int64_t use_everything(const weir::Runtime& runtime, const weir::Device& device);

int64_t use_everything(const weir::Runtime& runtime, const weir::Device& device) {
  const weir::Session session(runtime, device, "model.onnx");
  const weir::Request request = session.request();
  request.prepare({{1, 3}});
  return request.output(0).element_count();
}
