// SPDX-License-Identifier: Apache-2.0
//
// `weir check`: opens the model as a session would, but on a device without a limit, so that everything that
// is wrong is found at once and nothing but the standard output changes.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "runtime/measure.h"
#include "tools/weir/check_list.h"
#include "tools/weir/commands/check.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

std::string one_line(const Status& status) {
  std::string text = status.to_string();
  for (size_t at = 0; (at = text.find("\n  - ", at)) != std::string::npos;) {
    const size_t begin = at > 0 && text[at - 1] == '.' ? at - 1 : at;
    text.replace(begin, at + 5 - begin, ", ");
  }
  return text;
}

class Checker {
 public:
  explicit Checker(const CheckOptions& options) : options_(options), list_(options.model) {}

  // An error is one of the command, not of the model.
  Result<CheckList> run() {
    engine_.model = options_.model;
    engine_.shapes = options_.shapes;
    engine_.runner = options_.runner;
    WEIR_ASSIGN(const Ref<Device> usual, open_device(options_.runner));
    limit_ = usual->memory().limit();
    if (check_file() && check_session()) {
      check_kernels();
      if (check_shapes()) {
        check_memory();
      }
      check_costs();
    }
    return std::move(list_);
  }

 private:
  const Program& program() const { return session_->program(); }

  // False where there is nothing more to look at.
  bool check_file() {
    const Result<bool> is_program = is_program_file(options_.model);
    if (!is_program) {
      list_.fail("file", one_line(is_program.error()), "give the path of a model (.onnx) or program (.weir)");
      return false;
    }
    return *is_program ? check_program() : check_model();
  }

  bool check_program() {
    is_program_ = true;
    if (const Result<void> fits = check_program_options(options_.model, options_.shapes); !fits) {
      list_.fail("file", one_line(fits.error()), "leave the option out, or check the model");
      return false;
    }
    Result<LoadedProgram> loaded = read_program(options_.model);
    if (!loaded) {
      list_.fail("file", one_line(loaded.error()),
                 "copy the file again, or compile the model again with this version");
      return false;
    }
    loaded_ = std::move(*loaded);
    list_.ok("file",
             fmt::format("program '{}' for {}, {}; header and metadata are sound", loaded_.program.name,
                         loaded_.program.target, format_bytes(loaded_.file_bytes)));
    check_constants();
    return true;
  }

  bool check_model() {
    Result<ModelOptions> options = model_options(engine_);
    if (!options) {
      list_.fail("file", one_line(options.error()), "");
      return false;
    }
    const Result<CacheState> cache = cache_state(options_.model, *options);
    options->use_cache = options->use_cache && cache && cache->found;
    Unsupported unsupported;
    options->import.unsupported = &unsupported;
    const int64_t begin = steady_now_ns();
    Result<Model> model = open_model(options_.model, *options);
    open_seconds_ = static_cast<double>(steady_now_ns() - begin) * 1e-9;
    if (!model && !unsupported.nodes.empty()) {
      list_unsupported(unsupported);
      return false;
    }
    if (!model) {
      list_.fail("file", one_line(model.error()),
                 "the message says what is not supported or wrong; docs/errors.md explains the common ones");
      return false;
    }
    loaded_ = std::move(model->loaded);
    list_.ok("file", fmt::format("model '{}': everything in it is supported", loaded_.program.name));
    report_cache(cache, *model);
    check_constants();
    return true;
  }

