// SPDX-License-Identifier: Apache-2.0
#include "compile/within_limit.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "compile/order.h"
#include "program/report.h"
#include "runtime/concrete.h"

namespace weir {
namespace {

using Holder = std::pair<int64_t, std::string>;  // bytes, name

int64_t io_bytes(const ProgramReport& report) {
  return report.totals.input + report.totals.output + report.totals.state;
}

int64_t constant_bytes(const ProgramReport& report) {
  return report.totals.constant + report.totals.prepared;
}

int64_t total_bytes(const ProgramReport& report) {
  return constant_bytes(report) + report.peak_bytes + io_bytes(report);
}

// "'a' (64 bytes), 'b' (32 bytes) and 3 more (40 bytes)", the largest first.
std::string listed(std::vector<Holder> holders, size_t most) {
  std::ranges::stable_sort(holders, std::greater{}, &Holder::first);
  std::string text;
  int64_t rest = 0;
  for (size_t i = 0; i < holders.size(); ++i) {
    if (i < most) {
      text += fmt::format("{}'{}' ({} bytes)", i > 0 ? ", " : "", holders[i].second, holders[i].first);
    } else {
      rest += holders[i].first;
    }
  }
  return rest == 0 ? text : fmt::format("{} and {} more ({} bytes)", text, holders.size() - most, rest);
}

bool in_arena(const TensorReport& tensor) {
  return tensor.alias_of < 0 &&
         (tensor.kind == StorageKind::kActivation || tensor.kind == StorageKind::kWorkspace);
}

// "batch = 8, seq = 512"; "" for a graph without open dimensions.
std::string at_values(const Graph& graph, std::span<const int64_t> symbols) {
  std::string text;
  for (const auto& symbol : graph.symbols.symbols()) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", symbol->name,
                        symbols[static_cast<size_t>(symbol->id)]);
  }
  return text;
}

// The largest values of all symbols, or an error that names those without one.
Result<std::vector<int64_t>> largest_values(const Graph& graph, int64_t limit) {
  std::vector<int64_t> values;
  std::string missing;
  std::string give;
  for (const auto& symbol : graph.symbols.symbols()) {
    values.push_back(symbol->range.max);
    if (symbol->range.max >= kDimMax) {
      missing += fmt::format("{}'{}' (axis {} of input '{}')", missing.empty() ? "" : ", ", symbol->name,
                             symbol->source.index,
                             graph.value(graph.inputs()[static_cast<size_t>(symbol->source.input)]).name);
      give += fmt::format(" --dim {}=1..N", symbol->name);
    }
  }
  if (missing.empty()) {
    return values;
  }
  return fail(
      StatusCode::kInvalidArgument,
      "The program is to stay within ({}) bytes, and these dimensions are open without a largest value at "
      "which they could be counted: {}; give them a number or a range, as in{}.",
      limit, missing, give);
}

// Where everything lies at these values, workspaces included.
Result<ProgramReport> report_at(const Program& program, std::span<const int64_t> symbols,
                                const CustomOperators* operators) {
  if (program.is_static()) {
    return report(program, {});
  }
  WEIR_ASSIGN(const ShapeValues values, evaluate_shapes(program, symbols));
  WEIR_ASSIGN(const std::vector<ConcreteStep> prepare_steps,
              concrete_steps(program, program.prepare_steps, values, operators));
  WEIR_ASSIGN(const std::vector<ConcreteStep> steps,
              concrete_steps(program, program.steps, values, operators));
  WEIR_ASSIGN(const ShapePlan plan, plan_shape(program, values, prepare_steps, steps));
  return report(program, symbols, {plan.storage_bytes, plan.storage_offset, plan.arena_bytes});
}

