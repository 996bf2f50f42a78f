// SPDX-License-Identifier: Apache-2.0
//
// Promise "still", through the C interface: a loop that hands over an array, binds its memory, runs inline
// and through the queue, reads and leases outputs allocates nothing and touches no file, on no thread.
// Counted from outside, so it needs weir_interposer in LD_PRELOAD, as ctest starts it.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/allocation_window.h"
#include "weir/weir.hpp"

namespace {

// y = softmax(x · x) + b over float32[n, 4].
std::string model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  const auto node = [&](const char* op, const std::vector<const char*>& inputs, const char* output) {
    onnx::NodeProto& added = *graph.add_node();
    added.set_op_type(op);
    for (const char* input : inputs) added.add_input(input);
    added.add_output(output);
  };
  node("Mul", {"x", "x"}, "xx");
  node("Softmax", {"xx"}, "s");
  node("Add", {"s", "b"}, "y");
  for (const char* name : {"x", "b"}) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    auto* type = input.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_param("n");
    type->mutable_shape()->add_dim()->set_dim_value(4);
  }
  graph.add_output()->set_name("y");
  return model.SerializeAsString();
}

TEST(StillInterface, FramesAllocateNothing) {
  weir_allocations_begin();
  if (!weir_allocations_end().counted) {
    GTEST_SKIP() << "weir_interposer is not in LD_PRELOAD";
  }
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir_still_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary) << model();
  const weir::Runtime runtime(2);
  const weir::Device device = weir::Device::cpu(runtime);
  weir::SessionOptions options;
  options.no_cache = true;
  const weir::Session session(runtime, device, path.string(), options);
  std::filesystem::remove(path);
  const weir::Request request = session.request();
  request.prepare({{64, 4}, {64, 4}});
  const weir::Event done = device.event("done");

  std::vector<float> x(256, 1);
  alignas(64) std::array<float, 256> b{};
  std::array<float, 512> y{};
  const weir::TensorView columns(x.data(), {64, 4}, {1, 64});
  const weir::TensorView bias(b.data(), {64, 4});
  const weir::TensorView spread(y.data(), {64, 4}, {8, 2});
  request.bind_input(1, bias);
  request.bind_output(0, spread);
  double sum = 0;
  const auto frame = [&](int number) {
    b[0] = static_cast<float>(number);
    request.set_input(0, columns);
    request.bind_input(1, bias);  // again
    request.run();
    sum += y[0];
    const weir::Lease lease = request.lease_output(0);
    sum += lease.tensor().as<float>()[1];
  };
  const auto queued = [&](int number) {
    b[0] = static_cast<float>(number);
    const auto value = static_cast<uint64_t>(number);
    ASSERT_EQ(request.start({}, {done.at(value)}), WEIR_QUEUED);
    ASSERT_TRUE(done.wait(value));
    ASSERT_TRUE(request.wait());
    sum += y[0] + request.output(0).as<float>()[1];
  };
  frame(0);
  weir_allocations_begin();
  for (int i = 1; i <= 500; ++i) {
    frame(i);
    queued(i);
  }
  const weir_allocations counts = weir_allocations_end();
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.maps, 0);
  EXPECT_EQ(counts.files, 0);
  // Softmax of equal numbers is 1/4 everywhere.
  EXPECT_EQ(sum, 0.5 + 2 * (500 * 501 * 0.5 + 500 * 0.5));
}

}  // namespace
