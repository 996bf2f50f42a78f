// SPDX-License-Identifier: Apache-2.0
//
// Lock order: an event tells its observers without holding its own lock, so the queue's may be taken then;
// the queue asks and registers with events while it holds its own.
#include "hal/software/software_queue.h"

#include <algorithm>

#include "base/out_of_memory.h"
#include "base/start_thread.h"

namespace weir {

void SoftwareQueue::Observer::on_reached(const Status* failure) {
  const std::lock_guard lock(queue->mutex_);
  waiting = false;
  if (failure != nullptr && !entry->failure) {
    entry->failure = copy_of(*failure);
  }
  if (--entry->unmet == 0) {
    queue->work_.notify_one();
  }
}

SoftwareQueue::SoftwareQueue(SoftwareDevice& device, const QueueDescriptor& descriptor)
    : Queue(descriptor.label),
      device_(&device),
      entries_(static_cast<size_t>(descriptor.max_in_flight)),
      started_(descriptor.lanes) {
  for (Entry& entry : entries_) {
    for (Observer& observer : entry.observers) {
      observer.queue = this;
      observer.entry = &entry;
    }
  }
}

Result<Ref<SoftwareQueue>> SoftwareQueue::create(SoftwareDevice& device, const QueueDescriptor& descriptor) {
  Ref<SoftwareQueue> queue = Ref<SoftwareQueue>::adopt(new SoftwareQueue(device, descriptor));
  WEIR_TRY(queue->start(descriptor.lanes), "while starting the ({}) lanes of queue '{}'", descriptor.lanes,
           descriptor.label);
  return queue;
}

Result<void> SoftwareQueue::start(int32_t lanes) {
  lanes_.reserve(static_cast<size_t>(lanes));
  for (int32_t i = 0; i < lanes; ++i) {
    WEIR_ASSIGN(std::thread lane, start_thread("weir-queue", [this] {
                  started_.count_down();
                  serve();
                }));
    lanes_.push_back(std::move(lane));
  }
  started_.wait();  // what a thread needs to start is not left to the first inference
  return {};
}

SoftwareQueue::~SoftwareQueue() {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    // What still waits for events would wait for ever if their producers wait for us: it ends as cancelled.
    for (Entry& entry : entries_) {
      abandon(entry);
    }
    work_.notify_all();
    space_.wait(lock, [&] { return stats_.in_flight == 0 && handlers_ == 0; });
    work_.notify_all();
  }
  for (std::thread& lane : lanes_) {
    lane.join();
  }
}

void SoftwareQueue::abandon(Entry& entry) {
  if (entry.state != State::kPending) {
    return;
  }
  for (Observer& observer : entry.observers) {
    if (observer.waiting) {
      const size_t index = static_cast<size_t>(&observer - entry.observers.data());
      if (entry.waits[index].event->forget(observer)) {
        observer.waiting = false;
        --entry.unmet;
        entry.abandoned = true;
      }
    }
  }
}

void SoftwareQueue::withdraw(CommandBuffer& command_buffer) {
  const std::lock_guard lock(mutex_);
  for (Entry& entry : entries_) {
    if (entry.state == State::kPending && entry.commands.get() == &command_buffer) {
      abandon(entry);
      work_.notify_one();
    }
  }
}

bool SoftwareQueue::is_own_thread() const {
  return std::ranges::find(lanes_, std::this_thread::get_id(), &std::thread::get_id) != lanes_.end();
}

Result<void> SoftwareQueue::check(const SubmitDescriptor& submission) const {
  if (submission.waits.size() > kMaxEventsPerSubmission ||
      submission.signals.size() > kMaxEventsPerSubmission) {
    return fail(StatusCode::kInvalidArgument,
                "A submission to queue '{}' has ({}) waits and ({}) signals, and the most are ({}) of each.",
                label(), submission.waits.size(), submission.signals.size(), kMaxEventsPerSubmission);
  }
  const auto null = [](const EventPoint& point) { return point.event == nullptr; };
  if (std::ranges::any_of(submission.waits, null) || std::ranges::any_of(submission.signals, null)) {
    return fail(StatusCode::kInvalidArgument, "A submission to queue '{}' names a null event.", label());
  }
  if (submission.command_buffer != nullptr && &submission.command_buffer->device() != device_.get()) {
    return fail(StatusCode::kInvalidArgument, "Command buffer '{}' is of another device than queue '{}'.",
                submission.command_buffer->label(), label());
  }
  return {};
}

SoftwareQueue::Entry* SoftwareQueue::free_entry() {
  for (Entry& entry : entries_) {
    if (entry.state == State::kFree) {
      return &entry;
    }
  }
  return nullptr;
}

SoftwareQueue::Entry* SoftwareQueue::ready_entry() {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (entry.state == State::kPending && entry.unmet == 0 &&
        (oldest == nullptr || entry.sequence < oldest->sequence)) {
      oldest = &entry;
    }
  }
  return oldest;
}