  // A line for each operator and reason, with the first of its nodes; all nodes in the JSON.
  void list_unsupported(const Unsupported& unsupported) {
    constexpr size_t kShownNodes = 3;
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;  // heading and reason, nodes
    ordered_json nodes = ordered_json::array();
    bool unknown = false;
    for (const UnsupportedNode& node : unsupported.nodes) {
      const std::string key = fmt::format("{} ({} {}): {}", node.op, node.domain, node.version, node.reason);
      auto group = std::ranges::find(groups, key, [](const auto& entry) { return entry.first; });
      if (group == groups.end()) {
        group = groups.insert(groups.end(), {key, {}});
      }
      group->second.push_back("'" + node.name + "'");
      unknown = unknown || node.unknown;
      nodes.push_back({{"operator", node.op},
                       {"domain", node.domain},
                       {"version", node.version},
                       {"node", node.name},
                       {"reason", node.reason}});
    }
    std::vector<std::string> parts;
    for (auto& [key, names] : groups) {
      const size_t count = names.size();
      names.resize(std::min(count, kShownNodes));
      parts.push_back(
          fmt::format("{} × {}: {}{}", count, without_full_stop(key), fmt::join(names, ", "),
                      count > kShownNodes ? fmt::format(" and {} more", count - kShownNodes) : ""));
    }
    if (unsupported.unexamined > 0) {
      parts.push_back(fmt::format("{} node{} behind these could not be examined", unsupported.unexamined,
                                  unsupported.unexamined == 1 ? "" : "s"));
    }
    list_.fail("file", fmt::format("({}) nodes of the model are not supported", unsupported.nodes.size()),
               unknown
                   ? "register operators of your own with --operators FILE.so (docs/custom-operators.md), or "
                     "export the model without these"
                   : "the reasons say which forms are supported; export the model with those",
               std::move(parts));
    list_.detail("unsupported", std::move(nodes));
    list_.detail("unexamined", unsupported.unexamined);
  }

  void report_cache(const Result<CacheState>& cache, const Model& model) {
    const std::string fix = "run it once, or deploy what `weir compile` makes of it";
    if (!cache || cache->program.empty()) {
      list_.warn("cache",
                 fmt::format("each start compiles the model ({:.1f} s here): {}", open_seconds_,
                             cache ? cache->note : one_line(cache.error())),
                 "set WEIR_CACHE, or deploy what `weir compile` makes of it");
    } else if (!cache->found) {
      list_.warn("cache",
                 fmt::format("not cached: the first start compiles the model ({:.1f} s here) and writes '{}'",
                             open_seconds_, cache->program),
                 fix);
    } else if (model.compiled) {
      list_.warn(
          "cache",
          fmt::format("the cached program '{}' was damaged; the model was compiled again", cache->program),
          fix);
    } else {
      list_.ok("cache", fmt::format("compiled already: '{}'", cache->program));
    }
    list_.detail("cache", {{"program", cache ? cache->program : ""}, {"found", cache && cache->found}});
  }

  void check_constants() {
    const int64_t bytes = loaded_.program.constant_bytes;
    if (const Result<void> sound = verify_constants(loaded_); !sound) {
      list_.fail("constants", one_line(sound.error()), "copy the file again, or compile the model again");
    } else {
      list_.ok("constants", fmt::format("{}, and every hash is right", format_bytes(bytes)));
    }
  }

  bool check_session() {
    RunnerOptions unlimited = options_.runner;
    unlimited.memory_limit = std::numeric_limits<int64_t>::max() / 2;
    const Result<Ref<Device>> device = open_device(unlimited);
    if (!device) {
      list_.fail("session", one_line(device.error()), "");
      return false;
    }
    const auto session = make_session(std::move(loaded_), *device, options_.runner);
    if (!session) {
      list_.fail("session", one_line(session.error()),
                 "the message says what would help; else compile the model again with this version");
      return false;
    }
    session_ = *session;
    return true;
  }

