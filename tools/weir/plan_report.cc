// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/weir/commands/output.h"

namespace weir::cli {
namespace {

using enum Table::Align;

// The bytes of arena tensors of their own that live at each step, aliases left out.
std::vector<int64_t> live_bytes(const PlanReport& report) {
  std::vector<int64_t> live(std::max<size_t>(report.steps.size(), 1));
  for (const PlanReport::Tensor& tensor : report.tensors) {
    if (tensor.offset < 0 || tensor.alias_of >= 0) continue;
    const int64_t last = std::min<int64_t>(tensor.last_step, std::ssize(live) - 1);
    for (int64_t step = std::max(tensor.first_step, 0); step <= last; ++step) {
      live[static_cast<size_t>(step)] += tensor.bytes;
    }
  }
  return live;
}

std::string percent(int64_t part, int64_t whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole))
                   : "";
}

void add_bytes(Table& table, std::string label, int64_t bytes, std::string note = "") {
  table.add_row({std::move(label), format_bytes(bytes), format_count(bytes), std::move(note)});
}

}  // namespace

std::string_view to_string(PlanReport::Kind kind) {
  switch (kind) {
    case PlanReport::Kind::kActivation:
      return "activation";
    case PlanReport::Kind::kWorkspace:
      return "workspace";
    case PlanReport::Kind::kInput:
      return "input";
    case PlanReport::Kind::kOutput:
      return "output";
    case PlanReport::Kind::kConstant:
      return "constant";
    case PlanReport::Kind::kPrepared:
      return "prepared";
    case PlanReport::Kind::kState:
      return "state";
    case PlanReport::Kind::kPacked:
      return "packed";
  }
  return "unknown";
}

nlohmann::ordered_json to_json(const PlanReport& report) {
  using nlohmann::ordered_json;
  ordered_json tensors = ordered_json::array();
  for (const PlanReport::Tensor& tensor : report.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"offset", tensor.offset},
                       {"bytes", tensor.bytes},
                       {"first_step", tensor.first_step},
                       {"last_step", tensor.last_step},
                       {"kind", to_string(tensor.kind)},
                       {"alias_of", tensor.alias_of}});
  }
  ordered_json steps = ordered_json::array();
  for (const PlanReport::Step& step : report.steps) {
    ordered_json refused = ordered_json::array();
    for (const PlanReport::Refusal& refusal : step.refused) {
      refused.push_back({{"name", refusal.name}, {"reason", refusal.reason}});
    }
    steps.push_back({{"name", step.name},
                     {"op", step.op},
                     {"implementation", step.implementation},
                     {"reads", step.reads},
                     {"writes", step.writes},
                     {"refused", std::move(refused)}});
  }
  ordered_json notices = ordered_json::array();
  for (const PlanReport::Notice& notice : report.notices) {
    notices.push_back(
        {{"kind", notice.kind}, {"what", notice.what}, {"bytes", notice.bytes}, {"reason", notice.reason}});
  }
  ordered_json states = ordered_json::array();
  for (const PlanReport::State& state : report.states) {
    states.push_back({{"name", state.name},
                      {"output", state.output},
                      {"bytes", state.bytes},
                      {"before", state.before},
                      {"after", state.after}});
  }
  const PlanReport::Ledger& ledger = report.ledger;
  return {{"model", report.model},
          {"device", report.device},
          {"inputs", report.inputs},
          {"planned",
           {{"constants", ledger.constants},
            {"activations", ledger.activations},
            {"workspace", ledger.workspace},
            {"scratch", ledger.scratch},
            {"io", ledger.io},
            {"state", ledger.state},
            {"host", ledger.host},
            {"total", ledger.total}}},
          {"sum_bytes", report.sum_bytes},
          {"peak_bytes", report.peak_bytes},
          {"lower_bound_bytes", report.lower_bound_bytes},
          {"unfused_bound_bytes", report.unfused_bound_bytes},
          {"file_bytes", report.file_bytes},
          {"tensors", std::move(tensors)},
          {"steps", std::move(steps)},
          {"states", std::move(states)},
          {"notices", std::move(notices)}};
}

