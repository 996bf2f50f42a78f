// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/atomic_file.h"

namespace weir {
namespace {

constexpr int kHostProcess = 1;
constexpr int kDeviceProcess = 2;

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// As a string of JSON; bytes that are no UTF-8 become '?'.
void append_string(std::string_view text, std::string& json) {
  json += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t length = c < 0x80 ? 1 : (c >> 5) == 6 ? 2 : (c >> 4) == 14 ? 3 : (c >> 3) == 30 ? 4 : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (size_t k = 1; whole && k < length; ++k) {
      whole = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    }
    if (!whole) {
      json += '?';
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      json += '\\';
      json += text[i];
    } else if (c < 0x20) {
      json += fmt::format("\\u{:04x}", c);
    } else {
      json += text.substr(i, length);
    }
    i += length;
  }
  json += '"';
}

// Microseconds, as trace events have them, to the nanosecond.
std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}{}.{:03}", nanoseconds < 0 ? "-" : "", std::abs(nanoseconds / 1000),
                     std::abs(nanoseconds % 1000));
}

}  // namespace

Ref<Tracer> Tracer::create(const TraceOptions& options) {
  return Ref<Tracer>::adopt(new Tracer(options));
}

Tracer::Tracer(const TraceOptions& options)
    : start_ns_(steady_ns()), ring_(static_cast<size_t>(std::max<int64_t>(options.events, 1))) {}

TraceText Tracer::text(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(texts_, text);
  if (found != texts_.end()) {
    return static_cast<TraceText>(found - texts_.begin());
  }
  texts_.emplace_back(text);
  return static_cast<TraceText>(texts_.size()) - 1;
}

TraceLane Tracer::add_lane(std::string_view name) {
  const std::lock_guard lock(mutex_);
  lanes_.emplace_back(name);
  return kFirstDeviceLane + static_cast<TraceLane>(lanes_.size()) - 1;
}

TraceLane Tracer::thread_lane() {
  return thread_lane(static_cast<uint64_t>(pthread_self()));
}

TraceLane Tracer::thread_lane(uint64_t native_thread) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < thread_count_; ++i) {
    if (threads_[static_cast<size_t>(i)].native == native_thread) {
      return i;
    }
  }
  if (thread_count_ == kThreads) {
    return kThreads;
  }
  Thread& thread = threads_[static_cast<size_t>(thread_count_)];
  thread.native = native_thread;
  const bool own = native_thread == static_cast<uint64_t>(pthread_self());
  if (own && gettid() == getpid()) {
    constexpr std::string_view kMain = "main";
    kMain.copy(thread.name.data(), kMain.size());
  } else {
    pthread_getname_np(static_cast<pthread_t>(native_thread), thread.name.data(), thread.name.size());
  }
  return thread_count_++;
}

void Tracer::add(const TraceEvent& event) {
  const std::lock_guard lock(mutex_);
  ring_[static_cast<size_t>(added_ % static_cast<int64_t>(ring_.size()))] = event;
  ++added_;
}

void Tracer::add_part(TraceText name, int64_t begin_ns, int64_t nanoseconds) {
  add({.begin_ns = begin_ns, .end_ns = begin_ns + nanoseconds, .lane = thread_lane(), .name = name});
}

int64_t Tracer::kept() const {
  const std::lock_guard lock(mutex_);
  return std::min<int64_t>(added_, static_cast<int64_t>(ring_.size()));
}

int64_t Tracer::dropped() const {
  const std::lock_guard lock(mutex_);
  return std::max<int64_t>(added_ - static_cast<int64_t>(ring_.size()), 0);
}

std::vector<TraceEvent> Tracer::events() const {
  const std::lock_guard lock(mutex_);
  return ordered();
}

std::vector<TraceEvent> Tracer::ordered() const {
  const auto count = static_cast<size_t>(std::min<int64_t>(added_, static_cast<int64_t>(ring_.size())));
  std::vector<TraceEvent> events(ring_.begin(), ring_.begin() + static_cast<ptrdiff_t>(count));
  std::ranges::stable_sort(events, {}, [](const TraceEvent& event) {
    return std::tuple(event.lane, event.begin_ns, -event.end_ns);
  });
  return events;
}

void Tracer::write_lanes(std::string& json) const {
  const auto name = [&](std::string_view what, int process, int lane, std::string_view text) {
    json += fmt::format("{{\"ph\":\"M\",\"name\":\"{}\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":", what,
                        process, lane);
    append_string(text, json);
    json += "}},\n";
  };
  name("process_name", kHostProcess, 0, "host");
  name("process_name", kDeviceProcess, kFirstDeviceLane, "device");
  for (int i = 0; i < thread_count_; ++i) {
    name("thread_name", kHostProcess, i, threads_[static_cast<size_t>(i)].name.data());
  }
  if (thread_count_ == kThreads) {
    name("thread_name", kHostProcess, kThreads, "other threads");
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    name("thread_name", kDeviceProcess, kFirstDeviceLane + static_cast<int>(i), lanes_[i]);
  }
}

void Tracer::write_event(const TraceEvent& event, std::string& json) const {
  json += "{\"ph\":\"X\",\"name\":";
  append_string(event.name < 0 ? "" : std::string_view(texts_[static_cast<size_t>(event.name)]), json);
  json += fmt::format(",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"args\":{{",
                      event.lane >= kFirstDeviceLane ? kDeviceProcess : kHostProcess, event.lane,
                      microseconds(event.begin_ns - start_ns_), microseconds(event.end_ns - event.begin_ns));
  bool first = true;
  const auto key = [&](std::string_view name) {
    json += fmt::format("{}\"{}\":", first ? "" : ",", name);
    first = false;
  };
  const auto text = [&](std::string_view name, TraceText value) {
    if (value >= 0) {
      key(name);
      append_string(texts_[static_cast<size_t>(value)], json);
    }
  };
  const auto number = [&](std::string_view name, int64_t value) {
    if (value >= 0) {
      key(name);
      json += std::to_string(value);
    }
  };
  number("run", event.run);
  text("from", event.origin);
  text("op", event.op);
  text("implementation", event.implementation);
  number("flops", event.flops);
  number("bytes_read", event.bytes_read);
  number("bytes_written", event.bytes_written);
  number("busy_ns", event.busy_ns);
  json += "}},\n";
}

std::string Tracer::to_json() const {
  const std::lock_guard lock(mutex_);
  std::string json = "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n";
  write_lanes(json);
  for (const TraceEvent& event : ordered()) {
    write_event(event, json);
  }
  json.resize(json.size() - 2);  // the last comma; there is always a process name
  const int64_t dropped = std::max<int64_t>(added_ - static_cast<int64_t>(ring_.size()), 0);
  json += fmt::format(
      "\n],\n\"otherData\":{{\"clock\":\"steady\",\"start_ns\":\"{}\",\"dropped_events\":\"{}\"}}}}\n",
      start_ns_, dropped);
  return json;
}

Result<void> Tracer::write(const std::string& path) const {
  const std::string json = to_json();
  WEIR_ASSIGN(AtomicFile file, AtomicFile::create(path, Links::kFollow), "while writing a trace");
  WEIR_TRY(file.write(0, std::as_bytes(std::span(json))), "while writing a trace");
  return file.commit();
}

void TraceSpan::begin(TraceText name) {
  event_.name = name;
  event_.lane = trace_->thread_lane();
  event_.begin_ns = steady_ns();
}

void TraceSpan::end() {
  event_.end_ns = steady_ns();
  trace_->add(event_);
}

}  // namespace weir
