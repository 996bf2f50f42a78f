// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/step_profile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/statistics.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

// Times and work of all steps of one operator or implementation.
struct Total {
  std::string_view key;
  int steps = 0;
  double milliseconds = 0;
  int64_t flops = 0;
  int64_t bytes = 0;
  double limit_ns = 0;  // the larger limit of each step
};

std::vector<Total> totals_by(const std::vector<StepProfile>& steps, std::string_view StepProfile::* key) {
  std::map<std::string_view, Total> sums;
  for (const StepProfile& step : steps) {
    Total& total = sums[step.*key];
    total.key = step.*key;
    ++total.steps;
    total.milliseconds += step.milliseconds;
    total.flops += step.work.work.flops;
    total.bytes += step.work.work.bytes();
    total.limit_ns += std::max(step.verdict.arithmetic_ns, step.verdict.bandwidth_ns);
  }
  std::vector<Total> sorted;
  for (const auto& [name, total] : sums) {
    sorted.push_back(total);
  }
  std::ranges::stable_sort(sorted, std::greater{}, &Total::milliseconds);
  return sorted;
}

// Thousands of millions a second.
double rate(int64_t amount, double milliseconds) {
  return milliseconds > 0 ? static_cast<double>(amount) / milliseconds * 1e-6 : 0;
}

double sum_of(const std::vector<StepProfile>& steps) {
  double sum = 0;
  for (const StepProfile& step : steps) {
    sum += step.milliseconds;
  }
  return sum;
}

std::string percent(double part) {
  return fmt::format("{:.0f} %", 100 * part);
}

