// SPDX-License-Identifier: Apache-2.0
#include "runtime/peaks.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checked.h"
#include "kernels/cpu/peak/peak_kernels.h"
#include "runtime/measure.h"

namespace weir {
namespace {

constexpr int kTries = 7;
constexpr int64_t kSmallestSet = int64_t{256} << 10;
constexpr int64_t kLargestSet = int64_t{128} << 20;
// A measurement is long against what a dispatch costs.
constexpr int64_t kStreamedBytes = int64_t{16} << 20;

void do_nothing(const CpuInvocation&) {}

class PeakMeter {
 public:
  PeakMeter(Device& device, Isa isa, int32_t participants)
      : device_(device), isa_(isa), participants_(participants) {}

  Result<Peaks> measure() {
    const CpuKernelEntry table[] = {{.name = "multiply_add", .function = multiply_add_kernel(isa_)},
                                    {.name = "read", .function = read_stream_kernel(isa_)},
                                    {.name = "copy", .function = copy_stream_kernel(isa_)},
                                    {.name = "nothing", .function = do_nothing}};
    WEIR_ASSIGN(library_, device_.create_library({.label = "peaks", .cpu = table}));
    WEIR_ASSIGN(queue_, device_.create_queue({.label = "peaks"}));
    WEIR_ASSIGN(sums_, device_.create_buffer({.size = 64 * participants_ * 16, .label = "sums"}));
    WEIR_ASSIGN(buffer_, device_.create_buffer({.size = kLargestSet, .label = "stream"}));
    Peaks peaks;
    WEIR_ASSIGN(peaks.flops_per_ns, multiply_adds());
    for (int64_t bytes = kSmallestSet; bytes <= kLargestSet; bytes *= bytes < (16 << 20) ? 4 : 8) {
      WEIR_ASSIGN(const double speed, stream(bytes));
      peaks.streams.push_back({bytes, speed});
    }
    WEIR_ASSIGN(peaks.launch_ns, launch());
    return peaks;
  }

 private:
  struct Binding {
    BufferRange range;
    Access access;
  };

  // The least time of a few runs of `count` dispatches, each behind a barrier.
  template <typename Constants>
  Result<double> least_ns(std::string_view kernel_name, std::span<const Binding> bindings,
                          const Constants& constants, int64_t tiles, int count) {
    WEIR_ASSIGN(Ref<Kernel> kernel, library_->kernel(kernel_name));
    WEIR_ASSIGN(Ref<CommandBuffer> commands,
                device_.create_command_buffer({.participants = participants_, .label = kernel_name}));
    Encoder& encoder = commands->encoder();
    for (int i = 0; i < count; ++i) {
      encoder.set_kernel(*kernel);
      for (size_t b = 0; b < bindings.size(); ++b) {
        encoder.set_buffer(static_cast<int32_t>(b), bindings[b].range, bindings[b].access);
      }
      encoder.set_constants(std::as_bytes(std::span(&constants, 1)));
      encoder.dispatch(tiles);
      if (i + 1 < count) {
        encoder.barrier();
      }
    }
    WEIR_TRY(commands->seal());
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      const int64_t begin = steady_now_ns();
      WEIR_TRY(queue_->submit({.command_buffer = commands.get()}));
      WEIR_TRY(commands->wait());
      least = std::min(least, static_cast<double>(steady_now_ns() - begin));
    }
    return std::max(least, 1.0);
  }

