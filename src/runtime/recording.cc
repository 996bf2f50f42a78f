// SPDX-License-Identifier: Apache-2.0
#include "runtime/recording.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/checked.h"

namespace weir {
namespace {

// A range that a step touches, in a slot.
struct Touch {
  BufferRange range;
  bool writes = false;
};

// Whether two ranges share a byte. Ranges of blocks with one stride (channel ranges of one tensor) are told
// apart.
bool overlap(const BufferRange& a, const BufferRange& b) {
  if (a.slot != b.slot || a.offset + a.size <= b.offset || b.offset + b.size <= a.offset) {
    return false;
  }
  if (a.block <= 0 || b.block <= 0 || a.stride != b.stride) {
    return true;
  }
  // Both are blocks at multiples of the same stride: compare where in the stride they lie.
  const int64_t stride = a.stride;
  const int64_t distance = ((b.offset - a.offset) % stride + stride) % stride;
  return distance < a.block || distance + b.block > stride;
}

// The bytes that a view touches; with `block` and `stride` where it is evenly spaced blocks.
BufferRange range_of(const TensorSpec& spec, int32_t slot, int64_t offset) {
  BufferRange range;
  range.slot = slot;
  range.offset = offset;
  range.size = spec.extent_bytes();
  const int64_t width = bit_width(spec.type) / 8;
  std::array<std::pair<int64_t, int64_t>, kMaxRank> axes;  // stride, extent; innermost first
  size_t count = 0;
  for (int i = 0; i < spec.rank; ++i) {
    if (spec.shape[i] > 1 && spec.strides[i] > 0) {
      axes[count++] = {spec.strides[i], spec.shape[i]};
    }
  }
  std::ranges::sort(std::span(axes).first(count));
  int64_t run = 1;  // elements side by side
  size_t k = 0;
  while (k < count && axes[k].first == run) {
    run *= axes[k++].second;
  }
  if (k == count) {
    return range;
  }
  const int64_t stride = axes[k].first;
  int64_t span = stride * axes[k++].second;
  while (k < count && axes[k].first == span) {
    span *= axes[k++].second;
  }
  if (k == count && stride > run) {
    range.block = run * width;
    range.stride = stride * width;
  } else {
    range.block = -1;
  }
  return range;
}

class StepRecorder {
 public:
  StepRecorder(const Program& program, const ShapeValues& values, const ShapePlan& plan,
               const ConstantLayout& constants, Encoder& encoder)
      : program_(program),
        values_(values),
        plan_(plan),
        constants_(constants),
        encoder_(encoder),
        slots_(slot_layout(program)) {}

  void record(const Step& step, const ConcreteStep& concrete, const StepKernel& kernel, int32_t number) {
    if (!has_work(step, concrete)) {
      return;
    }
    const ConcreteOp op = concrete.op(step.op);
    alignas(64) std::array<std::byte, kMaxKernelConstants> constants;
    const Implementation& implementation = *kernel.implementation;
    const Extent extent = implementation.extent(op, constants);
    if (extent.tiles == 0) {
      return;
    }
    touches_.clear();
    encoder_.set_step(number);
    encoder_.set_kernel(*kernel.kernel);
    int32_t binding = 0;
    for (size_t i = 0; i < step.inputs.size(); ++i, ++binding) {
      const auto packed = std::ranges::find(step.packed, static_cast<int32_t>(i), &PackedOperand::input);
      if (packed != step.packed.end() && kernel.packed) {
        const Storage& storage = program_.storages[static_cast<size_t>(packed->storage)];
        const auto [slot, offset] = constant_place(packed->storage);
        if (values_[storage.bytes] == 0) {  // of an operand without elements
          encoder_.set_null(binding);
        } else {
          bind(binding, at_slot(slot, offset, values_[storage.bytes]), false);
        }
      } else {
        bind_tensor(binding, step.inputs[i], concrete.inputs[i], false);
      }
    }
    for (size_t i = 0; i < step.outputs.size(); ++i, ++binding) {
      bind_tensor(binding, step.outputs[i], concrete.outputs[i], true);
    }
    const Plan needs = implementation.plan == nullptr ? Plan{} : implementation.plan(op);
    if (needs.workspace_bytes > 0) {  // plan_shape() has found that the program has one
      bind(binding,
           at_slot(slots_.arena, plan_.storage_offset[static_cast<size_t>(step.workspace)],
                   plan_.storage_bytes[static_cast<size_t>(step.workspace)]),
           true);
    }
    if (needs.scratch_bytes > 0) {
      encoder_.set_scratch(needs.scratch_bytes);
    }
    encoder_.set_constants(std::span(constants).first(static_cast<size_t>(extent.constant_bytes)));
    if (conflicts()) {
      encoder_.barrier();
      since_barrier_.clear();
    }
    since_barrier_.insert(since_barrier_.end(), touches_.begin(), touches_.end());
    encoder_.dispatch(extent.tiles);
  }

