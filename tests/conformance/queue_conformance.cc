// SPDX-License-Identifier: Apache-2.0
//
// Events and queues.
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance.h"

namespace weir::conformance {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

class Queues : public ConformanceTest {
 protected:
  Ref<Event> event(std::string_view label) { return must(device_->create_event(label)); }
};

TEST_P(Queues, EventsAreTimelines) {
  const Ref<Event> e = event("frames");
  EXPECT_EQ(e->value(), 0U);
  EXPECT_EQ(must(e->wait(0)), EventWait::kReached);
  EXPECT_EQ(must(e->wait(1, milliseconds(0))), EventWait::kTimedOut);
  EXPECT_EQ(must(e->wait(1, milliseconds(1))), EventWait::kTimedOut);
  must(e->signal(3));
  EXPECT_EQ(e->value(), 3U);
  EXPECT_EQ(must(e->wait(2)), EventWait::kReached);
  EXPECT_FAILS(e->signal(3), StatusCode::kFailedPrecondition,
               "Event 'frames' is at value (3), and a signal of (3) is not above it.");
}

TEST_P(Queues, EventWakesItsWaiters) {
  const Ref<Event> e = event("wake");
  std::thread waiter([&] { EXPECT_EQ(must(e->wait(5)), EventWait::kReached); });
  std::this_thread::sleep_for(milliseconds(2));
  must(e->signal(4));
  must(e->signal(5));
  waiter.join();
}

TEST_P(Queues, FailedValuesAreRememberedAndLaterOnesAreNot) {
  const Ref<Event> e = event("steps");
  must(e->signal(1));
  must(e->fail(3, Status(StatusCode::kDataLoss, "The disc is gone.")));
  EXPECT_EQ(e->value(), 3U);
  EXPECT_EQ(must(e->wait(1)), EventWait::kReached);
  EXPECT_FAILS(e->wait(2), StatusCode::kDataLoss, "The disc is gone.");
  EXPECT_FAILS(e->wait(3), StatusCode::kDataLoss, "while waiting for event 'steps' to reach (3)");
  must(e->signal(4));
  EXPECT_EQ(must(e->wait(4)), EventWait::kReached);
  EXPECT_FAILS(e->wait(3), StatusCode::kDataLoss, "The disc is gone.");
}

TEST_P(Queues, SubmissionSignalsItsEvents) {
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<CommandBuffer> c = commands();
  bump(c->encoder(), at(*a), 1);
  must(c->seal());
  const Ref<Event> e = event("done");
  for (const bool may_run_inline : {true, false}) {
    const EventPoint signal[] = {{e.get(), e->value() + 1}};
    const SubmitAnswer answer = must(
        queue_->submit({.command_buffer = c.get(), .signals = signal, .may_run_inline = may_run_inline}));
    EXPECT_EQ(answer, may_run_inline && device_->info().capabilities.inline_execution
                          ? SubmitAnswer::kCompleted
                          : SubmitAnswer::kQueued);
    EXPECT_EQ(must(e->wait(signal[0].value)), EventWait::kReached);
    EXPECT_EQ(c->state(), CommandBufferState::kIdle);  // idle before anybody hears of it
  }
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(3));
  }
}

TEST_P(Queues, WaitsHoldASubmissionBack) {
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<CommandBuffer> c = commands({.slots = 1, .label = "held"});
  bump(c->encoder(), at_slot(0, 0, 4), 1);
  must(c->seal());
  must(c->bind_slot(0, *a, 0));
  const Ref<Event> first = event("first");
  const Ref<Event> second = event("second");
  const Ref<Event> done = event("done");
  const EventPoint waits[] = {{first.get(), 1}, {second.get(), 7}};
  const EventPoint signals[] = {{done.get(), 1}};
  EXPECT_EQ(must(queue_->submit({.command_buffer = c.get(), .waits = waits, .signals = signals})),
            SubmitAnswer::kQueued);
  EXPECT_EQ(must(done->wait(1, milliseconds(5))), EventWait::kTimedOut);
  EXPECT_EQ(c->state(), CommandBufferState::kPending);
  EXPECT_EQ(must(queue_->submit({.command_buffer = c.get()})), SubmitAnswer::kBusy);
  EXPECT_FAILS(c->bind_slot(0, *a, 0), StatusCode::kFailedPrecondition, "busy (pending)");
  EXPECT_FAILS(c->wait(milliseconds(1)), StatusCode::kDeadlineExceeded,
               "Command buffer 'held' is still (pending) after (1000000) ns.");
  must(first->signal(1));
  EXPECT_EQ(must(done->wait(1, milliseconds(5))), EventWait::kTimedOut);
  must(second->signal(8));
  EXPECT_EQ(must(done->wait(1)), EventWait::kReached);
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(2));
  }
}

