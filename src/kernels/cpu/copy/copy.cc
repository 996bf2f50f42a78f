// SPDX-License-Identifier: Apache-2.0
//
// Copy, Transpose, Slice, Expand, Reshape and Concat where they are no views: strided copies in blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/copy/copy.cc"
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/copy/block_copy-inl.h"
#include "kernels/cpu/copy/copy_loop.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_COPY_CONSTANTS_
#define WEIR_KERNELS_CPU_COPY_CONSTANTS_
namespace weir {

// One copy from input to output; those of a concatenation share all extents but one.
struct CopyPiece {
  int64_t first_tile = 0;
  int64_t extent = 0;         // along the axis of concatenation
  int64_t source_offset = 0;  // in elements
  Axes source_strides{};
};

inline constexpr int kMaxCopyPieces = 42;

struct CopyConstants {
  int32_t element_bytes = 4;
  int32_t rank = 0;
  int32_t axis = 0;  // of concatenation
  int32_t pieces = 1;
  Axes shape{};
  Axes target_strides{};
  std::array<CopyPiece, kMaxCopyPieces> piece{};
};

inline BlockedLoop<2> loop_of_piece(const CopyConstants& constants, const CopyPiece& piece) {
  Axes shape = constants.shape;
  if (constants.pieces > 1) shape[constants.axis] = piece.extent;
  return make_copy_loop(shape, constants.rank, piece.source_strides, constants.target_strides,
                        constants.element_bytes);
}

// A reshape between sides whose axes do not nest: element by element.
struct LinearCopyConstants {
  int32_t element_bytes = -4;  // negated, which tells the constants of the two kinds of reshape apart
  TensorSpec source;
  TensorSpec target;
};
static_assert(offsetof(CopyConstants, element_bytes) == 0 &&
              offsetof(LinearCopyConstants, element_bytes) == 0);
inline constexpr int64_t kLinearChunk = 4096;  // elements of a tile

// The whole of a view in row-major order.
inline StridedLoop<1> walk(const TensorSpec& spec) {
  StridedLoop<1> loop;
  loop.rank = spec.rank;
  loop.shape = spec.shape;
  loop.strides[0] = spec.strides;
  return loop;
}

inline void copy_linear(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<LinearCopyConstants>();
  const int64_t bytes = -constants.element_bytes;
  const int64_t begin = invocation.tile_begin * kLinearChunk;
  const int64_t end = std::min(invocation.tile_end * kLinearChunk, constants.target.element_count());
  const StridedLoop<1> source_loop = walk(constants.source);
  const StridedLoop<1> target_loop = walk(constants.target);
  LoopCursor<1> source(source_loop, 1, begin);
  LoopCursor<1> target(target_loop, 1, begin);
  for (int64_t i = begin; i < end; ++i, source.next(), target.next()) {
    std::memcpy(invocation.bindings[1] + target.offset(0) * bytes,
                invocation.bindings[0] + source.offset(0) * bytes, static_cast<size_t>(bytes));
  }
}

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void copy(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<CopyConstants>();
  const int bytes = constants.element_bytes;
  std::byte* const output = invocation.bindings[constants.pieces];
  int64_t target_offset = 0;
  for (int p = 0; p < constants.pieces; ++p) {
    const CopyPiece& piece = constants.piece[p];
    const int64_t offset = target_offset;
    target_offset += piece.extent * constants.target_strides[constants.axis];
    const int64_t last = p + 1 < constants.pieces ? constants.piece[p + 1].first_tile : INT64_MAX;
    if (last <= invocation.tile_begin || piece.first_tile >= invocation.tile_end) continue;
    const BlockedLoop<2> blocked = loop_of_piece(constants, piece);
    const int64_t per_tile = copy_blocks_per_tile(blocked, bytes);
    int64_t begin = (invocation.tile_begin - piece.first_tile) * per_tile;
    if (begin < 0) begin = 0;
    int64_t end = blocked.block_count;
    if ((invocation.tile_end - piece.first_tile) * per_tile < end) {
      end = (invocation.tile_end - piece.first_tile) * per_tile;
    }
    if (begin >= end) continue;
    const int rank = blocked.loop.rank;
    const auto strides = [&](int operand) {
      return BlockStrides{blocked.loop.strides[operand][rank - 2], blocked.loop.strides[operand][rank - 1]};
    };
    const BlockStrides source_strides = strides(kCopySource);
    const BlockStrides target_strides = strides(kCopyTarget);
    const std::byte* const source = invocation.bindings[p] + piece.source_offset * bytes;
    std::byte* const target = output + offset * bytes;
    BlockCursor<2> cursor(blocked, 2, begin);
    for (int64_t block = begin; block < end; ++block, cursor.next()) {
      copy_block(bytes, source + cursor.offset(kCopySource) * bytes, source_strides,
                 target + cursor.offset(kCopyTarget) * bytes, target_strides, cursor.rows(),
                 cursor.columns());
    }
  }
}

void reshape(const CpuInvocation& invocation) {
  if (invocation.constants_as<CopyConstants>().element_bytes < 0) return copy_linear(invocation);
  copy(invocation);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

// One operand and the output are of one type, whose elements take 1, 2, 4 or 8 bytes.
Support moves(const OpDesc& desc, size_t operands) {
  if (desc.outputs.size() != 1 || desc.outputs[0] == nullptr || desc.inputs.size() < operands) {
    return {"an operand is missing"};
  }
  if (bit_width(desc.outputs[0]->element_type) < 8) return {"elements are narrower than a byte"};
  for (size_t i = 0; i < operands; ++i) {
    if (desc.inputs[i] == nullptr || desc.inputs[i]->element_type != desc.outputs[0]->element_type) {
      return {"an input is missing or has another type than the output"};
    }
  }
  return {};
}

Support copy_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) return support;
  if (desc.inputs[0]->rank() != desc.outputs[0]->rank()) return {"the operands differ in rank"};
  return {};
}

