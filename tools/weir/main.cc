// SPDX-License-Identifier: Apache-2.0
//
// weir: the command line. One file a subcommand in commands/; this one only lists them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tools/weir/commands/bench.h"
#include "tools/weir/commands/check.h"
#include "tools/weir/commands/compile.h"
#include "tools/weir/commands/devices.h"
#include "tools/weir/commands/inspect.h"
#include "tools/weir/commands/ocr.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/plan.h"
#include "tools/weir/commands/run.h"
#include "tools/weir/commands/usage.h"

namespace weir::cli {
namespace {

// Options live as long as the program: the parser stores into them, then the chosen command reads them.
template <typename Options>
void add_command(CLI::App& app, int& exit_code, const char* name, const char* description, Options& options,
                 void (*add_options)(CLI::App&, Options&), int (*body)(const Options&)) {
  CLI::App* command = app.add_subcommand(name, description);
  add_options(*command, options);
  command->callback([&exit_code, &options, body] { exit_code = body(options); });
}

// `weir help` and `weir help COMMAND` as the --help that they stand for; other arguments as they are.
std::vector<std::string> spell_out_help(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") {
    return arguments;
  }
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

int run_weir(int argc, char** argv) {
  CLI::App app("Runs neural networks in memory that you can see, bound and trust.", "weir");
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  app.footer("`weir help COMMAND` tells the options of a command.");
  int exit_code = kExitOk;
  DevicesOptions devices;
  add_command(app, exit_code, "devices", "List the devices that programs can run on", devices,
              add_devices_options, devices_command);
  OcrOptions ocr;
  add_command(app, exit_code, "ocr", "Read the text on photos", ocr, add_ocr_options, ocr_command);
  RunOptions run;
  add_command(app, exit_code, "run", "Run a model once and show what it answers", run, add_run_options,
              run_command);
  PlanOptions plan;
  add_command(app, exit_code, "plan", "Show the memory that a model takes, without running it", plan,
              add_plan_options, plan_command);
  BenchOptions bench;
  add_command(app, exit_code, "bench", "Measure how fast a model runs, and what it takes", bench,
              add_bench_options, bench_command);
  CheckOptions check;
  add_command(app, exit_code, "check", "Check that a model or program is ready to be deployed here", check,
              add_check_options, check_command);
  CompileCommandOptions compile;
  add_command(app, exit_code, "compile", "Compile a model to a program file", compile, add_compile_options,
              compile_command);
  InspectOptions inspect;
  add_command(app, exit_code, "inspect", "Print a model's graph or a program's steps", inspect,
              add_inspect_options, inspect_command);
  // The parser prints text of its own on what it refuses, so what it is told is looked at before.
  std::vector<std::string> arguments = spell_out_help({argv + 1, argv + argc});
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  if (const std::string unknown = unknown_command(app, arguments.empty() ? "--help" : arguments.front());
      !unknown.empty()) {
    return print_usage_error(unknown, json);
  }
  try {
    std::ranges::reverse(arguments);  // as the parser takes them
    app.parse(arguments);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return print_usage_error(usage_error(app, error), json);
  }
  return exit_code;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  try {
    return weir::cli::run_weir(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("weir: error: Memory ran out.\n", stderr);
    return weir::cli::kExitFailed;
  }
}
