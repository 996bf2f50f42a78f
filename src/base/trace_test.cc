// SPDX-License-Identifier: Apache-2.0
//
// The ring, the lanes and the text of a trace. That what commands write is read by a parser of JSON is tested
// with the command line.
#include "base/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <latch>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Trace, KeepsTheNewestEventsAndCountsTheOthers) {
  const Ref<Tracer> trace = Tracer::create({.events = 3});
  const TraceText name = trace->text("step");
  EXPECT_EQ(trace->text("step"), name);
  for (int64_t i = 0; i < 5; ++i) {
    trace->add({.begin_ns = 10 * i, .end_ns = 10 * i + 5, .lane = 0, .name = name});
  }
  EXPECT_EQ(trace->kept(), 3);
  EXPECT_EQ(trace->dropped(), 2);
  std::vector<int64_t> begins;
  for (const TraceEvent& event : trace->events()) {
    begins.push_back(event.begin_ns);
  }
  EXPECT_THAT(begins, ElementsAre(20, 30, 40));
  EXPECT_THAT(trace->to_json(), HasSubstr("\"dropped_events\":\"2\""));
}

TEST(Trace, SpansNestOnTheLaneOfTheirThread) {
  const Ref<Tracer> trace = Tracer::create({.events = 10});
  {
    const TraceSpan outer(trace.get(), "outer");
    const TraceSpan inner(trace.get(), "inner");
    std::thread([&] { const TraceSpan other(trace.get(), "other"); }).join();
  }
  const TraceSpan nowhere(nullptr, "nowhere");
  const std::vector<TraceEvent> events = trace->events();
  ASSERT_EQ(events.size(), 3u);  // by lane, then by begin
  EXPECT_EQ(events[0].name, trace->text("outer"));
  EXPECT_EQ(events[1].name, trace->text("inner"));
  EXPECT_EQ(events[2].name, trace->text("other"));
  EXPECT_EQ(events[0].lane, events[1].lane);
  EXPECT_NE(events[0].lane, events[2].lane);
  EXPECT_LE(events[0].begin_ns, events[1].begin_ns);
  EXPECT_GE(events[0].end_ns, events[1].end_ns);
  EXPECT_LE(events[1].begin_ns, events[2].begin_ns);
}

TEST(Trace, KnowsABoundedNumberOfThreads) {
  const Ref<Tracer> trace = Tracer::create({.events = 10});
  const TraceLane own = trace->thread_lane();
  EXPECT_EQ(trace->thread_lane(), own);
  std::latch all_know(80);
  std::mutex mutex;
  std::set<TraceLane> lanes;
  std::vector<std::thread> threads;
  for (int i = 0; i < 80; ++i) {
    threads.emplace_back([&] {
      const TraceLane lane = trace->thread_lane();
      all_know.arrive_and_wait();  // handles are told apart only while their threads live
      const std::lock_guard lock(mutex);
      lanes.insert(lane);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(lanes.contains(own));
  EXPECT_EQ(lanes.size(), 64u);  // 63 and one that the others share
  EXPECT_THAT(trace->to_json(), HasSubstr("\"other threads\""));
  const TraceLane device = trace->add_lane("net request 1");
  EXPECT_GT(device, *lanes.rbegin());
  EXPECT_EQ(trace->add_lane("net request 2"), device + 1);
}

TEST(Trace, WritesTraceEvents) {
  const Ref<Tracer> trace = Tracer::create({.events = 10});
  const TraceLane lane = trace->add_lane("net \"a\" request 1");
  TraceEvent event{.begin_ns = 5'000'000'123,
                   .end_ns = 5'000'002'125,
                   .lane = lane,
                   .name = trace->text("conv\n\x01 \xC3\xA9 \xFF"),
                   .origin = trace->text("Conv+Relu"),
                   .run = 7,
                   .flops = 1234,
                   .bytes_read = 10,
                   .bytes_written = 0};
  trace->add(event);
  const std::string json = trace->to_json();
  EXPECT_THAT(
      json,
      HasSubstr(R"({"ph":"M","name":"thread_name","pid":2,"tid":65,"args":{"name":"net \"a\" request 1"}})"));
  EXPECT_THAT(json, HasSubstr("\"name\":\"conv\\u000a\\u0001 \xC3\xA9 ?\",\"pid\":2,\"tid\":65,\"ts\":"));
  EXPECT_THAT(
      json,
      HasSubstr(
          R"("dur":2.002,"args":{"run":7,"from":"Conv+Relu","flops":1234,"bytes_read":10,"bytes_written":0}})"));

  const std::string path = ::testing::TempDir() + "/trace_test.json";
  ASSERT_TRUE(trace->write(path).has_value());
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), trace->to_json());
  const Result<void> failed = trace->write("/no/such/folder/trace.json");
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().to_string(), HasSubstr("while writing a trace"));
}

}  // namespace
}  // namespace weir
