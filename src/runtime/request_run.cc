// SPDX-License-Identifier: Apache-2.0
//
// Running a request: inline or through the queue, waiting, cancelling, and what happens on completion.
//
// What is started holds a reference to its request until `start_ended` has run on a thread of the queue.
// Lock order: completion_mutex_, then the queue's and the command buffer's.
#include <thread>

#include "base/out_of_memory.h"
#include "base/timed_wait.h"
#include "runtime/prepared_shape.h"
#include "tensor/strided_copy.h"

namespace weir {

std::string_view to_string(RequestState state) {
  static constexpr std::string_view kNames[] = {"unprepared", "idle",   "queued",   "running",
                                                "completed",  "failed", "cancelled"};
  return kNames[static_cast<size_t>(state)];
}

// A run in flight is pending, then running, then its command buffer is idle again and what follows (a copy of
// bound outputs at most) is still to come. One on the calling thread begins a moment after it is in flight.
RequestState Request::state() const {
  const std::lock_guard lock(completion_mutex_);
  if (in_flight_) {
    switch (active_->state()) {
      case CommandBufferState::kPending:
        return RequestState::kQueued;
      case CommandBufferState::kRunning:
        return RequestState::kRunning;
      default:
        if (active_->ended() != ended_) {
          return RequestState::kRunning;
        }
    }
  }
  return outcome_;
}

bool Request::is_idle() const {
  std::unique_lock lock(completion_mutex_);
  if (!in_flight_) {
    return true;
  }
  if (active_->state() != CommandBufferState::kIdle) {
    return false;
  }
  // Who has heard of the end from an event finds the request idle.
  completion_.wait(lock, [&] { return !in_flight_; });
  return true;
}

void Request::set_active(CommandBuffer* commands) {
  const std::lock_guard lock(completion_mutex_);
  active_ = Ref<CommandBuffer>(commands);
  outcome_ = commands == nullptr ? RequestState::kUnprepared : RequestState::kIdle;
  error_.reset();
}

void Request::begin_run(bool queued, CompletionHandler on_complete) {
  in_flight_ = true;
  queued_ = queued;
  ended_ = active_->ended();
  on_complete_ = on_complete;
}

void Request::abandon_run() {
  in_flight_ = false;
  completion_.notify_all();
}

CompletionHandler Request::conclude(const Result<void>& result) {
  const std::lock_guard lock(completion_mutex_);
  if (result) {
    outcome_ = RequestState::kCompleted;
    error_.reset();
  } else {
    const bool cancelled = result.error().code() == StatusCode::kCancelled;
    outcome_ = cancelled ? RequestState::kCancelled : RequestState::kFailed;
    error_ = copy_of(result.error());
  }
  in_flight_ = false;
  handlers_ += on_complete_ ? 1 : 0;
  completion_.notify_all();
  return on_complete_;
}

std::unexpected<Status> Request::busy(std::string_view action) const {
  return fail(StatusCode::kFailedPrecondition, "A request of '{}' is busy and cannot {} now.",
              session_->name(), action);
}

Result<void> Request::check_idle(std::string_view action) const {
  return is_idle() ? Result<void>() : busy(action);
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

Result<void> Request::copy_bound_outputs() {
  for (size_t i = 0; i < tables_.output_bindings.size(); ++i) {
    if (tables_.output_bindings[i].copied) {
      WEIR_ASSIGN(const std::span<std::byte> bytes, tables_.outputs[i]->contents(), "while copying {}",
                  port_name(true, static_cast<int32_t>(i)));
      copy_elements(output_spec(static_cast<int32_t>(i)).at(bytes.data()), tables_.output_bindings[i].tensor);
    }
  }
  return {};
}

// What follows a run that went well; where it fails the run has failed, and its states are what they were.
Result<void> Request::deliver() {
  return with_memory_guard([&]() -> Result<void> {
    WEIR_TRY(copy_bound_outputs(), "while running a request of '{}'", session_->name());
    states_.advance();
    return {};
  });
}

// Each run that completes makes the two buffers of a state change places.
Result<void> Request::bind_states() {
  return states_.bind(*current_->commands, slot_layout(session_->program()).states);
}

void Request::end_run(const Status* status) {
  Result<void> result;
  {
    // Over before anybody who waits goes on, and may write the trace.
    const TraceSpan span(trace(), text(&RequestTrace::completion));
    if (tracer_) {
      tracer_->add_run(*current_->commands, current_->traced_steps);
    }
    if (status == nullptr) {
      result = deliver();
    } else {
      result = with_memory_guard([&] { return with_step_name(std::unexpected(*status)); });
    }
  }
  if (const CompletionHandler handler = conclude(result)) {
    const TraceSpan span(trace(), text(&RequestTrace::handler));
    handler.call(result ? nullptr : &result.error());
    const std::lock_guard lock(completion_mutex_);
    --handlers_;
    completion_.notify_all();
  }
}

void Request::start_ended(void* user, const Status* status) {
  const Ref<Request> self = Ref<Request>::adopt(static_cast<Request*>(user));
  self->end_run(status);
}

// Whoever waits in `run` has a reference, and may drop it as soon as it hears: nothing is touched after that.
void Request::run_ended(void* user, const Status* status) {
  static_cast<Request*>(user)->end_run(status);
}

void Request::settle() {
  std::unique_lock lock(completion_mutex_);
  completion_.wait(lock, [&] { return !in_flight_ && handlers_ == 0; });
  lock.unlock();
  // The queue's thread is about to drop its reference.
  while (reference_count() > 1) {
    std::this_thread::yield();
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
  const TraceSpan span(trace(), text(&RequestTrace::start));
  WEIR_TRY(copy_bound_inputs());
  WEIR_TRY(bind_states());
  SubmitDescriptor submission;
  submission.command_buffer = current_->commands.get();
  submission.waits = waits;
  submission.signals = signals;
  submission.on_full = OnFull::kWouldBlock;
  submission.may_run_inline = false;
  submission.on_complete = {.function = start_ended, .user = this};
  const Ref<Request> self(this);  // its handler may drop the caller's before we are done here
  // `start_ended` waits for the lock, so whoever sees the run in flight sees a submission, which can be
  // cancelled.
  const std::lock_guard lock(completion_mutex_);
  begin_run(true, on_complete);
  retain();  // belongs to `start_ended`
  Result<SubmitAnswer> answer = with_memory_guard([&] { return session_->queue().submit(submission); });
  if (!answer || *answer != SubmitAnswer::kQueued) {
    abandon_run();
    release();
  }
  return answer;
}

Result<EventWait> Request::wait_for(std::chrono::nanoseconds timeout) {
  const TraceSpan span(trace(), text(&RequestTrace::wait));
  std::unique_lock lock(completion_mutex_);
  if (!active_) {
    return fail(StatusCode::kFailedPrecondition, "A request of '{}' waits before a shape is prepared.",
                session_->name());
  }
  if (in_flight_ && queued_ && timeout == kForever && session_->queue().is_own_thread()) {
    return fail(
        StatusCode::kFailedPrecondition,
        "A completion handler waits for a run of '{}', which needs the thread that calls the handler.",
        session_->name());
  }
  if (!weir::wait_for(completion_, lock, timeout, [&] { return !in_flight_; })) {
    return EventWait::kTimedOut;
  }
  if (error_) {
    return std::unexpected(copy_of(*error_));
  }
  return EventWait::kReached;
}

Result<void> Request::wait() {
  WEIR_TRY(wait_for(kForever));
  return {};
}

void Request::cancel() {
  const std::lock_guard lock(completion_mutex_);
  if (in_flight_) {
    active_->cancel();
    session_->queue().withdraw(*active_);
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
  Queue& queue = session_->queue();
  const bool in_own_handler = queue.is_own_thread();
  const bool runs_inline = session_->device().info().capabilities.inline_execution;
  if (in_own_handler && !runs_inline) {
    return fail(
        StatusCode::kFailedPrecondition,
        "A completion handler runs a request of '{}', and device '{}' needs the thread that calls the "
        "handler; start the request instead.",
        session_->name(), session_->device().info().name);
  }
  const TraceSpan span(trace(), text(&RequestTrace::run));
  WEIR_TRY(copy_bound_inputs());
  WEIR_TRY(bind_states());
  SubmitDescriptor submission;
  submission.command_buffer = current_->commands.get();
  submission.on_full = in_own_handler ? OnFull::kWouldBlock : OnFull::kWait;
  if (!runs_inline) {
    // The handler comes when the queue has let go of the command buffer: what waits for it owns all again.
    submission.on_complete = {.function = run_ended, .user = this};
  }
  {
    const std::lock_guard lock(completion_mutex_);
    begin_run(!runs_inline, {});
  }
  const Result<SubmitAnswer> answer = with_memory_guard([&] { return queue.submit(submission); });
  if (!answer || *answer == SubmitAnswer::kWouldBlock || *answer == SubmitAnswer::kBusy) {
    {
      const std::lock_guard lock(completion_mutex_);
      abandon_run();
    }
    WEIR_TRY(answer);
    if (*answer == SubmitAnswer::kBusy) {
      return busy("run");
    }
    return fail(
        StatusCode::kFailedPrecondition,
        "A completion handler runs a request of '{}', and the queue is full ({} in flight); start the "
        "request instead.",
        session_->name(), queue.stats().in_flight);
  }
  if (!runs_inline) {
    std::unique_lock lock(completion_mutex_);
    completion_.wait(lock, [&] { return !in_flight_; });
    return error_ ? Result<void>(std::unexpected(copy_of(*error_))) : Result<void>{};
  }
  Result<void> result = with_memory_guard([&] { return with_step_name(current_->commands->wait()); });
  if (tracer_) {
    tracer_->add_run(*current_->commands, current_->traced_steps);
  }
  if (result) {
    result = deliver();
  }
  (void)conclude(result);
  return result;
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
