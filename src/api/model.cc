// SPDX-License-Identifier: Apache-2.0
#include "api/model.h"

#include <algorithm>
#include <array>
#include <span>

#include "api/program_cache.h"
#include "base/file_system.h"
#include "runtime/measure.h"

namespace weir {
namespace {

constexpr std::string_view kProgramMagic = "WEIRPROG";

// Everything of the options that changes the program. `fixes_batch`: of a model that leaves the batch open
// and is to have one of 1; other models have one program, whether or not the batch was to be fixed.
std::string options_text(const ModelOptions& options, bool fixes_batch) {
  std::string text = fmt::format("fuse={} memory={} steps={} reference={} limit={} one={} portable={}",
                                 options.compile.fuse, options.compile.prefer_memory,
                                 options.compile.materialize_steps, options.compile.reference_only,
                                 options.compile.memory_limit, fixes_batch, options.compile.portable);
  // Names may hold anything, so their lengths tell them apart.
  const auto named = [](std::string_view what, std::string_view name) {
    return fmt::format(" {} {}:{}", what, name.size(), name);
  };
  for (const auto& [name, range] : options.import.dims) {
    text += fmt::format("{}={}..{}", named("dim", name), range.min, range.max);
  }
  for (const auto& [name, shape] : options.import.shapes) {
    text += named("shape", name) + "=";
    for (const auto& range : shape) {
      text += range ? fmt::format("{}..{}x", range->min, range->max) : std::string("?x");
    }
  }
  for (const std::string& name : options.import.shape_inputs) {
    text += named("shape_input", name);
  }
  for (const StateChoice& state : options.compile.states) {
    text += named("state", state.input) + named("from", state.output);
  }
  for (const std::string& name : options.import.swappable) {
    text += named("swappable", name);
  }
  for (int64_t value : options.compile.typical) {
    text += fmt::format(" typical {}", value);
  }
  text += options.operators == nullptr ? "" : options.operators->text();
  return text;
}

// A second import with every open leading dimension fixed to 1. Other open dimensions have no such default.
Result<Graph> import_batch_of_one(const std::string& path, const ImportOptions& given, const Graph& open) {
  ImportOptions options = given;
  for (const auto& symbol : open.symbols.symbols()) {
    const Value& input = open.value(open.inputs()[static_cast<size_t>(symbol->source.input)]);
    for (const auto& [name, range] : options.dims) {
      if (name == symbol->name) {
        return fail(StatusCode::kInvalidArgument,
                    "Dimension '{}' is given as ({}) to ({}), and this needs one number, as in --dim {}={}.",
                    name, range.min, range.max, name, range.max);
      }
    }
    if (symbol->source.kind != SymbolSource::Kind::kDimension || symbol->source.index != 0) {
      return fail(StatusCode::kInvalidArgument,
                  "Dimension '{}' (axis {} of input '{}') is open, and this needs a number: give --dim {}=N "
                  "or --shape "
                  "{}=….",
                  symbol->name, symbol->source.index, input.name, symbol->name, input.name);
    }
    std::vector<std::optional<Range>> shape(input.type.shape.size());
    shape[0] = Range{1, 1};
    const auto is_of_input = [&](const auto& entry) {
      return entry.first == input.name || entry.first.empty();
    };
    for (const auto& [name, wanted] : given.shapes) {
      if (name == input.name || name.empty()) {
        shape = wanted;
        shape[0] = Range{1, 1};
      }
    }
    std::erase_if(options.shapes, is_of_input);
    options.shapes.emplace_back(input.name, std::move(shape));
  }
  return import_onnx(path, options);
}

// `fixes_batch` becomes whether the model leaves the batch open and has one of 1 now.
Result<Graph> import_with(const std::string& path, const ModelOptions& options, bool& fixes_batch) {
  const TraceSpan span(options.trace, "import");
  ImportOptions import = options.import;
  import.trace = options.trace;
  import.operators = options.operators;
  WEIR_ASSIGN(Graph graph, import_onnx(path, import));
  fixes_batch = options.batch_of_one && graph.symbols.size() > 0;
  return fixes_batch ? import_batch_of_one(path, import, graph) : std::move(graph);
}

Result<Compiled> compile_now(const std::string& path, const ModelOptions& options, Model& model) {
  const int64_t begin = steady_now_ns();
  WEIR_ASSIGN(Graph graph, import_with(path, options, model.fixes_batch));
  const int64_t imported = steady_now_ns();
  const TraceSpan span(options.trace, "compile");
  CompileOptions compile_options = options.compile;
  compile_options.trace = options.trace;
  compile_options.operators = options.operators;
  WEIR_ASSIGN(Compiled compiled, compile(std::move(graph), compile_options), "while compiling '{}'", path);
  model.import_ns = imported - begin;
  model.compile_ns = steady_now_ns() - imported;
  model.compiled = true;
  return compiled;
}

// Keeps the program's bytes in memory of their own where there is no cache to map them from.
Result<LoadedProgram> load_from_memory(Compiled& compiled) {
  WEIR_ASSIGN(std::vector<std::byte> image, program_image(compiled.program, compiled.blocks));
  auto kept = std::make_shared<const std::vector<std::byte>>(std::move(image));
  return read_program(*kept, kept);
}

// Whether the cache holds the program. What it holds and cannot be used is said, and where it is damaged
// removed.
bool load_cached(const ProgramCache& cache, const CacheKey& key, const ModelOptions& options, Model& model) {
  const std::optional<std::string> found = cache.find(key);
  if (!found) {
    return false;
  }
  const TraceSpan part(options.trace, "read program");
  auto loaded = read_program(*found);
  if (loaded && options.verify_cached) {
    if (auto verified = verify_constants(*loaded); !verified) {
      loaded = std::unexpected(std::move(verified).error());
    }
  }
  if (loaded) {
    model.loaded = *std::move(loaded);
    model.cached = true;
    return true;
  }
  switch (loaded.error().code()) {
    case StatusCode::kNotFound:  // another process has removed it meanwhile
      return false;
    case StatusCode::kResourceExhausted:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnknown:  // the system's trouble, not the file's
      break;
    default:
      cache.remove(key);
  }
  model.notices.push_back(
      {true, "recompile",
       fmt::format("the program in the cache cannot be used, so the model was compiled anew: {}",
                   loaded.error().message())});
  return false;
}

// Leaves in `model` what is said of it, and the program where it could be written and read again.
void keep_in_cache(const ProgramCache& cache, const CacheKey& key, Compiled& compiled, Model& model) {
  if (compiled.graph->reads_other_files) {
    // The key is made of the model's own file: an entry would outlive a change of the others.
    model.cache_note = "the model keeps weights in other files, whose changes the cache would not see";
    return;
  }
  if (!cache.is_current(key)) {
    model.cache_note = "the model's file was changed while it was compiled";
    return;
  }
  if (auto written = write_program(compiled.program, compiled.blocks, cache.path(key)); !written) {
    model.cache_note = written.error().to_string();
    return;
  }
  auto loaded = read_program(cache.path(key));
  if (!loaded) {
    model.cache_note = loaded.error().to_string();
    return;
  }
  model.loaded = *std::move(loaded);
  model.cached = true;
  const auto trimmed = cache.trim(key);
  if (!trimmed) {
    model.notices.push_back(
        {false, "cache", fmt::format("nothing old is removed: {}", trimmed.error().message())});
  } else if (trimmed->files > 0) {
    model.notices.push_back({false, "cache",
                             fmt::format("({}) old files are removed, which keeps it within ({}) bytes",
                                         trimmed->files, cache.max_bytes()),
                             trimmed->bytes});
  }
  if (model.loaded.file_bytes > cache.max_bytes()) {
    model.cached = false;
    model.cache_note = fmt::format("the program has ({}) bytes, and the cache holds at most ({})",
                                   model.loaded.file_bytes, cache.max_bytes());
  }
}

Result<void> open_with_cache(const std::string& path, const ModelOptions& options, const ProgramCache& cache,
                             Model& model) {
  const Result<void> made = cache.prepare();
  CacheKey key;
  CacheKey fixed_key;  // where the batch is to be fixed
  {
    const TraceSpan part(options.trace, "look into the cache");
    WEIR_ASSIGN(key, cache.key(path, options_text(options, false)));
    if (options.batch_of_one) {
      WEIR_ASSIGN(fixed_key, cache.key(path, options_text(options, true)));
    }
  }
  if (options.batch_of_one && load_cached(cache, fixed_key, options, model)) {
    return {};
  }
  if (load_cached(cache, key, options, model)) {
    if (!options.batch_of_one || model.loaded.program.is_static()) {
      return {};
    }
    model = {};
  }
  WEIR_ASSIGN(Compiled compiled, compile_now(path, options, model));
  if (model.fixes_batch) {
    key = std::move(fixed_key);
  }
  const TraceSpan writing(options.trace, "pack and write program");
  if (made) {
    keep_in_cache(cache, key, compiled, model);
  } else {
    model.cache_note = made.error().message();
  }
  if (model.loaded.file_bytes == 0) {
    WEIR_ASSIGN(model.loaded, load_from_memory(compiled));
  }
  return {};
}

}  // namespace

Result<bool> is_program_file(const std::string& path) {
  if (is_folder(path)) {
    return fail(StatusCode::kInvalidArgument,
                "'{}' is a folder, and a model (.onnx) or a program (.weir) is a file: name the file in it.",
                path);
  }
  std::array<std::byte, kProgramMagic.size()> magic{};
  const Result<size_t> size = read_beginning(path, magic);
  if (!size && size.error().code() == StatusCode::kInvalidArgument) {
    WEIR_TRY(identify_file(path));  // says what else it is
  }
  WEIR_TRY(size);
  return std::ranges::equal(std::span(magic).first(*size), std::as_bytes(std::span(kProgramMagic)));
}

Result<Graph> import_model(const std::string& path, const ModelOptions& options) {
  bool fixes_batch = false;
  return import_with(path, options, fixes_batch);
}

Result<Model> open_model(const std::string& path, const ModelOptions& options) {
  const TraceSpan span(options.trace, "open model");
  Model model;
  WEIR_ASSIGN(const bool is_program, is_program_file(path));
  if (is_program) {
    if (!options.import.dims.empty() || !options.import.shapes.empty()) {
      return fail(
          StatusCode::kInvalidArgument,
          "Program '{}' is compiled already, and its dimensions cannot be chosen any more; compile the model "
          "again.",
          path);
    }
    if (!options.compile.states.empty()) {
      return fail(StatusCode::kInvalidArgument,
                  "Program '{}' is compiled already, and its states cannot be chosen any more; compile the "
                  "model again with --state {}={}.",
                  path, options.compile.states.front().input, options.compile.states.front().output);
    }
    const TraceSpan part(options.trace, "read program");
    WEIR_ASSIGN(model.loaded, read_program(path), "while loading '{}'", path);
    return model;
  }
  const std::optional<std::string> folder =
      options.cache_folder.empty() ? default_cache_folder() : std::optional(options.cache_folder);
  if (!options.use_cache || !folder) {
    model.cache_note = options.use_cache ? "there is no folder for it (set WEIR_CACHE)" : "not asked for";
    WEIR_ASSIGN(Compiled compiled, compile_now(path, options, model));
    WEIR_ASSIGN(model.loaded, load_from_memory(compiled));
    return model;
  }
  WEIR_ASSIGN(const int64_t cache_bytes,
              options.cache_bytes > 0 ? options.cache_bytes : default_cache_bytes());
  WEIR_TRY(open_with_cache(path, options, ProgramCache(*folder, cache_bytes), model));
  return model;
}

Result<CacheState> cache_state(const std::string& path, const ModelOptions& options) {
  CacheState state;
  const std::optional<std::string> folder =
      options.cache_folder.empty() ? default_cache_folder() : std::optional(options.cache_folder);
  if (!folder) {
    state.note = "there is no folder for it (set WEIR_CACHE)";
    return state;
  }
  const ProgramCache cache(*folder, kDefaultCacheBytes);
  WEIR_ASSIGN(const CacheKey key, cache.key(path, options_text(options, options.batch_of_one)));
  state.program = cache.path(key);
  state.found = identify_file(state.program).has_value();
  return state;
}

Result<void> compile_model(const std::string& path, const std::string& target, const ModelOptions& options) {
  Model model;
  WEIR_ASSIGN(Compiled compiled, compile_now(path, options, model));
  return write_program(compiled.program, compiled.blocks, target, Links::kFollow);
}

}  // namespace weir
