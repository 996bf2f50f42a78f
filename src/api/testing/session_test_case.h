// SPDX-License-Identifier: Apache-2.0
//
// A session of a small model, and a request of it, through the C interface: what the tests of both share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "api_runtime/testing/statuses.h"
#include "import/testing/model_builder.h"
#include "weir/weir.h"

namespace weir::testing {

// Inputs x[n, 4] and rows[2] (int64); outputs y = x + x and picked = x[rows].
inline void write_model(const std::string& path, const std::string& rows = "n") {
  ModelBuilder model(13);
  model.graph().set_name("doubler");
  auto* note = model.proto().add_metadata_props();
  note->set_key("author");
  note->set_value("a person");
  model.input("x", onnx::TensorProto::FLOAT, {rows, "4"});
  model.input("rows", onnx::TensorProto::INT64, {"2"});
  model.node("Add", {"x", "x"}, {"y"}, "double");
  model.node("Gather", {"x", "rows"}, {"picked"}, "pick");
  model.output("y");
  model.output("picked");
  std::ofstream(path, std::ios::binary) << model.bytes();
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("weir_session_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "doubler.onnx";
    cache_ = folder_ / "cache";
    write_model(path_);
    weir_runtime_options options = WEIR_INIT(weir_runtime_options);
    options.threads = 2;
    ASSERT_OK(weir_runtime_create(&options, &runtime_));
    ASSERT_OK(weir_device_create_cpu(runtime_, nullptr, &device_));
  }
  void TearDown() override {
    weir_request_release(request_);
    weir_session_release(session_);
    int64_t held = -1;
    EXPECT_OK(weir_device_memory(device_, WEIR_ALL_CATEGORIES, &held, nullptr));
    EXPECT_EQ(held, 0);
    weir_device_release(device_);
    weir_runtime_release(runtime_);
    std::filesystem::remove_all(folder_);
  }
  weir_session_options options() const {
    weir_session_options options = WEIR_INIT(weir_session_options);
    options.cache_folder = cache_.c_str();
    return options;
  }
  void open() {
    const weir_session_options own = options();
    ASSERT_OK(weir_session_open(runtime_, device_, path_.c_str(), &own, &session_));
  }
  // Open, and prepared for n rows, x[i] = i, rows = (n − 1, 0).
  void ready(int64_t n) {
    open();
    ASSERT_OK(weir_request_create(session_, nullptr, &request_));
    prepare(n);
    fill(n);
  }
  void prepare(int64_t n) {
    const int64_t x[] = {n, 4};
    const int64_t rows[] = {2};
    const weir_shape shapes[] = {{x, 2}, {rows, 1}};
    ASSERT_OK(weir_request_prepare(request_, shapes, 2));
  }
  void fill(int64_t n) {
    float* x = input<float>(0);
    for (int64_t i = 0; i < n * 4; ++i) {
      x[i] = static_cast<float>(i);
    }
    input<int64_t>(1)[0] = n - 1;
    input<int64_t>(1)[1] = 0;
  }
  template <typename T>
  T* input(int32_t index) {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    EXPECT_OK(weir_request_input(request_, index, &tensor));
    return static_cast<T*>(tensor.data);
  }
  std::vector<float> output(int32_t index) {
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    EXPECT_OK(weir_request_output(request_, index, &tensor));
    const auto* data = static_cast<const float*>(tensor.data);
    return {data, data + weir_tensor_element_count(&tensor)};
  }
  static weir_tensor tensor(void* data, weir_element_type type, std::vector<int64_t> shape) {
    weir_tensor t = WEIR_INIT(weir_tensor);
    t.data = data;
    t.type = type;
    t.rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), t.shape);
    weir_tensor_set_dense(&t);
    return t;
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string cache_;
  weir_runtime* runtime_ = nullptr;
  weir_device* device_ = nullptr;
  weir_session* session_ = nullptr;
  weir_request* request_ = nullptr;
};

}  // namespace weir::testing
