// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure.h"

#include <algorithm>
#include <chrono>

#include "base/checked.h"
#include "program/heap_bytes.h"
#include "runtime/prepared_shape.h"

namespace weir {
namespace {

int64_t scratch_of(std::span<const StepKernel> kernels, std::span<const Step> steps,
                   std::span<const ConcreteStep> concrete) {
  int64_t most = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Implementation& implementation = *kernels[i].implementation;
    if (implementation.plan != nullptr && has_work(steps[i], concrete[i])) {
      most = std::max(most, implementation.plan(concrete[i].op(steps[i].op)).scratch_bytes);
    }
  }
  return align_up(most, kStorageAlignment);
}

}  // namespace

int64_t port_bytes(const TensorSpec& spec) {
  return std::max<int64_t>(spec.extent_bytes(), 1);
}

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
  WEIR_ASSIGN(measured.prepare_steps,
              concrete_steps(program, program.prepare_steps, measured.values, operators_.get()));
  WEIR_ASSIGN(measured.steps, concrete_steps(program, program.steps, measured.values, operators_.get()));
  const int64_t evaluated = steady_now_ns();
  WEIR_ASSIGN(measured.plan, plan_shape(program, measured.values, measured.prepare_steps, measured.steps));
  measured.scratch_bytes =
      participants_ * std::max(scratch_of(kernels(), program.steps, measured.steps),
                               scratch_of(prepare_kernels(), program.prepare_steps, measured.prepare_steps));
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
  bytes.host = Request::PreparedShape::host_bytes(program(), *device_, counts);
  for (const auto* ports : {&program().inputs, &program().outputs}) {
    for (const ProgramPort& port : *ports) {
      const ProgramTensor& tensor = program().tensors[static_cast<size_t>(port.tensor)];
      bytes.io +=
          allocation(port_bytes(concrete_tensor(program(), tensor, measured.values)), StorageMode::kShared);
    }
  }
  for (const ProgramState& state : program().states) {
    const ProgramTensor& tensor = program().tensors[static_cast<size_t>(state.before)];
    bytes.state += 2 * allocation(port_bytes(concrete_tensor(program(), tensor, measured.values)),
                                  RequestStates::mode(*device_));
  }
  return bytes;
}

Ledger Session::own_lines() const {
  Ledger ledger;
  for (const int64_t constants : {constant_layout_.program_bytes, constant_layout_.own_bytes}) {
    ledger.constants += constants == 0 ? 0 : device_->allocation_bytes(constants, StorageMode::kPrivate);
  }
  ledger.host = heap_bytes(program()) + host_bytes<Tables>(program());
  return ledger;
}

Ledger Session::ledger_of(const PlannedBytes& bytes, int64_t activations) const {
  Ledger ledger = own_lines();
  ledger.constants += bytes.prepared;
  ledger.activations = std::min(activations, bytes.arena);
  ledger.workspace = bytes.arena - ledger.activations;
  ledger.scratch = bytes.scratch;
  ledger.io = bytes.io;
  ledger.state = bytes.state;
  ledger.host += host_bytes<Request::Tables>(program()) + bytes.host;
  return ledger;
}

Result<Ledger> Session::planned(std::span<const int64_t> symbols) const {
  WEIR_ASSIGN(const Measured measured, measure(symbols));
  CountingEncoder counter(slot_layout(program()).count, participants_);
  record_steps(program(), program().steps, measured.steps, kernels(), measured.values, measured.plan,
               constant_layout_, 0, counter);
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
