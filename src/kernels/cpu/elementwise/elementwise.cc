// SPDX-License-Identifier: Apache-2.0
//
// Elementwise programs over tensors of any strides.
//
// The axes of all operands are joined where they can be, then cut into tiles that stay in the first-level
// cache. An operand that is dense over a tile is used where it lies; a broadcast or strided one is first laid
// out in a register of the participant's scratch; one that is the same for the whole tile becomes one value.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/elementwise/elementwise.cc"
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/copy/block_copy-inl.h"
#include "kernels/cpu/elementwise/tile-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_ELEMENTWISE_CONSTANTS_
#define WEIR_KERNELS_CPU_ELEMENTWISE_CONSTANTS_
namespace weir {

inline constexpr int kElementwiseOperands = kMaxTileInputs + 1;

// How an input of a tile is given to the program.
enum class TileSource : uint8_t {
  kDirect,  // dense where it lies
  kSplat,   // one element for the whole tile
  kLoaded,  // laid out in a register first
};

struct ElementwiseConstants {
  TileCode code;
  BlockedLoop<kElementwiseOperands> blocked;  // operands: the inputs, then the output
  int64_t blocks_per_tile = 1;
  int64_t register_elements = 0;
  std::array<TileSource, kMaxTileInputs> sources{};
  std::array<uint8_t, kElementwiseOperands> element_bytes{};
  bool output_direct = true;
};

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {

void elementwise(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<ElementwiseConstants>();
  const TileCode& code = constants.code;
  const int inputs = code.input_count;
  const StridedLoop<kElementwiseOperands>& loop = constants.blocked.loop;
  const int64_t elements = constants.register_elements;
  const auto strides = [&](int operand) {
    return BlockStrides{loop.strides[operand][loop.rank - 2], loop.strides[operand][loop.rank - 1]};
  };

  TileRegisters registers(code, invocation.scratch, elements);
  // After the program's registers: a splat of 64 bytes or a register an input, and the output's.
  std::byte* const loaded = invocation.scratch + tile_register_bytes(code, elements);
  const int64_t loaded_stride = elements * 8;
  std::byte* const result = loaded + inputs * loaded_stride;
  // A broadcast operand that is the same as for the tile before is not laid out again.
  std::array<const std::byte*, kMaxTileInputs> laid_out{};
  int64_t laid_out_rows = 0;
  int64_t laid_out_columns = 0;

  const int64_t begin = invocation.tile_begin * constants.blocks_per_tile;
  int64_t end = invocation.tile_end * constants.blocks_per_tile;
  if (end > constants.blocked.block_count) end = constants.blocked.block_count;
  BlockCursor<kElementwiseOperands> cursor(constants.blocked, inputs + 1, begin);
  for (int64_t block = begin; block < end; ++block, cursor.next()) {
    const int64_t rows = cursor.rows();
    const int64_t columns = cursor.columns();
    const bool same_size = rows == laid_out_rows && columns == laid_out_columns;
    for (int i = 0; i < inputs; ++i) {
      const int bytes = constants.element_bytes[i];
      const std::byte* data = invocation.bindings[i] + cursor.offset(i) * bytes;
      std::byte* const target = loaded + i * loaded_stride;
      switch (constants.sources[i]) {
        case TileSource::kDirect:
          registers.operands[i] = {data, true};
          break;
        case TileSource::kSplat:
          splat_element(bytes, data, target);
          registers.operands[i] = {target, false};
          break;
        case TileSource::kLoaded:
          if (!same_size || data != laid_out[i]) {
            copy_block(bytes, data, strides(i), target, {columns, 1}, rows, columns);
            laid_out[i] = data;
          }
          registers.operands[i] = {target, true};
          break;
      }
    }
    laid_out_rows = rows;
    laid_out_columns = columns;
    const int bytes = constants.element_bytes[inputs];
    std::byte* const output = invocation.bindings[inputs] + cursor.offset(inputs) * bytes;
    if (constants.output_direct) {
      run_tile(code, registers, output, rows * columns);
    } else {
      run_tile(code, registers, result, rows * columns);
      copy_block(bytes, result, {columns, 1}, output, strides(inputs), rows, columns);
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

// Work of one tile of the grid, in additions of float32: enough to be worth handing to another thread.
constexpr int64_t kTileWork = 16384;
// Elements of a run that needs no registers.
constexpr int64_t kLongRun = 8192;

Support supported(const OpDesc& desc) {
  const TileProgram& program = std::get<ElementwiseAttributes>(*desc.attributes).program;
  if (Support support = supports_tile_program(program); !support.ok()) return support;
  if (desc.outputs.size() != 1 || desc.outputs[0] == nullptr ||
      static_cast<size_t>(program.input_count()) != desc.inputs.size()) {
    return {"the tile program and the operands differ in number"};
  }
  if (desc.outputs[0]->element_type != program.result_type()) {
    return {"the tile program gives another type than the output's"};
  }
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (desc.inputs[i] == nullptr || desc.inputs[i]->element_type != program.type_of(static_cast<int>(i)) ||
        desc.inputs[i]->rank() > desc.outputs[0]->rank()) {
      return {"an input does not fit the tile program"};
    }
  }
  return {};
}

// An input of the output's shape and width may be overwritten: a tile's elements are read before they are
// written.
std::vector<InPlacePair> in_place(const OpDesc& desc) {
  std::vector<InPlacePair> pairs;
  for (size_t i = 0; i < desc.inputs.size(); ++i) {
    if (desc.inputs[i]->shape == desc.outputs[0]->shape &&
        bit_width(desc.inputs[i]->element_type) == bit_width(desc.outputs[0]->element_type)) {
      pairs.push_back({0, static_cast<int>(i)});
    }
  }
  return pairs;
}

// How an operand lies over one block.
TileSource source_of(const BlockedLoop<kElementwiseOperands>& blocked, int operand) {
  const StridedLoop<kElementwiseOperands>& loop = blocked.loop;
  const int64_t row = loop.strides[operand][loop.rank - 2];
  const int64_t column = loop.strides[operand][loop.rank - 1];
  const bool one_row = blocked.rows == 1;
  if (column == 0 && (one_row || row == 0)) return TileSource::kSplat;
  if ((column == 1 || blocked.columns == 1) && (one_row || row == blocked.columns))
    return TileSource::kDirect;
  return TileSource::kLoaded;
}

ElementwiseConstants make_constants(const ConcreteOp& op) {
  ElementwiseConstants constants;
  const TileProgram& program = op.get<ElementwiseAttributes>().program;
  constants.code = make_tile_code(program);
  const int inputs = program.input_count();
  const TensorSpec& output = op.outputs[0];
  const std::span<const int64_t> shape(output.shape.data(), static_cast<size_t>(output.rank));
  std::array<Axes, kElementwiseOperands> strides{};
  for (int i = 0; i < inputs; ++i) {
    strides[i] = broadcast_strides(op.inputs[i], shape);
    constants.element_bytes[i] = static_cast<uint8_t>(bit_width(op.inputs[i].type) / 8);
  }
  strides[inputs] = output.strides;
  constants.element_bytes[inputs] = static_cast<uint8_t>(bit_width(output.type) / 8);
  auto loop = make_strided_loop<kElementwiseOperands>(output.shape, output.rank, strides, inputs + 1, inputs);

  // Rows run along the axis in which some operand is dense while it is not along the columns: it is laid out
  // by transposing. Else along the next axis.
  int row_axis = loop.rank - 2;
  bool transposes = false;
  for (int i = 0; i <= inputs && !transposes; ++i) {
    if (loop.rank < 2 || loop.strides[i][loop.rank - 1] == 0 || loop.strides[i][loop.rank - 1] == 1) continue;
    for (int axis = 0; axis + 1 < loop.rank; ++axis) {
      if (loop.strides[i][axis] == 1) {
        row_axis = axis;
        transposes = true;
      }
    }
  }
  set_row_axis(loop, row_axis);
  const int64_t width = loop.shape[loop.rank - 1];
  const int64_t height = loop.shape[loop.rank - 2];
  int64_t rows = 1;
  int64_t columns = std::min(width, kTileElements);
  if (transposes) {
    // Squares, or long strips where there are few rows (an image's colours).
    columns = std::min(width, std::max<int64_t>(32, kTileElements / std::max<int64_t>(height, 1)));
    rows = std::min(height, kTileElements / std::max<int64_t>(columns, 1));
  } else if (width < kTileElements / 4) {
    rows = std::min(height, kTileElements / std::max<int64_t>(width, 1));
  } else if (width > kTileElements) {
    // Equal runs, of whole cache lines.
    const int64_t runs = (width + kTileElements - 1) / kTileElements;
    columns = ((width + runs - 1) / runs + 15) / 16 * 16;
  }
  constants.blocked = make_blocked_loop(loop, std::max<int64_t>(rows, 1), std::max<int64_t>(columns, 1));
  constants.register_elements = kTileElements;

  const auto classify = [&] {
    bool loads = false;
    for (int i = 0; i < inputs; ++i) {
      constants.sources[i] = source_of(constants.blocked, i);
      loads = loads || constants.sources[i] == TileSource::kLoaded;
    }
    constants.output_direct = source_of(constants.blocked, inputs) == TileSource::kDirect;
    return loads || !constants.output_direct;
  };
  if (!classify() && constants.code.slot_count == 0 && rows == 1 && width > kTileElements) {
    // Nothing passes through a register, so runs may be longer than one.
    constants.blocked = make_blocked_loop(loop, int64_t{1}, std::min(width, kLongRun));
    classify();
  }
  const int64_t block_work =
      constants.blocked.rows * constants.blocked.columns * std::max(constants.code.cost, 1);
  constants.blocks_per_tile = std::max<int64_t>(1, kTileWork / block_work);
  return constants;
}

Plan plan(const ConcreteOp& op) {
  const TileCode code = make_tile_code(op.get<ElementwiseAttributes>().program);
  return {.workspace_bytes = 0,
          .scratch_bytes = tile_register_bytes(code) + (code.input_count + 1) * kTileElements * 8};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const ElementwiseConstants constants = make_constants(op);
  return record(constants, ceil_div(constants.blocked.block_count, constants.blocks_per_tile), target);
}

constexpr Implementation kBase = {
    .op = Op::kElementwise, .supported = supported, .in_place = in_place, .plan = plan, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(Elementwise, "elementwise.tile", kBase, elementwise)

}  // namespace weir
#endif