 private:
  // Slot and byte offset.
  std::pair<int32_t, int64_t> constant_place(int32_t storage) const {
    const int64_t own = constants_.own_offset[static_cast<size_t>(storage)];
    return own >= 0 ? std::pair(slots_.own_constants, own)
                    : std::pair(slots_.constants, program_.storages[static_cast<size_t>(storage)].offset);
  }

  void bind_tensor(int32_t binding, int32_t index, const TensorSpec& spec, bool writes) {
    if (index < 0 || spec.extent_bytes() == 0) {
      encoder_.set_null(binding);
      return;
    }
    const ProgramTensor& tensor = program_.tensors[static_cast<size_t>(index)];
    const Storage& storage = program_.storages[static_cast<size_t>(tensor.storage)];
    int32_t slot = slots_.arena;
    int64_t base = 0;
    switch (storage.kind) {
      case StorageKind::kConstant:
      case StorageKind::kPacked:
        std::tie(slot, base) = constant_place(tensor.storage);
        break;
      case StorageKind::kPrepared:
        slot = slots_.prepared;
        base = plan_.storage_offset[static_cast<size_t>(tensor.storage)];
        break;
      case StorageKind::kActivation:
      case StorageKind::kWorkspace:
        base = plan_.storage_offset[static_cast<size_t>(tensor.storage)];
        break;
      case StorageKind::kInput:
        slot = storage.index;
        break;
      case StorageKind::kState:
        slot = slots_.states + storage.index;
        break;
      case StorageKind::kOutput:
        slot = slots_.outputs + storage.index;
        break;
    }
    bind(binding, range_of(spec, slot, base + values_[tensor.offset] * (bit_width(spec.type) / 8)), writes);
  }

  void bind(int32_t binding, const BufferRange& range, bool writes) {
    encoder_.set_buffer(binding, range, writes ? Access::kWrite : Access::kRead);
    if (range.slot != slots_.constants && range.slot != slots_.own_constants) {
      touches_.push_back({range, writes});
    }
  }

  bool conflicts() const {
    for (const Touch& now : touches_) {
      for (const Touch& before : since_barrier_) {
        if ((now.writes || before.writes) && overlap(now.range, before.range)) {
          return true;
        }
      }
    }
    return false;
  }

  const Program& program_;
  const ShapeValues& values_;
  const ShapePlan& plan_;
  const ConstantLayout& constants_;
  Encoder& encoder_;
  SlotLayout slots_;
  std::vector<Touch> touches_;
  std::vector<Touch> since_barrier_;
};

}  // namespace

SlotLayout slot_layout(const Program& program) {
  SlotLayout slots;
  slots.outputs = static_cast<int32_t>(program.inputs.size());
  slots.states = slots.outputs + static_cast<int32_t>(program.outputs.size());
  slots.arena = slots.states + 2 * static_cast<int32_t>(program.states.size());
  slots.prepared = slots.arena + 1;
  slots.constants = slots.arena + 2;
  slots.own_constants = slots.arena + 3;
  slots.count = slots.arena + 4;
  return slots;
}

void record_steps(const Program& program, std::span<const Step> steps, std::span<const ConcreteStep> concrete,
                  std::span<const StepKernel> kernels, const ShapeValues& values, const ShapePlan& plan,
                  const ConstantLayout& constants, int32_t first_step, Encoder& encoder) {
  StepRecorder recorder(program, values, plan, constants, encoder);
  for (size_t i = 0; i < steps.size(); ++i) {
    recorder.record(steps[i], concrete[i], kernels[i], first_step + static_cast<int32_t>(i));
  }
}

void CountingEncoder::set_kernel(Kernel& kernel) {
  bindings_ = slot_uses_ = constant_bytes_ = 0;
  kernels_.insert(&kernel);
  counts_.kernels = static_cast<int64_t>(kernels_.size());
}

void CountingEncoder::set_buffer(int32_t index, const BufferRange&, Access) {
  bindings_ = std::max<int64_t>(bindings_, index + 1);
  ++slot_uses_;
}

void CountingEncoder::set_null(int32_t index) {
  bindings_ = std::max<int64_t>(bindings_, index + 1);
}

void CountingEncoder::set_constants(std::span<const std::byte> bytes) {
  constant_bytes_ = align_up(static_cast<int64_t>(bytes.size()), 64);
}

void CountingEncoder::dispatch(int64_t, int64_t, int64_t) {
  counts_.barriers += pending_barrier_ ? 1 : 0;
  pending_barrier_ = false;
  ++counts_.commands;
  counts_.bindings += bindings_;
  counts_.slot_uses += slot_uses_;
  counts_.constant_bytes += constant_bytes_;
}

}  // namespace weir
