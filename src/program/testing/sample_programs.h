// SPDX-License-Identifier: Apache-2.0
//
// Programs made by hand, for tests: a static and a dynamic one that between them use every field.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/program_file.h"

namespace weir::samples {

class Builder {
 public:
  Program program;

  // Position of a number among the dims.
  int32_t number(int64_t value) { return entry({.op = DimOp::kConstant, .value = value}); }
  int32_t entry(const DimTableEntry& wanted) {
    const auto found = std::ranges::find(program.dims, wanted);
    if (found != program.dims.end()) {
      return static_cast<int32_t>(found - program.dims.begin());
    }
    program.dims.push_back(wanted);
    return static_cast<int32_t>(program.dims.size()) - 1;
  }
  int32_t times(int32_t a, int64_t factor) {
    const int32_t b = number(factor);
    return entry({.op = DimOp::kMul, .a = a, .b = b});
  }
  int32_t storage(const Storage& storage) {
    program.storages.push_back(storage);
    return static_cast<int32_t>(program.storages.size()) - 1;
  }
  // Dense, row-major over `shape` (positions); `row` is the position of the product of all axes but the
  // first.
  int32_t tensor(std::string name, ElementType type, std::vector<int32_t> shape, std::vector<int32_t> strides,
                 int32_t at, int64_t offset = 0) {
    const int32_t start = number(offset);
    program.tensors.push_back({std::move(name), type, std::move(shape), std::move(strides), start, at});
    return static_cast<int32_t>(program.tensors.size()) - 1;
  }
  int32_t dense(std::string name, ElementType type, const std::vector<int64_t>& shape, int32_t at,
                int64_t offset = 0) {
    std::vector<int32_t> extents;
    std::vector<int32_t> strides(shape.size());
    int64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      strides[i] = number(stride);
      stride *= shape[i];
    }
    for (const int64_t extent : shape) {
      extents.push_back(number(extent));
    }
    return tensor(std::move(name), type, std::move(extents), std::move(strides), at, offset);
  }
  Step step(std::string name, Op op, const Attributes& attributes, std::vector<int32_t> inputs,
            std::vector<int32_t> outputs, std::string implementation) {
    Step step;
    step.name = std::move(name);
    step.origin = std::string(to_string(op));
    step.op = op;
    step.attributes = write_attributes(attributes, [&](const Dim& dim) { return number(dim.constant()); });
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.implementations = {std::move(implementation)};
    return step;
  }
};

inline TileProgram unary(ScalarOp op) {
  TileProgram program({ElementType::kFloat32});
  program.append(op, {0});
  return program;
}

inline TileProgram sum() {
  TileProgram program({ElementType::kFloat32, ElementType::kFloat32});
  program.append(ScalarOp::kAdd, {0, 1});
  return program;
}

