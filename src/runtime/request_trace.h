// SPDX-License-Identifier: Apache-2.0
//
// What a traced request adds to a trace: its preparing and running on the lanes of the host's threads, and
// every step on a lane of its own on the device's side, from the timestamps that its recording keeps.
//
// Made, and told a shape's steps, before anything runs; adding a run allocates nothing.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "base/trace.h"
#include "hal/command_buffer.h"
#include "runtime/concrete.h"
#include "runtime/recording.h"

namespace weir {

struct TracedStep {
  TraceText name = -1;
  TraceText origin = -1;
  TraceText op = -1;
  TraceText implementation = -1;
  int64_t flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

class RequestTrace {
 public:
  // `name` is the request's: that of its lane.
  RequestTrace(Ref<Tracer> trace, std::string_view name);

  std::vector<TracedStep> steps_of(const Program& program, std::span<const ConcreteStep> steps,
                                   const ShapeValues& values, std::span<const StepKernel> kernels);
  // Of the last submission, which is over.
  void add_run(const CommandBuffer& commands, std::span<const TracedStep> steps);

  Tracer* trace() const { return trace_.get(); }

  const TraceText prepare;
  const TraceText expressions;
  const TraceText placement;
  const TraceText recording;
  const TraceText growth;
  const TraceText prepared_constants;
  const TraceText run;
  const TraceText start;
  const TraceText wait;
  const TraceText completion;
  const TraceText handler;

 private:
  void add_steps(std::span<const CommandProfile> lines, std::span<const TracedStep> steps);
  void add_participants(std::span<const ParticipantProfile> lines, std::span<const TracedStep> steps);

  Ref<Tracer> trace_;
  // Steps that run at the same time lie on different ones: slices of one lane may only nest.
  std::array<TraceLane, 3> lanes_{};
  int32_t runs_ = 0;
};

}  // namespace weir
