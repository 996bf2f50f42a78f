// SPDX-License-Identifier: Apache-2.0
//
// Constants of a model that a session is given other values for: against the changed model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "api/model.h"
#include "api_runtime/testing/statuses.h"
#include "import/testing/model_builder.h"
#include "weir/weir.hpp"

namespace {

using ::testing::HasSubstr;

struct Named {
  std::string name;
  std::vector<int64_t> shape;
};

// Everything that the network below multiplies with or adds.
const std::vector<Named> kConstants = {
    {"w", {4, 3, 3, 3}}, {"b", {4}},      {"scale", {4}}, {"shift", {4}}, {"mean", {4}},
    {"variance", {4}},   {"m", {5, 256}}, {"c", {5}},     {"alpha", {1}}, {"table", {6, 5}},
};

int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

std::vector<float> numbers(const Named& constant, uint32_t seed) {
  std::mt19937 random(seed + static_cast<uint32_t>(std::hash<std::string>()(constant.name) % 1000));
  std::uniform_real_distribution<float> distribution(0.2F, 1.2F);  // a variance is positive
  std::vector<float> values(static_cast<size_t>(count_of(constant.shape)));
  for (float& value : values) {
    value = distribution(random) * (constant.name == "m" ? 0.02F : 1.0F);
  }
  return values;
}

// y = alpha·relu((conv(x) normalised, flattened) · mᵀ + c) + table[1]; `changed` constants have other values.
void write_model(const std::string& path, const std::vector<std::string>& changed) {
  weir::testing::ModelBuilder model(13);
  model.input("x", onnx::TensorProto::FLOAT, {"n", "3", "8", "8"});
  for (const Named& constant : kConstants) {
    const bool other = std::ranges::find(changed, constant.name) != changed.end();
    model.floats(constant.name, constant.shape, numbers(constant, other ? 77 : 5));
  }
  model.int64s("flat", {2}, {-1, 256});
  model.int64s("row", {}, {1});
  auto& conv = model.node("Conv", {"x", "w", "b"}, {"convolved"}, "conv");
  weir::testing::set_integers(conv, "pads", {1, 1, 1, 1});
  model.node("BatchNormalization", {"convolved", "scale", "shift", "mean", "variance"}, {"normal"}, "norm");
  model.node("Relu", {"normal"}, {"active"}, "relu");
  model.node("Reshape", {"active", "flat"}, {"flattened"}, "flatten");
  auto& gemm = model.node("Gemm", {"flattened", "m", "c"}, {"product"}, "fc");
  weir::testing::set_integer(gemm, "transB", 1);
  model.node("Relu", {"product"}, {"positive"}, "relu2");
  model.node("Mul", {"positive", "alpha"}, {"scaled"}, "mul");
  model.node("Gather", {"table", "row"}, {"chosen"}, "gather");
  model.node("Add", {"scaled", "chosen"}, {"y"}, "add");
  model.output("y");
  std::ofstream(path, std::ios::binary) << model.bytes();
}

class Constants : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("weir_constants_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    write_model(path("model.onnx"), {});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  // The program of the model, with these swappable.
  std::string compile(const std::vector<std::string>& swappable, bool portable = false) const {
    weir::ModelOptions options;
    options.import.swappable = swappable;
    options.compile.portable = portable;
    auto compiled = weir::compile_model(path("model.onnx"), path("model.weir"), options);
    EXPECT_TRUE(compiled) << (compiled ? "" : compiled.error().to_string());
    return path("model.weir");
  }

  weir::ConstantValue value(const Named& constant, std::vector<float>& data) const {
    data = numbers(constant, 77);
    weir_tensor tensor = WEIR_INIT(weir_tensor);
    tensor.data = data.data();
    tensor.type = WEIR_FLOAT32;
    tensor.rank = static_cast<int32_t>(constant.shape.size());
    std::ranges::copy(constant.shape, tensor.shape);
    weir_tensor_set_dense(&tensor);
    return {constant.name, tensor};
  }
  // With new values for those of `names`.
  weir::Session open(const std::string& file, const std::vector<std::string>& names) {
    weir::SessionOptions options;
    options.cache_folder = path("cache");
    for (const Named& constant : kConstants) {
      if (std::ranges::find(names, constant.name) != names.end()) {
        options.constants.push_back(value(constant, data_[constant.name]));
      }
    }
    return open_with(file, options);
  }
  weir::Session open_with(const std::string& file, const weir::SessionOptions& options) {
    return {runtime_, device_, file, options};
  }
  std::string refusal_with(const std::string& file, const weir::SessionOptions& options) {
    try {
      open_with(file, options);
    } catch (const weir::Error& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal(const std::string& file, const std::vector<std::string>& names) {
    try {
      open(file, names);
    } catch (const weir::Error& error) {
      return error.what();
    }
    return "";
  }

  static std::vector<float> run(const weir::Session& session) {
    weir::Request request = session.request();
    request.prepare({{2, 3, 8, 8}});
    std::mt19937 random(9);
    std::normal_distribution<float> distribution;
    const weir_tensor x = request.input(0).c();
    for (int i = 0; i < 2 * 3 * 8 * 8; ++i) {
      static_cast<float*>(x.data)[i] = distribution(random);
    }
    request.run();
    const weir_tensor y = request.output(0).c();
    const auto* data = static_cast<const float*>(y.data);
    return {data, data + 10};
  }
  // The model with new values for `names`, opened as it is.
  std::vector<float> changed_model(const std::vector<std::string>& names) {
    write_model(path("changed.onnx"), names);
    return run(open(path("changed.onnx"), {}));
  }
  static void expect_near(const std::vector<float>& actual, const std::vector<float>& wanted,
                          const std::string& what) {
    ASSERT_EQ(actual.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      // Sums of a few hundred products, fused otherwise: far above rounding.
      EXPECT_NEAR(actual[i], wanted[i], 2e-5F * (1 + std::abs(wanted[i]))) << what << " element " << i;
    }
  }

  std::filesystem::path folder_;
  weir::Runtime runtime_;
  weir::Device device_ = weir::Device::cpu(runtime_);
  std::map<std::string, std::vector<float>> data_;
};

TEST_F(Constants, EachReachesAllThatItReachedInTheModel) {
  const std::vector<float> old = run(open(path("model.onnx"), {}));
  for (const Named& constant : kConstants) {
    const std::vector<float> wanted = changed_model({constant.name});
    EXPECT_NE(wanted, old) << constant.name;
    expect_near(run(open(path("model.onnx"), {constant.name})), wanted, constant.name + " in the model");
    const std::string program = compile({constant.name});
    expect_near(run(open(program, {constant.name})), wanted, constant.name + " in a program");
    expect_near(run(open(program, {})), old, constant.name + " unchanged");
  }
  std::vector<std::string> all;
  for (const Named& constant : kConstants) {
    all.push_back(constant.name);
  }
  expect_near(run(open(path("model.onnx"), all)), changed_model(all), "all");
}

TEST_F(Constants, APortableProgramTakesThoseThatNothingWasComputedFrom) {
  const std::string program = compile({}, true);
  int plain = 0;
  for (const Named& constant : kConstants) {
    const std::string text = refusal(program, {constant.name});
    if (text.empty()) {
      ++plain;
      expect_near(run(open(program, {constant.name})), changed_model({constant.name}), constant.name);
    } else {
      EXPECT_THAT(text, HasSubstr("compile the model again with --swappable " + constant.name));
    }
  }
  EXPECT_GE(plain, 1);
  EXPECT_LE(plain, 4);
  // The normalisation is in the weights; the shape is in the steps.
  EXPECT_THAT(refusal(program, {"w"}), HasSubstr("it was folded or fused into other constants"));
  EXPECT_THAT(refusal(program, {"mean"}), HasSubstr("its elements were read when the model was imported"));
}

TEST_F(Constants, APackedOneIsRefused) {
  EXPECT_THAT(refusal(compile({}), {"m"}), HasSubstr("Constant 'm' cannot have another value: "));
}

TEST_F(Constants, AreListedAndInThePlan) {
  const weir::Session session = open(path("model.onnx"), {"m", "c"});
  int listed = 0;
  for (const weir::Notice& notice : session.notices()) {
    if (notice.what == "constant") {
      ++listed;
      EXPECT_EQ(notice.kind, WEIR_INFO);
      EXPECT_EQ(notice.bytes, notice.reason.find("'m'") != std::string::npos ? 5 * 256 * 4 : 5 * 4);
    }
  }
  EXPECT_EQ(listed, 2);
  weir::Request request = session.request();
  request.prepare({{2, 3, 8, 8}});
  int64_t held = -1;
  weir_ledger planned = request.planned();
  ASSERT_EQ(weir_device_memory(device_.get(), WEIR_ALL_CATEGORIES, &held, nullptr), nullptr);
  EXPECT_EQ(held, planned.total);
}

TEST_F(Constants, WrongOnesAreRefused) {
  weir::SessionOptions options;
  options.no_cache = true;
  std::vector<float> data;
  options.constants = {value({"m", {5, 256}}, data)};
  options.constants[0].name = "M";
  EXPECT_THAT(refusal_with(path("model.onnx"), options),
              HasSubstr("Constant 'M' is not one of the (12) that the model's outputs need; near it: 'm'"));
  const std::string program = compile({"m", "c"});
  EXPECT_THAT(refusal_with(program, options), HasSubstr("Constant 'M' is not one of the ("));
  EXPECT_THAT(refusal_with(program, options), HasSubstr("that the program names; near it: 'm'"));
  options.constants[0].name = "m";
  options.constants[0].tensor.shape[0] = 4;
  EXPECT_THAT(refusal_with(program, options),
              HasSubstr("is given as float32[4,256], and the program takes float32[5,256]"));
  options.constants[0].tensor.shape[0] = 5;
  options.constants[0].tensor.type = WEIR_INT32;
  EXPECT_THAT(refusal_with(program, options), HasSubstr("is given as int32[5,256]"));
  options.constants[0].tensor.type = WEIR_FLOAT32;
  options.constants.push_back(options.constants[0]);
  EXPECT_THAT(refusal_with(program, options), HasSubstr("Constant 'm' is given twice."));
  options.constants.pop_back();
  options.constants[0].tensor.data = nullptr;
  EXPECT_THAT(refusal_with(program, options), HasSubstr("Constant 'm' is given without data."));

  // A shape is no tensor that a step reads.
  int64_t shape[] = {-1, 256};
  weir_tensor flat = WEIR_INIT(weir_tensor);
  flat.data = shape;
  flat.type = WEIR_INT64;
  flat.rank = 1;
  flat.shape[0] = 2;
  weir_tensor_set_dense(&flat);
  options.constants = {{"flat", flat}};
  EXPECT_THAT(refusal_with(path("model.onnx"), options),
              HasSubstr("it has to follow from shapes and constants"));
  EXPECT_THAT(refusal_with(program, options),
              HasSubstr("its elements were read when the model was imported"));
}

TEST_F(Constants, HalfGivenOnesAreRefused) {
  const auto refused = [&](const weir_constant* constants, int32_t count) {
    weir_session_options options = WEIR_INIT(weir_session_options);
    options.constants = constants;
    options.constant_count = count;
    weir_session* session = nullptr;
    const std::string text = weir::testing::text_of(
        weir_session_open(runtime_.get(), device_.get(), path("model.onnx").c_str(), &options, &session));
    weir_session_release(session);
    return text;
  };
  EXPECT_THAT(refused(nullptr, 2), HasSubstr("Session options count (2) constants and give none."));
  const weir_constant nameless = {nullptr, nullptr};
  EXPECT_THAT(refused(&nameless, 1), HasSubstr("Constant (0) is given without a name or a tensor."));
  const weir_constant empty = {"m", nullptr};
  EXPECT_THAT(refused(&empty, 1), HasSubstr("Constant (0) is given without a name or a tensor."));
  EXPECT_THAT(refused(&empty, -1), HasSubstr("Session options count (-1) constants"));
}

TEST_F(Constants, MayHaveAnyStrides) {
  const std::string program = compile({"m"});
  std::vector<float> data;
  weir::SessionOptions options;
  options.constants = {value({"m", {5, 256}}, data)};
  std::vector<float> turned(data.size());
  for (size_t i = 0; i < 5; ++i) {
    for (size_t k = 0; k < 256; ++k) {
      turned[k * 5 + i] = data[i * 256 + k];
    }
  }
  options.constants[0].tensor.data = turned.data();
  options.constants[0].tensor.strides[0] = 1;
  options.constants[0].tensor.strides[1] = 5;
  EXPECT_EQ(run(open_with(program, options)), run(open(program, {"m"})));
}

TEST_F(Constants, ProgramsForOtherNamesAreOtherPrograms) {
  (void)open(path("model.onnx"), {});
  EXPECT_TRUE(open(path("model.onnx"), {"m"}).info().compiled);
  EXPECT_FALSE(
      open(path("model.onnx"), {"m"}).info().compiled);  // found in the cache: its value is no part of it
  EXPECT_TRUE(open(path("model.onnx"), {"c"}).info().compiled);
}

}  // namespace
