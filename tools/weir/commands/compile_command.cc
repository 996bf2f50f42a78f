// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/weir/commands/compile.h"
#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"

namespace weir::cli {
namespace {

Result<void> compile_to_file(const CompileCommandOptions& options) {
  for (const std::string& target : options.targets) {
    if (target != "x86-64") {
      return fail(
          StatusCode::kInvalidArgument,
          "Target '{}' is not one that this build compiles for (x86-64: SSE4, AVX2 and AVX-512 together).",
          target);
    }
  }
  WEIR_ASSIGN(const bool is_program, is_program_file(options.model));
  if (is_program) {
    return fail(StatusCode::kInvalidArgument,
                "File '{}' is a program already: run it as it is, or compile its model again for other "
                "shapes or limits.",
                options.model);
  }
  const std::vector<std::string_view> passes = pass_names();
  for (const std::string& pass : options.dump_after) {
    if (std::ranges::find(passes, pass) == passes.end()) {
      return fail(StatusCode::kInvalidArgument, "Pass '{}' is not one of ({}).", pass,
                  fmt::join(passes, ", "));
    }
  }
  EngineOptions engine;
  engine.model = options.model;
  engine.shapes = options.shapes;
  engine.runner.operators = options.operators;
  WEIR_ASSIGN(ModelOptions model, model_options(engine));
  model.compile.memory_limit = options.memory_limit;
  model.compile.portable = options.portable;
  model.import.swappable = options.swappable;
  model.compile.after_pass = [&](std::string_view pass, const std::string& graph) {
    if (std::ranges::find(options.dump_after, pass) != options.dump_after.end()) {
      print(fmt::format("after {}:\n{}\n", pass, graph));
    }
  };
  WEIR_TRY(compile_model(options.model, options.output, model));
  WEIR_ASSIGN(const LoadedProgram loaded, read_program(options.output));
  const Program& program = loaded.program;
  if (options.json) {
    print_json({{"program", options.output},
                {"file_bytes", loaded.file_bytes},
                {"constant_bytes", program.constant_bytes},
                {"arena_bytes", program.arena_bytes},
                {"steps", program.steps.size()},
                {"static", program.is_static()},
                {"target", program.target}});
  } else {
    print(fmt::format("{}: {}, {} steps, constants {}, arena {}\n", options.output,
                      format_bytes(loaded.file_bytes), program.steps.size(),
                      format_bytes(program.constant_bytes),
                      program.is_static() ? format_bytes(program.arena_bytes) : "by shape"));
    for (const ProgramNotice& notice : program.notices) {
      if (notice.what == "memory limit") {
        print(fmt::format("{}: {}\n", notice.what, notice.reason));
      }
    }
  }
  return {};
}

}  // namespace

int compile_command(const CompileCommandOptions& options) {
  return exit_code(compile_to_file(options), options.json);
}

}  // namespace weir::cli
