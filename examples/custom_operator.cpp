// SPDX-License-Identifier: Apache-2.0
//
// An operator of one's own, in C++: com.example.BoxBlur, the mean over (2·radius + 1)² pixels where all of
// them exist.
//
//   y = BoxBlur(x) radius=1        float32[N, C, H, W] → float32[N, C, H − 2·radius, W − 2·radius]
//
// A plane is a tile. It is summed along its rows into the workspace first, then along columns into the
// output.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "weir/weir.hpp"

namespace {

class BoxBlur final : public weir::Operator {
 public:
  weir::OperatorInfo info() const override { return {"com.example", "BoxBlur", /*version=*/1}; }

  void shape(weir::OperatorNode& node) const override {
    if (node.type(0) != WEIR_FLOAT32 || node.rank(0) != 4) {
      throw std::invalid_argument("BoxBlur takes float32[N, C, H, W].");
    }
    const int64_t radius = node.integer("radius", 1);
    if (radius < 0 || radius > 1000) {
      throw std::invalid_argument("BoxBlur takes a radius from 0 to 1000.");
    }
    std::vector<weir::OperatorDim> dims = node.shape(0);
    for (int axis = 2; axis < 4; ++axis) {
      // Checked for every shape that is prepared, where it cannot be proved now.
      node.require_at_least(dims[axis], node.number(2 * radius + 1), "an image as large as its window");
      dims[axis] = dims[axis] - 2 * radius;
    }
    node.set_output(0, WEIR_FLOAT32, dims);
  }

  weir::OperatorPlan plan(const weir::OperatorNode&, const weir::OperatorShapes& shapes) const override {
    const weir::TensorView x = shapes.input(0);
    const weir::TensorView y = shapes.output(0);
    weir::OperatorPlan plan;
    plan.workspace_bytes =
        x.shape(0) * x.shape(1) * x.shape(2) * y.shape(3) * static_cast<int64_t>(sizeof(float));
    return plan;
  }

  void extent(const weir::OperatorNode& node, const weir::OperatorShapes& shapes,
              weir::OperatorExtent& extent) const override {
    const weir::TensorView x = shapes.input(0);
    const weir::TensorView y = shapes.output(0);
    extent.set_tiles(x.shape(0) * x.shape(1));
    extent.set_parameters(
        Parameters{x.shape(2), x.shape(3), y.shape(2), y.shape(3), node.integer("radius", 1)});
  }

  void run(const weir::OperatorCall& call) const override {
    const auto& p = call.parameters<Parameters>();
    const int64_t window = 2 * p.radius + 1;
    const float scale = 1.0f / static_cast<float>(window * window);
    for (int64_t plane = call.tile_begin(); plane < call.tile_end(); ++plane) {
      const float* x = call.input(0).as<float>() + plane * p.height * p.width;
      float* y = call.output(0).as<float>() + plane * p.out_height * p.out_width;
      float* sums = call.workspace<float>() + plane * p.height * p.out_width;
      for (int64_t row = 0; row < p.height; ++row) {
        for (int64_t column = 0; column < p.out_width; ++column) {
          float sum = 0;
          for (int64_t i = 0; i < window; ++i) {
            sum += x[row * p.width + column + i];
          }
          sums[row * p.out_width + column] = sum;
        }
      }
      for (int64_t row = 0; row < p.out_height; ++row) {
        for (int64_t column = 0; column < p.out_width; ++column) {
          float sum = 0;
          for (int64_t i = 0; i < window; ++i) {
            sum += sums[(row + i) * p.out_width + column];
          }
          y[row * p.out_width + column] = sum * scale;
        }
      }
    }
  }

 private:
  struct Parameters {
    int64_t height;
    int64_t width;
    int64_t out_height;
    int64_t out_width;
    int64_t radius;
  };
};

}  // namespace

// What `weir … --operators` calls.
extern "C" WEIR_API weir_status* weir_register_operators(weir_runtime* runtime) {
  return weir::try_register_operator(runtime, std::make_shared<BoxBlur>());
}

// The model is y = BoxBlur(x) with radius 2, of float32[N, 3, H, W].
int main(int argc, char** argv) try {
  const weir::Runtime runtime;
  weir::register_operator(runtime, std::make_shared<BoxBlur>());
  const weir::Device device = weir::Device::cpu(runtime);
  const weir::Session session(runtime, device, argc > 1 ? argv[1] : "blur.onnx");
  const weir::Shape shape = {2, 3, 9, 12};
  const weir_ledger plan = session.plan({shape});
  std::printf("planned: %lld bytes, %lld of them workspace\n", static_cast<long long>(plan.total),
              static_cast<long long>(plan.workspace));
  const weir::Request request = session.request();
  request.prepare({shape});
  const weir::TensorView x = request.input(0);
  // A ramp: the mean over a window that is symmetric about a pixel is the pixel.
  for (int64_t i = 0; i < x.element_count(); ++i) {
    x.as<float>()[i] = static_cast<float>(i % 12) + 10 * static_cast<float>(i / 12 % 9);
  }
  request.run();
  const weir::TensorView y = request.output(0);
  if (y.shape() != weir::Shape{2, 3, 5, 8}) {
    std::fprintf(stderr, "custom_operator: the output has another shape\n");
    return 1;
  }
  for (int64_t i = 0; i < y.element_count(); ++i) {
    const float wanted = static_cast<float>(i % 8 + 2) + 10 * static_cast<float>(i / 8 % 5 + 2);
    const float difference = y.as<float>()[i] - wanted;
    if (difference > 1e-4f || difference < -1e-4f) {
      std::fprintf(stderr, "custom_operator: element %lld is %g, not %g\n", static_cast<long long>(i),
                   static_cast<double>(y.as<float>()[i]), static_cast<double>(wanted));
      return 1;
    }
  }
  return 0;
} catch (const weir::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
