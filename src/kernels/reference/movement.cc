// SPDX-License-Identifier: Apache-2.0
//
// What moves elements and computes nothing: Reshape, Transpose, Slice, Expand, Copy, Concat, Pad and Gather,
// for elements of whole bytes.
#include "kernels/reference/reference.h"
#include "kernels/reference/scalar.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir {
namespace reference {
namespace {

// One operand and the output are of one type, whose elements take whole bytes.
Support moves(const OpDesc& desc, size_t operands) {
  const TensorType* y = output(desc, 0);
  if (y == nullptr || desc.inputs.size() < operands) {
    return {"an operand is missing"};
  }
  if (bit_width(y->element_type) < 8) {
    return {"elements are narrower than a byte"};
  }
  for (size_t i = 0; i < operands; ++i) {
    if (desc.inputs[i] == nullptr || desc.inputs[i]->element_type != y->element_type) {
      return {"an input is missing or has another type than the output"};
    }
  }
  return kYes;
}

size_t width_of(const TensorSpec& spec) {
  return static_cast<size_t>(bit_width(spec.type) / 8);
}

void copy_element(const CpuInvocation& invocation, size_t width, size_t from, int64_t source, size_t to,
                  int64_t target) {
  std::memcpy(invocation.bindings[to] + target * static_cast<int64_t>(width),
              invocation.bindings[from] + source * static_cast<int64_t>(width), width);
}

// Transpose, Slice, Expand and Copy: the output is a view of the input.

struct ViewConstants {
  TensorSpec view;
  TensorSpec y;
  int64_t offset = 0;  // of the view's first element, in elements
};

void run_view(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ViewConstants>();
  const size_t width = width_of(c.y);
  for_each_output(invocation, c.y, [&](const Index& index) {
    copy_element(invocation, width, 0, c.offset + offset_of(index, c.view.strides, c.y.rank), 1,
                 offset_of(index, c.y.strides, c.y.rank));
  });
}

Extent record_view(ViewConstants& constants, const ConcreteOp& op, std::span<std::byte> target) {
  constants.y = op.outputs[0];
  return record(constants, chunks(constants.y.element_count()), target);
}

Support transpose_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) {
    return support;
  }
  const auto rank = static_cast<int>(std::get<TransposeAttributes>(*desc.attributes).permutation.size());
  return desc.inputs[0]->rank() == rank && desc.outputs[0]->rank() == rank
             ? kYes
             : Support{"the permutation and operands differ in rank"};
}

Extent transpose_extent(const ConcreteOp& op, std::span<std::byte> target) {
  ViewConstants constants;
  const auto permutation = numbers(op.get<TransposeAttributes>().permutation);
  for (int i = 0; i < op.outputs[0].rank; ++i) {
    constants.view.strides[i] = op.inputs[0].strides[permutation[i]];
  }
  return record_view(constants, op, target);
}

Support slice_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) {
    return support;
  }
  const auto& attributes = std::get<SliceAttributes>(*desc.attributes);
  const auto rank = static_cast<size_t>(desc.inputs[0]->rank());
  return attributes.starts.size() == rank && attributes.steps.size() == rank &&
                 desc.outputs[0]->shape.size() == rank
             ? kYes
             : Support{"the starts, steps and operands differ in rank"};
}

Extent slice_extent(const ConcreteOp& op, std::span<std::byte> target) {
  ViewConstants constants;
  const auto starts = numbers(op.get<SliceAttributes>().starts);
  const auto steps = numbers(op.get<SliceAttributes>().steps);
  for (int i = 0; i < op.outputs[0].rank; ++i) {
    // A start or step that no element is taken by may be anything.
    const int64_t stride = op.inputs[0].strides[i];
    const int64_t extent = op.outputs[0].shape[i];
    constants.view.strides[i] = extent > 1 ? stride * steps[i] : 0;
    constants.offset += extent > 0 ? stride * starts[i] : 0;
  }
  return record_view(constants, op, target);
}

