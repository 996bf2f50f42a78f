// SPDX-License-Identifier: Apache-2.0
//
// What a request answers to every operation in every state, as a table (docs/requests.md has it too); and
// what lies between the states: cancelling, releasing, waiting.
#include <fstream>
#include <string_view>

#include "api/testing/request_test_case.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

class RequestStates : public RequestTest {};

INSTANTIATE_TEST_SUITE_P(Cpu, RequestStates, all_kinds(), kind_name);

constexpr std::array kStates = {"unprepared", "idle",   "queued",    "running",
                                "completed",  "failed", "cancelled", "leased"};

// What the table's cells mean: the answer, and the state afterwards where it is another.
struct Cell {
  std::string answer;        // a word of kWhole, which has to be all of it, or a part of the error's text
  std::string afterwards;    // empty: as before
  weir_code code = WEIR_OK;  // of the answer
};
// Answers that a longer text might contain.
constexpr std::array kWhole = {"ok", "queued", "busy", "not done"};

struct Row {
  std::string operation;
  std::function<std::string(const weir::Request&)> action;
  std::array<Cell, kStates.size()> cells;
};

// Threads of this process whose name begins so.
int threads_named(std::string_view beginning) {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    count += name.starts_with(beginning) ? 1 : 0;
  }
  return count;
}

std::string submission(weir_submit_answer answer) {
  return answer == WEIR_QUEUED ? "queued" : answer == WEIR_BUSY ? "busy" : "another";
}

TEST_P(RequestStates, AnswerEveryOperationAsTheTableSays) {
  weir_code code = WEIR_OK;
  const auto answer_of = [&code](const std::function<void()>& action) {
    try {
      action();
      return std::string("ok");
    } catch (const weir::Error& error) {
      code = error.code();
      return std::string(error.what());
    }
  };
  const Cell ok = {"ok", ""};
  const Cell none = {"No shape is prepared yet", "", WEIR_FAILED_PRECONDITION};
  const Cell busy = {"is busy and cannot", "", WEIR_FAILED_PRECONDITION};
  const Cell leases = {"(1) leases of its outputs are held", "", WEIR_FAILED_PRECONDITION};
  const Cell index = {"index (9)", "", WEIR_OUT_OF_RANGE};  // the run's own error
  const Cell cancelled = {"is cancelled before the events", "", WEIR_CANCELLED};
  const Cell stopped = {"was cancelled while it ran", "cancelled", WEIR_CANCELLED};
  const Cell idle = {"ok", "idle"};
  const Cell queued = {"queued", "queued"};
  const Cell completed = {"ok", "completed"};
  alignas(64) static std::array<float, size_t{kLong} * 4> memory;
  const auto view = [&](const weir::Request& request) {
    const bool is_long = request.state() == WEIR_REQUEST_RUNNING;
    return weir::TensorView(memory.data(), {is_long ? kLong : 2, 4});
  };
  const std::vector<unsigned char> saved = in_state("idle").save_state();
  const std::vector<Row> table = {
      // unprepared, idle, queued, running, completed, failed, cancelled, leased
      {"prepare",
       [&](const auto& r) { return answer_of([&] { r.prepare({{3, 4}, {2}}); }); },
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
       [&](const auto& r) { return answer_of([&] { r.input(0); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"read an output",
       [&](const auto& r) { return answer_of([&] { r.output(0); }); },
       {none, ok, busy, busy, ok, index, cancelled, ok}},
      {"lease an output",
       [&](const auto& r) { return answer_of([&] { r.lease_output(0); }); },
       {none, ok, busy, busy, ok, index, cancelled, ok}},
      {"start",
       [&](const auto& r) {
         std::string answer;
         const std::string error = answer_of([&] { answer = submission(r.start({go_.at(++next_)})); });
         return error == "ok" ? answer : error;
       },
       {Cell{"starts before a shape is prepared", "", WEIR_FAILED_PRECONDITION}, queued, Cell{"busy", ""},
        Cell{"busy", ""}, queued, queued, queued, Cell{"busy", ""}}},
      {"run",
       [&](const auto& r) {
         if (r.state() == WEIR_REQUEST_FAILED) {
           set_rows(r, 1);
         }
         return answer_of([&] { r.run(); });
       },
       {Cell{"runs before a shape is prepared", "", WEIR_FAILED_PRECONDITION}, completed, busy, busy,
        completed, completed, completed, leases}},
      {"wait",
       [&](const auto& r) {
         // Somebody else has to end what is under way.
         std::thread other([&] {
           const weir_request_state state = r.state();  // once: what was queued runs when it is let go
           if (state == WEIR_REQUEST_QUEUED) {
             go_.signal(next_);
           } else if (state == WEIR_REQUEST_RUNNING) {
             r.cancel();
           }
         });
         std::string answer = answer_of([&] { EXPECT_TRUE(r.wait()); });
         other.join();
         return answer;
       },
       {Cell{"waits before a shape is prepared", "", WEIR_FAILED_PRECONDITION}, ok, completed, stopped, ok,
        index, cancelled, ok}},
      {"wait for no time",
       [&](const auto& r) {
         bool done = true;
         const std::string answer = answer_of([&] { done = r.wait(milliseconds(0)); });
         return done ? answer : "not done";
       },
       {Cell{"waits before a shape is prepared", "", WEIR_FAILED_PRECONDITION}, ok, Cell{"not done", ""},
        Cell{"not done", ""}, ok, index, cancelled, ok}},
      {"reset its state",
       [&](const auto& r) { return answer_of([&] { r.reset_state(); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"save its state",
       [&](const auto& r) { return answer_of([&] { r.save_state(); }); },
       {none, ok, busy, busy, ok, ok, ok, ok}},
      {"restore its state",
       [&](const auto& r) { return answer_of([&] { r.restore_state(saved); }); },
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
      code = WEIR_OK;
      const std::string answer = row.action(request);
      EXPECT_EQ(code, row.cells[s].code) << answer;
      if (std::ranges::find(kWhole, row.cells[s].answer) != kWhole.end()) {
        EXPECT_EQ(answer, row.cells[s].answer);
      } else {
        EXPECT_THAT(answer, HasSubstr(row.cells[s].answer));
      }
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

// Teams are leased from one pool; what two sessions start there, each with its own thread, ends. A second
// session brings no workers, and a second runtime does.
TEST_P(RequestStates, OfTwoSessionsShareOnePool) {
  ASSERT_EQ(runtime_.threads(), 2);  // the one that calls, and a worker
  // A thread gives itself its name.
  EXPECT_TRUE(
      eventually([] { return threads_named("weir-worker") == 1 && threads_named("weir-queue") == 1; }));
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
  EXPECT_EQ(threads_named("weir-worker"), 1);
  EXPECT_EQ(threads_named("weir-queue"), 2);
  const weir::Runtime other(2);
  EXPECT_TRUE(eventually([] { return threads_named("weir-worker") == 2; }));
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
}  // namespace weir::testing