  Result<double> multiply_adds() {
    const MultiplyAddConstants constants{.steps = 20'000};
    const int64_t tiles = int64_t{8} * participants_;
    const Binding sums[] = {{at(*sums_, 0, tiles * 4), Access::kWrite}};
    WEIR_ASSIGN(const double ns, least_ns("multiply_add", sums, constants, tiles, 1));
    return static_cast<double>(tiles * multiply_add_flops(isa_, constants.steps)) / ns;
  }

  // A tile a participant, so that each finds its part in its own cache again.
  Result<double> stream(int64_t bytes) {
    const auto sliced = [&](int64_t whole) {
      StreamConstants constants;
      constants.floats = whole / 4 / participants_ / kStreamFloats * kStreamFloats;
      constants.passes = std::max<int64_t>(1, kStreamedBytes / whole);
      return constants;
    };
    const StreamConstants reading = sliced(bytes);
    const int64_t read_bytes = reading.floats * 4 * participants_;
    const Binding read_bindings[] = {{at(*buffer_, 0, read_bytes), Access::kRead},
                                     {at(*sums_, 0, 4 * participants_), Access::kWrite}};
    WEIR_ASSIGN(const double read_ns, least_ns("read", read_bindings, reading, participants_, 1));
    const StreamConstants copying = sliced(bytes / 2);
    const int64_t copy_bytes = copying.floats * 4 * participants_;
    const Binding copy_bindings[] = {{at(*buffer_, 0, copy_bytes), Access::kRead},
                                     {at(*buffer_, bytes / 2, copy_bytes), Access::kWrite}};
    WEIR_ASSIGN(const double copy_ns, least_ns("copy", copy_bindings, copying, participants_, 1));
    return std::max(static_cast<double>(read_bytes * reading.passes) / read_ns,
                    static_cast<double>(2 * copy_bytes * copying.passes) / copy_ns);
  }

  Result<double> launch() {
    constexpr int kDispatches = 500;
    WEIR_ASSIGN(const double ns,
                least_ns("nothing", {}, int64_t{0}, int64_t{8} * participants_, kDispatches));
    return ns / kDispatches;
  }

  Device& device_;
  Isa isa_;
  int32_t participants_;
  Ref<Library> library_;
  Ref<Queue> queue_;
  Ref<Buffer> sums_;
  Ref<Buffer> buffer_;
};

// Counts each tensor once, and constants as the program has packed them.
StepWork work_of_step(const Program& program, const Step& step, const ConcreteStep& concrete,
                      const ShapeValues& values) {
  const ConcreteOp op = concrete.op(step.op);
  StepWork result;
  result.work.flops = flops_of(op);
  std::set<int32_t> seen;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] < 0 || !seen.insert(step.inputs[i]).second) {
      continue;
    }
    int64_t bytes = bytes_read_of(op, i);
    int32_t storage = program.tensors[static_cast<size_t>(step.inputs[i])].storage;
    const auto packed = std::ranges::find(step.packed, static_cast<int32_t>(i), &PackedOperand::input);
    if (packed != step.packed.end()) {
      storage = packed->storage;
      bytes = values[program.storages[static_cast<size_t>(storage)].bytes];
    }
    const bool constant =
        storage >= 0 && program.storages[static_cast<size_t>(storage)].kind == StorageKind::kConstant;
    result.work.bytes_read += bytes;
    result.constant_bytes += constant ? bytes : 0;
  }
  for (const TensorSpec& output : concrete.outputs) {
    result.work.bytes_written += distinct_bytes(output);
  }
  return result;
}

// Constants, inputs and outputs, and the arena of a static program.
int64_t touched_bytes(const Program& program, const ShapeValues& values) {
  int64_t sum = program.constant_bytes + std::max<int64_t>(program.arena_bytes, 0);
  for (const Storage& storage : program.storages) {
    const bool outside = storage.kind == StorageKind::kInput || storage.kind == StorageKind::kOutput;
    sum += outside && storage.bytes >= 0 ? values[storage.bytes] : 0;
  }
  return sum;
}

}  // namespace

double Peaks::bytes_per_ns(int64_t working_set) const {
  for (const StreamPeak& peak : streams) {
    if (peak.working_set >= working_set) {
      return peak.bytes_per_ns;
    }
  }
  return streams.empty() ? 0 : streams.back().bytes_per_ns;
}

Result<Peaks> measure_peaks(Device& device, Isa isa, int32_t participants) {
  Result<Peaks> peaks = PeakMeter(device, isa, participants).measure();
  if (!peaks) {
    peaks.error().add_context(fmt::format("while measuring the peaks of device '{}'", device.info().name));
  }
  return peaks;
}

std::vector<StepWork> step_works(const Program& program, std::span<const ConcreteStep> steps,
                                 const ShapeValues& values) {
  const int64_t touched = touched_bytes(program, values);
  std::vector<StepWork> works;
  for (size_t i = 0; i < steps.size(); ++i) {
    works.push_back(work_of_step(program, program.steps[i], steps[i], values));
    works.back().run_bytes = touched;
  }
  return works;
}

Result<std::vector<StepWork>> step_works(const Program& program, const ShapeValues& values,
                                         const CustomOperators* operators) {
  WEIR_ASSIGN(const std::vector<ConcreteStep> steps,
              concrete_steps(program, program.steps, values, operators));
  return step_works(program, steps, values);
}

std::string_view to_string(Bound bound) {
  static constexpr std::string_view kNames[] = {"arithmetic", "bandwidth", "launch", "neither"};
  return kNames[static_cast<size_t>(bound)];
}

Verdict judge(const StepWork& step, double nanoseconds, const Peaks& peaks) {
  const auto quotient = [](double amount, double speed) { return speed > 0 ? amount / speed : 0; };
  const int64_t others = step.work.bytes() - step.constant_bytes;
  Verdict verdict;
  verdict.arithmetic_ns = quotient(static_cast<double>(step.work.flops), peaks.flops_per_ns);
  verdict.bandwidth_ns =
      quotient(static_cast<double>(step.constant_bytes), peaks.bytes_per_ns(step.run_bytes)) +
      quotient(static_cast<double>(others), peaks.bytes_per_ns(step.work.bytes()));
  verdict.efficiency = quotient(std::max(verdict.arithmetic_ns, verdict.bandwidth_ns), nanoseconds);
  if (nanoseconds < kLaunchesOfShortStep * peaks.launch_ns) {
    verdict.bound = Bound::kLaunch;
  } else if (verdict.efficiency >= kLeastEfficiency) {
    verdict.bound = verdict.arithmetic_ns >= verdict.bandwidth_ns ? Bound::kArithmetic : Bound::kBandwidth;
  }
  return verdict;
}

}  // namespace weir
