// SPDX-License-Identifier: Apache-2.0
//
// What a completion handler may do: its thread, other requests, a full queue, releasing what it belongs to.
#include <pthread.h>

#include "api/testing/request_test_case.h"

namespace weir::testing {
namespace {

using ::testing::StartsWith;

class CompletionHandlers : public RequestTest {};

INSTANTIATE_TEST_SUITE_P(Cpu, CompletionHandlers, all_kinds(), kind_name);

TEST_P(CompletionHandlers, RunOnANamedThreadWithNoLockHeld) {
  const weir::Request request = in_state("idle");
  const weir::Request another = in_state("idle");
  struct Seen {
    const weir::Request* request;
    const weir::Request* another;
    std::string thread;
    weir_request_state state = WEIR_REQUEST_UNPREPARED;
    std::string waited;
    std::string rerun;
    std::atomic<bool> inside{false};
    std::atomic<bool> leave{false};
  } seen{&request, &another, {}, {}, {}, {}, {}, {}};
  ASSERT_EQ(request.start(
                {}, {},
                [](void* user, const weir_status*) {
                  auto* s = static_cast<Seen*>(user);
                  std::array<char, 16> name{};
                  pthread_getname_np(pthread_self(), name.data(), name.size());
                  s->thread = name.data();
                  s->state = s->request->state();
                  s->request->wait();  // its run is over, so this does not wait
                  s->request->output(0);
                  s->another->start();
                  s->waited = answer_of([&] { s->another->wait(); });
                  EXPECT_FALSE(s->another->wait(milliseconds(1)));
                  s->rerun = answer_of([&] { s->request->run(); });
                  s->inside = true;
                  while (!s->leave) {
                    std::this_thread::yield();
                  }
                },
                &seen),
            WEIR_QUEUED);
  ASSERT_TRUE(eventually([&] { return seen.inside.load(); }));
  EXPECT_EQ(seen.thread, "weir-queue");
  EXPECT_EQ(seen.state, WEIR_REQUEST_COMPLETED);
  EXPECT_THAT(seen.waited, StartsWith("A completion handler waits for a run of 'doubler', which needs the "
                                      "thread that calls the handler."));
  if (GetParam() == Kind::kDiscrete) {
    EXPECT_THAT(seen.rerun,
                StartsWith("A completion handler runs a request of 'doubler', and device 'cpu' "
                           "needs the thread that calls the handler; start the request instead."));
  } else {
    EXPECT_EQ(seen.rerun, "ok");
  }
  // The handler is still in: everything answers.
  EXPECT_EQ(another.state(), WEIR_REQUEST_QUEUED);
  EXPECT_EQ(another.start(), WEIR_BUSY);
  EXPECT_FALSE(another.wait(milliseconds(1)));
  set_rows(request, 1);
  const weir::Request third = session_.request();
  prepare(third);
  if (GetParam() != Kind::kDiscrete) {
    third.run();
  }
  another.cancel();
  seen.leave = true;
  EXPECT_EQ(code_of([&] { another.wait(); }), WEIR_CANCELLED);
}

TEST_P(CompletionHandlers, CannotRunWhereTheQueueIsFull) {
  if (GetParam() == Kind::kDiscrete) {
    GTEST_SKIP() << "nothing runs on the calling thread there";
  }
  std::vector<weir::Request> requests;
  const weir::Request first = in_state("idle");
  struct Seen {
    const weir::Request* request;
    std::atomic<bool> go{false};
    std::string answer;
    std::atomic<bool> done{false};
  } seen{&first, {}, {}, {}};
  ASSERT_EQ(first.start(
                {}, {},
                [](void* user, const weir_status*) {
                  auto* s = static_cast<Seen*>(user);
                  while (!s->go) {
                    std::this_thread::yield();
                  }
                  s->answer = answer_of([&] { s->request->run(); });
                  s->done = true;
                },
                &seen),
            WEIR_QUEUED);
  weir_submit_answer answer = WEIR_QUEUED;
  ++next_;
  while (answer == WEIR_QUEUED) {
    requests.push_back(session_.request());
    prepare(requests.back());
    answer = requests.back().start({go_.at(next_)});
  }
  // Back-pressure: nothing was submitted, and the request is as it was.
  EXPECT_EQ(answer, WEIR_WOULD_BLOCK);
  EXPECT_EQ(requests.back().state(), WEIR_REQUEST_IDLE);
  EXPECT_GE(requests.size(), 32U);
  seen.go = true;
  ASSERT_TRUE(eventually([&] { return seen.done.load(); }));
  EXPECT_THAT(seen.answer,
              StartsWith("A completion handler runs a request of 'doubler', and the queue is full"));
  go_.signal(next_);
  for (size_t i = 0; i + 1 < requests.size(); ++i) {
    requests[i].wait();
  }
  EXPECT_EQ(requests.back().start(), WEIR_QUEUED);
  requests.back().wait();
}

TEST_P(CompletionHandlers, ReturnBeforeTheirRequestsAreReleased) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> left{0};
    weir::Request request = in_state("idle");
    ASSERT_EQ(request.start(
                  {}, {},
                  [](void* user, const weir_status*) {
                    std::this_thread::sleep_for(milliseconds(1));
                    ++*static_cast<std::atomic<int>*>(user);
                  },
                  &left),
              WEIR_QUEUED);
    if (round % 2 == 0) {
      (void)code_of([&] { request.wait(); });  // the handler may still be to come
    }
    request = weir::Request();
    EXPECT_EQ(left, 1);
  }
}

// Two sessions whose handlers release each other's running requests, which would wait for each other.
TEST_P(CompletionHandlers, ReleaseRequestsOfOtherSessionsWithoutWaiting) {
  const weir::Session second = open();
  struct Side {
    weir::Request own;
    weir::Request victim;  // of the other session
    std::atomic<int>* inside;
    std::atomic<int>* done;
  };
  std::atomic<int> inside{0};
  std::atomic<int> done{0};
  std::array<Side, 2> sides;
  const std::array<const weir::Session*, 2> sessions = {&session_, &second};
  for (size_t i = 0; i < 2; ++i) {
    sides[i].own = sessions[i]->request();
    prepare(sides[i].own);
    sides[i].victim = sessions[1 - i]->request();
    prepare(sides[i].victim);
    sides[i].inside = &inside;
    sides[i].done = &done;
  }
  for (Side& side : sides) {
    ASSERT_EQ(side.own.start(
                  {go_.at(1)}, {},
                  [](void* user, const weir_status*) {
                    auto* s = static_cast<Side*>(user);
                    // Both handlers are in, and each lane still has a run to do.
                    ++*s->inside;
                    while (s->inside->load() < 2) {
                      std::this_thread::yield();
                    }
                    s->victim.start();
                    s->victim = weir::Request();
                    s->own = weir::Request();  // a handler may release its own request
                    ++*s->done;
                  },
                  &side),
              WEIR_QUEUED);
  }
  go_.signal(1);
  EXPECT_TRUE(eventually([&] { return done == 2; }));
}

}  // namespace
}  // namespace weir::testing
