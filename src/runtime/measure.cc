// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.h"

#include <algorithm>
#include <chrono>

#include "base/checked.h"

namespace weir {
namespace {

int64_t scratch_of(std::span<const StepKernel> kernels, std::span<const Step> steps,
                   std::span<const ConcreteStep> concrete) {
  int64_t most = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Implementation& implementation = *kernels[i].implementation;
    if (implementation.plan != nullptr) {
      most = std::max(most, implementation.plan(concrete[i].op(steps[i].op)).scratch_bytes);
    }
  }
  return align_up(most, kStorageAlignment);
}

}  // namespace

int64_t steady_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result<Session::Measured> Session::measure(std::span<const int64_t> symbols) const {
  const Program& program = loaded_.program;
  Measured measured;
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(measured.values, evaluate_shapes(program, symbols));
  for (const Step& step : program.prepare_steps) {
    WEIR_ASSIGN(ConcreteStep concrete, concrete_step(program, step, measured.values));
    measured.prepare_steps.push_back(std::move(concrete));
  }
  measured.steps.reserve(program.steps.size());
  for (const Step& step : program.steps) {
    WEIR_ASSIGN(ConcreteStep concrete, concrete_step(program, step, measured.values));
    measured.steps.push_back(std::move(concrete));
  }
  const int64_t evaluated = steady_now_ns();
  WEIR_ASSIGN(measured.plan, plan_shape(program, measured.values, measured.prepare_steps, measured.steps));
  measured.scratch_bytes =
      participants_ * std::max(scratch_of(kernels_, program.steps, measured.steps),
                               scratch_of(prepare_kernels_, program.prepare_steps, measured.prepare_steps));
  const auto port_bytes = [&](const ProgramPort& port) {
    const ProgramTensor& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    return std::max<int64_t>(concrete_tensor(program, tensor, measured.values).extent_bytes(), 1);
  };
  for (const ProgramPort& port : program.inputs) {
    measured.input_bytes.push_back(port_bytes(port));
  }
  for (const ProgramPort& port : program.outputs) {
    measured.output_bytes.push_back(port_bytes(port));
  }
  measured.expressions_ns = evaluated - begin;
  measured.placement_ns = steady_now_ns() - evaluated;
  return measured;
}

Session::PlannedBytes Session::planned_bytes(const Measured& measured,
                                             const CommandBufferCounts& counts) const {
  const auto allocation = [&](int64_t bytes, StorageMode mode) {
    return bytes == 0 ? 0 : device_->allocation_bytes(bytes, mode);
  };
  PlannedBytes bytes;
  bytes.prepared = allocation(measured.plan.prepared_bytes, StorageMode::kPrivate);
  bytes.arena = allocation(measured.plan.arena_bytes, StorageMode::kPrivate);
  bytes.scratch = allocation(measured.scratch_bytes, StorageMode::kPrivate);
  bytes.host = device_->command_buffer_bytes(counts);
  for (const auto* ports : {&measured.input_bytes, &measured.output_bytes}) {
    for (int64_t size : *ports) {
      bytes.ports.push_back(allocation(size, StorageMode::kShared));
    }
  }
  return bytes;
}

Ledger Session::ledger_of(const PlannedBytes& bytes, int64_t activations) const {
  Ledger ledger;
  const int64_t constants = program().constant_bytes;
  ledger.constants =
      bytes.prepared + (constants == 0 ? 0 : device_->allocation_bytes(constants, StorageMode::kPrivate));
  ledger.activations = std::min(activations, bytes.arena);
  ledger.workspace = bytes.arena - ledger.activations;
  ledger.scratch = bytes.scratch;
  for (int64_t port : bytes.ports) {
    ledger.io += port;
  }
  ledger.host = bytes.host;
  return ledger;
}

Result<Ledger> Session::planned(std::span<const int64_t> symbols) const {
  WEIR_ASSIGN(const Measured measured, measure(symbols));
  CountingEncoder counter(slot_layout(program()).count, participants_);
  WEIR_TRY(record_steps(program(), program().steps, measured.steps, kernels_, measured.values, measured.plan,
                        0, counter));
  return ledger_of(planned_bytes(measured, counter.counts()), measured.plan.activation_bytes);
}

Result<ProgramReport> Session::report(std::span<const int64_t> symbols) const {
  WEIR_ASSIGN(const Measured measured, measure(symbols));
  ShapeMemory memory;
  memory.storage_bytes = measured.plan.storage_bytes;
  memory.storage_offset = measured.plan.storage_offset;
  memory.arena_bytes = measured.plan.arena_bytes;
  return weir::report(program(), symbols, memory);
}

}  // namespace weir
