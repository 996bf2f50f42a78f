// SPDX-License-Identifier: Apache-2.0
#include "api/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "import/testing/model_builder.h"

namespace weir {
namespace {

class OpenModel : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "model_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    options_.cache_folder = folder_ + "/cache";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // y = x + w, with w in the model or in a file beside it.
  std::string write_model(bool external) const {
    weir::testing::ModelBuilder model(17);
    model.input("x", onnx::TensorProto::FLOAT, {"2"});
    model.floats("w", {2}, {1, 2});
    model.node("Add", {"x", "w"}, {"y"});
    model.output("y");
    if (external) {
      onnx::TensorProto& w = *model.graph().mutable_initializer(0);
      w.clear_raw_data();
      w.set_data_location(onnx::TensorProto::EXTERNAL);
      onnx::StringStringEntryProto& location = *w.add_external_data();
      location.set_key("location");
      location.set_value("w.bin");
    }
    const std::string path = folder_ + "/model.onnx";
    std::ofstream(path, std::ios::binary) << model.bytes();
    return path;
  }

  void write_weights(float first, float second) const {
    const float weights[2] = {first, second};
    std::ofstream(folder_ + "/w.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(weights), sizeof(weights));
  }

  Model open(const std::string& path) const {
    auto model = open_model(path, options_);
    EXPECT_TRUE(model) << (model ? "" : model.error().to_string());
    return std::move(*model);
  }

  static std::vector<float> weights_of(const Model& model) {
    std::vector<float> weights(2);
    std::memcpy(weights.data(), model.loaded.constants.data(), sizeof(float) * 2);
    return weights;
  }

  std::string folder_;
  ModelOptions options_;
};

TEST_F(OpenModel, FindsTheProgramOfAModelInOneFile) {
  const std::string path = write_model(false);
  const Model first = open(path);
  EXPECT_TRUE(first.compiled);
  EXPECT_TRUE(first.cached);
  const Model second = open(path);
  EXPECT_FALSE(second.compiled);
  EXPECT_EQ(weights_of(second), (std::vector<float>{1, 2}));
}

TEST_F(OpenModel, SeesAChangeOfExternalData) {
  const std::string path = write_model(true);
  write_weights(3, 4);
  const Model first = open(path);
  EXPECT_FALSE(first.cached);
  EXPECT_THAT(first.cache_note, ::testing::HasSubstr("weights in other files"));
  EXPECT_EQ(weights_of(first), (std::vector<float>{3, 4}));
  write_weights(5, 6);
  EXPECT_EQ(weights_of(open(path)), (std::vector<float>{5, 6}));
  std::filesystem::remove(folder_ + "/w.bin");
  EXPECT_FALSE(open_model(path, options_));
}

}  // namespace
}  // namespace weir