std::string plan_text(const PlanReport& report, bool with_steps) {
  std::string text = fmt::format("Memory of '{}' on {}\n", report.model, report.device);
  if (!report.inputs.empty()) {
    text += fmt::format("for {}\n", fmt::join(report.inputs, ", "));
  }
  text += "\n";
  Table ledger({kLeft, kRight, kRight, kLeft});
  const PlanReport::Ledger& lines = report.ledger;
  add_bytes(ledger, "constants", lines.constants, "weights, and what is computed from shapes alone");
  add_bytes(ledger, "activations", lines.activations, "peak of what flows between steps");
  add_bytes(ledger, "workspace", lines.workspace, "what steps need for themselves beyond that");
  add_bytes(ledger, "scratch", lines.scratch, "a block a thread");
  add_bytes(ledger, "io", lines.io, "inputs and outputs");
  add_bytes(ledger, "state", lines.state, "kept from run to run");
  add_bytes(ledger, "host", lines.host, "structures");
  ledger.add_rule();
  add_bytes(ledger, "total", lines.total);
  text += ledger.to_string() + "\n";

  Table bounds({kLeft, kRight, kRight, kLeft});
  add_bytes(bounds, "program file", report.file_bytes,
            "resident constants are " + percent(lines.constants, report.file_bytes) + " of it");
  add_bytes(bounds, "sum of all tensors", report.sum_bytes);
  if (report.unfused_bound_bytes >= 0) add_bytes(bounds, "bound without fusion", report.unfused_bound_bytes);
  add_bytes(bounds, "peak as placed", report.peak_bytes,
            percent(report.peak_bytes, report.sum_bytes) + " of the sum");
  add_bytes(bounds, "lower bound", report.lower_bound_bytes,
            report.peak_bytes <= report.lower_bound_bytes
                ? "reached: no placement is smaller"
                : fmt::format("missed by {}", percent(report.peak_bytes - report.lower_bound_bytes,
                                                      report.lower_bound_bytes)));
  text += bounds.to_string();

  if (!report.states.empty()) {
    text += "\nState, kept from run to run, two tensors each:\n";
    Table states({kRight, kLeft, kLeft});
    for (const PlanReport::State& state : report.states) {
      states.add_row({format_bytes(state.bytes), state.name, fmt::format("fed from {}", state.output)});
    }
    text += states.to_string();
  }

  const std::vector<int64_t> live = live_bytes(report);
  const int64_t fullest = std::ranges::max_element(live) - live.begin();
  if (!report.steps.empty()) {
    std::vector<const PlanReport::Tensor*> holders;
    for (const PlanReport::Tensor& tensor : report.tensors) {
      if (tensor.offset >= 0 && tensor.alias_of < 0 && tensor.first_step <= fullest &&
          fullest <= tensor.last_step) {
        holders.push_back(&tensor);
      }
    }
    std::ranges::stable_sort(holders, std::ranges::greater(), &PlanReport::Tensor::bytes);
    text += fmt::format("\nMost is live at step {} of {}, '{}':\n", fullest, report.steps.size(),
                        report.steps[static_cast<size_t>(fullest)].name);
    Table table({kRight, kLeft, kLeft, kLeft});
    for (size_t i = 0; i < std::min<size_t>(holders.size(), 10); ++i) {
      table.add_row({format_bytes(holders[i]->bytes), std::string(to_string(holders[i]->kind)),
                     fmt::format("steps {}–{}", holders[i]->first_step, holders[i]->last_step),
                     holders[i]->name});
    }
    text += table.to_string();
  }

  if (with_steps) {
    text += "\n";
    Table table({kRight, kLeft, kLeft, kLeft});
    table.add_row({"step", "operator", "implementation", "name"});
    table.add_rule();
    for (size_t i = 0; i < report.steps.size(); ++i) {
      const PlanReport::Step& step = report.steps[i];
      table.add_row({std::to_string(i), step.op, step.implementation, step.name});
    }
    text += table.to_string();
  }

  text +=
      fmt::format("\n{} notice{}\n", report.notices.empty() ? "No" : std::to_string(report.notices.size()),
                  report.notices.size() == 1 ? "" : "s");
  Table notices({kLeft, kLeft, kRight, kLeft});
  for (const PlanReport::Notice& notice : report.notices) {
    notices.add_row({notice.kind, notice.what, format_bytes(notice.bytes), notice.reason});
  }
  return text + notices.to_string();
}

}  // namespace weir::cli
