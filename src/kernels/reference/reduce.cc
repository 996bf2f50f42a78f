// SPDX-License-Identifier: Apache-2.0
//
// Reduce: mean, sum, maximum and minimum over axes. NaN stays in a maximum or minimum. The mean of integers
// truncates.
#include <cmath>

#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"

namespace weir {
namespace reference {
namespace {

struct ReduceConstants {
  TensorSpec x;  // strides of y's axes
  TensorSpec y;
  TensorSpec reduced;  // extents and strides of the reduced axes
  ReduceKind kind = ReduceKind::kMean;
};

Support supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* y = output(desc, 0);
  const auto& attributes = std::get<ReduceAttributes>(*desc.attributes);
  if (x == nullptr || y == nullptr) {
    return {"an operand is missing"};
  }
  const int removed = attributes.keep_dims ? 0 : static_cast<int>(attributes.axes.size());
  if (y->rank() != x->rank() - removed || (!attributes.axes.empty() && attributes.axes.back() >= x->rank())) {
    return {"the axes and operands differ in rank"};
  }
  if ((!is_reference_float(x->element_type) && !is_reference_integer(x->element_type)) ||
      y->element_type != x->element_type) {
    return {"the element type is none that reductions take"};
  }
  return kYes;
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<ReduceAttributes>();
  const TensorSpec& x = op.inputs[0];
  ReduceConstants constants;
  constants.kind = attributes.kind;
  constants.y = op.outputs[0];
  constants.x = constants.y;
  constants.x.type = x.type;
  int out_axis = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (std::ranges::find(attributes.axes, axis) == attributes.axes.end()) {
      constants.x.strides[out_axis++] = x.strides[axis];
      continue;
    }
    constants.reduced.shape[constants.reduced.rank] = x.shape[axis];
    constants.reduced.strides[constants.reduced.rank++] = x.strides[axis];
    if (attributes.keep_dims) {
      constants.x.strides[out_axis++] = 0;
    }
  }
  return record(constants, chunks(constants.y.element_count()), target);
}

template <typename T, typename F>
void for_each_reduced(const ReduceConstants& c, const T* x, const F& visit) {
  const int64_t count = c.reduced.element_count();
  Index index{};
  for (int64_t i = 0; i < count; ++i) {
    visit(x[offset_of(index, c.reduced.strides, c.reduced.rank)]);
    next_element(index, shape_of(c.reduced));
  }
}

template <typename T>
T add_up(const ReduceConstants& c, const T* x) {
  const int64_t count = c.reduced.element_count();
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;  // wraps
    for_each_reduced(c, x, [&](T value) { sum += static_cast<uint64_t>(value); });
    if (c.kind == ReduceKind::kSum || count == 0) {
      return static_cast<T>(sum);
    }
    return std::is_signed_v<T> ? static_cast<T>(static_cast<int64_t>(sum) / count)
                               : static_cast<T>(sum / static_cast<uint64_t>(count));
  } else {
    double sum = 0;
    for_each_reduced(c, x, [&](T value) { sum += static_cast<double>(value); });
    return static_cast<T>(c.kind == ReduceKind::kSum ? sum : sum / static_cast<double>(count));
  }
}

template <typename T>
T extreme(const ReduceConstants& c, const T* x) {
  using Value = std::conditional_t<std::is_integral_v<T>, T, double>;
  using Limits = std::numeric_limits<Value>;
  const bool greatest = c.kind == ReduceKind::kMax;
  Value result = greatest ? Limits::lowest() : Limits::max();
  if constexpr (!std::is_integral_v<T>) {
    result = greatest ? -Limits::infinity() : Limits::infinity();
  }
  for_each_reduced(c, x, [&](T element) {
    const auto value = static_cast<Value>(element);
    if ((greatest ? value > result : value < result) || std::isnan(static_cast<double>(value))) {
      result = value;
    }
  });
  return static_cast<T>(result);
}

void run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ReduceConstants>();
  with_number(c.x.type, [&]<typename T>() {
    const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
    auto* y = reinterpret_cast<T*>(invocation.bindings[1]);
    for_each_output(invocation, c.y, [&](const Index& index) {
      const T* from = x + offset_of(index, c.x.strides, c.x.rank);
      y[offset_of(index, c.y.strides, c.y.rank)] =
          c.kind == ReduceKind::kMean || c.kind == ReduceKind::kSum ? add_up(c, from) : extreme(c, from);
    });
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceReduce = {
    .name = "reference.reduce",
    .op = Op::kReduce,
    .reference = true,
    .supported = reference::supported,
    .extent = reference::extent,
    .kernel = reference::run,
};

}  // namespace weir
