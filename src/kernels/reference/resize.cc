// SPDX-License-Identifier: Apache-2.0
//
// Resize for any rank: along each axis up to four weighted positions, and over axes their products.
#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"
#include "kernels/resize_coordinates.h"

namespace weir {
namespace reference {
namespace {

struct ResizeConstants {
  TensorSpec x;
  TensorSpec y;
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateMode coordinates = CoordinateMode::kHalfPixel;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  bool exclude_outside = false;
  double cubic_coefficient = 0;
  std::array<float, kMaxRank> scales{};
};

Support supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* y = output(desc, 0);
  const auto& attributes = std::get<ResizeAttributes>(*desc.attributes);
  if (x == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  if (y->rank() != x->rank() || y->element_type != x->element_type ||
      (!attributes.scales.empty() && attributes.scales.size() != static_cast<size_t>(x->rank()))) {
    return {"the scales and operands differ in rank or type"};
  }
  if (attributes.mode == ResizeMode::kNearest ? bit_width(x->element_type) < 8
                                              : !is_reference_float(x->element_type)) {
    return {"the element type is none that this mode interpolates"};
  }
  return kYes;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<ResizeAttributes>();
  ResizeConstants constants;
  constants.x = op.inputs[0];
  constants.y = op.outputs[0];
  constants.mode = attributes.mode;
  constants.coordinates = attributes.coordinates;
  constants.nearest = attributes.nearest;
  constants.exclude_outside = attributes.exclude_outside;
  constants.cubic_coefficient = attributes.cubic_coefficient;
  for (int i = 0; i < constants.x.rank; ++i) {
    constants.scales[i] =
        resize_scale(attributes, static_cast<size_t>(i), constants.x.shape[i], constants.y.shape[i]);
  }
  // An output of an empty input has nothing to read.
  const bool empty = constants.x.element_count() == 0;
  return record(constants, empty ? 0 : chunks(constants.y.element_count()), target);
}

// Input positions along one axis, with weights that add up to 1.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> position{};
  std::array<double, 4> weight{};

  void add(int64_t at, double by) {
    position[count] = at;
    weight[count++] = by;
  }
};

// Cubic convolution (Keys 1981): the weight of a sample at distance `d`, with the coefficient a.
double cubic_weight(double d, double a) {
  d = std::fabs(d);
  if (d <= 1) {
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  }
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_at(const ResizeConstants& c, int axis, int64_t x) {
  const int64_t extent = c.x.shape[axis];
  Taps taps;
  if (c.scales[axis] == 1.0f && extent == c.y.shape[axis]) {
    taps.add(x, 1);
    return taps;
  }
  const float coordinate = resize_coordinate(c.coordinates, c.scales[axis], x, extent, c.y.shape[axis]);
  switch (c.mode) {
    case ResizeMode::kNearest:
      taps.add(resize_nearest(c.nearest, coordinate, extent), 1);
      break;
    case ResizeMode::kLinear: {
      const LinearTaps linear = resize_linear(coordinate, extent);
      taps.add(linear.low, 1 - static_cast<double>(linear.fraction));
      taps.add(linear.high, static_cast<double>(linear.fraction));
      break;
    }
    case ResizeMode::kCubic: {
      const float floor = std::floor(coordinate);
      const double fraction = static_cast<double>(coordinate - floor);
      double sum = 0;
      for (int i = -1; i <= 2; ++i) {
        const int64_t position = static_cast<int64_t>(floor) + i;
        const bool outside = position < 0 || position >= extent;
        const double weight =
            c.exclude_outside && outside ? 0 : cubic_weight(fraction - i, c.cubic_coefficient);
        taps.add(std::clamp<int64_t>(position, 0, extent - 1), weight);
        sum += weight;
      }
      for (double& weight : taps.weight) {
        weight /= c.exclude_outside ? sum : 1;
      }
      break;
    }
  }
  return taps;
}

void run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ResizeConstants>();
  const int64_t width = bit_width(c.x.type) / 8;
  for_each_output(invocation, c.y, [&](const Index& index) {
    std::array<Taps, kMaxRank> taps;
    std::array<int64_t, kMaxRank> counts{};
    int64_t combinations = 1;
    for (int i = 0; i < c.y.rank; ++i) {
      taps[i] = taps_at(c, i, index[i]);
      counts[i] = taps[i].count;
      combinations *= counts[i];
    }
    const auto offset_and_weight = [&](const Index& choice) {
      std::pair<int64_t, double> result = {0, 1};
      for (int i = 0; i < c.y.rank; ++i) {
        result.first += taps[i].position[choice[i]] * c.x.strides[i];
        result.second *= taps[i].weight[choice[i]];
      }
      return result;
    };
    const int64_t target = offset_of(index, c.y.strides, c.y.rank);
    if (c.mode == ResizeMode::kNearest) {
      std::memcpy(invocation.bindings[1] + target * width,
                  invocation.bindings[0] + offset_and_weight({}).first * width, static_cast<size_t>(width));
      return;
    }
    with_floating(c.x.type, [&]<typename T>() {
      double sum = 0;
      Index choice{};
      for (int64_t i = 0; i < combinations; ++i) {
        const auto [offset, weight] = offset_and_weight(choice);
        sum += weight * static_cast<double>(reinterpret_cast<const T*>(invocation.bindings[0])[offset]);
        next_element(choice, std::span(counts).first(static_cast<size_t>(c.y.rank)));
      }
      reinterpret_cast<T*>(invocation.bindings[1])[target] = static_cast<T>(sum);
    });
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceResize = {
    .name = "reference.resize",
    .op = Op::kResize,
    .reference = true,
    .supported = reference::supported,
    .extent = reference::extent,
    .kernel = reference::run,
};

}  // namespace weir
