// SPDX-License-Identifier: Apache-2.0
#include "runtime/request_trace.h"

#include <algorithm>

#include "runtime/peaks.h"

namespace weir {
namespace {

TraceEvent event_of(const TracedStep& step, int32_t run) {
  return {.name = step.name,
          .origin = step.origin,
          .op = step.op,
          .implementation = step.implementation,
          .run = run,
          .flops = step.flops,
          .bytes_read = step.bytes_read,
          .bytes_written = step.bytes_written};
}

}  // namespace

RequestTrace::RequestTrace(Ref<Tracer> trace, std::string_view name)
    : prepare(trace->text("prepare")),
      expressions(trace->text("expressions")),
      placement(trace->text("placement")),
      recording(trace->text("recording")),
      growth(trace->text("growth")),
      prepared_constants(trace->text("prepared constants")),
      run(trace->text("run")),
      start(trace->text("start")),
      wait(trace->text("wait")),
      completion(trace->text("completion")),
      handler(trace->text("completion handler")),
      trace_(std::move(trace)) {
  lanes_[0] = trace_->add_lane(name);
  for (size_t i = 1; i < lanes_.size(); ++i) {
    lanes_[i] = trace_->add_lane(fmt::format("{} (at the same time)", name));
  }
}

std::vector<TracedStep> RequestTrace::steps_of(const Program& program, std::span<const ConcreteStep> steps,
                                               const ShapeValues& values,
                                               std::span<const StepKernel> kernels) {
  const std::vector<StepWork> works = step_works(program, steps, values);
  std::vector<TracedStep> traced;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = program.steps[i];
    traced.push_back({trace_->text(step.name), trace_->text(step.origin), trace_->text(to_string(step.op)),
                      trace_->text(kernels[i].implementation->name), works[i].work.flops,
                      works[i].work.bytes_read, works[i].work.bytes_written});
  }
  return traced;
}

void RequestTrace::add_run(const CommandBuffer& commands, std::span<const TracedStep> steps) {
  add_steps(commands.profile(), steps);
  add_participants(commands.participant_profile(), steps);
  ++runs_;
}

void RequestTrace::add_steps(std::span<const CommandProfile> lines, std::span<const TracedStep> steps) {
  TraceEvent whole{.lane = lanes_[0], .name = run, .run = runs_};
  whole.flops = whole.bytes_read = whole.bytes_written = whole.busy_ns = 0;
  std::array<int64_t, 3> ends{};
  for (const CommandProfile& line : lines) {
    if (line.end_ns == 0) {
      continue;  // it was cancelled before this step
    }
    TraceEvent event = event_of(steps[static_cast<size_t>(line.step)], runs_);
    event.begin_ns = line.begin_ns;
    event.end_ns = line.end_ns;
    event.busy_ns = line.busy_ns;
    size_t lane = 0;
    while (lane + 1 < lanes_.size() && ends[lane] > line.begin_ns) {
      ++lane;
    }
    event.lane = lanes_[lane];
    ends[lane] = std::max(ends[lane], line.end_ns);
    trace_->add(event);
    whole.begin_ns = whole.end_ns == 0 ? line.begin_ns : std::min(whole.begin_ns, line.begin_ns);
    whole.end_ns = std::max(whole.end_ns, line.end_ns);
    whole.flops += event.flops;
    whole.bytes_read += event.bytes_read;
    whole.bytes_written += event.bytes_written;
    whole.busy_ns += event.busy_ns;
  }
  if (whole.end_ns != 0) {
    trace_->add(whole);
  }
}

// A participant takes its share of a step, then perhaps more of it after pieces of others: what would overlap
// is cut.
void RequestTrace::add_participants(std::span<const ParticipantProfile> lines,
                                    std::span<const TracedStep> steps) {
  const auto last = std::ranges::max_element(lines, {}, &ParticipantProfile::participant);
  const size_t participants = last == lines.end() ? 0 : static_cast<size_t>(last->participant) + 1;
  for (size_t p = 0; p < participants; ++p) {
    int64_t end = 0;
    for (size_t i = p; i < lines.size(); i += participants) {
      const ParticipantProfile& line = lines[i];
      if (line.end_ns <= std::max(line.begin_ns, end)) {
        continue;
      }
      const TracedStep& step = steps[static_cast<size_t>(line.step)];
      trace_->add({.begin_ns = std::max(line.begin_ns, end),
                   .end_ns = line.end_ns,
                   .lane = trace_->thread_lane(line.thread),
                   .name = step.name,
                   .implementation = step.implementation,
                   .run = runs_,
                   .busy_ns = line.busy_ns});
      end = line.end_ns;
    }
  }
}

}  // namespace weir
