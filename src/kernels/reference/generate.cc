// SPDX-License-Identifier: Apache-2.0
//
// What reads no tensor: Fill, Range and DimTensor.
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir {
namespace reference {
namespace {

bool has_arithmetic(ElementType type) {
  return is_reference_float(type) || is_reference_integer(type);
}

struct FillConstants {
  TensorSpec y;
  Scalar value;
};

Support fill_supported(const OpDesc& desc) {
  const TensorType* y = output(desc, 0);
  return y != nullptr && (has_arithmetic(y->element_type) || y->element_type == ElementType::kBool)
             ? kYes
             : Support{"the element type has no arithmetic"};
}

Extent fill_extent(const ConcreteOp& op, std::span<std::byte> target) {
  FillConstants constants;
  constants.y = op.outputs[0];
  const double value = op.get<FillAttributes>().value;
  constants.value.real = value;
  constants.value.integer = value != 0 ? 1 : 0;  // of a bool
  with_integer(constants.y.type,
               [&]<typename T>() { constants.value.integer = static_cast<int64_t>(truncate_to<T>(value)); });
  return record(constants, chunks(constants.y.element_count()), target);
}

void run_fill(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<FillConstants>();
  for_each_output(invocation, c.y, [&](const Index& index) {
    store(c.y.type, invocation.bindings[0], offset_of(index, c.y.strides, c.y.rank), c.value);
  });
}

struct RangeConstants {
  TensorSpec y;
  int64_t start = 0;
  int64_t delta = 0;
};

Support range_supported(const OpDesc& desc) {
  const TensorType* y = output(desc, 0);
  return y != nullptr && y->rank() == 1 && has_arithmetic(y->element_type)
             ? kYes
             : Support{"the output is no vector of numbers"};
}

Extent range_extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<RangeAttributes>();
  const RangeConstants constants{op.outputs[0], attributes.start.constant(), attributes.delta.constant()};
  return record(constants, chunks(constants.y.element_count()), target);
}

void run_range(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<RangeConstants>();
  for_each_output(invocation, c.y, [&](const Index& index) {
    Scalar value;
    // In unsigned arithmetic, which wraps.
    value.integer = static_cast<int64_t>(static_cast<uint64_t>(c.start) +
                                         static_cast<uint64_t>(index[0]) * static_cast<uint64_t>(c.delta));
    value.real = static_cast<double>(value.integer);
    store(c.y.type, invocation.bindings[0], index[0] * c.y.strides[0], value);
  });
}

// As many elements as fit a step's constants beside the output's spec.
inline constexpr int64_t kMaxDimElements =
    static_cast<int64_t>((kMaxKernelConstants - sizeof(TensorSpec)) / sizeof(int64_t));

struct DimTensorConstants {
  TensorSpec y;
  std::array<int64_t, kMaxDimElements> elements;
};

Support dim_tensor_supported(const OpDesc& desc) {
  const TensorType* y = output(desc, 0);
  if (y == nullptr || y->element_type != ElementType::kInt64) {
    return {"the output is not int64"};
  }
  const auto count = static_cast<int64_t>(std::get<DimTensorAttributes>(*desc.attributes).elements.size());
  if (count > kMaxDimElements) {
    return {"there are more elements than a step's constants hold (495)"};
  }
  return y->element_count().is_constant(count) ? kYes
                                               : Support{"the elements and the output differ in number"};
}

Extent dim_tensor_extent(const ConcreteOp& op, std::span<std::byte> target) {
  DimTensorConstants constants{};
  constants.y = op.outputs[0];
  const Dims& elements = op.get<DimTensorAttributes>().elements;
  for (size_t i = 0; i < elements.size() && i < constants.elements.size(); ++i) {
    constants.elements[i] = elements[i].constant();
  }
  return record(constants, chunks(constants.y.element_count()), target);
}

void run_dim_tensor(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<DimTensorConstants>();
  auto* y = reinterpret_cast<int64_t*>(invocation.bindings[0]);
  int64_t linear = invocation.tile_begin * kChunk;
  for_each_output(invocation, c.y, [&](const Index& index) {
    y[offset_of(index, c.y.strides, c.y.rank)] = c.elements[static_cast<size_t>(linear++)];
  });
}

static_assert(kMaxDimElements == 495);

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceFill = {
    .name = "reference.fill",
    .op = Op::kFill,
    .reference = true,
    .supported = reference::fill_supported,
    .extent = reference::fill_extent,
    .kernel = reference::run_fill,
};

extern constexpr Implementation kReferenceRange = {
    .name = "reference.range",
    .op = Op::kRange,
    .reference = true,
    .supported = reference::range_supported,
    .extent = reference::range_extent,
    .kernel = reference::run_range,
};

extern constexpr Implementation kReferenceDimTensor = {
    .name = "reference.dim_tensor",
    .op = Op::kDimTensor,
    .reference = true,
    .supported = reference::dim_tensor_supported,
    .extent = reference::dim_tensor_extent,
    .kernel = reference::run_dim_tensor,
};

}  // namespace weir