TEST_P(Queues, ChainAcrossCommandBuffersIsOrderedByEvents) {
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<Event> e = event("chain");
  constexpr int kLinks = 20;
  std::vector<Ref<CommandBuffer>> links;
  for (int i = 0; i < kLinks; ++i) {
    links.push_back(commands({.label = "link"}));
    add(links.back()->encoder(), at(*a), at(*a), at(*a), 1);
    must(links.back()->seal());
  }
  // The last first: only the events order them.
  for (int i = kLinks - 1; i >= 0; --i) {
    const auto value = static_cast<uint64_t>(i);
    const EventPoint waits[] = {{e.get(), value + 1}};
    const EventPoint signals[] = {{e.get(), value + 2}};
    must(queue_->submit(
        {.command_buffer = links[static_cast<size_t>(i)].get(), .waits = waits, .signals = signals}));
  }
  must(e->signal(1));
  EXPECT_EQ(must(e->wait(kLinks + 1)), EventWait::kReached);
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(1 << kLinks));
  }
}

TEST_P(Queues, FailureTravelsToDependantsWhichDoNotRun) {
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<CommandBuffer> c = commands({.label = "dependant"});
  bump(c->encoder(), at(*a), 1);
  must(c->seal());
  const Ref<Event> source = event("source");
  const Ref<Event> middle = event("middle");
  const Ref<Event> last = event("last");
  const EventPoint on_source[] = {{source.get(), 1}};
  const EventPoint to_middle[] = {{middle.get(), 1}};
  const EventPoint on_middle[] = {{middle.get(), 1}};
  const EventPoint to_last[] = {{last.get(), 1}};
  must(queue_->submit({.command_buffer = c.get(), .waits = on_source, .signals = to_middle}));
  must(queue_->submit({.waits = on_middle, .signals = to_last}));
  must(source->fail(1, Status(StatusCode::kUnavailable, "The camera is unplugged.")));
  EXPECT_FAILS(last->wait(1), StatusCode::kUnavailable, "The camera is unplugged.");
  EXPECT_FAILS(last->wait(1), StatusCode::kUnavailable, "while waiting for event 'source' to reach (1)");
  EXPECT_FAILS(c->wait(), StatusCode::kUnavailable, "The camera is unplugged.");
  EXPECT_THAT(read(*a), ElementsAre(1));
  EXPECT_GE(queue_->stats().failed, 1U);
  must(run(*c));  // and it can run again
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(2));
  }
}

// The only lane would wait for itself.
TEST_P(Queues, FullQueueDoesNotBlockItsOwnHandler) {
  const Ref<Queue> small = must(device_->create_queue({.max_in_flight = 2, .lanes = 1, .label = "small"}));
  const Ref<Event> start = event("start");
  const Ref<Event> late = event("late");
  const Ref<Event> end = event("end");
  const EventPoint first[] = {{start.get(), 1}};
  const EventPoint second[] = {{late.get(), 1}};
  struct Handler {
    Queue* queue;
    std::span<const EventPoint> waits;
    Event* end;
    std::vector<SubmitAnswer> answers;
  } handler{.queue = small.get(), .waits = second, .end = end.get(), .answers = {}};
  const auto fill = [](void* user, const Status*) {
    auto& own = *static_cast<Handler*>(user);
    for (int i = 0; i < 2; ++i) own.answers.push_back(must(own.queue->submit({.waits = own.waits})));
    must(own.end->signal(1));
  };
  must(small->submit(
      {.waits = first, .may_run_inline = false, .on_complete = {.function = fill, .user = &handler}}));
  must(small->submit({.waits = second}));
  must(start->signal(1));
  EXPECT_EQ(must(end->wait(1)), EventWait::kReached);
  must(late->signal(1));
  small->wait_idle();
  EXPECT_THAT(handler.answers, ElementsAre(SubmitAnswer::kQueued, SubmitAnswer::kWouldBlock));
}

