// SPDX-License-Identifier: Apache-2.0
//
// weir: the command line. One file a subcommand in commands/; this one only lists them.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/weir/commands/devices.h"
#include "tools/weir/commands/output.h"

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

int run(int argc, char** argv) {
  CLI::App app("Runs neural networks in memory that you can see, bound and trust.", "weir");
  app.set_version_flag("--version", "weir " WEIR_VERSION);
  app.require_subcommand(1);
  int exit_code = kExitOk;
  DevicesOptions devices;
  add_command(app, exit_code, "devices", "List the devices that programs can run on", devices,
              add_devices_options, devices_command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "weir: error: %s\nTry 'weir --help', or --help after a command.\n", error.what());
    return kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  return weir::cli::run(argc, argv);
}
