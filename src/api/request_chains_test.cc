// SPDX-License-Identifier: Apache-2.0
//
// A run that fails fails all that wait for its events, and nobody else.
#include "api/testing/request_test_case.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

class RequestChains : public RequestTest {};

INSTANTIATE_TEST_SUITE_P(Cpu, RequestChains, all_kinds(), kind_name);

TEST_P(RequestChains, PassAFailureOnThroughAChainToEveryWaiter) {
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

TEST_P(RequestChains, GiveNoFailureToWaitersOfOtherValues) {
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

}  // namespace
}  // namespace weir::testing