std::string totals_text(std::string_view what, const std::vector<Total>& totals, double all) {
  using enum Table::Align;
  Table table({kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
  table.add_row({"ms", "share", "GFLOP/s", "GB/s", "of limit", "steps", std::string(what)});
  table.add_rule();
  for (const Total& total : totals) {
    table.add_row({fmt::format("{:.3f}", total.milliseconds),
                   fmt::format("{:.1f} %", 100 * total.milliseconds / all),
                   fmt::format("{:.1f}", rate(total.flops, total.milliseconds)),
                   fmt::format("{:.1f}", rate(total.bytes, total.milliseconds)),
                   percent(total.milliseconds > 0 ? total.limit_ns * 1e-6 / total.milliseconds : 0),
                   std::to_string(total.steps), std::string(total.key)});
  }
  return table.to_string();
}

std::string peaks_text(const Peaks& peaks) {
  std::string text = fmt::format("peaks measured in this run: {:.1f} GFLOP/s of float32 multiply-adds; ",
                                 peaks.flops_per_ns);
  for (const StreamPeak& stream : peaks.streams) {
    text += fmt::format("{:.1f} GB/s in {}, ", stream.bytes_per_ns, format_bytes(stream.working_set));
  }
  text += fmt::format("{:.2f} µs to launch nothing\n", peaks.launch_ns * 1e-3);
  return text;
}

ordered_json totals_json(std::string_view key, const std::vector<Total>& totals) {
  ordered_json list = ordered_json::array();
  for (const Total& total : totals) {
    list.push_back({{std::string(key), total.key},
                    {"steps", total.steps},
                    {"ms", total.milliseconds},
                    {"flops", total.flops},
                    {"bytes", total.bytes},
                    {"limit_ms", total.limit_ns * 1e-6}});
  }
  return list;
}

}  // namespace

Result<RunProfile> measure_profile(Session& session, Isa isa, std::span<const std::vector<int64_t>> shapes) {
  RunProfile profile;
  WEIR_ASSIGN(Ref<Request> request, session.create_request({.profile = true}));
  WEIR_TRY(request->prepare(shapes));
  WEIR_TRY(fill_inputs(*request, session.program()));
  constexpr int kRuns = 15;
  const size_t count = session.program().steps.size();
  std::vector<std::vector<double>> times(count);
  std::vector<std::vector<double>> busy(count);
  for (int run = 0; run < kRuns; ++run) {
    WEIR_TRY(request->run());
    for (const CommandProfile& command : request->profile()) {
      const auto step = static_cast<size_t>(command.step);
      times[step].push_back(static_cast<double>(command.end_ns - command.begin_ns));
      busy[step].push_back(static_cast<double>(command.busy_ns));
    }
  }
  WEIR_ASSIGN(profile.peaks, measure_peaks(session.device(), isa, session.participants()));
  WEIR_ASSIGN(const ShapeValues values, evaluate_shapes(session.program(), request->symbols()));
  WEIR_ASSIGN(const std::vector<StepWork> works, step_works(session.program(), values, session.operators()));
  for (size_t i = 0; i < count; ++i) {
    const Step& step = session.program().steps[i];
    const double nanoseconds = percentiles_of(times[i]).p50;
    StepProfile line{step.name, step.origin, to_string(step.op), session.kernels()[i].implementation->name};
    line.milliseconds = nanoseconds * 1e-6;
    line.busy_milliseconds = percentiles_of(busy[i]).p50 * 1e-6;
    line.work = works[i];
    line.verdict = judge(works[i], nanoseconds, profile.peaks);
    profile.steps.push_back(std::move(line));
  }
  return profile;
}

std::string profile_text(const RunProfile& profile) {
  const double all = sum_of(profile.steps);
  std::vector<const StepProfile*> sorted;
  for (const StepProfile& step : profile.steps) {
    sorted.push_back(&step);
  }
  std::ranges::stable_sort(sorted, std::greater{}, &StepProfile::milliseconds);
  using enum Table::Align;
  Table table({kRight, kRight, kRight, kRight, kRight, kRight, kLeft, kRight, kLeft, kLeft, kLeft});
  table.add_row({"ms", "share", "MFLOP", "KiB", "GFLOP/s", "GB/s", "bound by", "of limit", "step", "from",
                 "implementation"});
  table.add_rule();
  for (const StepProfile* step : sorted) {
    const Work& work = step->work.work;
    table.add_row({fmt::format("{:.3f}", step->milliseconds),
                   fmt::format("{:.1f} %", 100 * step->milliseconds / all),
                   fmt::format("{:.2f}", static_cast<double>(work.flops) * 1e-6),
                   fmt::format("{:.0f}", static_cast<double>(work.bytes()) / 1024),
                   fmt::format("{:.1f}", rate(work.flops, step->milliseconds)),
                   fmt::format("{:.1f}", rate(work.bytes(), step->milliseconds)),
                   std::string(to_string(step->verdict.bound)), percent(step->verdict.efficiency), step->name,
                   step->origin, std::string(step->implementation)});
  }
  return table.to_string() + "\n" + totals_text("operator", totals_by(profile.steps, &StepProfile::op), all) +
         "\n" + totals_text("implementation", totals_by(profile.steps, &StepProfile::implementation), all) +
         "\n" + peaks_text(profile.peaks);
}

void add_profile(const RunProfile& profile, ordered_json& json) {
  json["profile"] = ordered_json::array();
  for (const StepProfile& step : profile.steps) {
    const Work& work = step.work.work;
    json["profile"].push_back({{"step", step.name},
                               {"origin", step.origin},
                               {"op", step.op},
                               {"implementation", step.implementation},
                               {"ms", step.milliseconds},
                               {"busy_ms", step.busy_milliseconds},
                               {"flops", work.flops},
                               {"bytes_read", work.bytes_read},
                               {"bytes_written", work.bytes_written},
                               {"constant_bytes", step.work.constant_bytes},
                               {"gflops_per_s", rate(work.flops, step.milliseconds)},
                               {"gbytes_per_s", rate(work.bytes(), step.milliseconds)},
                               {"arithmetic_limit_ms", step.verdict.arithmetic_ns * 1e-6},
                               {"bandwidth_limit_ms", step.verdict.bandwidth_ns * 1e-6},
                               {"bound", to_string(step.verdict.bound)},
                               {"efficiency", step.verdict.efficiency}});
  }
  json["profile_totals"] = {
      {"operators", totals_json("op", totals_by(profile.steps, &StepProfile::op))},
      {"implementations",
       totals_json("implementation", totals_by(profile.steps, &StepProfile::implementation))}};
  ordered_json streams = ordered_json::array();
  for (const StreamPeak& stream : profile.peaks.streams) {
    streams.push_back({{"working_set_bytes", stream.working_set}, {"gbytes_per_s", stream.bytes_per_ns}});
  }
  json["peaks"] = {{"gflops_per_s", profile.peaks.flops_per_ns},
                   {"streams", streams},
                   {"launch_us", profile.peaks.launch_ns * 1e-3}};
}

}  // namespace weir::cli
