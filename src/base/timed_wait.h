// SPDX-License-Identifier: Apache-2.0
//
// Waiting for a condition with a timeout of any length: a deadline past the end of the clock means for ever,
// where std::condition_variable would count it as passed.
//
//   std::unique_lock lock(mutex_);
//   if (!wait_for(changed_, lock, timeout, [&] { return ready_; })) { … it timed out … }
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace weir {

// The steady clock counts nanoseconds since the system's start and has 292 years.
inline constexpr std::chrono::nanoseconds kLongestTimeout = std::chrono::hours(24 * 365 * 10);

// Whether `predicate` held in time; 0 and less ask once.
template <typename Predicate>
bool wait_for(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
              std::chrono::nanoseconds timeout, Predicate predicate) {
  if (timeout.count() <= 0) {
    return predicate();
  }
  if (timeout > kLongestTimeout) {
    condition.wait(lock, predicate);
    return true;
  }
  return condition.wait_for(lock, timeout, predicate);
}

}  // namespace weir
