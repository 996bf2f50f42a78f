// SPDX-License-Identifier: Apache-2.0
//
// A queue whose command buffers run on host threads: on the calling one where that is allowed, else on lanes.
#pragma once

#include <array>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "hal/queue.h"
#include "hal/software/software_command_buffer.h"

namespace weir {

class SoftwareQueue final : public Queue {
 public:
  static Result<Ref<SoftwareQueue>> create(SoftwareDevice& device, const QueueDescriptor& descriptor);
  ~SoftwareQueue() override;

  Device& device() const override { return *device_; }
  Result<SubmitAnswer> submit(const SubmitDescriptor& submission) override;
  void withdraw(CommandBuffer& command_buffer) override;
  bool is_own_thread() const override;
  void wait_idle() override;
  QueueStats stats() const override;

 private:
  struct Point {
    Ref<Event> event;
    uint64_t value = 0;
  };
  struct Entry;
  struct Observer final : EventObserver {
    void on_reached(const Status* failure) override;
    SoftwareQueue* queue = nullptr;
    Entry* entry = nullptr;
    bool waiting = false;
  };
  enum class State : uint8_t { kFree, kPending, kRunning };
  struct Entry {
    State state = State::kFree;     // guarded by mutex_, as the three below
    int32_t unmet = 0;              // waits not reached yet
    bool abandoned = false;         // withdrawn before its waits were met
    std::optional<Status> failure;  // of the first wait that failed
    uint64_t sequence = 0;
    Ref<SoftwareCommandBuffer> commands;
    int32_t wait_count = 0;
    int32_t signal_count = 0;
    std::array<Point, kMaxEventsPerSubmission> waits;
    std::array<Point, kMaxEventsPerSubmission> signals;
    std::array<Observer, kMaxEventsPerSubmission> observers;
    CompletionHandler on_complete;
  };

  SoftwareQueue(SoftwareDevice& device, const QueueDescriptor& descriptor);
  Result<void> start(int32_t lanes);
  Result<void> check(const SubmitDescriptor& submission) const;
  Entry* free_entry();         // under mutex_; null when the queue is full
  Entry* ready_entry();        // under mutex_; the oldest whose waits are met
  void abandon(Entry& entry);  // under mutex_
  Result<void> outcome(Entry& entry);
  void serve();
  void execute(Entry& entry) noexcept;

  Ref<SoftwareDevice> device_;
  std::vector<Entry> entries_;
  std::latch started_;  // by every lane
  mutable std::mutex mutex_;
  std::condition_variable work_;   // an entry may have become ready, or the end has come
  std::condition_variable space_;  // an entry has become free
  QueueStats stats_;               // guarded by mutex_
  int32_t handlers_ = 0;           // running; guarded by mutex_
  uint64_t next_sequence_ = 0;     // guarded by mutex_
  bool ending_ = false;            // guarded by mutex_
  std::vector<std::thread> lanes_;
};

}  // namespace weir
