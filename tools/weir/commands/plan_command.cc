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
#include "tools/weir/open_plan.h"
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

PlanReport::Notice notice_of(NoticeKind kind, const std::string& what, int64_t bytes,
                             const std::string& reason) {
  return {kind == NoticeKind::kCost ? "cost" : "info", what, bytes, reason};
}

PlanReport make_report(const Session& session, const Ledger& ledger, const ProgramReport& program,
                       const RequestShape& shape, const PlanOptions& options) {
  PlanReport report;
  report.model = options.model;
  report.device = describe(session.device(), options.runner);
  report.inputs = shape.describe();
  report.ledger = lines_of(ledger);
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
    report.notices.push_back(notice_of(notice.kind, notice.what, notice.bytes, notice.reason));
  }
  for (const NoticeReport& notice : session.load_notices()) {
    report.notices.push_back(notice_of(notice.kind, notice.what, notice.bytes, notice.reason));
  }
  return report;
}

// What views each storage: the input, output or state, else the first tensor that takes all of its bytes, or
// a part of them where none does.
std::vector<std::string> storage_names(const Program& program, std::span<const Dim> dims) {
  std::vector<std::string> names(program.storages.size());
  std::vector<int> rank(program.storages.size(), 0);
  const auto name = [&](const ProgramTensor& tensor, const std::string& as, int how_well) {
    const auto storage = static_cast<size_t>(tensor.storage);
    if (how_well > rank[storage]) {
      names[storage] = as;
      rank[storage] = how_well;
    }
  };
  for (const ProgramTensor& tensor : program.tensors) {
    if (tensor.storage < 0) {
      continue;
    }
    Dims shape;
    for (const int32_t position : tensor.shape) {
      shape.push_back(dims[static_cast<size_t>(position)]);
    }
    const int32_t bytes = program.storages[static_cast<size_t>(tensor.storage)].bytes;
    const bool whole =
        bytes >= 0 && product(shape) * bit_width(tensor.element_type) == dims[static_cast<size_t>(bytes)] * 8;
    name(tensor, tensor.name, whole ? 2 : 1);
  }
  for (const auto* ports : {&program.inputs, &program.outputs}) {
    for (const ProgramPort& port : *ports) {
      name(program.tensors[static_cast<size_t>(port.tensor)], port.name, 3);
    }
  }
  for (const ProgramState& state : program.states) {
    name(program.tensors[static_cast<size_t>(state.before)], state.name, 3);
    name(program.tensors[static_cast<size_t>(state.after)], state.output, 3);
  }
  for (const Step& step : program.steps) {
    if (step.workspace >= 0) {
      names[static_cast<size_t>(step.workspace)] = "workspace of " + step.name;
    }
  }
  return names;
}

// The plan of a program without values for its dimensions.
Result<OpenPlan> make_open_plan(const Session& session, const RequestShape& shape,
                                const PlanOptions& options) {
  const Program& program = session.program();
  OpenPlan plan;
  plan.model = options.model;
  plan.device = describe(session.device(), options.runner);
  plan.inputs = shape.describe();
  plan.steps = program.steps.size();
  plan.constant_bytes = session.own_lines().constants;
  std::vector<int64_t> sample;
  std::vector<int64_t> largest;
  for (const ProgramSymbol& symbol : program.symbols) {
    const bool bounded = symbol.range.max < kDimMax;
    const bool first = symbol.source.index == 0;
    sample.push_back(bounded ? symbol.range.max : std::max<int64_t>(symbol.range.min, first ? 1 : 256));
    if (bounded) {
      largest.push_back(symbol.range.max);
    }
    if (symbol.range.min == symbol.range.max) {
      continue;
    }
    plan.dimensions.push_back({symbol.name, program.inputs[static_cast<size_t>(symbol.source.input)].name,
                               symbol.source.index, symbol.range.min,
                               bounded ? std::optional(symbol.range.max) : std::nullopt});
    plan.values += fmt::format("{}--dim {}=N", plan.values.empty() ? "" : " ", symbol.name);
  }
  WEIR_ASSIGN(const std::vector<Dim> dims, readable_dims(program));
  std::vector<int64_t> values(program.dims.size(), 0);
  if (!evaluate(program.dims, sample, values)) {
    std::ranges::fill(values, 0);  // no order but that of the program
  }
  const std::vector<std::string> names = storage_names(program, dims);
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    if (storage.kind == StorageKind::kConstant || storage.kind == StorageKind::kPacked) {
      continue;
    }
    OpenPlan::Block block{names[i], kind_of(storage.kind), "", storage.first_step, storage.last_step, 0};
    if (storage.bytes >= 0) {
      block.bytes = dims[static_cast<size_t>(storage.bytes)].to_string();
      block.weight = values[static_cast<size_t>(storage.bytes)];
    }
    plan.blocks.push_back(std::move(block));
  }
  std::ranges::stable_sort(plan.blocks, std::less{}, &OpenPlan::Block::first_step);
  if (largest.size() == program.symbols.size()) {
    // Not every shape within the ranges need be one that the program takes.
    if (const Result<Ledger> ledger = session.planned(largest)) {
      WEIR_ASSIGN(RequestShape at, request_shape(program, false, {}));
      for (size_t i = 0; i < largest.size(); ++i) {
        WEIR_TRY(
            at.take_options({}, std::vector{DimArgument{program.symbols[i].name, {largest[i], largest[i]}}}));
      }
      plan.largest = OpenPlan::Largest{at.describe(), lines_of(*ledger)};
    }
  }
  for (const ProgramNotice& notice : program.notices) {
    plan.notices.push_back(notice_of(notice.kind, notice.what, -1, notice.reason));
  }
  for (const NoticeReport& notice : session.load_notices()) {
    plan.notices.push_back(notice_of(notice.kind, notice.what, notice.bytes, notice.reason));
  }
  return plan;
}

