// SPDX-License-Identifier: Apache-2.0
//
// The options of every subcommand, as plain structures, and what declares them to the parser.
//
//   CLI::App app;
//   RunOptions options;
//   add_run_options(*app.add_subcommand("run"), options);
//
// A command's body, int run_command(const RunOptions&), is declared in run.h and lies in run_command.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/weir/commands/arguments.h"

namespace CLI {
class App;
}

namespace weir::cli {

// Which listed differences are errors.
enum class Strictness : uint8_t { kNone, kCosts, kAll };

// Which devices a program may use.
enum class Policy : uint8_t { kCpuOnly };

// What a program runs on. For comparing, not only the best: an instruction set and toggles of the device.
struct RunnerOptions {
  int32_t threads = 0;  // 0: as many as there are cores to use
  std::string isa;      // empty: the best that the processor has
  std::vector<std::string> toggles;
  int64_t memory_limit = 0;              // bytes; 0: the environment's, else what there is
  bool reference = false;                // only reference implementations
  int64_t cache_limit = 0;               // bytes of compiled programs that are kept; 0: the default
  bool no_cache = false;                 // compile, even where a compiled program is known
  bool verify_constants = false;         // recompute their hashes
  std::vector<InputArgument> constants;  // other values for constants of the model
  std::vector<std::string> operators;    // shared libraries with custom operators
};

struct ShapeOptions {
  std::vector<ShapeArgument> shapes;
  std::vector<DimArgument> dims;
  std::vector<StateArgument> states;
  bool prefer_memory = false;  // of --prefer speed|memory
};

struct DevicesOptions {
  bool json = false;
};

struct InspectOptions {
  std::string model;
  std::vector<std::string> operators;
  bool json = false;
};

struct PlanOptions {
  std::string model;
  ShapeOptions shapes;
  RunnerOptions runner;
  std::string html;     // file to write; empty: none
  bool blocks = false;  // list all
  bool count = false;   // prepare a request too, and count
  bool json = false;
};

struct CompileCommandOptions {
  std::string model;
  std::string output;
  std::vector<std::string> targets;  // empty: the default
  bool portable = false;
  std::vector<std::string> swappable;  // constants that sessions may give other values
  int64_t memory_limit = 0;            // bytes; 0: none
  std::vector<std::string> dump_after;
  std::vector<std::string> operators;
  ShapeOptions shapes;
  bool json = false;
};

enum class Task : uint8_t { kRaw, kClassify, kEmbed };

struct RunOptions {
  std::string model;
  std::vector<InputArgument> inputs;
  std::vector<float> mean = {0};
  std::vector<float> scale = {1};
  std::optional<uint64_t> random;  // the seed of inputs that have no file
  bool frames = false;             // .npy files hold a frame for each of several runs
  Task task = Task::kRaw;
  bool all_steps = false;  // every step's result is an output
  std::string labels;
  int64_t top = 5;
  std::string output;  // folder; empty: nothing is written
  Policy policy = Policy::kCpuOnly;
  Strictness strict = Strictness::kNone;
  std::string trace;  // file to write; empty: none
  ShapeOptions shapes;
  RunnerOptions runner;
  bool json = false;
};

struct BenchOptions {
  std::string model;
  double seconds = 3;
  int64_t runs = 0;  // 0: as many as fit in `seconds`
  bool profile = false;
  std::string trace;  // file to write; empty: none
  ShapeOptions shapes;
  RunnerOptions runner;
  bool json = false;
};

struct CheckOptions {
  std::string model;
  ShapeOptions shapes;
  RunnerOptions runner;
  bool json = false;
};

struct OcrOptions {
  std::string detector;
  std::string recogniser;
  std::vector<std::string> images;
  std::string output;  // folder; empty: nothing is written
  std::string trace;   // file to write; empty: none
  RunnerOptions runner;
  bool json = false;
};

void add_devices_options(CLI::App& command, DevicesOptions& options);
void add_inspect_options(CLI::App& command, InspectOptions& options);
void add_plan_options(CLI::App& command, PlanOptions& options);
void add_compile_options(CLI::App& command, CompileCommandOptions& options);
void add_run_options(CLI::App& command, RunOptions& options);
void add_bench_options(CLI::App& command, BenchOptions& options);
void add_check_options(CLI::App& command, CheckOptions& options);
void add_ocr_options(CLI::App& command, OcrOptions& options);

}  // namespace weir::cli
