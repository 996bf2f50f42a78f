// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/allocation_counter.h"
#include "runtime/measure.h"
#include "tools/weir/commands/bench.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/machine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/statistics.h"
#include "tools/weir/commands/tensor_input.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

double milliseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

struct Usage {
  int64_t faults = 0;
  double cpu_seconds = 0;
};

Usage usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {usage.ru_minflt + usage.ru_majflt, seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

ordered_json to_json(const Ledger& ledger) {
  return {{"constants", ledger.constants},
          {"activations", ledger.activations},
          {"workspace", ledger.workspace},
          {"scratch", ledger.scratch},
          {"io", ledger.io},
          {"state", ledger.state},
          {"host", ledger.host},
          {"total", ledger.total()}};
}

Result<void> fill_inputs(Request& request, const Program& program) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    WEIR_ASSIGN(const TensorView view, request.input(static_cast<int32_t>(i)));
    const std::vector<int64_t> shape(view.shape.begin(), view.shape.begin() + view.rank);
    WEIR_ASSIGN(const Array array, random_array(view.type, shape, 1 + i));
    copy_in(array, view);
  }
  return {};
}

// The median time of each step over some runs of a request that keeps timestamps.
struct StepTime {
  std::string name;
  std::string origin;
  std::string implementation;
  double milliseconds = 0;
};

Result<std::vector<StepTime>> profile(Session& session) {
  WEIR_ASSIGN(Ref<Request> request, session.create_request({.profile = true}));
  WEIR_TRY(fill_inputs(*request, session.program()));
  constexpr int kRuns = 15;
  std::vector<std::vector<double>> samples(session.program().steps.size());
  for (int run = 0; run < kRuns; ++run) {
    WEIR_TRY(request->run());
    for (const CommandProfile& command : request->profile()) {
      samples[static_cast<size_t>(command.step)].push_back(milliseconds(command.end_ns - command.begin_ns));
    }
  }
  std::vector<StepTime> times;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Step& step = session.program().steps[i];
    times.push_back({step.name, step.origin, std::string(session.kernels()[i].implementation->name),
                     samples[i].empty() ? 0 : percentiles_of(samples[i]).p50});
  }
  return times;
}

void print_profile(std::vector<StepTime> times) {
  double total = 0;
  for (const StepTime& time : times) {
    total += time.milliseconds;
  }
  std::ranges::stable_sort(times, std::greater{}, &StepTime::milliseconds);
  using enum Table::Align;
  Table table({kRight, kRight, kLeft, kLeft, kLeft});
  table.add_row({"ms", "share", "step", "from", "implementation"});
  table.add_rule();
  for (const StepTime& time : times) {
    table.add_row({fmt::format("{:.3f}", time.milliseconds),
                   fmt::format("{:.1f} %", 100 * time.milliseconds / total), time.name, time.origin,
                   time.implementation});
  }
  print(table.to_string());
}