// An error where a run would not stay within the limit: the largest lines first.
Result<void> check_limit(const PlanReport::Ledger& ledger, int64_t limit) {
  if (ledger.total <= limit) {
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
              "The plan takes ({}) bytes, ({}) more than the memory limit of ({}):{}.", ledger.total,
              ledger.total - limit, limit, listed);
}

Result<void> plan_open(const Session& session, const RequestShape& shape, const PlanOptions& options,
                       int64_t limit) {
  WEIR_ASSIGN(const OpenPlan plan, make_open_plan(session, shape, options));
  const auto needs_numbers = [&](std::string_view what) {
    return fail(StatusCode::kInvalidArgument,
                "Program '{}' has open dimensions, and {}: give them with {}, or with --shape.",
                session.program().name, what, plan.values);
  };
  if (!options.html.empty()) {
    return needs_numbers("a drawing needs numbers");
  }
  if (options.count) {
    return needs_numbers("counting needs numbers");
  }
  if (options.runner.memory_limit > 0 && !plan.largest) {
    return needs_numbers("without a largest value of each the plan cannot be compared with a limit");
  }
  if (options.json) {
    print_json(to_json(plan));
  } else {
    print(open_plan_text(plan, options.blocks));
  }
  return plan.largest ? check_limit(plan.largest->ledger, limit) : Result<void>{};
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
  // A range is for the compiler: the plan is of the open program then.
  engine_options.batch_of_one = std::ranges::all_of(
      options.shapes.dims, [](const DimArgument& dim) { return dim.range.min == dim.range.max; });
  WEIR_ASSIGN(const Engine engine, open_engine(engine_options));
  const Session& session = *engine.session;
  WEIR_ASSIGN(RequestShape shape, request_shape(session.program(), engine.is_program, options.shapes));
  const bool asked = !options.shapes.shapes.empty() || !options.shapes.dims.empty();
  if (!shape.is_complete() && !(engine.is_program && asked)) {
    return plan_open(session, shape, options, limit);
  }
  shape.assume_batch_of_one();
  WEIR_ASSIGN(const std::vector<int64_t> symbols, shape.symbols());
  WEIR_ASSIGN(const Ledger ledger, session.planned(symbols));
  WEIR_ASSIGN(const ProgramReport program, session.report(symbols));
  PlanReport report = make_report(session, ledger, program, shape, options);
  if (options.count) {
    WEIR_ASSIGN(const Ref<Request> request, engine.session->create_request({}));
    WEIR_TRY(request->prepare(shape.shapes()));
    report.counted = lines_of(request->counted());
  }
  if (!options.html.empty()) {
    WEIR_TRY(write_file(options.html, plan_html(report)), "while drawing the plan");
  }
  if (options.json) {
    print_json(to_json(report));
  } else {
    print(plan_text(report, options.blocks));
  }
  WEIR_TRY(check_counted(report));
  return check_limit(report.ledger, limit);
}

}  // namespace

int plan_command(const PlanOptions& options) {
  return exit_code(plan(options), options.json);
}

}  // namespace weir::cli
