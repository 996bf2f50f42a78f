// SPDX-License-Identifier: Apache-2.0
//
// The operator of docs/custom-operators.md.
#pragma once

#include <stdexcept>

#include "weir/weir.hpp"

class Scale final : public weir::Operator {
 public:
  weir::OperatorInfo info() const override { return {"com.example", "Scale", /*version=*/1}; }

  void shape(weir::OperatorNode& node) const override {
    if (node.type(0) != WEIR_FLOAT32) throw std::invalid_argument("Scale takes float32.");
    node.set_output_like(0, 0);
  }
  void extent(const weir::OperatorNode& node, const weir::OperatorShapes& shapes,
              weir::OperatorExtent& extent) const override {
    extent.set_tiles(shapes.input(0).element_count());
    extent.set_parameters(node.real("factor", 1.0));
  }
  void run(const weir::OperatorCall& call) const override {
    const float factor = static_cast<float>(call.parameters<double>());
    const float* x = call.input(0).as<float>();
    float* y = call.output(0).as<float>();
    for (int64_t i = call.tile_begin(); i < call.tile_end(); ++i) y[i] = factor * x[i];
  }
};
