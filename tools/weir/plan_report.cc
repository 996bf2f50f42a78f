// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/alignment.h"
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

std::string blocks_text(const std::vector<const PlanReport::Tensor*>& blocks) {
  Table table({kRight, kRight, kRight, kLeft, kLeft, kLeft});
  for (const PlanReport::Tensor* block : blocks) {
    table.add_row({format_bytes(block->bytes), format_count(block->bytes),
                   fmt::format("at {}", format_count(block->offset)), std::string(to_string(block->kind)),
                   fmt::format("steps {}–{}", block->first_step, block->last_step), block->name});
  }
  return table.to_string();
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

nlohmann::ordered_json to_json(const PlanReport::Ledger& ledger) {
  return {{"constants", ledger.constants},
          {"activations", ledger.activations},
          {"workspace", ledger.workspace},
          {"scratch", ledger.scratch},
          {"io", ledger.io},
          {"state", ledger.state},
          {"host", ledger.host},
          {"total", ledger.total}};
}

nlohmann::ordered_json to_json(const std::vector<PlanReport::Notice>& notices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PlanReport::Notice& notice : notices) {
    list.push_back(
        {{"kind", notice.kind}, {"what", notice.what}, {"bytes", notice.bytes}, {"reason", notice.reason}});
  }
  return list;
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
  ordered_json states = ordered_json::array();
  for (const PlanReport::State& state : report.states) {
    states.push_back({{"name", state.name},
                      {"output", state.output},
                      {"bytes", state.bytes},
                      {"before", state.before},
                      {"after", state.after}});
  }
  ordered_json json = {{"model", report.model},
                       {"device", report.device},
                       {"inputs", report.inputs},
                       {"planned", to_json(report.ledger)}};
  if (report.counted) {
    json["counted"] = to_json(*report.counted);
  }
  json.update({{"sum_bytes", report.sum_bytes},
               {"peak_bytes", report.peak_bytes},
               {"lower_bound_bytes", report.lower_bound_bytes},
               {"unfused_bound_bytes", report.unfused_bound_bytes},
               {"file_bytes", report.file_bytes},
               {"tensors", std::move(tensors)},
               {"steps", std::move(steps)},
               {"states", std::move(states)},
               {"notices", to_json(report.notices)}});
  return json;
}

Result<void> check_counted(const PlanReport& report) {
  if (report.counted && report.counted->total != report.ledger.total) {
    return fail(StatusCode::kInternal, "The plan says ({}) bytes, and a request and its session count ({}).",
                report.ledger.total, report.counted->total);
  }
  return {};
}

std::string ledger_text(const PlanReport::Ledger& ledger, const PlanReport::Ledger* counted) {
  Table table(counted != nullptr ? std::vector{kLeft, kRight, kRight, kRight, kLeft}
                                 : std::vector{kLeft, kRight, kRight, kLeft});
  const auto add = [&](const char* label, int64_t PlanReport::Ledger::* line, const char* note) {
    std::vector<std::string> cells = {label, format_bytes(ledger.*line), format_count(ledger.*line)};
    if (counted != nullptr) {
      cells.push_back(format_count(counted->*line));
    }
    cells.emplace_back(note);
    table.add_row(std::move(cells));
  };
  using Ledger = PlanReport::Ledger;
  if (counted != nullptr) {
    table.add_row({"", "", "planned", "counted", ""});
  }
  add("constants", &Ledger::constants, "weights, and what is computed from shapes alone");
  add("activations", &Ledger::activations, "peak of what flows between steps");
  add("workspace", &Ledger::workspace, "what steps need for themselves beyond that");
  add("scratch", &Ledger::scratch, "a block a thread");
  add("io", &Ledger::io, "inputs and outputs");
  add("state", &Ledger::state, "kept from run to run");
  add("host", &Ledger::host, "structures");
  table.add_rule();
  add("total", &Ledger::total, "");
  return table.to_string();
}

std::string notices_text(const std::vector<PlanReport::Notice>& notices) {
  std::string text = fmt::format("\n{} notice{}\n", notices.empty() ? "No" : std::to_string(notices.size()),
                                 notices.size() == 1 ? "" : "s");
  Table table({kLeft, kLeft, kRight, kLeft});
  for (const PlanReport::Notice& notice : notices) {
    table.add_row(
        {notice.kind, notice.what, notice.bytes < 0 ? "" : format_bytes(notice.bytes), notice.reason});
  }
  return text + table.to_string();
}

std::string plan_text(const PlanReport& report, bool with_blocks) {
  std::string text = fmt::format("Memory of '{}' on {}\n", report.model, report.device);
  if (!report.inputs.empty()) {
    text += fmt::format("for {}\n", fmt::join(report.inputs, ", "));
  }
  text += "\n";
  text += ledger_text(report.ledger, report.counted ? &*report.counted : nullptr) + "\n";

  Table bounds({kLeft, kRight, kRight, kLeft});
  add_bytes(bounds, "program file", report.file_bytes,
            "resident constants are " + percent(report.ledger.constants, report.file_bytes) + " of it");
  add_bytes(bounds, "sum of all tensors", report.sum_bytes,
            fmt::format("each in memory of its own, rounded up to {} bytes", kStorageAlignment));
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
    holders.resize(std::min<size_t>(holders.size(), 10));
    text += blocks_text(holders);
  }

  if (with_blocks) {
    std::vector<const PlanReport::Tensor*> blocks;
    for (const PlanReport::Tensor& tensor : report.tensors) {
      if (tensor.offset >= 0 && tensor.alias_of < 0) {
        blocks.push_back(&tensor);
      }
    }
    std::ranges::stable_sort(blocks, std::less(), &PlanReport::Tensor::first_step);
    text += fmt::format("\nAll {} blocks of the arena, as the steps need them:\n", blocks.size()) +
            blocks_text(blocks);
  }
  return text + notices_text(report.notices);
}

}  // namespace weir::cli
