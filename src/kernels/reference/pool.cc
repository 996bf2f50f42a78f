// SPDX-License-Identifier: Apache-2.0
//
// MaxPool and AveragePool in one to three spatial dimensions. A window of ceil mode may reach past the padded
// input: what lies there is neither a maximum nor counted.
#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace weir {
namespace reference {
namespace {

struct PoolConstants {
  TensorSpec x;
  TensorSpec y;
  bool count_include_pad = false;
  // Of the spatial axes, the last one at kSpatial − 1.
  std::array<int64_t, kSpatial> kernel{};
  std::array<int64_t, kSpatial> extents{};
  std::array<int64_t, kSpatial> x_strides{};
  std::array<int64_t, kSpatial> steps{};
  std::array<int64_t, kSpatial> dilations{};
  std::array<int64_t, kSpatial> pads_begin{};
  std::array<int64_t, kSpatial> pads_end{};
};

Support supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* y = output(desc, 0);
  const auto& attributes = std::get<PoolAttributes>(*desc.attributes);
  if (x == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  if (x->rank() < 3 || x->rank() > 2 + kSpatial) {
    return {"the rank is not 3, 4 or 5"};
  }
  const auto spatial = static_cast<size_t>(x->rank() - 2);
  if (y->rank() != x->rank() || attributes.kernel.size() != spatial || attributes.strides.size() != spatial ||
      attributes.dilations.size() != spatial || attributes.pads_begin.size() != spatial ||
      attributes.pads_end.size() != spatial) {
    return {"the attributes and operands differ in rank"};
  }
  const bool known = is_reference_float(x->element_type) ||
                     (desc.op == Op::kMaxPool && is_reference_integer(x->element_type));
  if (!known || y->element_type != x->element_type) {
    return {"the element type is none that pools take"};
  }
  return kYes;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<PoolAttributes>();
  PoolConstants constants;
  constants.x = op.inputs[0];
  constants.y = op.outputs[0];
  constants.count_include_pad = attributes.count_include_pad;
  constants.kernel.fill(1);
  constants.extents.fill(1);
  constants.steps.fill(1);
  constants.dilations.fill(1);
  const int spatial = constants.x.rank - 2;
  for (int i = 0; i < spatial; ++i) {
    const int slot = kSpatial - spatial + i;
    const auto axis = static_cast<size_t>(i);
    constants.kernel[slot] = attributes.kernel[axis];
    constants.extents[slot] = constants.x.shape[2 + i];
    constants.x_strides[slot] = constants.x.strides[2 + i];
    constants.steps[slot] = attributes.strides[axis];
    constants.dilations[slot] = attributes.dilations[axis];
    constants.pads_begin[slot] = attributes.pads_begin[axis].constant();
    constants.pads_end[slot] = attributes.pads_end[axis].constant();
  }
  return record(constants, chunks(constants.y.element_count()), target);
}

// Calls `inside(offset)` for the window's elements within the input. Returns how many positions of the window
// lie within the padded input.
template <typename F>
int64_t for_each_in_window(const PoolConstants& c, const Index& index, const F& inside) {
  std::array<int64_t, kSpatial> origin{};
  for (int i = 0; i < kSpatial; ++i) {
    const int axis = i - kSpatial + c.y.rank;  // < 2: an axis that the tensors lack
    origin[i] = (axis < 2 ? 0 : index[axis]) * c.steps[i] - c.pads_begin[i];
  }
  int64_t padded = 0;
  std::array<int64_t, kSpatial> k{};
  for (k[0] = 0; k[0] < c.kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < c.kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < c.kernel[2]; ++k[2]) {
        int64_t offset = index[0] * c.x.strides[0] + index[1] * c.x.strides[1];
        bool in_input = true;
        bool in_padded = true;
        for (int i = 0; i < kSpatial; ++i) {
          const int64_t position = origin[i] + k[i] * c.dilations[i];
          in_input = in_input && position >= 0 && position < c.extents[i];
          in_padded = in_padded && position < c.extents[i] + c.pads_end[i];
          offset += position * c.x_strides[i];
        }
        padded += in_padded ? 1 : 0;
        if (in_input) {
          inside(offset);
        }
      }
    }
  }
  return padded;
}

void run_max(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<PoolConstants>();
  with_number(c.x.type, [&]<typename T>() {
    using Value = std::conditional_t<std::is_integral_v<T>, T, double>;
    constexpr Value kLeast = std::is_integral_v<T> ? std::numeric_limits<Value>::lowest()
                                                   : -std::numeric_limits<Value>::infinity();
    const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
    auto* y = reinterpret_cast<T*>(invocation.bindings[1]);
    for_each_output(invocation, c.y, [&](const Index& index) {
      Value greatest = kLeast;
      for_each_in_window(c, index, [&](int64_t offset) {
        const auto value = static_cast<Value>(x[offset]);
        if (value > greatest || std::isnan(static_cast<double>(value))) {  // NaN stays
          greatest = value;
        }
      });
      y[offset_of(index, c.y.strides, c.y.rank)] = static_cast<T>(greatest);
    });
  });
}

void run_average(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<PoolConstants>();
  with_floating(c.x.type, [&]<typename T>() {
    const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
    auto* y = reinterpret_cast<T*>(invocation.bindings[1]);
    for_each_output(invocation, c.y, [&](const Index& index) {
      double sum = 0;
      int64_t count = 0;
      const int64_t padded = for_each_in_window(c, index, [&](int64_t offset) {
        sum += static_cast<double>(x[offset]);
        ++count;
      });
      const int64_t divisor = c.count_include_pad ? padded : count;
      y[offset_of(index, c.y.strides, c.y.rank)] =
          static_cast<T>(divisor == 0 ? 0 : sum / static_cast<double>(divisor));
    });
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceMaxPool = {
    .name = "reference.max_pool",
    .op = Op::kMaxPool,
    .reference = true,
    .supported = reference::supported,
    .extent = reference::extent,
    .kernel = reference::run_max,
};

extern constexpr Implementation kReferenceAveragePool = {
    .name = "reference.average_pool",
    .op = Op::kAveragePool,
    .reference = true,
    .supported = reference::supported,
    .extent = reference::extent,
    .kernel = reference::run_average,
};

}  // namespace weir