Result<void> bench(const BenchOptions& options) {
  EngineOptions engine_options;
  engine_options.model = options.model;
  engine_options.shapes = options.shapes;
  engine_options.runner = options.runner;
  engine_options.batch_of_one = true;
  WEIR_ASSIGN(Engine engine, open_engine(engine_options));
  const Program& program = engine.session->program();
  if (!program.is_static()) {
    return fail(StatusCode::kInvalidArgument,
                "Program '{}' is dynamic; compile the model with --shape or --dim.", options.model);
  }
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(Ref<Request> request, engine.session->create_request({}));
  const int64_t prepared = steady_now_ns();
  WEIR_TRY(fill_inputs(*request, program));
  const int64_t filled = steady_now_ns();
  WEIR_TRY(request->run());
  const int64_t first = steady_now_ns();

  constexpr size_t kMostRuns = 1'000'000;
  const size_t runs = options.runs > 0 ? static_cast<size_t>(options.runs) : kMostRuns;
  std::vector<double> times;
  times.reserve(std::min(runs, kMostRuns));
  times.resize(std::min<size_t>(runs, 1 << 16));  // touches pages now, so that they count for no inference
  times.clear();
  for (int warm = 0; warm < 3; ++warm) {
    WEIR_TRY(request->run());
  }
  const AllocationCounts allocations_before = allocation_counts();
  const Usage before = usage_now();  // last: what is called after it may fault its own code in
  const int64_t start = steady_now_ns();
  const auto limit = static_cast<int64_t>(options.seconds * 1e9);
  int64_t now = start;
  while (times.size() < runs && (options.runs > 0 || now - start < limit)) {
    const int64_t run_begin = now;
    if (auto ran = request->run(); !ran) {
      return ran;
    }
    now = steady_now_ns();
    times.push_back(milliseconds(now - run_begin));
  }
  const AllocationCounts allocations_after = allocation_counts();
  const Usage after = usage_now();
  const auto count = static_cast<double>(times.size());
  const double per_second = count / (static_cast<double>(now - start) * 1e-9);

  const Percentiles percentiles = percentiles_of(times);
  std::ranges::sort(times);
  const double p999 = times[std::min(times.size() - 1, static_cast<size_t>(count * 0.999))];
  int64_t reference_steps = 0;
  for (const StepKernel& kernel : engine.session->kernels()) {
    reference_steps += kernel.implementation->reference ? 1 : 0;
  }
  const std::string status = read_proc("/proc/self/status");
  WEIR_ASSIGN(const Ledger planned, request->planned());
  const Ledger counted = request->counted();

  ordered_json json;
  json["model"] = options.model;
  json["device"] = describe(*engine.device, options.runner);
  json["isa"] = options.runner.isa.empty() ? std::string(to_string(detect_isa())) : options.runner.isa;
  json["threads"] = engine.session->participants();
  json["runs"] = times.size();
  json["latency_ms"] = {{"p50", percentiles.p50}, {"p90", percentiles.p90}, {"p99", percentiles.p99},
                        {"p999", p999},           {"min", percentiles.min}, {"max", percentiles.max}};
  json["throughput_per_s"] = per_second;
  json["load_ms"] = milliseconds(engine.load_ns - engine.import_ns - engine.compile_ns);
  json["import_ms"] = milliseconds(engine.import_ns);
  json["compile_ms"] = milliseconds(engine.compile_ns);
  json["prepare_ms"] = milliseconds(prepared - begin);
  json["first_inference_ms"] = milliseconds(first - filled);
  json["rss_anon_bytes"] = meminfo_bytes(status, "RssAnon");
  json["rss_file_bytes"] = meminfo_bytes(status, "RssFile");
  json["planned"] = to_json(planned);
  json["counted"] = to_json(counted);
  if (allocations_after.counted) {
    const auto per_run = [&](uint64_t total) { return static_cast<double>(total) / count; };
    json["allocations_per_inference"] = {
        {"weir", per_run(allocations_after.weir - allocations_before.weir)},
        {"driver", per_run(allocations_after.driver - allocations_before.driver)},
        {"user", per_run(allocations_after.user - allocations_before.user)}};
  } else {
    json["allocations_per_inference"] = nullptr;  // the interposer is not loaded
  }
  json["page_faults_per_inference"] = static_cast<double>(after.faults - before.faults) / count;
  json["cpu_seconds_per_inference"] = (after.cpu_seconds - before.cpu_seconds) / count;
  json["steps"] = program.steps.size();
  json["reference_steps"] = reference_steps;
  std::vector<StepTime> step_times;
  if (options.profile) {
    WEIR_ASSIGN(step_times, profile(*engine.session));
    for (const StepTime& time : step_times) {
      json["profile"].push_back({{"step", time.name},
                                 {"origin", time.origin},
                                 {"implementation", time.implementation},
                                 {"ms", time.milliseconds}});
    }
  }
  if (options.json) {
    print_json(json);
    return {};
  }
  using enum Table::Align;
  Table table({kLeft, kRight});
  table.add_row({"latency p50", fmt::format("{:.3f} ms", percentiles.p50)});
  table.add_row({"p90", fmt::format("{:.3f} ms", percentiles.p90)});
  table.add_row({"p99", fmt::format("{:.3f} ms", percentiles.p99)});
  table.add_row({"p99.9", fmt::format("{:.3f} ms", p999)});
  table.add_row({"least, most", fmt::format("{:.3f}, {:.3f} ms", percentiles.min, percentiles.max)});
  table.add_row({"throughput", fmt::format("{:.1f} a second", per_second)});
  table.add_row({"load", fmt::format("{:.1f} ms", json["load_ms"].get<double>())});
  table.add_row(
      {"import and compile", fmt::format("{:.1f} ms", milliseconds(engine.import_ns + engine.compile_ns))});
  table.add_row({"prepare", fmt::format("{:.2f} ms", json["prepare_ms"].get<double>())});
  table.add_row({"first inference", fmt::format("{:.2f} ms", json["first_inference_ms"].get<double>())});
  table.add_row({"memory planned", format_bytes(planned.total())});
  table.add_row({"memory counted", format_bytes(counted.total())});
  table.add_row(
      {"page faults a run", fmt::format("{:.3f}", json["page_faults_per_inference"].get<double>())});
  table.add_row(
      {"CPU time a run", fmt::format("{:.3f} ms", json["cpu_seconds_per_inference"].get<double>() * 1e3)});
  table.add_row({"steps", fmt::format("{} ({} on reference)", program.steps.size(), reference_steps)});
  print(fmt::format("{} on {}, {} runs\n", options.model, json["device"].get<std::string>(), times.size()) +
        table.to_string());
  if (options.profile) {
    print_profile(std::move(step_times));
  }
  return {};
}

}  // namespace

int bench_command(const BenchOptions& options) {
  return exit_code(bench(options));
}

}  // namespace weir::cli
