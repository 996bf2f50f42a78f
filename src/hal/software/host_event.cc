// SPDX-License-Identifier: Apache-2.0
#include "hal/software/host_event.h"

#include "base/out_of_memory.h"
#include "base/timed_wait.h"

namespace weir {

Result<EventWait> HostEvent::wait(uint64_t value, std::chrono::nanoseconds timeout) {
  if (this->value() >= value && !failed_.load(std::memory_order_acquire)) {
    return EventWait::kReached;
  }
  std::unique_lock lock(mutex_);
  if (value_.load(std::memory_order_relaxed) >= value) {
    return outcome(value);
  }
  if (timeout.count() <= 0) {
    return EventWait::kTimedOut;
  }
  Waiter self;
  self.awaited = value;
  self.next = std::exchange(waiters_, &self);
  if (!wait_for(reached_, lock, timeout, [&] { return self.reached; })) {
    Waiter** link = &waiters_;
    while (*link != &self) {
      link = &(*link)->next;
    }
    *link = self.next;
    return EventWait::kTimedOut;
  }
  return self.failure ? Result<EventWait>(std::unexpected(*std::move(self.failure))) : EventWait::kReached;
}

Status HostEvent::failure_at(uint64_t value, const Status& status) const noexcept {
  auto made = with_memory_guard([&]() -> Result<void> {
    Status own = status;
    own.add_context(fmt::format("while waiting for event '{}' to reach ({})", label(), value));
    return std::unexpected(std::move(own));
  });
  return std::move(made).error();
}

Result<void> HostEvent::signal(uint64_t value) {
  return advance(value, std::nullopt);
}

Result<void> HostEvent::fail(uint64_t value, Status status) {
  return advance(value, std::move(status));
}

Result<void> HostEvent::advance(uint64_t value, std::optional<Status> failure) {
  EventObserver* told = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t current = value_.load(std::memory_order_relaxed);
    if (value <= current) {
      return weir::fail(StatusCode::kFailedPrecondition,
                        "Event '{}' is at value ({}), and a signal of ({}) is not above it.", label(),
                        current, value);
    }
    if (failure) {
      failures_[static_cast<size_t>(next_failure_)] = {
          .from = current, .to = value, .status = copy_of(*failure)};
      next_failure_ = (next_failure_ + 1) % kRememberedFailures;
      failed_.store(true, std::memory_order_release);
    }
    value_.store(value, std::memory_order_release);
    for (EventObserver* observer = observers_; observer != nullptr;) {
      EventObserver* next = observer->next_;
      if (observer->awaited_ <= value) {
        unlink(*observer);
        observer->next_ = told;
        told = observer;
      }
      observer = next;
    }
    for (Waiter** link = &waiters_; *link != nullptr;) {
      Waiter& waiter = **link;
      if (waiter.awaited <= value) {
        waiter.reached = true;
        if (failure) {
          waiter.failure = failure_at(waiter.awaited, *failure);
        }
        *link = waiter.next;
      } else {
        link = &waiter.next;
      }
    }
    reached_.notify_all();
  }
  while (told != nullptr) {
    EventObserver* next = told->next_;
    if (failure) {
      const Status status = failure_at(told->awaited_, *failure);
      told->on_reached(&status);
    } else {
      told->on_reached(nullptr);
    }
    told = next;
  }
  return {};
}

Result<EventWait> HostEvent::outcome(uint64_t value) const {
  for (const Failure& failure : failures_) {
    if (failure.status && failure.from < value && value <= failure.to) {
      return std::unexpected(failure_at(value, *failure.status));
    }
  }
  return EventWait::kReached;
}

bool HostEvent::observe(uint64_t value, EventObserver& observer) {
  const std::lock_guard lock(mutex_);
  if (value_.load(std::memory_order_relaxed) >= value) {
    return false;
  }
  observer.awaited_ = value;
  observer.previous_ = nullptr;
  observer.next_ = observers_;
  if (observers_ != nullptr) {
    observers_->previous_ = &observer;
  }
  observers_ = &observer;
  return true;
}

bool HostEvent::forget(EventObserver& observer) {
  const std::lock_guard lock(mutex_);
  if (value_.load(std::memory_order_relaxed) >= observer.awaited_) {
    return false;
  }
  unlink(observer);
  return true;
}

void HostEvent::unlink(EventObserver& observer) {
  (observer.previous_ != nullptr ? observer.previous_->next_ : observers_) = observer.next_;
  if (observer.next_ != nullptr) {
    observer.next_->previous_ = observer.previous_;
  }
}

}  // namespace weir
