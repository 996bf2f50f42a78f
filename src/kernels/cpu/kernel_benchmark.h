// SPDX-License-Identifier: Apache-2.0
//
// For micro-benchmarks of CPU kernels: one step, all its tiles, on one thread, by the fastest implementation
// that this machine runs, or the one named by the environment variable WEIR_BENCHMARK_ISA (sse4, avx2,
// avx512).
//
//   BenchmarkStep step(Op::kCopy, NoAttributes{}, {input}, {output});
//   step.run(state);                              // counts the bytes of all operands
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/implementation.h"

namespace weir {

class BenchmarkStep {
 public:
  BenchmarkStep(Op op, Attributes attributes, std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs)
      : attributes_(std::move(attributes)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
    for (const auto& specs : {inputs_, outputs_}) {
      for (const TensorSpec& spec : specs) {
        TensorType type;
        type.element_type = spec.type;
        for (int i = 0; i < spec.rank; ++i) {
          type.shape.emplace_back(spec.shape[i]);
          type.strides.emplace_back(spec.strides[i]);
        }
        types_.push_back(type);
      }
    }
    desc_.op = op;
    desc_.attributes = &attributes_;
    for (size_t i = 0; i < inputs_.size(); ++i)
      desc_.inputs.push_back(inputs_[i].rank < 0 ? nullptr : &types_[i]);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      desc_.outputs.push_back(outputs_[i].rank < 0 ? nullptr : &types_[inputs_.size() + i]);
    }
    desc_.constant.assign(inputs_.size(), true);
    Isa isa = detect_isa();
    if (const char* name = std::getenv("WEIR_BENCHMARK_ISA")) {
      for (Isa each : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
        if (to_string(each) == name) isa = std::min(isa, each);
      }
    }
    for (const Implementation* candidate : implementations()) {
      if (candidate->op == op && candidate->isa <= isa && candidate->supported(desc_).ok()) {
        implementation_ = candidate;
        break;
      }
    }
    const ConcreteOp concrete{op, &attributes_, inputs_, outputs_};
    for (const auto& specs : {inputs_, outputs_}) {
      for (const TensorSpec& spec : specs) {
        const int64_t bytes = spec.rank < 0 ? 0 : spec.extent_bytes();
        bindings_.push_back(spec.rank < 0 ? nullptr : allocate(bytes));
        bytes_ += bytes;
        if (spec.rank >= 0 && spec.type == ElementType::kFloat32) {
          for (int64_t i = 0; i < bytes / 4; ++i) {
            const float value = static_cast<float>(i % 31) * 0.125f - 1.5f;
            std::memcpy(bindings_.back() + 4 * i, &value, 4);
          }
        }
      }
    }
    if (implementation_->pack != nullptr) {
      for (const PackRequest& request : implementation_->pack(desc_)) {
        std::byte* target = allocate(request.bytes);
        const size_t input = static_cast<size_t>(request.input);
        request.write(inputs_[input].at(bindings_[input]), target);
        bindings_[input] = target;
      }
    }
    const Plan plan = implementation_->plan != nullptr ? implementation_->plan(concrete) : Plan{};
    if (plan.workspace_bytes > 0) bindings_.push_back(allocate(plan.workspace_bytes));
    scratch_ = allocate(plan.scratch_bytes);
    constants_ = allocate(static_cast<int64_t>(kMaxKernelConstants));
    extent_ = implementation_->extent(concrete, std::span<std::byte>(constants_, kMaxKernelConstants));
  }

  void run(benchmark::State& state) {
    StatusRecord status;
    CpuInvocation invocation;
    invocation.bindings = bindings_;
    invocation.constants = constants_;
    invocation.scratch = scratch_;
    invocation.tile_end = extent_.tiles;
    invocation.status = &status;
    for (auto _ : state) {
      implementation_->kernel(invocation);
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * bytes_);
    state.SetLabel(std::string(implementation_->name) + ", " + std::to_string(extent_.tiles) + " tiles");
  }

  int64_t bytes() const { return bytes_; }
  Isa isa() const { return implementation_->isa; }

 private:
  std::byte* allocate(int64_t bytes) {
    const size_t size = static_cast<size_t>((bytes + 127) / 64 * 64);
    memory_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(64, size)), std::free);
    std::memset(memory_.back().get(), 0, size);
    return memory_.back().get();
  }

  Attributes attributes_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  std::vector<TensorType> types_;
  OpDesc desc_;
  const Implementation* implementation_ = nullptr;
  std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> memory_;
  std::vector<std::byte*> bindings_;
  std::byte* scratch_ = nullptr;
  std::byte* constants_ = nullptr;
  Extent extent_;
  int64_t bytes_ = 0;
};

}  // namespace weir
