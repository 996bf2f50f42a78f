// SPDX-License-Identifier: Apache-2.0
//
// A queue of checked command buffers: what was found while one ran fails its submission.
#pragma once

#include <atomic>

#include "hal/queue.h"
#include "hal/validation/validation_device_impl.h"

namespace weir {

class ValidationQueue final : public Queue {
 public:
  ValidationQueue(Ref<ValidationDevice> device, Ref<Queue> inner);
  ~ValidationQueue() override;

  Device& device() const override { return *device_; }
  Result<SubmitAnswer> submit(const SubmitDescriptor& submission) override;
  void withdraw(CommandBuffer& command_buffer) override;
  bool is_own_thread() const override { return inner_->is_own_thread(); }
  void wait_idle() override { inner_->wait_idle(); }
  QueueStats stats() const override;

 private:
  struct Submission;
  static void completed(void* user, const Status* status);

  Ref<ValidationDevice> device_;
  std::atomic<uint64_t> violations_{0};
  Ref<Queue> inner_;  // last, so that it ends first: until then handlers use what is above
};

}  // namespace weir
