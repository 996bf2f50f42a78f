// SPDX-License-Identifier: Apache-2.0
//
// Conv and ConvTranspose in one to three spatial dimensions, with an epilogue.
#include "kernels/reference/reference.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir {
namespace reference {
namespace {

struct ConvConstants {
  TensorSpec x;
  TensorSpec w;
  TensorSpec bias;  // rank −1 where absent
  TensorSpec y;
  EpilogueConstants epilogue;
  int32_t inputs = 0;
  int64_t group = 1;
  // Of the spatial axes, the last one at kSpatial − 1; leading ones that the tensors lack have extent 1.
  std::array<int64_t, kSpatial> kernel{};
  std::array<int64_t, kSpatial> extents{};
  std::array<int64_t, kSpatial> x_strides{};
  std::array<int64_t, kSpatial> w_strides{};
  std::array<int64_t, kSpatial> steps{};  // the attribute `strides`
  std::array<int64_t, kSpatial> dilations{};
  std::array<int64_t, kSpatial> pads{};
};

Support supported(const OpDesc& desc) {
  const TensorType* x = input(desc, 0);
  const TensorType* w = input(desc, 1);
  const TensorType* bias = input(desc, 2);
  const auto& attributes = std::get<ConvAttributes>(*desc.attributes);
  if (x == nullptr || w == nullptr || output(desc, 0) == nullptr) {
    return {"an operand is missing"};
  }
  if (x->rank() < 3 || x->rank() > 2 + kSpatial) {
    return {"the rank is not 3, 4 or 5"};
  }
  const auto spatial = static_cast<size_t>(x->rank() - 2);
  if (w->rank() != x->rank() || output(desc, 0)->rank() != x->rank() ||
      attributes.strides.size() != spatial || attributes.dilations.size() != spatial ||
      attributes.pads_begin.size() != spatial) {
    return {"the attributes and operands differ in rank"};
  }
  if (!is_reference_float(x->element_type) || w->element_type != x->element_type ||
      (bias != nullptr && (bias->element_type != x->element_type || bias->rank() != 1))) {
    return {"the operands are not of one floating-point type"};
  }
  return can_run_epilogue(desc, x->element_type);
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<ConvAttributes>();
  ConvConstants constants;
  constants.x = op.inputs[0];
  constants.w = op.inputs[1];
  constants.bias = op.has_input(2) ? op.inputs[2] : absent_operand();
  constants.y = op.outputs[0];
  constants.epilogue = epilogue_constants(op);
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  constants.group = attributes.group;
  constants.kernel.fill(1);
  constants.extents.fill(1);
  constants.steps.fill(1);
  constants.dilations.fill(1);
  const int spatial = op.inputs[0].rank - 2;
  for (int i = 0; i < spatial; ++i) {
    const int slot = kSpatial - spatial + i;
    const auto axis = static_cast<size_t>(i);
    constants.kernel[slot] = op.inputs[1].shape[2 + i];
    constants.extents[slot] = op.inputs[0].shape[2 + i];
    constants.x_strides[slot] = op.inputs[0].strides[2 + i];
    constants.w_strides[slot] = op.inputs[1].strides[2 + i];
    constants.steps[slot] = attributes.strides[axis];
    constants.dilations[slot] = attributes.dilations[axis];
    constants.pads[slot] = attributes.pads_begin[axis].constant();
  }
  return record(constants, chunks(op.outputs[0].element_count()), target);
}

using Position = std::array<int64_t, kSpatial>;

Position spatial_of(const Index& index, int rank) {
  Position position{};
  for (int i = 2; i < rank; ++i) {
    position[kSpatial - rank + i] = index[i];
  }
  return position;
}

// Calls `tap(input position, kernel position)` for each kernel position.
template <typename F>
void for_each_kernel_position(const Position& kernel, const F& tap) {
  Position k{};
  for (k[0] = 0; k[0] < kernel[0]; ++k[0]) {
    for (k[1] = 0; k[1] < kernel[1]; ++k[1]) {
      for (k[2] = 0; k[2] < kernel[2]; ++k[2]) {
        tap(static_cast<const Position&>(k));
      }
    }
  }
}

int64_t offset_at(const Position& position, const Position& strides) {
  return position[0] * strides[0] + position[1] * strides[1] + position[2] * strides[2];
}

// Where in the input tap `k` of output position `out` reads, if inside.
bool forward_position(const ConvConstants& c, const Position& out, const Position& k, Position& in) {
  for (int i = 0; i < kSpatial; ++i) {
    in[i] = out[i] * c.steps[i] - c.pads[i] + k[i] * c.dilations[i];
    if (in[i] < 0 || in[i] >= c.extents[i]) {
      return false;
    }
  }
  return true;
}

// Which input position adds to output position `out` through tap `k`, if any.
bool transposed_position(const ConvConstants& c, const Position& out, const Position& k, Position& in) {
  for (int i = 0; i < kSpatial; ++i) {
    const int64_t scaled = out[i] + c.pads[i] - k[i] * c.dilations[i];
    if (scaled < 0 || scaled % c.steps[i] != 0 || scaled / c.steps[i] >= c.extents[i]) {
      return false;
    }
    in[i] = scaled / c.steps[i];
  }
  return true;
}

template <typename T>
double bias_at(const CpuInvocation& invocation, const ConvConstants& c, int64_t channel) {
  if (c.bias.rank < 0) {
    return 0;
  }
  return reinterpret_cast<const T*>(invocation.bindings[2])[channel * c.bias.strides[0]];
}

template <typename T>
double convolve(const CpuInvocation& invocation, const ConvConstants& c, const Index& index) {
  const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
  const auto* w = reinterpret_cast<const T*>(invocation.bindings[1]);
  const int64_t channel = index[1];
  const int64_t group_inputs = c.w.shape[1];
  const int64_t first_input = channel / (c.w.shape[0] / c.group) * group_inputs;
  const Position out = spatial_of(index, c.y.rank);
  x += index[0] * c.x.strides[0] + first_input * c.x.strides[1];
  w += channel * c.w.strides[0];
  double sum = 0;
  for_each_kernel_position(c.kernel, [&](const Position& k) {
    Position in;
    if (!forward_position(c, out, k, in)) {
      return;
    }
    const T* x_tap = x + offset_at(in, c.x_strides);
    const T* w_tap = w + offset_at(k, c.w_strides);
    for (int64_t i = 0; i < group_inputs; ++i) {
      sum += static_cast<double>(x_tap[i * c.x.strides[1]]) * static_cast<double>(w_tap[i * c.w.strides[1]]);
    }
  });
  return sum + bias_at<T>(invocation, c, channel);
}

template <typename T>
double convolve_transposed(const CpuInvocation& invocation, const ConvConstants& c, const Index& index) {
  const auto* x = reinterpret_cast<const T*>(invocation.bindings[0]);
  const auto* w = reinterpret_cast<const T*>(invocation.bindings[1]);
  const int64_t channel = index[1];
  const int64_t group_outputs = c.w.shape[1];
  const int64_t group_inputs = c.w.shape[0] / c.group;
  const int64_t first_input = channel / group_outputs * group_inputs;
  const Position out = spatial_of(index, c.y.rank);
  x += index[0] * c.x.strides[0] + first_input * c.x.strides[1];
  w += first_input * c.w.strides[0] + channel % group_outputs * c.w.strides[1];
  double sum = 0;
  for_each_kernel_position(c.kernel, [&](const Position& k) {
    Position in;
    if (!transposed_position(c, out, k, in)) {
      return;
    }
    const T* x_tap = x + offset_at(in, c.x_strides);
    const T* w_tap = w + offset_at(k, c.w_strides);
    for (int64_t i = 0; i < group_inputs; ++i) {
      sum += static_cast<double>(x_tap[i * c.x.strides[1]]) * static_cast<double>(w_tap[i * c.w.strides[0]]);
    }
  });
  return sum + bias_at<T>(invocation, c, channel);
}

template <bool kTransposed>
void run(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ConvConstants>();
  std::byte* const target = invocation.bindings[static_cast<size_t>(c.inputs)];
  with_floating(c.x.type, [&]<typename T>() {
    for_each_output(invocation, c.y, [&](const Index& index) {
      Scalar value;
      if constexpr (kTransposed) {
        value.real = convolve_transposed<T>(invocation, c, index);
      } else {
        value.real = convolve<T>(invocation, c, index);
      }
      finish(invocation, c.epilogue, c.x.type, value, index, c.y, target);
    });
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceConv = {
    .name = "reference.conv",
    .op = Op::kConv,
    .reference = true,
    .supported = reference::supported,
    .in_place = reference::epilogue_in_place,
    .extent = reference::extent,
    .kernel = reference::run<false>,
};

extern constexpr Implementation kReferenceConvTranspose = {
    .name = "reference.conv_transpose",
    .op = Op::kConvTranspose,
    .reference = true,
    .supported = reference::supported,
    .in_place = reference::epilogue_in_place,
    .extent = reference::extent,
    .kernel = reference::run<true>,
};

}  // namespace weir
