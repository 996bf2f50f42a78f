// SPDX-License-Identifier: Apache-2.0
//
// A custom operator whose functions a test sets, and what the tests of custom operators share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "custom_models.h"
#include "weir/weir.hpp"

namespace custom_testing {

class Probe final : public weir::Operator {
 public:
  // By default y = x + 1, a row a tile.
  weir::OperatorInfo about = {"com.example", "Probe"};
  std::function<void(weir::OperatorNode&)> on_shape = [](weir::OperatorNode& node) {
    node.set_output_like(0, 0);
  };
  std::function<weir::OperatorPlan(const weir::OperatorNode&, const weir::OperatorShapes&)> on_plan =
      [](const auto&, const auto&) { return weir::OperatorPlan(); };
  std::function<void(const weir::OperatorNode&, const weir::OperatorShapes&, weir::OperatorExtent&)>
      on_extent = [](const auto&, const weir::OperatorShapes& shapes, weir::OperatorExtent& extent) {
        extent.set_tiles(shapes.input(0).shape(0));
      };
  std::function<void(const weir::OperatorCall&)> on_run = [](const weir::OperatorCall& call) {
    add_one(call);
  };

  static void add_one(const weir::OperatorCall& call) {
    const weir::TensorView x = call.input(0);
    const weir::TensorView y = call.output(0);
    for (int64_t row = call.tile_begin(); row < call.tile_end(); ++row) {
      for (int64_t i = 0; i < x.shape(1); ++i) {
        y.as<float>()[row * y.stride(0) + i * y.stride(1)] =
            x.as<float>()[row * x.stride(0) + i * x.stride(1)] + 1;
      }
    }
  }

  weir::OperatorInfo info() const override { return about; }
  void shape(weir::OperatorNode& node) const override { on_shape(node); }
  weir::OperatorPlan plan(const weir::OperatorNode& node, const weir::OperatorShapes& shapes) const override {
    return on_plan(node, shapes);
  }
  void extent(const weir::OperatorNode& node, const weir::OperatorShapes& shapes,
              weir::OperatorExtent& extent) const override {
    on_extent(node, shapes, extent);
  }
  void run(const weir::OperatorCall& call) const override { on_run(call); }
};

class Custom : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("weir_custom_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const custom_models::Model& model) const {
    const std::string path = folder_ + "/model.onnx";
    custom_models::write(model, path);
    return path;
  }
  static weir::SessionOptions uncached() {
    weir::SessionOptions options;
    options.no_cache = true;
    return options;
  }
  // The whole text of what `body` throws; "" where it does not.
  static std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const weir::Error& error) {
      return error.what();
    }
    return "";
  }
  // What opening the model says with this operator registered.
  std::string opening(const std::shared_ptr<const Probe>& probe,
                      const custom_models::Model& model = {}) const {
    return error_of([&] {
      const weir::Runtime runtime(1);
      weir::register_operator(runtime, probe);
      const weir::Session session(runtime, weir::Device::cpu(runtime), write(model), uncached());
    });
  }
  // What preparing or running a shape says.
  std::string running(const std::shared_ptr<const Probe>& probe, const custom_models::Model& model = {},
                      const weir::Shape& shape = {3, 5}, bool validation = false) const {
    return error_of([&] {
      const weir::Runtime runtime(2);
      weir::register_operator(runtime, probe);
      weir::DeviceOptions device_options;
      device_options.validation = validation;
      const weir::Device device = weir::Device::cpu(runtime, device_options);
      const weir::Session session(runtime, device, write(model), uncached());
      const weir::Request request = session.request();
      request.prepare({shape});
      fill(request);
      request.run();
    });
  }
  static void fill(const weir::Request& request) {
    const weir::TensorView x = request.input(0);
    for (int64_t i = 0; i < x.element_count(); ++i) {
      x.as<float>()[i] = static_cast<float>(i);
    }
  }
  static std::vector<float> output(const weir::Request& request, int32_t index = 0) {
    const weir::TensorView y = request.output(index);
    return std::vector<float>(y.as<float>(), y.as<float>() + y.element_count());
  }

  std::string folder_;
};

}  // namespace custom_testing