Support transpose_supported(const OpDesc& desc) {
  if (Support support = copy_supported(desc); !support.ok()) return support;
  const auto& permutation = std::get<TransposeAttributes>(*desc.attributes).permutation;
  if (static_cast<int>(permutation.size()) != desc.inputs[0]->rank()) {
    return {"the permutation and the operands differ in rank"};
  }
  return {};
}

Support slice_supported(const OpDesc& desc) {
  if (Support support = copy_supported(desc); !support.ok()) return support;
  const auto& attributes = std::get<SliceAttributes>(*desc.attributes);
  const size_t rank = desc.inputs[0]->shape.size();
  if (attributes.starts.size() != rank || attributes.steps.size() != rank) {
    return {"the starts, steps and operands differ in rank"};
  }
  return {};
}

Support expand_supported(const OpDesc& desc) {
  if (Support support = moves(desc, 1); !support.ok()) return support;
  if (desc.inputs[0]->rank() > desc.outputs[0]->rank()) return {"the output has a lower rank"};
  return {};
}

Support reshape_supported(const OpDesc& desc) {
  return moves(desc, 1);
}

Support concat_supported(const OpDesc& desc) {
  if (desc.inputs.empty() || desc.inputs.size() > kMaxCopyPieces) {
    return {"there are more than 42 inputs, or none"};
  }
  if (Support support = moves(desc, desc.inputs.size()); !support.ok()) return support;
  for (const TensorType* input : desc.inputs) {
    if (input->rank() != desc.outputs[0]->rank()) return {"the inputs differ in rank"};
  }
  if (std::get<ConcatAttributes>(*desc.attributes).axis >= desc.outputs[0]->rank()) {
    return {"the axis is out of range"};
  }
  return {};
}

CopyConstants constants_for(const TensorSpec& output) {
  CopyConstants constants;
  constants.element_bytes = bit_width(output.type) / 8;
  constants.rank = output.rank;
  constants.shape = output.shape;
  constants.target_strides = output.strides;
  return constants;
}

Extent extent_of(CopyConstants& constants, std::span<std::byte> target) {
  int64_t tiles = 0;
  for (int p = 0; p < constants.pieces; ++p) {
    constants.piece[p].first_tile = tiles;
    const BlockedLoop<2> blocked = loop_of_piece(constants, constants.piece[p]);
    tiles += ceil_div(blocked.block_count, copy_blocks_per_tile(blocked, constants.element_bytes));
  }
  return record(constants, tiles, target);
}

