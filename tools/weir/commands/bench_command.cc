// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/allocation_counter.h"
#include "kernels/isa_name.h"
#include "runtime/measure.h"
#include "tools/weir/commands/bench.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/machine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/statistics.h"
#include "tools/weir/commands/step_profile.h"
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

// Runs of a request of its own: what was measured before had no timestamps in it.
// They take turns with runs that are not traced, so that what tracing costs can be told.
Result<void> trace_runs(const Engine& engine, const RequestShape& shape, const Ref<Tracer>& trace,
                        Request& plain, ordered_json& json) {
  constexpr int kRuns = 20;
  WEIR_ASSIGN(Ref<Request> traced, engine.session->create_request({.trace = trace}));
  WEIR_TRY(traced->prepare(shape.shapes()));
  WEIR_TRY(fill_inputs(*traced, engine.session->program()));
  std::vector<double> traced_times;
  std::vector<double> plain_times;
  for (int run = 0; run < kRuns; ++run) {
    const int64_t begin = steady_now_ns();
    WEIR_TRY(plain.run());
    const int64_t between = steady_now_ns();
    WEIR_TRY(traced->run());
    plain_times.push_back(milliseconds(between - begin));
    traced_times.push_back(milliseconds(steady_now_ns() - between));
  }
  json["trace"] = {{"runs", kRuns},
                   {"untraced_ms", percentiles_of(plain_times).p50},
                   {"traced_ms", percentiles_of(traced_times).p50}};
  return {};
}

Result<void> bench(const BenchOptions& options, const Ref<Tracer>& trace) {
  EngineOptions engine_options;
  engine_options.trace = trace;
  engine_options.model = options.model;
  engine_options.shapes = options.shapes;
  engine_options.runner = options.runner;
  engine_options.batch_of_one = true;
  WEIR_ASSIGN(Engine engine, open_engine(engine_options));
  const Program& program = engine.session->program();
  WEIR_ASSIGN(RequestShape shape, request_shape(program, engine.is_program, options.shapes));
  shape.assume_batch_of_one();
  WEIR_TRY(shape.symbols());  // all are known
  const std::vector<std::vector<int64_t>> shapes = shape.shapes();
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(Ref<Request> request, engine.session->create_request({}));
  WEIR_TRY(request->prepare(shapes));
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
  json["inputs"] = shape.describe();
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
  json["planned"] = to_json(lines_of(planned));
  json["counted"] = to_json(lines_of(counted));
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
  std::optional<RunProfile> profile;
  if (options.profile) {
    WEIR_ASSIGN(const Isa isa, isa_named(options.runner.isa));
    WEIR_ASSIGN(profile, measure_profile(*engine.session, isa, shapes));
    add_profile(*profile, json);
  }
  if (trace) {
    WEIR_TRY(trace_runs(engine, shape, trace, *request, json));
  }
  if (options.json) {
    print_json(json);
    return {};
  }
  using enum Table::Align;
  Table table({kLeft, kRight});
  table.add_row({"latency p50", format_duration(percentiles.p50)});
  table.add_row({"p90", format_duration(percentiles.p90)});
  table.add_row({"p99", format_duration(percentiles.p99)});
  table.add_row({"p99.9", format_duration(p999)});
  table.add_row({"least, most", format_duration(percentiles.min) + ", " + format_duration(percentiles.max)});
  table.add_row({"throughput", fmt::format("{:.1f} a second", per_second)});
  table.add_row({"load", format_duration(json["load_ms"].get<double>())});
  const int64_t compiling = engine.import_ns + engine.compile_ns;
  table.add_row(
      {"import and compile", compiling == 0 ? "done before" : format_duration(milliseconds(compiling))});
  table.add_row({"prepare", format_duration(json["prepare_ms"].get<double>())});
  table.add_row({"first inference", format_duration(json["first_inference_ms"].get<double>())});
  table.add_row({"memory planned", format_bytes(planned.total())});
  table.add_row({"memory counted", format_bytes(counted.total())});
  table.add_row(
      {"page faults a run", fmt::format("{:.3f}", json["page_faults_per_inference"].get<double>())});
  table.add_row({"CPU time a run", format_duration(json["cpu_seconds_per_inference"].get<double>() * 1e3)});
  table.add_row({"steps", fmt::format("{} ({} on reference)", program.steps.size(), reference_steps)});
  print(fmt::format("{} on {}, {} runs\nfor {}\n", options.model, json["device"].get<std::string>(),
                    times.size(), fmt::join(shape.describe(), ", ")) +
        table.to_string());
  if (trace) {
    print(fmt::format("traced runs {:.3f} ms, untraced ones between them {:.3f} ms (medians)\n",
                      json["trace"]["traced_ms"].get<double>(), json["trace"]["untraced_ms"].get<double>()));
  }
  if (profile) {
    print("\n" + profile_text(*profile));
  }
  return {};
}

}  // namespace

int bench_command(const BenchOptions& options) {
  const Ref<Tracer> trace = make_trace(options.trace);
  return exit_code(write_trace(trace, options.trace, bench(options, trace)), options.json);
}

}  // namespace weir::cli
