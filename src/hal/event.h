// SPDX-License-Identifier: Apache-2.0
//
// Event: a timeline, a number that only grows. Host and queues wait until it has reached a value, and signal.
//
//   WEIR_ASSIGN(Ref<Event> done, device.create_event("done"));
//   queue.submit({.command_buffer = commands.get(), .signals = {{{done.get(), 1}}}});
//   WEIR_ASSIGN(EventWait wait, done->wait(1, std::chrono::seconds(1)));  // an error when the producer
//   failed
//
// A producer that fails still moves the timeline on: the values that it should have signalled are marked
// failed, and every wait for one of them returns its error. Later values may succeed again. Who waits already
// hears of its failure in any case; who comes later, of the last kRememberedFailures.
//
// Thread-safe. Signalling and waiting allocate nothing; failing may.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/ref.h"
#include "base/status.h"

namespace weir {

enum class EventWait : uint8_t { kReached, kTimedOut };

inline constexpr std::chrono::nanoseconds kForever = std::chrono::nanoseconds::max();

// Told once when a value is reached. Lies in the caller's memory and is linked into the event while it waits.
class EventObserver {
 public:
  virtual ~EventObserver() = default;
  // On the thread that signals; no lock of the event is held. `failure` is null for success and valid during
  // the call.
  virtual void on_reached(const Status* failure) = 0;

 private:
  friend class HostEvent;
  uint64_t awaited_ = 0;
  EventObserver* next_ = nullptr;
  EventObserver* previous_ = nullptr;
};

class Event : public RefCounted {
 public:
  static constexpr int kRememberedFailures = 4;

  const std::string& label() const { return label_; }

  virtual uint64_t value() const = 0;
  // Returns at once when `value` is reached, or failed (its error, with the context "while waiting for event
  // …"). A timeout of 0 polls.
  virtual Result<EventWait> wait(uint64_t value, std::chrono::nanoseconds timeout = kForever) = 0;
  // kFailedPrecondition unless `value` is above the current one.
  virtual Result<void> signal(uint64_t value) = 0;
  // Moves to `value` and marks all values between the current one and `value`, it included, as failed.
  virtual Result<void> fail(uint64_t value, Status status) = 0;

  // For queues. False when `value` is reached already, and then the observer is not told.
  virtual bool observe(uint64_t value, EventObserver& observer) = 0;
  // False when the observer has been told, or is being told at this moment.
  virtual bool forget(EventObserver& observer) = 0;

 protected:
  explicit Event(std::string_view label) : label_(label) {}

 private:
  std::string label_;
};

// A point on a timeline, to wait for or to signal.
struct EventPoint {
  Event* event = nullptr;
  uint64_t value = 0;
};

}  // namespace weir