  void check_kernels() {
    const std::string isa =
        options_.runner.isa.empty() ? std::string(to_string(detect_isa())) : options_.runner.isa;
    ordered_json slower = ordered_json::array();
    std::string examples;
    Isa best = Isa::kBaseline;
    for (size_t i = 0; i < program().steps.size(); ++i) {
      const Step& step = program().steps[i];
      const Implementation& taken = *session_->kernels()[i].implementation;
      if (taken.name == step.implementations.front()) {
        continue;
      }
      slower.push_back(
          {{"step", step.name}, {"implementation", taken.name}, {"first", step.implementations.front()}});
      if (slower.size() <= 3) {
        examples += fmt::format("{}'{}' on {}", examples.empty() ? "" : ", ", step.name, taken.name);
      }
      if (const Implementation* first = find_implementation(step.implementations.front())) {
        best = std::max(best, first->isa);
      }
    }
    const size_t count = slower.size();
    list_.detail("processor",
                 {{"isa", isa}, {"steps", program().steps.size()}, {"slower", std::move(slower)}});
    if (count == 0) {
      list_.ok("processor", fmt::format("{}: all {} steps run on the first of their implementations", isa,
                                        program().steps.size()));
      return;
    }
    const bool chosen = !options_.runner.isa.empty() && options_.runner.isa != to_string(detect_isa());
    list_.warn("processor",
               fmt::format("{}: {} of {} steps run slower than on a processor with {} ({}{})", isa, count,
                           program().steps.size(), to_string(best), examples, count > 3 ? ", …" : ""),
               options_.runner.reference ? "leave --reference out"
               : chosen                  ? "leave --isa out: this processor has better"
                        : fmt::format("nothing on this processor; one with {} is faster", to_string(best)));
  }

  // Open dimensions are planned for as --dim and --shape say, else at their most, where they have one. False
  // where those do not fit the program.
  bool check_shapes() {
    const Result<RequestShape> given = request_shape(program(), is_program_, options_.shapes);
    if (!given) {
      list_.fail("shapes", one_line(given.error()), "give --dim and --shape what the program takes");
      return false;
    }
    if (program().is_static()) {
      list_.ok("shapes", "all dimensions are numbers: memory is planned once and for all");
      return true;
    }
    if (given->is_complete()) {
      symbols_ = *given->symbols();
      list_.ok("shapes", fmt::format("planned for {}, as given", fmt::join(given->describe(), ", ")));
      return true;
    }
    std::string open;
    ordered_json symbols = ordered_json::array();
    for (size_t i = 0; i < program().symbols.size(); ++i) {
      const ProgramSymbol& symbol = program().symbols[i];
      const bool bounded = symbol.range.max < kDimMax;
      const std::string& input = program().inputs[static_cast<size_t>(symbol.source.input)].name;
      symbols_.push_back(
          given->value(i).value_or(bounded ? symbol.range.max : std::max<int64_t>(symbol.range.min, 1)));
      open += fmt::format("{}'{}' of input '{}' ({}; planned for {})", open.empty() ? "" : ", ", symbol.name,
                          input, range_text(symbol.range), symbols_.back());
      symbols.push_back({{"name", symbol.name},
                         {"input", input},
                         {"min", symbol.range.min},
                         {"max", bounded ? ordered_json(symbol.range.max) : ordered_json(nullptr)},
                         {"planned_for", symbols_.back()}});
    }
    list_.detail("open_dimensions", std::move(symbols));
    list_.warn("shapes", "open dimensions: " + open,
               is_program_
                   ? "to plan for other sizes, give them: --dim NAME=8, --shape INPUT=1x3x224x224; those "
                     "that never change are best given to `weir compile`"
                   : "where the sizes are known, give them: --dim NAME=8 or NAME=1..8, --shape "
                     "INPUT=1x3x224x224");
    return true;
  }