TEST_P(Queues, FullQueueBlocksOrSaysSo) {
  const Ref<Queue> small = must(device_->create_queue({.max_in_flight = 2, .label = "small"}));
  const Ref<Event> gate = event("gate");
  const Ref<Event> done = event("done");
  const EventPoint waits[] = {{gate.get(), 1}};
  must(small->submit({.waits = waits}));
  must(small->submit({.waits = waits}));
  const Ref<CommandBuffer> c = commands();
  must(c->seal());
  EXPECT_EQ(must(small->submit({.command_buffer = c.get(), .on_full = OnFull::kWouldBlock})),
            SubmitAnswer::kWouldBlock);
  EXPECT_EQ(c->state(), CommandBufferState::kIdle);
  EXPECT_EQ(small->stats().in_flight, 2);
  std::atomic<bool> entered{false};
  std::thread blocked([&] {
    const EventPoint signals[] = {{done.get(), 1}};
    entered = true;
    must(small->submit({.command_buffer = c.get(), .signals = signals, .on_full = OnFull::kWait}));
  });
  EXPECT_EQ(must(done->wait(1, milliseconds(5))), EventWait::kTimedOut);
  must(gate->signal(1));
  EXPECT_EQ(must(done->wait(1)), EventWait::kReached);
  blocked.join();
  small->wait_idle();
  EXPECT_EQ(small->stats().in_flight, 0);
  EXPECT_EQ(small->stats().most_in_flight, 2);
  EXPECT_EQ(small->stats().submitted, 3U);
  EXPECT_EQ(small->stats().completed, 3U);
}

TEST_P(Queues, CompletionHandlerHearsOfSuccessAndFailureAndMaySubmit) {
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<CommandBuffer> c = commands();
  bump(c->encoder(), at(*a), 1);
  must(c->seal());
  struct Context {
    Queue* queue;
    CommandBuffer* commands;
    std::atomic<int> ok{0};
    std::atomic<int> failed{0};
    std::atomic<int> again{3};
    static void completed(void* user, const Status* status) {
      auto* self = static_cast<Context*>(user);
      ++(status == nullptr ? self->ok : self->failed);
      if (self->again.fetch_sub(1) > 0) {
        EXPECT_TRUE(self->queue->submit({.command_buffer = self->commands,
                                         .may_run_inline = false,
                                         .on_complete = {.function = completed, .user = user}}));
      }
    }
  } context{.queue = queue_.get(), .commands = c.get()};
  must(queue_->submit(
      {.command_buffer = c.get(), .on_complete = {.function = Context::completed, .user = &context}}));
  while (context.ok.load() < 4) {
    std::this_thread::yield();
  }
  queue_->wait_idle();
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(5));
  }
  const Ref<Event> bad = event("bad");
  must(bad->fail(1, Status(StatusCode::kAborted, "It broke.")));
  const EventPoint waits[] = {{bad.get(), 1}};
  must(queue_->submit({.waits = waits, .on_complete = {.function = Context::completed, .user = &context}}));
  queue_->wait_idle();
  EXPECT_EQ(context.failed.load(), 1);
}

TEST_P(Queues, ManySubmissionsUnderBackPressureLeaveMemoryFlat) {
  const int64_t rounds = executes() && device_->info().unified_memory ? 20'000 : 1'000;
  const Ref<Buffer> a = filled({0}, "a");
  const Ref<Event> e = event("rounds");
  std::vector<Ref<CommandBuffer>> ring;
  for (int i = 0; i < 4; ++i) {
    ring.push_back(commands());
    bump(ring.back()->encoder(), at(*a), 1);
    must(ring.back()->seal());
  }
  const int64_t held = device_->memory().total().current;
  for (int64_t i = 0; i < rounds; ++i) {
    const auto value = static_cast<uint64_t>(i);
    CommandBuffer& c = *ring[static_cast<size_t>(i % 4)];
    if (i >= 4) {
      must(e->wait(value - 3));
    }
    const EventPoint waits[] = {{e.get(), value}};
    const EventPoint signals[] = {{e.get(), value + 1}};
    const SubmitAnswer answer = must(
        queue_->submit({.command_buffer = &c, .waits = waits, .signals = signals, .may_run_inline = false}));
    ASSERT_EQ(answer, SubmitAnswer::kQueued);
  }
  must(e->wait(static_cast<uint64_t>(rounds)));
  EXPECT_EQ(device_->memory().total().current, held);
  EXPECT_LE(queue_->stats().most_in_flight, 32);
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(static_cast<int32_t>(rounds)));
  }
}

TEST_P(Queues, ManyThreadsSubmitAtOnce) {
  constexpr int kThreads = 4;
  const int repeats = executes() && device_->info().unified_memory ? 300 : 20;
  std::vector<Ref<Buffer>> buffers;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    buffers.push_back(filled(std::vector<int32_t>(40, 0), "own"));
  }
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Ref<CommandBuffer> c = commands();
      for (int i = 0; i < 3; ++i) {
        bump(c->encoder(), at(*buffers[static_cast<size_t>(t)]), 40);
        c->encoder().barrier();
      }
      must(c->seal());
      for (int i = 0; i < repeats; ++i) {
        must(queue_->submit({.command_buffer = c.get(), .may_run_inline = i % 3 != 0}));
        must(c->wait());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (executes()) {
    for (const Ref<Buffer>& b : buffers) {
      EXPECT_THAT(read(*b), ::testing::Each(3 * repeats));
    }
  }
}

