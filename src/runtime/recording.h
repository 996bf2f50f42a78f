// SPDX-License-Identifier: Apache-2.0
//
// Recording: a program's steps as commands of a command buffer, with the barriers that they need and no
// others.
//
// All memory is reached through slots, so that a recording outlives a growth of the arena and can be measured
// before anything is allocated: the same code records into a command buffer or into a CountingEncoder.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "hal/command_buffer.h"
#include "hal/device.h"
#include "runtime/concrete.h"

namespace weir {

// Which slot is what: inputs from 0, outputs after them, then states (two each: before and after a run), the
// arena, the prepared constants, the program's constants and the session's own.
struct SlotLayout {
  int32_t outputs = 0;
  int32_t states = 0;
  int32_t arena = 0;
  int32_t prepared = 0;
  int32_t constants = 0;
  int32_t own_constants = 0;
  int32_t count = 0;
};
SlotLayout slot_layout(const Program& program);

// What a step runs on in a session.
struct StepKernel {
  const Implementation* implementation = nullptr;
  bool packed = false;  // it reads packed operands in their packed form, and not the plain constants
  Ref<Kernel> kernel;
};

// Where a session's constants lie: in the program, or in memory of the session's own.
struct ConstantLayout {
  std::span<int64_t> own_offset;  // by storage: bytes; −1: it lies in the program, or nobody reads it
  int64_t own_bytes = 0;
  int64_t program_bytes = 0;  // from the beginning of the program's constants up to the last that is read
};

// `steps`, `concrete` and `kernels` are in the same order. Step numbers in status records start from
// `first_step`.
void record_steps(const Program& program, std::span<const Step> steps, std::span<const ConcreteStep> concrete,
                  std::span<const StepKernel> kernels, const ShapeValues& values, const ShapePlan& plan,
                  const ConstantLayout& constants, int32_t first_step, Encoder& encoder);

// Counts what is recorded.
class CountingEncoder final : public Encoder {
 public:
  CountingEncoder(int64_t slots, int64_t participants) {
    counts_.slots = slots;
    counts_.participants = participants;
  }

  void set_step(int32_t) override {}
  void set_kernel(Kernel& kernel) override;
  void set_buffer(int32_t index, const BufferRange& range, Access access) override;
  void set_null(int32_t index) override;
  void set_constants(std::span<const std::byte> bytes) override;
  void set_scratch(int64_t) override {}
  void set_parameters(int64_t) override {}
  void dispatch(int64_t x, int64_t y, int64_t z) override;
  void barrier() override { pending_barrier_ = counts_.commands > 0; }
  void update_fence(Fence&) override {}
  void wait_fence(Fence&) override {}
  void fill(const BufferRange&, uint8_t) override {}
  void copy(const BufferRange&, const BufferRange&) override {}
  void host_call(HostCall, void*) override {}
  void refuse(Status) override {}

  CommandBufferCounts counts() const { return counts_; }

 private:
  CommandBufferCounts counts_;
  std::set<const Kernel*> kernels_;
  int64_t bindings_ = 0;  // of the dispatch being recorded
  int64_t slot_uses_ = 0;
  int64_t constant_bytes_ = 0;
  bool pending_barrier_ = false;
};

}  // namespace weir
