// SPDX-License-Identifier: Apache-2.0
//
// What bounds a step: the machine's peaks, measured through the device that runs it, and the work of the step
// set against them.
//
//   WEIR_ASSIGN(const Peaks peaks, measure_peaks(session.device(), isa, session.participants()));
//   WEIR_ASSIGN(const std::vector<StepWork> works, step_works(program, values));
//   const Verdict verdict = judge(works[3], nanoseconds, peaks);
//
// The limits are simple and stated: arithmetic is the work over the peak of float32 multiply-adds; bandwidth
// is the constants at the speed at which everything that a run touches can be streamed (they were last used a
// whole run ago), and the other operands at the speed of a working set as large as they are; launch is a
// dispatch of no work with its barrier.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "hal/device.h"
#include "kernels/implementation.h"
#include "op/work.h"
#include "program/program.h"
#include "runtime/concrete.h"

namespace weir {

struct StreamPeak {
  int64_t working_set = 0;  // bytes, of all participants together
  double bytes_per_ns = 0;  // reading alone or copying (bytes read and written), whichever is more
};

struct Peaks {
  double flops_per_ns = 0;          // float32 multiply-adds in registers, all participants
  std::vector<StreamPeak> streams;  // by working set, ascending; the last one is memory
  double launch_ns = 0;             // of a dispatch that does nothing, barrier included

  // At the smallest measured working set that holds so many bytes.
  double bytes_per_ns(int64_t working_set) const;
};

// Takes about a quarter of a second, and 128 MiB for that time.
Result<Peaks> measure_peaks(Device& device, Isa isa, int32_t participants);

struct StepWork {
  Work work;
  int64_t constant_bytes = 0;  // of the bytes read: constants, packed as the program has them
  int64_t run_bytes = 0;       // what a whole run touches: constants, inputs and outputs, the arena
};

// One a step. Operands that are one tensor count once.
Result<std::vector<StepWork>> step_works(const Program& program, const ShapeValues& values,
                                         const CustomOperators* operators = nullptr);
// Of steps that are concrete already.
std::vector<StepWork> step_works(const Program& program, std::span<const ConcreteStep> steps,
                                 const ShapeValues& values);

enum class Bound : uint8_t { kArithmetic, kBandwidth, kLaunch, kNeither };
std::string_view to_string(Bound bound);  // "arithmetic"

// A step shorter than this many empty dispatches is bound by launching; one that takes more than twice what
// arithmetic and bandwidth explain is bound by neither.
inline constexpr double kLaunchesOfShortStep = 4;
inline constexpr double kLeastEfficiency = 0.5;

struct Verdict {
  Bound bound = Bound::kNeither;
  double arithmetic_ns = 0;  // the least time that arithmetic allows
  double bandwidth_ns = 0;   // the least that moving the bytes allows
  double efficiency = 0;     // the larger of the two over the step's time; can pass 1 (op/work.h says when)
};
Verdict judge(const StepWork& step, double nanoseconds, const Peaks& peaks);

}  // namespace weir
