// SPDX-License-Identifier: Apache-2.0
//
// The queue below does not learn of the events to signal: they are signalled, or failed, when the checks have
// been looked at.
#include "hal/validation/validation_queue.h"

#include <memory>
#include <vector>

#include "base/out_of_memory.h"
#include "hal/validation/validation_command_buffer.h"

namespace weir {

struct ValidationQueue::Submission {
  struct Signal {
    Ref<Event> event;
    uint64_t value = 0;
  };
  ValidationQueue* queue = nullptr;
  Ref<ValidationCommandBuffer> commands;
  std::vector<Signal> signals;
  CompletionHandler on_complete;
};

ValidationQueue::ValidationQueue(Ref<ValidationDevice> device, Ref<Queue> inner)
    : Queue(inner->label()), device_(std::move(device)), inner_(std::move(inner)) {}

ValidationQueue::~ValidationQueue() = default;

Result<SubmitAnswer> ValidationQueue::submit(const SubmitDescriptor& submission) {
  auto* commands = static_cast<ValidationCommandBuffer*>(submission.command_buffer);
  if (commands != nullptr && &commands->device() != device_.get()) {
    return fail(StatusCode::kInvalidArgument, "Command buffer '{}' is of another device than queue '{}'.",
                commands->label(), label());
  }
  if (submission.signals.size() > kMaxEventsPerSubmission) {
    return inner_->submit({.waits = submission.waits, .signals = submission.signals});  // says what is wrong
  }
  auto pending = std::make_unique<Submission>();
  for (const EventPoint& point : submission.signals) {
    if (point.event == nullptr) {
      return inner_->submit({.signals = submission.signals});
    }
    pending->signals.push_back({Ref<Event>(point.event), point.value});
  }
  if (commands != nullptr && !commands->begin()) {
    return SubmitAnswer::kBusy;
  }
  // Nothing of this submission is left in the command buffer unless the queue below took it, whatever ends
  // it.
  struct GiveUp {
    ValidationCommandBuffer* commands;
    ~GiveUp() {
      if (commands != nullptr) {
        commands->finish(nullptr);
      }
    }
  } give_up{commands};
  if (commands != nullptr) {
    WEIR_TRY(commands->check_bound());
  }
  pending->queue = this;
  pending->commands = Ref<ValidationCommandBuffer>(commands);
  pending->on_complete = submission.on_complete;
  SubmitDescriptor below = submission;
  below.command_buffer = commands == nullptr ? nullptr : &commands->inner();
  below.signals = {};
  below.on_complete = {.function = completed, .user = pending.get()};
  Result<SubmitAnswer> answer = inner_->submit(below);
  if (answer && (*answer == SubmitAnswer::kCompleted || *answer == SubmitAnswer::kQueued)) {
    give_up.commands = nullptr;
    (void)pending.release();  // belongs to `completed`
  }
  return answer;
}

void ValidationQueue::completed(void* user, const Status* status) {
  const std::unique_ptr<Submission> submission(static_cast<Submission*>(user));
  Result<void> result;
  if (submission->commands) {
    if (std::optional<Status> violation = submission->commands->take_violation()) {
      ++submission->queue->violations_;
      result = std::unexpected(*std::move(violation));
    }
  }
  if (result && status != nullptr) {
    result = std::unexpected(copy_of(*status));
  }
  if (submission->commands) {
    submission->commands->finish(&result);
  }
  for (const Submission::Signal& signal : submission->signals) {
    (void)with_memory_guard([&] {
      return result ? signal.event->signal(signal.value)
                    : signal.event->fail(signal.value, copy_of(result.error()));
    });
  }
  if (submission->on_complete) {
    submission->on_complete.call(result ? nullptr : &result.error());
  }
}

void ValidationQueue::withdraw(CommandBuffer& command_buffer) {
  if (&command_buffer.device() == device_.get()) {
    inner_->withdraw(static_cast<ValidationCommandBuffer&>(command_buffer).inner());
  }
}

QueueStats ValidationQueue::stats() const {
  QueueStats stats = inner_->stats();
  stats.failed += violations_.load();
  return stats;
}

}  // namespace weir
