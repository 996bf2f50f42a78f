// SPDX-License-Identifier: Apache-2.0
//
// Softmax and LayerNormalization. A tile is one row: the elements that are normalised together.
#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace weir {
namespace reference {
namespace {

struct SoftmaxConstants {
  TensorSpec x;
  TensorSpec y;
  int32_t axis = 0;
};

Support softmax_supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* y = output(desc, 0);
  if (x == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  if (!is_reference_float(x->element_type) || y->element_type != x->element_type) {
    return {"the operands are not of one floating-point type"};
  }
  if (y->rank() != x->rank() || std::get<SoftmaxAttributes>(*desc.attributes).axis >= x->rank()) {
    return {"the axis and operands differ in rank"};
  }
  return kYes;
}

// The shape of the rows: `axis` has one position.
std::array<int64_t, kMaxRank> rows_of(const TensorSpec& spec, int axis) {
  std::array<int64_t, kMaxRank> shape = spec.shape;
  shape[axis] = 1;
  return shape;
}

Extent softmax_extent(const ConcreteOp& op, std::span<std::byte> target) {
  SoftmaxConstants constants;
  constants.x = op.inputs[0];
  constants.y = op.outputs[0];
  constants.axis = static_cast<int32_t>(op.get<SoftmaxAttributes>().axis);
  const int64_t length = constants.y.shape[constants.axis];
  return record(constants, length == 0 ? 0 : constants.y.element_count() / length, target);
}

// A row that is −∞ throughout gives NaN, since −∞ − (−∞) does.
void softmax_run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<SoftmaxConstants>();
  const auto rows = rows_of(c.y, c.axis);
  const int64_t length = c.y.shape[c.axis];
  const int64_t x_step = c.x.strides[c.axis];
  const int64_t y_step = c.y.strides[c.axis];
  with_floating(c.x.type, [&]<typename T>() {
    for (int64_t row = invocation.tile_begin; row < invocation.tile_end; ++row) {
      const Index index = unravel(row, std::span(rows).first(static_cast<size_t>(c.y.rank)));
      const T* x =
          reinterpret_cast<const T*>(invocation.bindings[0]) + offset_of(index, c.x.strides, c.x.rank);
      T* y = reinterpret_cast<T*>(invocation.bindings[1]) + offset_of(index, c.y.strides, c.y.rank);
      double greatest = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < length; ++i) {
        greatest = std::max(greatest, static_cast<double>(x[i * x_step]));
      }
      double sum = 0;
      for (int64_t i = 0; i < length; ++i) {
        sum += std::exp(static_cast<double>(x[i * x_step]) - greatest);
      }
      for (int64_t i = 0; i < length; ++i) {
        y[i * y_step] = static_cast<T>(std::exp(static_cast<double>(x[i * x_step]) - greatest) / sum);
      }
    }
  });
}

struct LayerNormalizationConstants {
  TensorSpec x;
  TensorSpec scale;  // as a view of x
  TensorSpec bias;   // as a view of x; rank −1 where absent
  TensorSpec y;
  int32_t axis = 0;
  int32_t inputs = 0;
  double epsilon = 0;
};

Support layer_normalization_supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* scale = input(desc, 1);
  const TensorType* bias = input(desc, 2);
  const TensorType* y = output(desc, 0);
  if (x == nullptr || scale == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  if (!is_reference_float(x->element_type) || y->element_type != x->element_type ||
      scale->element_type != x->element_type || (bias != nullptr && bias->element_type != x->element_type)) {
    return {"the operands are not of one floating-point type"};
  }
  if (y->rank() != x->rank() || scale->rank() > x->rank() || (bias != nullptr && bias->rank() > x->rank()) ||
      std::get<LayerNormalizationAttributes>(*desc.attributes).axis >= x->rank()) {
    return {"the axis and operands differ in rank"};
  }
  return kYes;
}

Extent layer_normalization_extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<LayerNormalizationAttributes>();
  LayerNormalizationConstants constants;
  constants.x = op.inputs[0];
  constants.scale = broadcast_to(op.inputs[1], op.inputs[0]);
  constants.bias = op.has_input(2) ? broadcast_to(op.inputs[2], op.inputs[0]) : absent_operand();
  constants.y = op.outputs[0];
  constants.axis = static_cast<int32_t>(attributes.axis);
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  constants.epsilon = attributes.epsilon;
  int64_t rows = constants.x.element_count() == 0 ? 0 : 1;
  for (int i = 0; i < constants.axis; ++i) {
    rows *= constants.x.shape[i];
  }
  return record(constants, rows, target);
}

void layer_normalization_run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<LayerNormalizationConstants>();
  const auto shape = shape_of(c.x);
  const auto axis = static_cast<size_t>(c.axis);
  int64_t length = 1;
  for (const int64_t extent : shape.subspan(axis)) {
    length *= extent;
  }
  with_floating(c.x.type, [&]<typename T>() {
    const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
    const auto* scale = reinterpret_cast<const T*>(invocation.bindings[1]);
    const auto* bias = c.bias.rank < 0 ? nullptr : reinterpret_cast<const T*>(invocation.bindings[2]);
    auto* y = reinterpret_cast<T*>(invocation.bindings[static_cast<size_t>(c.inputs)]);
    for (int64_t row = invocation.tile_begin; row < invocation.tile_end; ++row) {
      const Index first = unravel(row, shape.first(axis));
      const auto for_each_in_row = [&](auto&& visit) {
        Index index = first;
        for (int64_t i = 0; i < length; ++i) {
          visit(static_cast<const Index&>(index));
          next_element(index, shape);
        }
      };
      const auto x_at = [&](const Index& index) {
        return static_cast<double>(x[offset_of(index, c.x.strides, c.x.rank)]);
      };
      double sum = 0;
      for_each_in_row([&](const Index& index) { sum += x_at(index); });
      const double mean = sum / static_cast<double>(length);
      double squares = 0;
      for_each_in_row([&](const Index& index) {
        const double difference = x_at(index) - mean;
        squares += difference * difference;
      });
      const double deviation = std::sqrt(squares / static_cast<double>(length) + c.epsilon);
      for_each_in_row([&](const Index& index) {
        double value = (x_at(index) - mean) / deviation;
        value *= static_cast<double>(scale[offset_of(index, c.scale.strides, c.x.rank)]);
        if (bias != nullptr) {
          value += static_cast<double>(bias[offset_of(index, c.bias.strides, c.x.rank)]);
        }
        y[offset_of(index, c.y.strides, c.y.rank)] = static_cast<T>(value);
      });
    }
  });
}

}  // namespace
}  // namespace reference

// As the vector kernels': a row is read before it is written, then element by element.
static std::vector<InPlacePair> normalization_in_place(const OpDesc&) {
  return {{0, 0}};
}

extern constexpr Implementation kReferenceSoftmax = {
    .name = "reference.softmax",
    .op = Op::kSoftmax,
    .reference = true,
    .supported = reference::softmax_supported,
    .in_place = normalization_in_place,
    .extent = reference::softmax_extent,
    .kernel = reference::softmax_run,
};

extern constexpr Implementation kReferenceLayerNormalization = {
    .name = "reference.layer_normalization",
    .op = Op::kLayerNormalization,
    .reference = true,
    .supported = reference::layer_normalization_supported,
    .in_place = normalization_in_place,
    .extent = reference::layer_normalization_extent,
    .kernel = reference::layer_normalization_run,
};

}  // namespace weir
