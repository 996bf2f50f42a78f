// SPDX-License-Identifier: Apache-2.0
//
// What a request answers to every operation in every state, as a table (docs/requests.md has it too), seen
// through weir.hpp and so through the C interface; and what lies between the states: cancelling, failing
// chains, completion handlers, back-pressure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "api/testing/models.h"
#include "weir/weir.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

enum class Kind { kPlain, kDiscrete, kValidation };

// "ok", or the error's text.
std::string answer_of(const std::function<void()>& action) {
  try {
    action();
    return "ok";
  } catch (const weir::Error& error) {
    return error.what();
  }
}

weir_code code_of(const std::function<void()>& action) {
  try {
    action();
    return WEIR_OK;
  } catch (const weir::Error& error) {
    return error.code();
  }
}

const char* name_of(weir_request_state state) {
  constexpr const char* kNames[] = {"unprepared", "idle",   "queued",   "running",
                                    "completed",  "failed", "cancelled"};
  return kNames[state];
}

// Polls until `done`; false after a time in which anything must have happened.
bool eventually(const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

class RequestStates : public ::testing::TestWithParam<Kind> {
 protected:
  static constexpr int64_t kLong = 1 << 18;  // rows of a run that nobody waits for to its end

  static void SetUpTestSuite() {
    path_ = std::filesystem::temp_directory_path() /
            ("weir_request_states_" + std::to_string(getpid()) + ".onnx");
    weir::testing::write_file(path_, weir::testing::doubler_model(300));
  }
  static void TearDownTestSuite() { std::filesystem::remove(path_); }

  void SetUp() override {
    device_ = weir::Device::cpu(runtime_, options());
    session_ = open();
    go_ = device_.event("go");
  }
  static weir::DeviceOptions options() {
    weir::DeviceOptions options;
    options.simulate_discrete = GetParam() == Kind::kDiscrete;
    options.validation = GetParam() == Kind::kValidation;
    return options;
  }
  weir::Session open() const {
    weir::SessionOptions options;
    options.no_cache = true;
    options.name = "doubler";
    return weir::Session(runtime_, device_, path_, options);
  }
  static void prepare(const weir::Request& request, int64_t n = 2) {
    request.prepare({{n, 4}, {2}});
    const weir::TensorView x = request.input(0);
    std::fill_n(x.as<float>(), x.element_count(), 1.0F);
    set_rows(request, n - 1);
  }
  static void set_rows(const weir::Request& request, int64_t first) {
    auto* rows = request.input(1).as<int64_t>();
    rows[0] = first;
    rows[1] = 0;
  }
  // A run that does not end by itself: it waits for go_ to reach a value that only the test signals.
  void queue(const weir::Request& request) {
    ASSERT_EQ(request.start({go_.at(++next_)}), WEIR_QUEUED);
    ASSERT_EQ(request.state(), WEIR_REQUEST_QUEUED);
  }
  static void run_long(const weir::Request& request) {
    prepare(request, kLong);
    ASSERT_EQ(request.start(), WEIR_QUEUED);
    ASSERT_TRUE(eventually([&] { return request.state() == WEIR_REQUEST_RUNNING; }));
  }

  // A fresh request in the state that the table calls so.
  weir::Request in_state(const std::string& state) {
    weir::Request request = session_.request();
    if (state != "unprepared" && state != "running") {
      prepare(request);
    }
    if (state == "queued") {
      queue(request);
    } else if (state == "running") {
      run_long(request);
    } else if (state == "completed" || state == "leased") {
      request.run();
    } else if (state == "failed") {
      set_rows(request, 9);
      EXPECT_EQ(code_of([&] { request.run(); }), WEIR_OUT_OF_RANGE);
    } else if (state == "cancelled") {
      queue(request);
      request.cancel();
      EXPECT_EQ(code_of([&] { request.wait(); }), WEIR_CANCELLED);
    }
    EXPECT_EQ(name_of(request.state()), state == "leased" ? "completed" : state);
    return request;
  }
  void end(const weir::Request& request) {
    request.cancel();
    (void)code_of([&] { request.wait(); });
  }

  inline static std::string path_;
  weir::Runtime runtime_{2};
  weir::Device device_;
  weir::Session session_;
  weir::Event go_;
  uint64_t next_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Cpu, RequestStates,
                         ::testing::Values(Kind::kPlain, Kind::kDiscrete, Kind::kValidation),
                         [](const auto& kind) {
                           return kind.param == Kind::kPlain      ? "plain"
                                  : kind.param == Kind::kDiscrete ? "discrete"
                                                                  : "validation";
                         });

constexpr std::array kStates = {"unprepared", "idle",   "queued",    "running",
                                "completed",  "failed", "cancelled", "leased"};

// What the table's cells mean: the answer, and the state afterwards where it is another.
struct Cell {
  std::string answer;      // the beginning of the error's text or a part of it; "ok"; a submission's answer
  std::string afterwards;  // empty: as before
};
struct Row {
  std::string operation;
  std::function<std::string(const weir::Request&)> action;
  std::array<Cell, kStates.size()> cells;
};

std::string submission(weir_submit_answer answer) {
  return answer == WEIR_QUEUED ? "queued" : answer == WEIR_BUSY ? "busy" : "another";
}

TEST_P(RequestStates, AnswerEveryOperationAsTheTableSays) {
  const Cell ok = {"ok", ""};
  const Cell none = {"No shape is prepared yet", ""};
  const Cell busy = {"is busy and cannot", ""};
  const Cell leases = {"(1) leases of its outputs are held", ""};
  const Cell index = {"index (9)", ""};  // the run's own error
  const Cell cancelled = {"is cancelled before the events", ""};
  const Cell stopped = {"was cancelled while it ran", "cancelled"};
  const Cell idle = {"ok", "idle"};
  const Cell queued = {"queued", "queued"};
  const Cell completed = {"ok", "completed"};
  alignas(64) static std::array<float, size_t{kLong} * 4> memory;
  const auto view = [&](const weir::Request& request) {
    const bool is_long = request.state() == WEIR_REQUEST_RUNNING;
    return weir::TensorView(memory.data(), {is_long ? kLong : 2, 4});
  };
  const std::vector<Row> table = {
      // unprepared, idle, queued, running, completed, failed, cancelled, leased
      {"prepare",
       [](const auto& r) { return answer_of([&] { r.prepare({{3, 4}, {2}}); }); },
       {idle, idle, busy, busy, idle, idle, idle, leases}},
      {"bind an input",
       [&](const auto& r) { return answer_of([&] { r.bind_input(0, view(r)); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"bind an output",
       [&](const auto& r) { return answer_of([&] { r.bind_output(0, view(r)); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"hand over an input",
       [&](const auto& r) { return answer_of([&] { r.set_input(0, view(r)); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"write the own input",
       [](const auto& r) { return answer_of([&] { r.input(0); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"read an output",
       [](const auto& r) { return answer_of([&] { r.output(0); }); },
       {none, ok, busy, busy, ok, index, cancelled, ok}},
      {"lease an output",
       [](const auto& r) { return answer_of([&] { r.lease_output(0); }); },
       {none, ok, busy, busy, ok, index, cancelled, ok}},
      {"start",
       [&](const auto& r) {
         std::string answer;
         const std::string error = answer_of([&] { answer = submission(r.start({go_.at(++next_)})); });
         return error == "ok" ? answer : error;
       },
       {Cell{"starts before a shape is prepared", ""}, queued, Cell{"busy", ""}, Cell{"busy", ""}, queued,
        queued, queued, Cell{"busy", ""}}},
      {"run",
       [](const auto& r) {
         if (r.state() == WEIR_REQUEST_FAILED) {
           set_rows(r, 1);
         }
         return answer_of([&] { r.run(); });
       },
       {Cell{"runs before a shape is prepared", ""}, completed, busy, busy, completed, completed, completed,
        leases}},
      {"wait",
       [&](const auto& r) {
         // Somebody else has to end what is under way.
         std::thread other([&] {
           if (r.state() == WEIR_REQUEST_QUEUED) {
             go_.signal(next_);
           }
           if (r.state() == WEIR_REQUEST_RUNNING) {
             r.cancel();
           }
         });
         const std::string answer = answer_of([&] { EXPECT_TRUE(r.wait()); });
         other.join();
         return answer;
       },
       {Cell{"waits before a shape is prepared", ""}, ok, completed, stopped, ok, index, cancelled, ok}},
      {"wait for no time",
       [](const auto& r) {
         bool done = true;
         const std::string answer = answer_of([&] { done = r.wait(milliseconds(0)); });
         return done ? answer : "not done";
       },
       {Cell{"waits before a shape is prepared", ""}, ok, Cell{"not done", ""}, Cell{"not done", ""}, ok,
        index, cancelled, ok}},
      {"reset its state",
       [](const auto& r) { return answer_of([&] { r.reset_state(); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"cancel",
       [](const auto& r) {
         r.cancel();
         r.cancel();
         (void)code_of([&] { r.wait(); });
         return std::string("ok");
       },
       {ok, ok, Cell{"ok", "cancelled"}, Cell{"ok", "cancelled"}, ok, ok, ok, ok}},
  };
  for (const Row& row : table) {
    for (size_t s = 0; s < kStates.size(); ++s) {
      const std::string state = kStates[s];
      SCOPED_TRACE(row.operation + " while " + state);
      const weir::Request request = in_state(state);
      std::vector<weir::Lease> leases_held;
      if (state == "leased") {
        leases_held.push_back(request.lease_output(0));
      }
      const std::string before = name_of(request.state());
      EXPECT_THAT(row.action(request), HasSubstr(row.cells[s].answer));
      EXPECT_EQ(name_of(request.state()), row.cells[s].afterwards.empty() ? before : row.cells[s].afterwards);
      end(request);
    }
  }
}

TEST_P(RequestStates, AreReleasedInEveryState) {
  int64_t session_alone = device_.memory_in_use();
  for (const char* state : kStates) {
    SCOPED_TRACE(state);
    weir::Request request = in_state(state);
    std::vector<weir::Lease> leases_held;
    if (std::string(state) == "leased") {
      leases_held.push_back(request.lease_output(0));
    }
    EXPECT_GT(device_.memory_in_use(), session_alone);
    request = weir::Request();
    if (!leases_held.empty()) {
      EXPECT_EQ(leases_held[0].tensor().as<float>()[0], 0.5F);  // a lease outlives its request
      EXPECT_GT(device_.memory_in_use(), session_alone);
      leases_held.clear();
    }
    EXPECT_EQ(device_.memory_in_use(), session_alone);
  }
}

TEST_P(RequestStates, AreReleasedWhenTheirHandlersHaveReturned) {
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

TEST_P(RequestStates, CompletionWinsARaceWithCancelling) {
  const weir::Request request = in_state("idle");
  int completions = 0;
  for (int round = 0; round < 200; ++round) {
    ASSERT_EQ(request.start(), WEIR_QUEUED);
    for (int spin = 0; spin < round * 20; ++spin) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    request.cancel();
    const weir_code code = code_of([&] { request.wait(); });
    ASSERT_TRUE(code == WEIR_OK || code == WEIR_CANCELLED);
    ASSERT_EQ(request.state(), code == WEIR_OK ? WEIR_REQUEST_COMPLETED : WEIR_REQUEST_CANCELLED);
    if (code == WEIR_OK) {
      ++completions;
      ASSERT_EQ(request.output(0).as<float>()[0], 0.5F);
    } else {
      ASSERT_EQ(code_of([&] { request.output(0); }), WEIR_CANCELLED);
    }
    request.cancel();  // it is over: nothing changes
    ASSERT_EQ(code_of([&] { request.wait(); }), code);
  }
  // And a cancel that came after the end never touches the next run.
  request.run();
  EXPECT_EQ(request.state(), WEIR_REQUEST_COMPLETED);
  RecordProperty("completions", completions);
}

TEST_P(RequestStates, StopARunOnTheCallingThreadFromAnother) {
  const weir::Request request = session_.request();
  prepare(request, kLong);
  std::thread other([&] {
    EXPECT_TRUE(eventually([&] { return request.state() == WEIR_REQUEST_RUNNING; }));
    EXPECT_FALSE(request.wait(milliseconds(0)));
    request.cancel();
    EXPECT_EQ(code_of([&] { request.wait(); }), WEIR_CANCELLED);
  });
  EXPECT_EQ(code_of([&] { request.run(); }), WEIR_CANCELLED);
  other.join();
  EXPECT_EQ(request.state(), WEIR_REQUEST_CANCELLED);
  prepare(request);
  request.run();
  EXPECT_EQ(request.output(0).as<float>()[7], 0.5F);
}

TEST_P(RequestStates, PassAFailureOnThroughAChainToEveryWaiter) {
  const weir::Event a = device_.event("a");
  const weir::Event b = device_.event("b");
  const weir::Event c = device_.event("c");
  std::vector<weir::Request> chain;
  for (int i = 0; i < 3; ++i) {
    chain.push_back(in_state("completed"));
  }
  // The second has failed before by itself; that step is not the one to name.
  set_rows(chain[1], 9);
  EXPECT_EQ(code_of([&] { chain[1].run(); }), WEIR_OUT_OF_RANGE);
  set_rows(chain[1], 1);
  std::array<std::string, 3> waited;
  std::vector<std::thread> waiters;
  for (size_t i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] { waited[i] = answer_of([&] { (i == 0 ? a : c).wait(1); }); });
  }
  struct Told {
    std::atomic<int> calls{0};
    std::string text;
  } told;
  const auto hear = [](void* user, const weir_status* status) {
    auto* t = static_cast<Told*>(user);
    t->text = weir_status_text(status);
    t->calls.store(1);
  };
  ASSERT_EQ(chain[2].start({b.at(1)}, {c.at(1)}, hear, &told), WEIR_QUEUED);
  ASSERT_EQ(chain[1].start({a.at(1)}, {b.at(1)}), WEIR_QUEUED);
  set_rows(chain[0], 77);
  ASSERT_EQ(chain[0].start({}, {a.at(1)}), WEIR_QUEUED);
  for (std::thread& waiter : waiters) {
    waiter.join();
  }
  for (const std::string& text : waited) {
    EXPECT_THAT(text, HasSubstr("index (77)"));
  }
  EXPECT_THAT(waited[1], HasSubstr("while waiting for event 'a' to reach (1)\n"));
  EXPECT_THAT(waited[1], HasSubstr("while waiting for event 'c' to reach (1)"));
  EXPECT_TRUE(eventually([&] { return told.calls.load() == 1; }));
  EXPECT_THAT(told.text, HasSubstr("index (77)"));
  for (const weir::Request& request : chain) {
    EXPECT_THAT(answer_of([&] { request.wait(); }), HasSubstr("index (77)"));
    EXPECT_EQ(request.state(), WEIR_REQUEST_FAILED);
    EXPECT_THAT(answer_of([&] { request.output(0); }), HasSubstr("index (77)"));
    EXPECT_EQ(code_of([&] { request.lease_output(0); }), WEIR_OUT_OF_RANGE);
  }
  EXPECT_THAT(answer_of([&] { chain[0].wait(); }), HasSubstr("while running step 'pick'"));
  EXPECT_THAT(answer_of([&] { chain[1].wait(); }), ::testing::Not(HasSubstr("while running step")));
  // The chain works again with the next values.
  set_rows(chain[0], 1);
  ASSERT_EQ(chain[2].start({b.at(2)}, {c.at(2)}), WEIR_QUEUED);
  ASSERT_EQ(chain[1].start({a.at(2)}, {b.at(2)}), WEIR_QUEUED);
  ASSERT_EQ(chain[0].start({}, {a.at(2)}), WEIR_QUEUED);
  EXPECT_TRUE(c.wait(2));
  EXPECT_EQ(chain[2].output(0).as<float>()[0], 0.5F);
}

TEST_P(RequestStates, GiveNoFailureToWaitersOfOtherValues) {
  const weir::Event e = device_.event("e");
  const weir::Request request = in_state("idle");
  set_rows(request, 9);
  constexpr uint64_t kRounds = 12;  // more than an event remembers for those who come later
  std::array<weir_code, kRounds + 1> codes{};
  std::vector<std::thread> waiters;
  std::atomic<uint64_t> ready{0};
  for (uint64_t v = 1; v <= kRounds; ++v) {
    waiters.emplace_back([&, v] {
      ++ready;
      codes[v] = code_of([&] { e.wait(v); });
    });
  }
  EXPECT_TRUE(eventually([&] { return ready == kRounds; }));
  std::this_thread::sleep_for(milliseconds(5));
  for (uint64_t v = 1; v <= kRounds; ++v) {
    set_rows(request, v % 2 == 1 ? 9 : 0);
    ASSERT_EQ(request.start({}, {e.at(v)}), WEIR_QUEUED);
    (void)code_of([&] { request.wait(); });
  }
  for (std::thread& waiter : waiters) {
    waiter.join();
  }
  for (uint64_t v = 1; v <= kRounds; ++v) {
    EXPECT_EQ(codes[v], v % 2 == 1 ? WEIR_OUT_OF_RANGE : WEIR_OK) << "value " << v;
  }
}

TEST_P(RequestStates, CallHandlersOnANamedThreadWithNoLockHeld) {
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

TEST_P(RequestStates, RefuseToRunInAHandlerWhereTheQueueIsFull) {
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

// Two sessions whose handlers release each other's running requests, which would wait for each other.
TEST_P(RequestStates, AreReleasedInHandlersOfOtherSessionsWithoutWaiting) {
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

// Teams are leased from one pool; what two sessions start there, each with its own thread, ends.
TEST_P(RequestStates, OfTwoSessionsShareOnePool) {
  const weir::Session second = open();
  std::array<weir::Request, 4> requests;
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i] = (i % 2 == 0 ? session_ : second).request();
    prepare(requests[i], 64);
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (const weir::Request& request : requests) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        if (round % 2 == 0) {
          request.run();
        } else if (request.start() == WEIR_QUEUED) {
          request.wait();
        }
        wrong += request.output(0).as<float>()[255] == 0.5F ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(RequestStates, WaitAsLongAsTheyAreTold) {
  const weir::Request request = in_state("queued");
  EXPECT_FALSE(request.wait(milliseconds(2)));
  EXPECT_FALSE(request.wait(milliseconds(0)));
  std::thread other([&] {
    std::this_thread::sleep_for(milliseconds(5));
    go_.signal(next_);
  });
  // Longer than the clock counts: that is for ever, not over at once.
  EXPECT_TRUE(request.wait(std::chrono::nanoseconds::max() - std::chrono::nanoseconds(1)));
  other.join();
  EXPECT_EQ(request.state(), WEIR_REQUEST_COMPLETED);
}

}  // namespace