Result<SubmitAnswer> SoftwareQueue::submit(const SubmitDescriptor& submission) {
  WEIR_TRY(check(submission));
  auto* commands = static_cast<SoftwareCommandBuffer*>(submission.command_buffer);
  if (commands != nullptr) {
    WEIR_ASSIGN(const bool begun, commands->begin());
    if (!begun) {
      return SubmitAnswer::kBusy;
    }
  }

  std::unique_lock lock(mutex_);
  Entry* entry = free_entry();
  if (entry == nullptr) {
    // A lane that waits in a handler may be the one that would free an entry.
    if (submission.on_full == OnFull::kWouldBlock || is_own_thread()) {
      lock.unlock();
      if (commands != nullptr) {
        commands->abandon();
      }
      return SubmitAnswer::kWouldBlock;
    }
    space_.wait(lock, [&] { return (entry = free_entry()) != nullptr; });
  }
  entry->sequence = next_sequence_++;
  entry->commands = Ref<SoftwareCommandBuffer>(commands);
  entry->wait_count = static_cast<int32_t>(submission.waits.size());
  entry->signal_count = static_cast<int32_t>(submission.signals.size());
  for (size_t i = 0; i < submission.signals.size(); ++i) {
    entry->signals[i] = {Ref<Event>(submission.signals[i].event), submission.signals[i].value};
  }
  entry->on_complete = submission.on_complete;
  entry->abandoned = false;
  entry->failure.reset();
  entry->unmet = 0;
  for (size_t i = 0; i < submission.waits.size(); ++i) {
    const EventPoint& point = submission.waits[i];
    entry->waits[i] = {Ref<Event>(point.event), point.value};
    // on_reached takes our lock, so it cannot count before we have.
    entry->observers[i].waiting = point.event->observe(point.value, entry->observers[i]);
    if (entry->observers[i].waiting) {
      ++entry->unmet;
    } else if (auto reached = point.event->wait(point.value, std::chrono::nanoseconds(0));
               !reached && !entry->failure) {
      entry->failure = std::move(reached).error();
    }
  }
  ++stats_.submitted;
  ++stats_.in_flight;
  stats_.most_in_flight = std::max(stats_.most_in_flight, stats_.in_flight);
  if (entry->unmet == 0 && submission.may_run_inline && device_->info().capabilities.inline_execution) {
    entry->state = State::kRunning;
    lock.unlock();
    execute(*entry);
    return SubmitAnswer::kCompleted;
  }
  entry->state = State::kPending;
  if (entry->unmet == 0) {
    work_.notify_one();
  }
  return SubmitAnswer::kQueued;
}

Result<void> SoftwareQueue::outcome(Entry& entry) {
  if (entry.failure) {
    return std::unexpected(*std::move(entry.failure));
  }
  if (entry.abandoned) {
    return fail(StatusCode::kCancelled,
                "A submission to queue '{}' is cancelled before the events that it waits for are reached.",
                label());
  }
  return entry.commands ? entry.commands->run() : Result<void>{};
}

// Success allocates nothing. Where there is no memory to say how it failed, that is said instead.
void SoftwareQueue::execute(Entry& entry) noexcept {
  const Result<void> result = with_memory_guard([&] { return outcome(entry); });
  const auto copy = [&] { return with_memory_guard([&] { return result; }); };
  if (entry.commands) {
    // Idle before anybody hears of it, so that whoever hears may bind and submit.
    entry.commands->finish(copy());
  }
  for (int32_t i = 0; i < entry.signal_count; ++i) {
    const Point& point = entry.signals[static_cast<size_t>(i)];
    // A value that is not above the current one can only be a second producer's, which has told its waiters
    // already.
    (void)with_memory_guard([&] {
      return result ? point.event->signal(point.value) : point.event->fail(point.value, copy().error());
    });
  }
  const CompletionHandler handler = entry.on_complete;
  // Dropping the last references may do anything, so not under the lock.
  entry.commands = nullptr;
  for (int32_t i = 0; i < entry.wait_count; ++i) {
    entry.waits[static_cast<size_t>(i)].event = nullptr;
  }
  for (int32_t i = 0; i < entry.signal_count; ++i) {
    entry.signals[static_cast<size_t>(i)].event = nullptr;
  }
  {
    // The handler may submit, so this entry must be free before; the queue counts as busy until it has
    // returned.
    const std::lock_guard lock(mutex_);
    entry.state = State::kFree;
    handlers_ += handler ? 1 : 0;
    --stats_.in_flight;
    ++stats_.completed;
    stats_.failed += result ? 0 : 1;
    space_.notify_all();
  }
  if (handler) {
    handler.call(result ? nullptr : &result.error());
    const std::lock_guard lock(mutex_);
    --handlers_;
    space_.notify_all();
  }
}

void SoftwareQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    Entry* entry = nullptr;
    work_.wait(lock, [&] {
      entry = ready_entry();
      return entry != nullptr || (ending_ && stats_.in_flight == 0);
    });
    if (entry == nullptr) {
      return;
    }
    entry->state = State::kRunning;
    lock.unlock();
    execute(*entry);
    lock.lock();
  }
}

void SoftwareQueue::wait_idle() {
  std::unique_lock lock(mutex_);
  space_.wait(lock, [&] { return stats_.in_flight == 0 && handlers_ == 0; });
}

QueueStats SoftwareQueue::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace weir