Support expand_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) {
    return support;
  }
  return desc.inputs[0]->rank() <= desc.outputs[0]->rank() ? kYes : Support{"the output has a lower rank"};
}

Extent expand_extent(const ConcreteOp& op, std::span<std::byte> target) {
  ViewConstants constants;
  constants.view = broadcast_to(op.inputs[0], op.outputs[0]);
  return record_view(constants, op, target);
}

// Reshape: the elements keep their place in row-major order.

struct ReshapeConstants {
  TensorSpec x;
  TensorSpec y;
};

Support one_input_moves(const OpDesc& desc) {
  return moves(desc, 1);
}

Extent reshape_extent(const ConcreteOp& op, std::span<std::byte> target) {
  return record(ReshapeConstants{op.inputs[0], op.outputs[0]}, chunks(op.outputs[0].element_count()), target);
}

void run_reshape(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ReshapeConstants>();
  const size_t width = width_of(c.y);
  int64_t linear = invocation.tile_begin * kChunk;
  for_each_output(invocation, c.y, [&](const Index& index) {
    const Index source = unravel(linear++, shape_of(c.x));
    copy_element(invocation, width, 0, offset_of(source, c.x.strides, c.x.rank), 1,
                 offset_of(index, c.y.strides, c.y.rank));
  });
}

// Concat. The inputs share all extents but one, so that only that one and the strides are recorded.

struct ConcatPart {
  int64_t extent = 0;
  std::array<int64_t, kMaxRank> strides{};
};

inline constexpr size_t kMaxConcatInputs = 48;

struct ConcatConstants {
  TensorSpec y;
  int32_t axis = 0;
  int32_t inputs = 0;
  std::array<ConcatPart, kMaxConcatInputs> parts{};
};

Support concat_supported(const OpDesc& desc) {
  if (desc.inputs.empty() || desc.inputs.size() > kMaxConcatInputs) {
    return {"there are more than 48 inputs, or none"};
  }
  if (Support support = moves(desc, desc.inputs.size()); !support.ok()) {
    return support;
  }
  const int rank = desc.outputs[0]->rank();
  for (const TensorType* operand : desc.inputs) {
    if (operand->rank() != rank) {
      return {"the inputs differ in rank"};
    }
  }
  return std::get<ConcatAttributes>(*desc.attributes).axis < rank ? kYes
                                                                  : Support{"the axis is out of range"};
}

Extent concat_extent(const ConcreteOp& op, std::span<std::byte> target) {
  ConcatConstants constants;
  constants.y = op.outputs[0];
  constants.axis = static_cast<int32_t>(op.get<ConcatAttributes>().axis);
  constants.inputs = static_cast<int32_t>(op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    constants.parts[i] = {op.inputs[i].shape[constants.axis], op.inputs[i].strides};
  }
  return record(constants, chunks(constants.y.element_count()), target);
}

void run_concat(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<ConcatConstants>();
  const size_t width = width_of(c.y);
  for_each_output(invocation, c.y, [&](const Index& index) {
    Index source = index;
    size_t part = 0;
    while (source[c.axis] >= c.parts[part].extent) {
      source[c.axis] -= c.parts[part++].extent;
    }
    copy_element(invocation, width, part, offset_of(source, c.parts[part].strides, c.y.rank),
                 static_cast<size_t>(c.inputs), offset_of(index, c.y.strides, c.y.rank));
  });
}

// Pad. Negative pads crop first: what is reflected or repeated is the cropped input.

struct PadConstants {
  TensorSpec x;
  TensorSpec y;
  PadMode mode = PadMode::kConstant;
  Scalar value;
  std::array<int64_t, kMaxRank> crop{};    // elements cut off at the begin
  std::array<int64_t, kMaxRank> pad{};     // elements added at the begin
  std::array<int64_t, kMaxRank> extent{};  // of the cropped input
};

