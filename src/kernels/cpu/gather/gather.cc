// SPDX-License-Identifier: Apache-2.0
//
// Gather: for each index a copy of everything inside the axis. An index out of range is a run-time fault; the
// access is clamped.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gather/gather.cc"
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/copy/block_copy-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_GATHER_CONSTANTS_
#define WEIR_KERNELS_CPU_GATHER_CONSTANTS_
namespace weir {

struct GatherConstants {
  int32_t element_bytes = 4;
  bool wide = false;     // indices are int64
  StridedLoop<3> items;  // axes before the axis, then those of the indices: data, indices, output
  StridedLoop<2> inner;  // axes after it, less the last two of `block`: data, output
  int64_t rows = 1;      // the block inside: rows × columns
  int64_t columns = 1;
  std::array<int64_t, 2> row_strides{};
  std::array<int64_t, 2> column_strides{};
  int64_t extent = 0;  // of the axis
  int64_t stride = 0;  // of data along it
  int64_t item_count = 0;
  int64_t items_per_tile = 1;
};

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void gather(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<GatherConstants>();
  const int64_t bytes = constants.element_bytes;
  const int64_t begin = invocation.tile_begin * constants.items_per_tile;
  int64_t end = invocation.tile_end * constants.items_per_tile;
  if (end > constants.item_count) end = constants.item_count;
  if (begin >= end) return;
  const std::byte* indices = invocation.bindings[1];
  const int64_t inner_count = constants.inner.count();
  const BlockStrides from_strides = {constants.row_strides[0], constants.column_strides[0]};
  const BlockStrides to_strides = {constants.row_strides[1], constants.column_strides[1]};
  LoopCursor<3> cursor(constants.items, 3, begin);
  for (int64_t item = begin; item < end; ++item, cursor.next()) {
    int64_t index = constants.wide ? reinterpret_cast<const int64_t*>(indices)[cursor.offset(1)]
                                   : reinterpret_cast<const int32_t*>(indices)[cursor.offset(1)];
    const int64_t extent = constants.extent;
    if (index < -extent || index >= extent) {
      invocation.status->set(invocation.step, StatusRecord::Code::kIndexOutOfRange, index, extent);
      index = index < 0 ? 0 : extent - 1;
    }
    if (index < 0) index += extent;
    LoopCursor<2> inner(constants.inner, 2, 0);
    for (int64_t i = 0; i < inner_count; ++i, inner.next()) {
      std::byte* to = invocation.bindings[2] + (cursor.offset(2) + inner.offset(1)) * bytes;
      if (extent == 0) {
        // Nothing can be read: zeros.
        const uint64_t zero = 0;
        copy_block(static_cast<int>(bytes), reinterpret_cast<const std::byte*>(&zero), {0, 0}, to, to_strides,
                   constants.rows, constants.columns);
        continue;
      }
      const std::byte* from =
          invocation.bindings[0] + (cursor.offset(0) + index * constants.stride + inner.offset(0)) * bytes;
      copy_block(static_cast<int>(bytes), from, from_strides, to, to_strides, constants.rows,
                 constants.columns);
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

constexpr int64_t kTileBytes = 32768;

Support supported(const OpDesc& desc) {
  if (desc.inputs.size() != 2 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.inputs[1] == nullptr || desc.outputs[0] == nullptr) {
    return {"the gather does not have two inputs and one output"};
  }
  if (desc.inputs[0]->element_type != desc.outputs[0]->element_type ||
      bit_width(desc.outputs[0]->element_type) < 8) {
    return {"data and output differ in type, or elements are narrower than a byte"};
  }
  const ElementType indices = desc.inputs[1]->element_type;
  if (indices != ElementType::kInt32 && indices != ElementType::kInt64) {
    return {"the indices are neither int32 nor int64"};
  }
  const int rank = desc.inputs[0]->rank();
  if (std::get<GatherAttributes>(*desc.attributes).axis >= rank ||
      desc.outputs[0]->rank() != rank - 1 + desc.inputs[1]->rank()) {
    return {"the axis and operands differ in rank"};
  }
  return {};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const TensorSpec& data = op.inputs[0];
  const TensorSpec& indices = op.inputs[1];
  const TensorSpec& output = op.outputs[0];
  const int axis = static_cast<int>(op.get<GatherAttributes>().axis);
  GatherConstants constants;
  constants.element_bytes = bit_width(data.type) / 8;
  constants.wide = indices.type == ElementType::kInt64;
  constants.extent = data.shape[axis];
  constants.stride = data.strides[axis];

  Axes item_shape{};
  std::array<Axes, 3> item_strides{};
  for (int i = 0; i < axis; ++i) {
    item_shape[i] = data.shape[i];
    item_strides[0][i] = data.strides[i];
    item_strides[2][i] = output.strides[i];
  }
  for (int i = 0; i < indices.rank; ++i) {
    item_shape[axis + i] = indices.shape[i];
    item_strides[1][axis + i] = indices.strides[i];
    item_strides[2][axis + i] = output.strides[axis + i];
  }
  constants.items = make_strided_loop<3>(item_shape, axis + indices.rank, item_strides, 3, 2);

  Axes inner_shape{};
  std::array<Axes, 2> inner_strides{};
  const int inner_rank = data.rank - axis - 1;
  for (int i = 0; i < inner_rank; ++i) {
    inner_shape[i] = data.shape[axis + 1 + i];
    inner_strides[0][i] = data.strides[axis + 1 + i];
    inner_strides[1][i] = output.strides[axis + indices.rank + i];
  }
  StridedLoop<2> inner = make_strided_loop<2>(inner_shape, inner_rank, inner_strides, 2, 1);
  const int64_t inner_count = inner.count();
  set_row_axis(inner, inner.rank - 2);
  constants.rows = inner.shape[inner.rank - 2];
  constants.columns = inner.shape[inner.rank - 1];
  for (size_t k = 0; k < 2; ++k) {
    constants.row_strides[k] = inner.strides[k][inner.rank - 2];
    constants.column_strides[k] = inner.strides[k][inner.rank - 1];
  }
  inner.rank -= 2;
  constants.inner = inner;

  constants.item_count = inner_count == 0 ? 0 : constants.items.count();
  constants.items_per_tile =
      std::max<int64_t>(1, kTileBytes / (std::max<int64_t>(inner_count, 4) * constants.element_bytes));
  return record(constants, ceil_div(constants.item_count, constants.items_per_tile), target);
}

constexpr Implementation kBase = {.op = Op::kGather, .supported = supported, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Gather, "gather.rows", kBase, gather)

}  // namespace weir
#endif
