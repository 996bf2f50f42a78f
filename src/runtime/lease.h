// SPDX-License-Identifier: Apache-2.0
//
// OutputLease: the right to read an output in peace. While any lease of a request is held, the request
// answers `busy` to start, run and prepare, so the result cannot be torn by the next frame. A lease
// outlives its request and keeps the buffer.
//
//   WEIR_ASSIGN(OutputLease lease, request->lease_output(0));
//   show(lease.tensor());
//
// Thread-safe: a lease may be given back on any thread. Taking one allocates nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/ref.h"
#include "hal/buffer.h"
#include "tensor/tensor.h"

namespace weir {

// One an output, shared by all leases of it. The request fills it in while none is held.
struct LeasedOutput final : RefCounted {
  TensorView tensor;
  Ref<Buffer> buffer;
  std::atomic<int32_t> held{0};

  // A lease is a reference and a count.
  LeasedOutput* take() {
    held.fetch_add(1, std::memory_order_relaxed);
    retain();
    return this;
  }
  void give_back() {
    held.fetch_sub(1, std::memory_order_release);
    release();
  }
};

class OutputLease {
 public:
  OutputLease() = default;
  // Takes over what LeasedOutput::take gave.
  explicit OutputLease(LeasedOutput* taken) : output_(taken) {}
  OutputLease(OutputLease&& other) noexcept : output_(std::exchange(other.output_, nullptr)) {}
  OutputLease& operator=(OutputLease other) noexcept {
    std::swap(output_, other.output_);
    return *this;
  }
  ~OutputLease() {
    if (output_ != nullptr) {
      output_->give_back();
    }
  }

  const TensorView& tensor() const { return output_->tensor; }
  // The caller gives it back.
  LeasedOutput* detach() { return std::exchange(output_, nullptr); }

 private:
  LeasedOutput* output_ = nullptr;
};

}  // namespace weir