Support pad_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) {
    return support;
  }
  const auto& attributes = std::get<PadAttributes>(*desc.attributes);
  const auto rank = static_cast<size_t>(desc.inputs[0]->rank());
  if (attributes.begin.size() != rank || attributes.end.size() != rank ||
      desc.outputs[0]->shape.size() != rank) {
    return {"the pads and operands differ in rank"};
  }
  const ElementType type = desc.outputs[0]->element_type;
  return is_reference_float(type) || is_reference_integer(type) || type == ElementType::kBool
             ? kYes
             : Support{"the element type has no arithmetic"};
}

// `value` as a scalar of any type.
Scalar scalar_of(ElementType type, double value) {
  Scalar scalar;
  scalar.real = value;
  if (type == ElementType::kBool) {
    scalar.integer = value != 0 ? 1 : 0;
  }
  with_integer(type, [&]<typename T>() { scalar.integer = static_cast<int64_t>(truncate_to<T>(value)); });
  return scalar;
}

Extent pad_extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<PadAttributes>();
  PadConstants constants;
  constants.x = op.inputs[0];
  constants.y = op.outputs[0];
  constants.mode = attributes.mode;
  constants.value = scalar_of(constants.y.type, attributes.value);
  const auto begin = numbers(attributes.begin);
  const auto end = numbers(attributes.end);
  for (int i = 0; i < constants.x.rank; ++i) {
    constants.crop[i] = std::clamp<int64_t>(-begin[i], 0, constants.x.shape[i]);
    constants.pad[i] = std::max<int64_t>(begin[i], 0);
    constants.extent[i] =
        std::max<int64_t>(constants.x.shape[i] - constants.crop[i] + std::min<int64_t>(end[i], 0), 0);
  }
  return record(constants, chunks(constants.y.element_count()), target);
}

int64_t modulo(int64_t a, int64_t b) {
  return (a % b + b) % b;
}

// The position along an axis of `extent` elements that `position` shows, or −1 for the constant.
int64_t padded_source(PadMode mode, int64_t position, int64_t extent) {
  if (position >= 0 && position < extent) {
    return position;
  }
  if (extent == 0) {
    return -1;
  }
  switch (mode) {
    case PadMode::kConstant:
      return -1;
    case PadMode::kEdge:
      return std::clamp<int64_t>(position, 0, extent - 1);
    case PadMode::kWrap:
      return modulo(position, extent);
    case PadMode::kReflect: {
      if (extent == 1) {
        return 0;
      }
      const int64_t period = 2 * (extent - 1);
      const int64_t phase = modulo(position, period);
      return phase < extent ? phase : period - phase;
    }
  }
  return -1;
}

void run_pad(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<PadConstants>();
  const size_t width = width_of(c.y);
  for_each_output(invocation, c.y, [&](const Index& index) {
    const int64_t target = offset_of(index, c.y.strides, c.y.rank);
    int64_t source = 0;
    for (int i = 0; i < c.y.rank; ++i) {
      const int64_t position = padded_source(c.mode, index[i] - c.pad[i], c.extent[i]);
      if (position < 0) {
        store(c.y.type, invocation.bindings[1], target, c.value);
        return;
      }
      source += (position + c.crop[i]) * c.x.strides[i];
    }
    copy_element(invocation, width, 0, source, 1, target);
  });
}

// Gather: the output's axes are data's before the axis, then those of the indices, then data's after it.

struct GatherConstants {
  TensorSpec data;
  TensorSpec indices;
  TensorSpec y;
  int32_t axis = 0;
};

Support gather_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) {
    return support;
  }
  const TensorType* indices = input(desc, 1);
  if (indices == nullptr ||
      (indices->element_type != ElementType::kInt32 && indices->element_type != ElementType::kInt64)) {
    return {"the indices are neither int32 nor int64"};
  }
  const int rank = desc.inputs[0]->rank();
  return std::get<GatherAttributes>(*desc.attributes).axis < rank &&
                 desc.outputs[0]->rank() == rank - 1 + indices->rank()
             ? kYes
             : Support{"the axis and operands differ in rank"};
}