TEST_P(Queues, EndingQueueCancelsWhatNobodyWillSignal) {
  const Ref<Event> never = event("never");
  const Ref<Event> done = event("done");
  {
    const Ref<Queue> ending = must(device_->create_queue({.label = "ending"}));
    const EventPoint waits[] = {{never.get(), 1}};
    const EventPoint signals[] = {{done.get(), 1}};
    must(ending->submit({.waits = waits, .signals = signals}));
  }
  EXPECT_FAILS(done->wait(1), StatusCode::kCancelled,
               "A submission to queue 'ending' is cancelled before the events");
  must(never->signal(1));  // and the event has forgotten the queue
}

TEST_P(Queues, WithdrawnSubmissionEndsWithoutItsEvents) {
  const Ref<Queue> queue = must(device_->create_queue({.label = "patient"}));
  const Ref<Buffer> a = filled({1}, "a");
  const Ref<CommandBuffer> waiting = commands({.label = "waiting"});
  bump(waiting->encoder(), at(*a), 1);
  must(waiting->seal());
  const Ref<Event> never = event("never");
  const Ref<Event> done = event("done");
  queue->withdraw(*waiting);  // not in flight: nothing happens
  const EventPoint waits[] = {{never.get(), 1}};
  const EventPoint signals[] = {{done.get(), 1}};
  EXPECT_EQ(must(queue->submit({.command_buffer = waiting.get(), .waits = waits, .signals = signals})),
            SubmitAnswer::kQueued);
  queue->withdraw(*waiting);
  EXPECT_FAILS(
      waiting->wait(), StatusCode::kCancelled,
      "A submission to queue 'patient' is cancelled before the events that it waits for are reached");
  EXPECT_FAILS(done->wait(1), StatusCode::kCancelled, "while waiting for event 'done'");
  EXPECT_FALSE(queue->is_own_thread());
  EXPECT_EQ(must(queue->submit({.command_buffer = waiting.get()})),
            device_->info().capabilities.inline_execution ? SubmitAnswer::kCompleted : SubmitAnswer::kQueued);
  must(waiting->wait());
}

TEST_P(Queues, LanesRunCommandBuffersSideBySide) {
  if (!host_calls()) {
    GTEST_SKIP() << "no host calls here";
  }
  const Ref<Queue> wide = must(device_->create_queue({.lanes = 2, .label = "wide"}));
  std::atomic<int> inside{0};
  std::vector<Ref<CommandBuffer>> both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(commands());
    both.back()->encoder().host_call(
        [](void* user) {
          auto& count = *static_cast<std::atomic<int>*>(user);
          ++count;
          while (count.load() < 2) {  // for ever, unless both run at once
            std::this_thread::yield();
          }
        },
        &inside);
    must(both.back()->seal());
  }
  for (const Ref<CommandBuffer>& c : both) {
    must(wide->submit({.command_buffer = c.get(), .may_run_inline = false}));
  }
  wide->wait_idle();
  EXPECT_EQ(inside.load(), 2);
}

TEST_P(Queues, Errors) {
  EXPECT_FAILS(device_->create_queue({.max_in_flight = 0, .label = "none"}), StatusCode::kInvalidArgument,
               "Queue 'none' has a bound (0), and the allowed ones are (1 to 4096).");
  for (const int32_t lanes : {0, 1000}) {
    EXPECT_ERROR(device_->create_queue({.lanes = lanes, .label = "wide"}), StatusCode::kInvalidArgument,
                 fmt::format("Queue 'wide' has ({}) lanes, and the allowed numbers are (1 to 64).", lanes));
  }
  const Ref<Event> e = event("e");
  const std::vector<EventPoint> many(9, {e.get(), 1});
  EXPECT_FAILS(
      queue_->submit({.waits = many}), StatusCode::kInvalidArgument,
      "A submission to queue 'test queue' has (9) waits and (0) signals, and the most are (8) of each.");
  const EventPoint null[] = {{nullptr, 1}};
  const char* named = "A submission to queue 'test queue' names a null event.";
  EXPECT_ERROR(queue_->submit({.signals = null}), StatusCode::kInvalidArgument, named);
  EXPECT_ERROR(queue_->submit({.waits = null}), StatusCode::kInvalidArgument, named);
  const Ref<Device> other = must(GetParam().create(0));
  const Ref<CommandBuffer> foreign = must(other->create_command_buffer({.label = "foreign"}));
  must(foreign->seal());
  EXPECT_FAILS(queue_->submit({.command_buffer = foreign.get()}), StatusCode::kInvalidArgument,
               "Command buffer 'foreign' is of another device than queue 'test queue'");
}

INSTANTIATE_TEST_SUITE_P(All, Queues, ::testing::ValuesIn(backends()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace weir::conformance