// Input x[1,4,6,6]: a convolution with packed weights and a workspace, an activation, a concatenation of both
// into output 0 (channels), output 1 padded, a state that counts up, a prepared constant.
inline Program static_program() {
  Builder b;
  Program& p = b.program;
  const auto type = ElementType::kFloat32;
  p.name = "sample";
  p.target = "x86-64";
  p.metadata = {{"author", "a person"}, {"empty", ""}};
  const int32_t x_at = b.storage({StorageKind::kInput, b.number(576), 0, 0, -1, 0, "", 0});
  const int32_t packed =
      b.storage({StorageKind::kConstant, b.number(256), 0, 0, 0, -1, "f32.panel16.k4.n8", 0});
  const int32_t bias_at = b.storage({StorageKind::kConstant, b.number(32), 0, 0, 256, -1, "", 0});
  const int32_t a_at = b.storage({StorageKind::kActivation, b.number(1152), 0, 2, 0, -1, "", 0});
  const int32_t workspace = b.storage({StorageKind::kWorkspace, b.number(100), 0, 0, 1152, -1, "", 0});
  const int32_t b_at = b.storage({StorageKind::kActivation, b.number(1152), 1, 4, 1280, -1, "", 0});
  const int32_t y_at = b.storage({StorageKind::kOutput, b.number(2304), 2, 2, -1, 0, "", 0});
  const int32_t z_at = b.storage({StorageKind::kOutput, b.number(2048), 3, 3, -1, 1, "", 0});
  const int32_t state_at = b.storage({StorageKind::kState, b.number(4), 4, 4, -1, 0, "", 0});
  const int32_t one_at = b.storage({StorageKind::kPrepared, b.number(4), 0, 0, -1, -1, "", 0});
  const int32_t c_at = b.storage({StorageKind::kActivation, b.number(1152), 4, 4, 0, -1, "", 0});

  const int32_t next_at = b.storage({StorageKind::kState, b.number(4), 5, 5, -1, 1, "", 0});

  const int32_t x = b.dense("x", type, {1, 4, 6, 6}, x_at);
  const int32_t w = b.dense("w", type, {8, 4, 1, 1}, -1);
  const int32_t bias = b.dense("bias", type, {8}, bias_at);
  const int32_t a = b.dense("a", type, {1, 8, 6, 6}, a_at);
  const int32_t s = b.dense("s", type, {1, 8, 6, 6}, b_at);
  const int32_t y = b.dense("y", type, {1, 16, 6, 6}, y_at);
  const int32_t z = b.dense("z", type, {1, 8, 8, 8}, z_at);
  const int32_t state = b.dense("state", type, {1}, state_at);
  const int32_t one = b.dense("one", type, {1}, one_at);
  const int32_t zero_stride = b.number(0);
  const std::vector<int32_t> shape = p.tensors[static_cast<size_t>(a)].shape;
  const int32_t ones =
      b.tensor("ones", type, shape, {zero_stride, zero_stride, zero_stride, zero_stride}, one_at);
  const int32_t c = b.dense("c", type, {1, 8, 6, 6}, c_at);
  // b turned upside down: negative strides.
  const int32_t flipped = b.tensor(
      "flipped", type, shape, {b.number(288), b.number(36), b.number(-6), b.number(1)}, b_at, /*offset=*/30);
  const int32_t next = b.dense("next", type, {1}, next_at);

  p.prepare_steps.push_back(b.step("make_one", Op::kFill, FillAttributes{1.0}, {}, {one}, "fill.reference"));
  p.prepare_steps[0].reference = true;
  ConvAttributes conv{{1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, unary(ScalarOp::kRelu)};
  p.steps.push_back(b.step("conv", Op::kConv, conv, {x, w, bias}, {a}, "conv.pointwise.avx512"));
  p.steps[0].implementations.emplace_back("conv.pointwise.avx2");
  p.steps[0].origin = "Conv+Relu";
  p.steps[0].packed = {{1, packed}};
  p.steps[0].workspace = workspace;
  p.steps[0].refused = {{"conv.depthwise.avx2", "group (1) is not the channels"}};
  p.steps.push_back(b.step("silu", Op::kElementwise, ElementwiseAttributes{unary(ScalarOp::kSilu)}, {a}, {s},
                           "elementwise.avx2"));
  p.steps.push_back(b.step("join", Op::kConcat, ConcatAttributes{1}, {a, s}, {y}, "concat"));
  p.steps.push_back(b.step(
      "pad", Op::kPad, PadAttributes{PadMode::kConstant, {0, 0, 1, 1}, {0, 0, 1, 1}, -0.5}, {s}, {z}, "pad"));
  p.steps.push_back(b.step("mix", Op::kElementwise, ElementwiseAttributes{sum()}, {flipped, ones}, {c},
                           "elementwise.avx2"));
  p.steps.push_back(b.step("count", Op::kElementwise, ElementwiseAttributes{sum()}, {state, one}, {next},
                           "elementwise.avx2"));
  p.storages[static_cast<size_t>(state_at)].first_step = 5;
  p.storages[static_cast<size_t>(state_at)].last_step = 5;
  p.inputs = {{"x", x}};
  p.outputs = {{"y", y}, {"z", z}};
  p.states = {{"state", "next", state, next}};
  p.notices = {
      {NoticeKind::kCost, "copy", "'y' is a concatenation of a tensor that others read", b.number(2304)},
      {NoticeKind::kInfo, "reference", "make_one runs on reference", -1}};
  p.placement_order = {a_at, b_at, workspace, c_at};
  p.arena_bytes = 2432;
  p.activation_bytes = 2432;
  p.unfused_bound_bytes = 3456;
  p.constant_bytes = 288;
  p.source_hash = 0x0123456789abcdefu;
  return p;
}

// The same with its weights plain, to be packed when a session is opened, and with named constants.
inline Program portable_program() {
  constexpr size_t kPackedStorage = 1;
  constexpr int32_t kWeights = 1;
  constexpr int32_t kBias = 2;
  Program p = static_program();
  p.name = "portable";
  p.storages[kPackedStorage].kind = StorageKind::kPacked;
  p.storages[kPackedStorage].offset = -1;
  p.dims.push_back({.op = DimOp::kConstant, .value = 128});
  Storage plain;
  plain.kind = StorageKind::kConstant;
  plain.bytes = static_cast<int32_t>(p.dims.size()) - 1;
  plain.offset = 0;
  p.tensors[kWeights].storage = static_cast<int32_t>(p.storages.size());
  p.storages.push_back(plain);
  p.constants = {{"w", ConstantFate::kPlain, kWeights},
                 {"bias", ConstantFate::kPlain, kBias},
                 {"running_mean", ConstantFate::kFolded, -1}};
  return p;
}

// Inputs x[batch, 4] and sizes[2] (int64; element 0 is n): a matrix product whose workspace is sized when a
// shape is prepared, then a repetition n times.
inline Program dynamic_program() {
  Builder b;
  Program& p = b.program;
  const auto type = ElementType::kFloat32;
  p.name = "dynamic";
  p.target = "x86-64";
  p.symbols = {{"batch", {1, 64}, {SymbolSource::Kind::kDimension, 0, 0}},
               {"n", {2, kDimMax}, {SymbolSource::Kind::kElement, 1, 0}}};
  const int32_t batch = b.entry({.op = DimOp::kSymbol, .value = 0});
  const int32_t n = b.entry({.op = DimOp::kSymbol, .value = 1});
  const int32_t scaled = b.entry({.op = DimOp::kFloorScale, .a = n, .scale = 0.5});
  const int32_t batch_n = b.entry({.op = DimOp::kMul, .a = batch, .b = n});
  const int32_t both = b.entry({.op = DimOp::kSelect, .a = scaled, .b = batch_n, .c = batch});
  p.constraints = {{Constraint::Kind::kAtLeast, n, b.number(2), "Expand 'repeat' needs at least (2) copies"},
                   {Constraint::Kind::kEqual, both, batch_n, "'both' is the larger"}};
  const int32_t x_at = b.storage({StorageKind::kInput, b.times(batch, 16), 0, 0, -1, 0, "", 0});
  const int32_t sizes_at = b.storage({StorageKind::kInput, b.number(16), 0, 0, -1, 1, "", 0});
  const int32_t w_at = b.storage({StorageKind::kConstant, b.number(128), 0, 0, 0, -1, "", 0});
  const int32_t a_at = b.storage({StorageKind::kActivation, b.times(batch, 32), 0, 1, -1, -1, "", 0});
  const int32_t workspace = b.storage({StorageKind::kWorkspace, -1, 0, 0, -1, -1, "", 0});
  const int32_t y_at = b.storage({StorageKind::kOutput, b.times(batch_n, 32), 1, 1, -1, 0, "", 0});
  const int32_t four = b.number(4);
  const int32_t eight = b.number(8);
  const int32_t one = b.number(1);
  const int32_t zero = b.number(0);
  const int32_t x = b.tensor("x", type, {batch, four}, {four, one}, x_at);
  const int32_t sizes = b.dense("sizes", ElementType::kInt64, {2}, sizes_at);
  const int32_t w = b.dense("w", type, {4, 8}, w_at);
  const int32_t a = b.tensor("a", type, {batch, eight}, {eight, one}, a_at);
  const int32_t repeated = b.tensor("a.repeated", type, {n, batch, eight}, {zero, eight, one}, a_at);
  const int32_t y = b.tensor("y", type, {n, batch, eight}, {b.times(batch, 8), eight, one}, y_at);
  p.steps.push_back(b.step("product", Op::kMatMul, MatMulAttributes{}, {x, w, -1}, {a}, "matmul.avx2"));
  p.steps[0].workspace = workspace;
  p.steps.push_back(b.step("repeat", Op::kCopy, NoAttributes{}, {repeated}, {y}, "copy"));
  p.inputs = {{"x", x}, {"sizes", sizes}};
  p.outputs = {{"y", y}};
  p.notices = {{NoticeKind::kCost, "copy", "a repetition is written out", b.times(batch_n, 32)}};
  p.placement_order = {a_at, workspace};
  p.constant_bytes = 128;
  return p;
}

// A block for every constant storage, filled with bytes that differ.
inline std::vector<ConstantBlock> blocks_of(const Program& program) {
  std::vector<ConstantBlock> blocks;
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    if (storage.kind == StorageKind::kConstant) {
      blocks.push_back({storage.offset, program.dims[static_cast<size_t>(storage.bytes)].value,
                        [i](std::span<std::byte> target) -> Result<void> {
                          for (size_t at = 0; at < target.size(); ++at) {
                            target[at] = static_cast<std::byte>(1 + i * 31 + at * 7);
                          }
                          return {};
                        },
                        static_cast<int32_t>(i)});
    }
  }
  std::ranges::sort(blocks, {}, &ConstantBlock::offset);
  return blocks;
}

}  // namespace weir::samples
