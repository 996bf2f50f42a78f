// SPDX-License-Identifier: Apache-2.0
//
// A device that does what another does, but for one call of an entry point, which fails as if the device had
// been lost at that moment.
//
//   HalFaults faults;
//   Ref<Device> device = create_failing_device(inner, faults);
//   faults.arm(HalCall::kSubmit, 3);       // the call of number 3, from 0; −1: none
//   …
//   faults.calls(HalCall::kSubmit);        // since arm
//   faults.fired();                        // whether the call came
//   faults.objects();                      // buffers, heaps, command buffers and queues that are alive
//
// `faults` outlives the device. Everything may be used from any thread, as the device below.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"
#include "hal/device.h"

namespace weir::faults {

enum class HalCall : int {
  kCreateBuffer,  // and import_buffer
  kCreateHeap,    // and buffers of heaps
  kContents,      // contents, read_contents: mapping into the host's memory
  kCarry,         // did_modify, synchronize
  kCreateLibrary,
  kGetKernel,
  kCreateCommandBuffer,
  kEncode,  // a dispatch, fill or copy; told by seal
  kSeal,
  kBind,  // scratch, parameters, a slot
  kCreateQueue,
  kCreateEvent,
  kSubmit,   // nothing is submitted
  kExecute,  // what was submitted does not run, and its submission fails
  kWait,     // of a command buffer
};
inline constexpr int kHalCalls = 15;
std::string_view to_string(HalCall call);

class HalFaults {
 public:
  void arm(HalCall call, int64_t index);
  int64_t calls(HalCall call) const { return counts_[static_cast<size_t>(call)].load(); }
  bool fired() const { return fired_.load(); }
  int64_t objects() const { return objects_.load(); }

  // For the device: the error where this is the call.
  Result<void> next(HalCall call);
  void count_object(int change) { objects_ += change; }

 private:
  std::array<std::atomic<int64_t>, kHalCalls> counts_{};
  std::atomic<int> call_{0};
  std::atomic<int64_t> index_{-1};
  std::atomic<bool> fired_{false};
  std::atomic<int64_t> objects_{0};
};

Ref<Device> create_failing_device(Ref<Device> inner, HalFaults& faults);

}  // namespace weir::faults
