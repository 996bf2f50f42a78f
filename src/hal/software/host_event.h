// SPDX-License-Identifier: Apache-2.0
//
// A timeline in host memory, for devices that signal from host threads.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "hal/event.h"

namespace weir {

class HostEvent : public Event {
 public:
  explicit HostEvent(std::string_view label) : Event(label) {}

  uint64_t value() const override { return value_.load(std::memory_order_acquire); }
  Result<EventWait> wait(uint64_t value, std::chrono::nanoseconds timeout) override;
  Result<void> signal(uint64_t value) override;
  Result<void> fail(uint64_t value, Status status) override;
  bool observe(uint64_t value, EventObserver& observer) override;
  bool forget(EventObserver& observer) override;

 private:
  // Values above `from` up to `to` were failed.
  struct Failure {
    uint64_t from = 0;
    uint64_t to = 0;
    std::optional<Status> status;
  };

  // A host thread that waits; on its stack, linked while it does.
  struct Waiter {
    uint64_t awaited = 0;
    bool reached = false;
    std::optional<Status> failure;
    Waiter* next = nullptr;
  };

  Result<void> advance(uint64_t value, std::optional<Status> failure);
  Result<EventWait> outcome(uint64_t value) const;  // under mutex_, of a value that is reached
  Status failure_at(uint64_t value, const Status& status) const noexcept;
  void unlink(EventObserver& observer);  // under mutex_

  std::atomic<uint64_t> value_{0};   // written under mutex_
  std::atomic<bool> failed_{false};  // at least once; written under mutex_
  mutable std::mutex mutex_;
  std::condition_variable reached_;
  EventObserver* observers_ = nullptr;
  Waiter* waiters_ = nullptr;
  std::array<Failure, kRememberedFailures> failures_;
  int next_failure_ = 0;
};

}  // namespace weir
