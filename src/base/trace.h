// SPDX-License-Identifier: Apache-2.0
//
// Tracer: what happened when, on which thread and for which request, in a ring of bounded size; written as
// JSON trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
//   Ref<Tracer> trace = Tracer::create({.events = 100'000});
//   {
//     const TraceSpan span(trace.get(), "import");    // a null trace: nothing happens
//     …
//   }
//   WEIR_TRY(trace->write("run.json"));
//
// Lanes are the threads that take part, under the process "host", and what add_lane makes, under the process
// "device". All times are nanoseconds of the steady clock. Making a trace and naming lanes and texts
// allocates; adding an event does not, whatever the thread. When the ring is full the oldest events go, and
// are counted.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "base/status.h"

namespace weir {

// A text or a lane of a trace; positions count from 0, and −1 is none.
using TraceText = int32_t;
using TraceLane = int32_t;

struct TraceEvent {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  TraceLane lane = -1;
  TraceText name = -1;
  // Shown beside the name where they are present; work is shown where one of its numbers is not negative.
  TraceText origin = -1;
  TraceText op = -1;
  TraceText implementation = -1;
  int32_t run = -1;  // which run of a request, counted from 0
  int64_t flops = -1;
  int64_t bytes_read = -1;
  int64_t bytes_written = -1;
  int64_t busy_ns = -1;
};

struct TraceOptions {
  int64_t events = 1 << 17;  // kept at most; 72 bytes each
};

class Tracer : public RefCounted {
 public:
  static Ref<Tracer> create(const TraceOptions& options = {});

  // Kept once, however often it is asked for.
  TraceText text(std::string_view text);
  // A new lane of the device's side.
  TraceLane add_lane(std::string_view name);
  // The lane of the calling thread, or of a living one, by its name in the system. A trace knows 64 threads;
  // those beyond share a lane.
  TraceLane thread_lane();
  TraceLane thread_lane(uint64_t native_thread);

  void add(const TraceEvent& event);
  // Time on the calling thread's lane that was measured otherwise.
  void add_part(TraceText name, int64_t begin_ns, int64_t nanoseconds);

  int64_t kept() const;
  int64_t dropped() const;
  // Kept events by lane, then by begin, the longer first.
  std::vector<TraceEvent> events() const;
  std::string to_json() const;
  // Replaces the file as a whole or not at all.
  Result<void> write(const std::string& path) const;

 private:
  explicit Tracer(const TraceOptions& options);

  struct Thread {
    uint64_t native = 0;
    std::array<char, 32> name{};
  };
  static constexpr int kThreads = 64;
  static constexpr TraceLane kFirstDeviceLane = kThreads + 1;  // after the threads and those beyond

  std::vector<TraceEvent> ordered() const;  // lane by lane, by their beginnings
  void write_lanes(std::string& json) const;
  void write_event(const TraceEvent& event, std::string& json) const;

  mutable std::mutex mutex_;  // guards all below
  int64_t start_ns_;
  std::vector<TraceEvent> ring_;
  int64_t added_ = 0;
  std::vector<std::string> texts_;
  std::vector<std::string> lanes_;
  std::array<Thread, kThreads> threads_;
  int thread_count_ = 0;
};

// The time from here to the end of the scope, on the calling thread's lane.
class TraceSpan {
 public:
  TraceSpan(Tracer* trace, std::string_view name) : trace_(trace) {
    if (trace != nullptr) begin(trace->text(name));
  }
  // Allocates nothing.
  TraceSpan(Tracer* trace, TraceText name) : trace_(trace) {
    if (trace != nullptr) begin(name);
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() {
    if (trace_ != nullptr) end();
  }

 private:
  void begin(TraceText name);
  void end();

  Tracer* trace_;
  TraceEvent event_;
};

}  // namespace weir