Status too_large(const ProgramReport& report, int64_t limit, const std::string& at) {
  constexpr size_t kMostTensors = 8;
  constexpr size_t kMostConstants = 3;
  size_t peak_step = 0;
  std::vector<Holder> peak;
  int64_t most = 0;
  for (size_t step = 0; step < report.steps.size(); ++step) {
    const auto now = static_cast<int32_t>(step);
    std::vector<Holder> live;
    int64_t bytes = 0;
    for (const TensorReport& tensor : report.tensors) {
      if (in_arena(tensor) && tensor.first_step <= now && now <= tensor.last_step) {
        live.emplace_back(tensor.bytes, tensor.name);
        bytes += tensor.bytes;
      }
    }
    if (bytes > most) {
      most = bytes;
      peak = std::move(live);
      peak_step = step;
    }
  }
  std::vector<Holder> constants;
  for (const TensorReport& tensor : report.tensors) {
    if (tensor.kind == StorageKind::kConstant && tensor.alias_of < 0) {
      constants.emplace_back(tensor.bytes, tensor.name);
    }
  }
  std::string text = fmt::format(
      "Program '{}' takes ({}) bytes{}, ({}) more than the limit of ({}), in the best order of steps that "
      "was "
      "found and "
      "with weights as the model has them: constants ({}), activations and workspace ({}), inputs and "
      "outputs ({}).",
      report.name, total_bytes(report),
      at.empty() ? "" : fmt::format(" at the largest values of its dimensions ({})", at),
      total_bytes(report) - limit, limit, constant_bytes(report), report.peak_bytes, io_bytes(report));
  if (!peak.empty()) {
    text += fmt::format(" Most lives at step '{}': {}.", report.steps[peak_step].name,
                        listed(std::move(peak), kMostTensors));
  }
  if (!constants.empty()) {
    text += fmt::format(" The largest constants: {}.", listed(std::move(constants), kMostConstants));
  }
  return {StatusCode::kResourceExhausted, std::move(text)};
}

void add_notice(Program& program, int64_t limit, bool reordered, bool smaller_weights) {
  std::string what = reordered ? "the steps run in another order than the model's" : "";
  if (smaller_weights) {
    what += std::string(reordered ? ", and " : "") +
            "weights are kept as the model has them, which may be slower";
  }
  if (!what.empty()) {
    program.notices.push_back({NoticeKind::kInfo, "memory limit",
                               fmt::format("to stay within ({}) bytes {}", limit, what),
                               static_cast<int32_t>(program.dims.size())});
    DimTableEntry bytes;
    bytes.value = limit;
    program.dims.push_back(bytes);
  }
}

}  // namespace

Result<Compiled> compile_within_limit(
    Graph& graph, const CompileOptions& options,
    const std::function<Result<Compiled>(const CompileOptions&)>& compile_once) {
  WEIR_ASSIGN(const std::vector<int64_t> largest, largest_values(graph, options.memory_limit));
  const std::string at = at_values(graph, largest);
  const std::vector<NodeId> own = graph.order();
  std::vector<std::vector<NodeId>> orders = orders_for_memory(graph, largest);
  orders.insert(orders.begin(), own);
  CompileOptions chosen = options;
  if (!largest.empty()) {
    chosen.typical = largest;  // what the order of placement is chosen for
  }
  int64_t least = INT64_MAX;
  std::vector<NodeId> best;
  const auto attempt = [&](const std::vector<NodeId>& order) -> Result<std::pair<Compiled, ProgramReport>> {
    graph.set_order(order);
    WEIR_ASSIGN(Compiled compiled, compile_once(chosen), "while compiling to stay within ({}) bytes{}",
                options.memory_limit, at.empty() ? "" : fmt::format(" at ({})", at));
    WEIR_ASSIGN(ProgramReport now, report_at(compiled.program, largest, options.operators.get()),
                "while planning the program at the largest values of its dimensions ({})", at);
    if (total_bytes(now) <= options.memory_limit) {
      add_notice(compiled.program, options.memory_limit, order != own,
                 chosen.prefer_memory && !options.prefer_memory);
    }
    return std::pair(std::move(compiled), std::move(now));
  };
  for (const std::vector<NodeId>& order : orders) {
    WEIR_ASSIGN(auto tried, attempt(order));
    if (total_bytes(tried.second) <= options.memory_limit) {
      return std::move(tried.first);
    }
    if (tried.second.peak_bytes < least) {
      least = tried.second.peak_bytes;
      best = order;
    }
  }
  chosen.prefer_memory = true;
  WEIR_ASSIGN(auto smallest, attempt(best));
  if (total_bytes(smallest.second) <= options.memory_limit) {
    return std::move(smallest.first);
  }
  return std::unexpected(too_large(smallest.second, options.memory_limit, at));
}

}  // namespace weir
