// SPDX-License-Identifier: Apache-2.0
//
// Running a request: inline or through the queue, waiting, cancelling, and what happens on completion.
//
// What is started holds a reference to its request until `completed` has run on a thread of the queue.
// Between the command buffer's end and that point (a copy of bound outputs at most) nobody sees the request
// as idle.
#include "base/out_of_memory.h"
#include "runtime/prepared_shape.h"
#include "tensor/strided_copy.h"

namespace weir {

std::string_view to_string(RequestState state) {
  static constexpr std::string_view kNames[] = {"unprepared", "idle",   "queued",   "running",
                                                "completed",  "failed", "cancelled"};
  return kNames[static_cast<size_t>(state)];
}

RequestState Request::state() const {
  if (current_ == nullptr) {
    return RequestState::kUnprepared;
  }
  switch (current_->commands->state()) {
    case CommandBufferState::kPending:
      return RequestState::kQueued;
    case CommandBufferState::kRunning:
      return RequestState::kRunning;
    default:
      break;
  }
  if (!ran_) {
    return RequestState::kIdle;
  }
  const Result<void> result = current_->commands->wait(std::chrono::nanoseconds(0));
  if (result) {
    return RequestState::kCompleted;
  }
  return result.error().code() == StatusCode::kCancelled ? RequestState::kCancelled : RequestState::kFailed;
}

bool Request::is_idle() const {
  if (current_ == nullptr) {
    return true;
  }
  if (current_->commands->state() != CommandBufferState::kIdle) {
    return false;
  }
  await_completion();
  return true;
}

Result<void> Request::check_idle(std::string_view action) const {
  if (!is_idle()) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' is busy and cannot {} now.",
                session_->name(), action);
  }
  return {};
}

Result<void> Request::copy_bound_inputs() {
  for (size_t i = 0; i < tables_.input_bindings.size(); ++i) {
    if (tables_.input_bindings[i].copied) {
      WEIR_ASSIGN(const std::span<std::byte> bytes, tables_.inputs[i]->contents());
      copy_elements(tables_.input_bindings[i].tensor, input_spec(static_cast<int32_t>(i)).at(bytes.data()));
    }
  }
  return {};
}

void Request::copy_bound_outputs() {
  for (size_t i = 0; i < tables_.output_bindings.size(); ++i) {
    if (tables_.output_bindings[i].copied) {
      // Shared, so there are contents.
      if (const auto bytes = tables_.outputs[i]->contents()) {
        copy_elements(output_spec(static_cast<int32_t>(i)).at(bytes->data()),
                      tables_.output_bindings[i].tensor);
      }
    }
  }
}

void Request::await_completion() const {
  std::unique_lock lock(completion_mutex_);
  completion_.wait(lock, [&] { return !completing_; });
}

void Request::completed(void* user, const Status* status) {
  const Ref<Request> self = Ref<Request>::adopt(static_cast<Request*>(user));
  Result<void> result;
  if (status == nullptr) {
    self->copy_bound_outputs();
  } else {
    result = with_memory_guard([&] { return self->with_step_name(std::unexpected(*status)); });
  }
  CompletionHandler handler;
  {
    const std::lock_guard lock(self->completion_mutex_);
    handler = self->on_complete_;
    self->completing_ = false;
    self->completion_.notify_all();
  }
  if (handler) {
    handler.call(result ? nullptr : &result.error());
  }
}

Result<SubmitAnswer> Request::start(std::span<const EventPoint> waits, std::span<const EventPoint> signals,
                                    CompletionHandler on_complete) {
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' starts before a shape is prepared.",
                session_->name());
  }
  if (!is_idle() || leases() > 0) {
    return SubmitAnswer::kBusy;
  }
  WEIR_TRY(copy_bound_inputs());
  {
    const std::lock_guard lock(completion_mutex_);
    on_complete_ = on_complete;
    completing_ = true;
  }
  SubmitDescriptor submission;
  submission.command_buffer = current_->commands.get();
  submission.waits = waits;
  submission.signals = signals;
  submission.on_full = OnFull::kWouldBlock;
  submission.may_run_inline = false;
  submission.on_complete = {.function = completed, .user = this};
  const bool ran_before = ran_;
  ran_ = true;
  retain();  // belongs to `completed`
  Result<SubmitAnswer> answer = with_memory_guard([&] { return session_->queue().submit(submission); });
  if (!answer || *answer == SubmitAnswer::kWouldBlock || *answer == SubmitAnswer::kBusy) {
    ran_ = ran_before;
    {
      const std::lock_guard lock(completion_mutex_);
      completing_ = false;
      completion_.notify_all();
    }
    release();
  }
  return answer;
}

Result<EventWait> Request::wait_for(std::chrono::nanoseconds timeout) {
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' waits before a shape is prepared.",
                session_->name());
  }
  Result<void> result = current_->commands->wait(timeout);
  if (!result && result.error().code() == StatusCode::kDeadlineExceeded) {
    if (current_->commands->state() != CommandBufferState::kIdle) {
      return EventWait::kTimedOut;
    }
    // It ended in this moment, or that is the run's own error.
    result = current_->commands->wait(std::chrono::nanoseconds(0));
  }
  await_completion();
  WEIR_TRY(with_step_name(std::move(result)));
  return EventWait::kReached;
}

Result<void> Request::wait() {
  WEIR_TRY(wait_for(kForever));
  return {};
}

void Request::cancel() {
  if (current_ != nullptr) {
    current_->commands->cancel();
    session_->queue().withdraw(*current_->commands);
  }
}

Result<void> Request::run() {
  if (current_ == nullptr) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' runs before a shape is prepared.",
                session_->name());
  }
  WEIR_TRY(check_idle("run"));
  if (const int32_t held = leases(); held > 0) {
    return fail(StatusCode::kFailedPrecondition,
                "A request of '{}' is busy and cannot run now: ({}) leases of its outputs are held.",
                session_->name(), held);
  }
  WEIR_TRY(copy_bound_inputs());
  SubmitDescriptor submission;
  submission.command_buffer = current_->commands.get();
  WEIR_ASSIGN(const SubmitAnswer answer, session_->queue().submit(submission));
  if (answer == SubmitAnswer::kBusy) {
    return check_idle("run");
  }
  ran_ = true;
  WEIR_TRY(with_step_name(current_->commands->wait()));
  copy_bound_outputs();
  return {};
}

Result<void> Request::with_step_name(Result<void> result) const {
  if (result) {
    return result;
  }
  const StatusRecord& record = current_->commands->status_record();
  const auto& steps = session_->program().steps;
  if (record.state.load(std::memory_order_acquire) == 2 && static_cast<size_t>(record.step) < steps.size()) {
    const Step& step = steps[static_cast<size_t>(record.step)];
    std::string operands;
    for (int32_t input : step.inputs) {
      if (input >= 0) {
        const std::string& name = session_->program().tensors[static_cast<size_t>(input)].name;
        operands += fmt::format("{}'{}'", operands.empty() ? ", which reads " : ", ", name);
      }
    }
    result.error().add_context(
        fmt::format("while running step '{}' ({}){}", step.name, step.origin, operands));
  }
  result.error().add_context(fmt::format("while running a request of '{}'", session_->name()));
  return result;
}

}  // namespace weir
