// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "hal/memory_limit.h"
#include "program/report.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/plan.h"
#include "tools/weir/io/file.h"
#include "tools/weir/plan_html.h"
#include "tools/weir/plan_report.h"

namespace weir::cli {
namespace {

PlanReport::Kind kind_of(StorageKind kind) {
  switch (kind) {
    case StorageKind::kConstant:
      return PlanReport::Kind::kConstant;
    case StorageKind::kPrepared:
      return PlanReport::Kind::kPrepared;
    case StorageKind::kActivation:
      return PlanReport::Kind::kActivation;
    case StorageKind::kWorkspace:
      return PlanReport::Kind::kWorkspace;
    case StorageKind::kInput:
      return PlanReport::Kind::kInput;
    case StorageKind::kOutput:
      return PlanReport::Kind::kOutput;
    case StorageKind::kState:
      return PlanReport::Kind::kState;
    case StorageKind::kPacked:
      return PlanReport::Kind::kPacked;
  }
  return PlanReport::Kind::kActivation;
}

PlanReport make_report(const Session& session, const Ledger& ledger, const ProgramReport& program,
                       const PlanOptions& options) {
  PlanReport report;
  report.model = options.model;
  report.device = describe(session.device(), options.runner);
  report.inputs = describe_inputs(session.program());
  report.ledger = {ledger.constants, ledger.activations, ledger.workspace, ledger.scratch,
                   ledger.io,        ledger.state,       ledger.host,      ledger.total()};
  report.sum_bytes = program.sum_bytes;
  report.peak_bytes = program.peak_bytes;
  report.lower_bound_bytes = program.lower_bound_bytes;
  report.unfused_bound_bytes = program.unfused_bound_bytes;
  report.file_bytes = session.file_bytes();
  for (const TensorReport& tensor : program.tensors) {
    PlanReport::Tensor entry;
    entry.name = tensor.name;
    const bool in_arena = tensor.kind == StorageKind::kActivation || tensor.kind == StorageKind::kWorkspace;
    entry.offset = in_arena ? tensor.offset : -1;
    entry.bytes = tensor.bytes;
    entry.first_step = tensor.first_step;
    entry.last_step = tensor.last_step;
    entry.kind = kind_of(tensor.kind);
    entry.alias_of = tensor.alias_of;
    report.tensors.push_back(std::move(entry));
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const StepReport& step = program.steps[i];
    PlanReport::Step entry;
    entry.name = step.name;
    entry.op = step.origin;
    entry.implementation = session.kernels()[i].implementation->name;
    entry.reads = step.reads;
    entry.writes = step.writes;
    for (const Refusal& refusal : step.refused) {
      entry.refused.push_back({refusal.implementation, refusal.reason});
    }
    report.steps.push_back(std::move(entry));
  }
  for (const StateReport& state : program.states) {
    report.states.push_back({state.name, state.output, state.bytes, state.before, state.after});
  }
  for (const NoticeReport& notice : program.notices) {
    report.notices.push_back(
        {notice.kind == NoticeKind::kCost ? "cost" : "info", notice.what, notice.bytes, notice.reason});
  }
  for (const NoticeReport& notice : session.load_notices()) {
    report.notices.push_back(
        {notice.kind == NoticeKind::kCost ? "cost" : "info", notice.what, notice.bytes, notice.reason});
  }
  return report;
}

// An error where a run would not stay within the limit: the largest lines first.
Result<void> check_limit(const Ledger& ledger, int64_t limit) {
  if (ledger.total() <= limit) {
    return {};
  }
  using Line = std::pair<int64_t, std::string_view>;
  std::vector<Line> lines = {{ledger.constants, "constants"},
                             {ledger.activations, "activations"},
                             {ledger.workspace, "workspace"},
                             {ledger.scratch, "scratch"},
                             {ledger.io, "io"},
                             {ledger.state, "state"},
                             {ledger.host, "host"}};
  std::erase_if(lines, [](const Line& line) { return line.first == 0; });
  std::ranges::stable_sort(lines, std::greater{}, &Line::first);
  std::string listed;
  for (const auto& [bytes, name] : lines) {
    listed += fmt::format("{} {} ({})", listed.empty() ? "" : ",", name, bytes);
  }
  return fail(StatusCode::kResourceExhausted,
              "The plan takes ({}) bytes, ({}) more than the memory limit of ({}):{}.", ledger.total(),
              ledger.total() - limit, limit, listed);
}

Result<void> plan(const PlanOptions& options) {
  // Nothing is refused before the plan is printed.
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  WEIR_ASSIGN(const int64_t limit, memory_limit(options.runner.memory_limit, kNoLimit));
  EngineOptions engine_options;
  engine_options.model = options.model;
  engine_options.shapes = options.shapes;
  engine_options.runner = options.runner;
  engine_options.runner.memory_limit = kNoLimit;
  engine_options.batch_of_one = true;
  WEIR_ASSIGN(const Engine engine, open_engine(engine_options));
  const Session& session = *engine.session;
  std::vector<int64_t> symbols;
  if (!session.program().is_static()) {
    return fail(StatusCode::kInvalidArgument,
                "Program '{}' is dynamic; compile the model with --shape or --dim for a plan of one shape.",
                options.model);
  }
  WEIR_ASSIGN(const Ledger ledger, session.planned(symbols));
  WEIR_ASSIGN(const ProgramReport program, weir::report(session.program(), symbols));
  const PlanReport report = make_report(session, ledger, program, options);
  if (!options.html.empty()) {
    WEIR_TRY(write_file(options.html, plan_html(report)), "while drawing the plan");
  }
  if (options.json) {
    print_json(to_json(report));
  } else {
    print(plan_text(report, false));
  }
  return check_limit(ledger, limit);
}

}  // namespace

int plan_command(const PlanOptions& options) {
  return exit_code(plan(options), options.json);
}

}  // namespace weir::cli