Extent copy_extent(const ConcreteOp& op, std::span<std::byte> target) {
  CopyConstants constants = constants_for(op.outputs[0]);
  constants.piece[0].source_strides = op.inputs[0].strides;
  return extent_of(constants, target);
}

Extent transpose_extent(const ConcreteOp& op, std::span<std::byte> target) {
  CopyConstants constants = constants_for(op.outputs[0]);
  const auto& permutation = op.get<TransposeAttributes>().permutation;
  for (int i = 0; i < constants.rank; ++i) {
    constants.piece[0].source_strides[i] = op.inputs[0].strides[static_cast<size_t>(permutation[i])];
  }
  return extent_of(constants, target);
}

Extent slice_extent(const ConcreteOp& op, std::span<std::byte> target) {
  CopyConstants constants = constants_for(op.outputs[0]);
  const auto& attributes = op.get<SliceAttributes>();
  for (int i = 0; i < constants.rank; ++i) {
    // A start or step that no element is taken by may be anything.
    const int64_t stride = op.inputs[0].strides[i];
    if (constants.shape[i] > 1) constants.piece[0].source_strides[i] = stride * attributes.steps[i];
    if (constants.shape[i] > 0) constants.piece[0].source_offset += stride * attributes.starts[i].constant();
  }
  return extent_of(constants, target);
}

Extent expand_extent(const ConcreteOp& op, std::span<std::byte> target) {
  CopyConstants constants = constants_for(op.outputs[0]);
  const TensorSpec& output = op.outputs[0];
  constants.piece[0].source_strides =
      broadcast_strides(op.inputs[0], {output.shape.data(), static_cast<size_t>(output.rank)});
  return extent_of(constants, target);
}

Extent reshape_extent(const ConcreteOp& op, std::span<std::byte> target) {
  const ReshapeAxes axes = refine_reshape(op.inputs[0], op.outputs[0]);
  if (axes.nests) {
    CopyConstants constants = constants_for(op.outputs[0]);
    constants.rank = axes.rank;
    constants.shape = axes.shape;
    constants.target_strides = axes.target_strides;
    constants.piece[0].source_strides = axes.source_strides;
    return extent_of(constants, target);
  }
  LinearCopyConstants constants;
  constants.element_bytes = -bit_width(op.outputs[0].type) / 8;
  constants.source = op.inputs[0];
  constants.target = op.outputs[0];
  return record(constants, ceil_div(op.outputs[0].element_count(), kLinearChunk), target);
}

Extent concat_extent(const ConcreteOp& op, std::span<std::byte> target) {
  CopyConstants constants = constants_for(op.outputs[0]);
  constants.axis = static_cast<int32_t>(op.get<ConcatAttributes>().axis);
  constants.pieces = static_cast<int32_t>(op.inputs.size());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    constants.piece[i].extent = op.inputs[i].shape[constants.axis];
    constants.piece[i].source_strides = op.inputs[i].strides;
  }
  return extent_of(constants, target);
}

constexpr Implementation base(Op op, Support (*supported)(const OpDesc&),
                              Extent (*extent)(const ConcreteOp&, std::span<std::byte>)) {
  return {.op = op, .supported = supported, .extent = extent};
}

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Copy, "copy.blocks", base(Op::kCopy, copy_supported, copy_extent), copy)
WEIR_IMPLEMENT_EACH_ISA(Transpose, "transpose.copy",
                        base(Op::kTranspose, transpose_supported, transpose_extent), copy)
WEIR_IMPLEMENT_EACH_ISA(Slice, "slice.copy", base(Op::kSlice, slice_supported, slice_extent), copy)
WEIR_IMPLEMENT_EACH_ISA(Expand, "expand.copy", base(Op::kExpand, expand_supported, expand_extent), copy)
WEIR_IMPLEMENT_EACH_ISA(Reshape, "reshape.copy", base(Op::kReshape, reshape_supported, reshape_extent),
                        reshape)
WEIR_IMPLEMENT_EACH_ISA(Concat, "concat.copy", base(Op::kConcat, concat_supported, concat_extent), copy)

}  // namespace weir
#endif