  void check_memory() {
    const Result<Ledger> ledger = session_->planned(symbols_);
    if (!ledger) {
      list_.warn("memory", "not planned: " + one_line(ledger.error()),
                 "give shapes that fit each other: --dim, --shape");
      return;
    }
    struct Item {
      const char* name;
      int64_t bytes;
      const char* fix;
    };
    const Item items[] = {
        {"constants", ledger->constants, "compile with --prefer memory, or take a smaller model"},
        {"activations", ledger->activations,
         "a smaller input or batch; `weir plan --html` shows the holders"},
        {"workspace", ledger->workspace, "compile with --prefer memory"},
        {"scratch", ledger->scratch, "fewer --threads"},
        {"io", ledger->io, "a smaller input or batch, or bind memory of your own"},
        {"state", ledger->state, "a smaller batch"},
        {"host", ledger->host, "fewer steps: a smaller model"},
    };
    std::string account;
    ordered_json planned;
    const Item* largest = items;
    for (const Item& item : items) {
      planned[item.name] = item.bytes;
      if (item.bytes > 0) {
        account += fmt::format("{}{} {}", account.empty() ? "" : ", ", item.name, format_bytes(item.bytes));
      }
      largest = item.bytes > largest->bytes ? &item : largest;
    }
    const int64_t total = ledger->total();
    planned["total"] = total;
    const char* from = options_.runner.memory_limit > 0              ? "--memory-limit"
                       : std::getenv("WEIR_MEMORY_LIMIT") != nullptr ? "WEIR_MEMORY_LIMIT"
                                                                     : "the device's limit";
    list_.detail("memory", {{"planned", std::move(planned)}, {"limit", limit_}, {"limit_from", from}});
    const std::string finding = fmt::format("a session and one request take {} ({}); the limit is {} ({})",
                                            format_bytes(total), account, format_bytes(limit_), from);
    if (total > limit_) {
      list_.fail("memory", fmt::format("{}: {} too much", finding, format_bytes(total - limit_)),
                 fmt::format("the most are {}: {}", largest->name, largest->fix));
    } else {
      list_.ok("memory", finding);
    }
  }

  void check_costs() {
    int64_t costs = 0;
    ordered_json listed = ordered_json::array();
    const auto add = [&](NoticeKind kind, const std::string& what, const std::string& reason, int64_t bytes) {
      listed.push_back({{"kind", kind == NoticeKind::kCost ? "cost" : "info"},
                        {"what", what},
                        {"reason", reason},
                        {"bytes", bytes}});
      if (kind != NoticeKind::kCost) {
        return;
      }
      ++costs;
      list_.warn(
          "cost",
          fmt::format("{}{}: {}", what, bytes > 0 ? fmt::format(" ({})", format_bytes(bytes)) : "", reason),
          fix_of(what));
    };
    for (const ProgramNotice& notice : program().notices) {
      int64_t bytes = -1;
      if (notice.bytes >= 0) {
        const DimTableEntry& entry = program().dims[static_cast<size_t>(notice.bytes)];
        bytes = entry.op == DimOp::kConstant ? entry.value : -1;
      }
      add(notice.kind, notice.what, notice.reason, bytes);
    }
    for (const NoticeReport& notice : session_->load_notices()) {
      add(notice.kind, notice.what, notice.reason, notice.bytes);
    }
    list_.detail("notices", std::move(listed));
    if (costs == 0) {
      list_.ok("cost", "nothing is copied, converted, packed at load or run on reference");
    }
  }

  static std::string fix_of(std::string_view what) {
    if (what == "packing") {
      return "compile without --portable or --swappable for processors of this kind";
    }
    if (what == "reference") {
      return "the reason says what the fast ones do not take; change that in the model where you can";
    }
    return "the reason says what differs; `weir run --strict` refuses it";
  }

  const CheckOptions& options_;
  CheckList list_;
  EngineOptions engine_;
  int64_t limit_ = 0;
  double open_seconds_ = 0;  // of a model: what compiling it takes, where it is not cached
  bool is_program_ = false;
  LoadedProgram loaded_;
  Ref<Session> session_;
  std::vector<int64_t> symbols_;
};

Result<bool> check(const CheckOptions& options) {
  WEIR_ASSIGN(const CheckList list, Checker(options).run());
  if (options.json) {
    print_json(list.json());
  } else {
    print(list.text());
  }
  return !list.failed();
}

}  // namespace

int check_command(const CheckOptions& options) {
  const Result<bool> ready = check(options);
  return !ready ? print_error(ready.error(), options.json) : *ready ? kExitOk : kExitFailed;
}

}  // namespace weir::cli