Extent gather_extent(const ConcreteOp& op, std::span<std::byte> target) {
  GatherConstants constants;
  constants.data = op.inputs[0];
  constants.indices = op.inputs[1];
  constants.y = op.outputs[0];
  constants.axis = static_cast<int32_t>(op.get<GatherAttributes>().axis);
  return record(constants, chunks(constants.y.element_count()), target);
}

void run_gather(const CpuInvocation& invocation) {
  const auto& c = invocation.constants_as<GatherConstants>();
  const size_t width = width_of(c.y);
  const int64_t extent = c.data.shape[c.axis];
  for_each_output(invocation, c.y, [&](const Index& index) {
    int64_t at = 0;
    for (int i = 0; i < c.indices.rank; ++i) {
      at += index[c.axis + i] * c.indices.strides[i];
    }
    int64_t chosen = load(c.indices.type, invocation.bindings[1], at).integer;
    if (chosen < -extent || chosen >= extent) {
      invocation.status->set(invocation.step, StatusRecord::Code::kIndexOutOfRange, chosen, extent);
      chosen = std::clamp<int64_t>(chosen, 0, extent - 1);
    }
    const int64_t target = offset_of(index, c.y.strides, c.y.rank);
    if (extent == 0) {
      std::memset(invocation.bindings[2] + target * static_cast<int64_t>(width), 0, width);
      return;
    }
    int64_t source = (chosen < 0 ? chosen + extent : chosen) * c.data.strides[c.axis];
    for (int i = 0; i < c.data.rank; ++i) {
      if (i != c.axis) {
        source += index[i < c.axis ? i : i - 1 + c.indices.rank] * c.data.strides[i];
      }
    }
    copy_element(invocation, width, 0, source, 2, target);
  });
}

}  // namespace
}  // namespace reference

extern constexpr Implementation kReferenceReshape = {
    .name = "reference.reshape",
    .op = Op::kReshape,
    .reference = true,
    .supported = reference::one_input_moves,
    .extent = reference::reshape_extent,
    .kernel = reference::run_reshape,
};

extern constexpr Implementation kReferenceTranspose = {
    .name = "reference.transpose",
    .op = Op::kTranspose,
    .reference = true,
    .supported = reference::transpose_supported,
    .extent = reference::transpose_extent,
    .kernel = reference::run_view,
};

extern constexpr Implementation kReferenceSlice = {
    .name = "reference.slice",
    .op = Op::kSlice,
    .reference = true,
    .supported = reference::slice_supported,
    .extent = reference::slice_extent,
    .kernel = reference::run_view,
};

extern constexpr Implementation kReferenceConcat = {
    .name = "reference.concat",
    .op = Op::kConcat,
    .reference = true,
    .supported = reference::concat_supported,
    .extent = reference::concat_extent,
    .kernel = reference::run_concat,
};

extern constexpr Implementation kReferenceExpand = {
    .name = "reference.expand",
    .op = Op::kExpand,
    .reference = true,
    .supported = reference::expand_supported,
    .extent = reference::expand_extent,
    .kernel = reference::run_view,
};

extern constexpr Implementation kReferenceCopy = {
    .name = "reference.copy",
    .op = Op::kCopy,
    .reference = true,
    .supported = reference::expand_supported,
    .extent = reference::expand_extent,
    .kernel = reference::run_view,
};

extern constexpr Implementation kReferencePad = {
    .name = "reference.pad",
    .op = Op::kPad,
    .reference = true,
    .supported = reference::pad_supported,
    .extent = reference::pad_extent,
    .kernel = reference::run_pad,
};

extern constexpr Implementation kReferenceGather = {
    .name = "reference.gather",
    .op = Op::kGather,
    .reference = true,
    .supported = reference::gather_supported,
    .extent = reference::gather_extent,
    .kernel = reference::run_gather,
};

}  // namespace weir
