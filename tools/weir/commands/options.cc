// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

namespace weir::cli {
namespace {

// An option whose text one of our parsers takes. The parser's sentence becomes the usage error; the exception
// stays between this function and main(), as the library has it.
template <typename Parse, typename Store>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, Parse parse, Store store,
                        const std::string& description) {
  const auto take = [name, parse, store](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      auto value = parse(text);
      if (!value) throw CLI::ValidationError(name, value.error().message());
      store(*std::move(value));
    }
  };
  return command.add_option_function<std::vector<std::string>>(name, take, description)
      ->type_size(1)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

template <typename Parse, typename T>
CLI::Option* add_list(CLI::App& command, const std::string& name, Parse parse, std::vector<T>& target,
                      const std::string& description) {
  return add_parsed(
      command, name, parse, [&target](T value) { target.push_back(std::move(value)); }, description);
}

template <typename Parse, typename T>
CLI::Option* add_value(CLI::App& command, const std::string& name, Parse parse, T& target,
                       const std::string& description) {
  return add_parsed(command, name, parse, [&target](T value) { target = std::move(value); }, description);
}

// Refuses what is no number between the two; the parser puts the option's name before the sentence.
template <typename T>
CLI::Validator between(T least, T most, const char* kind) {
  return CLI::Validator(
      [least, most, kind](const std::string& text) {
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool taken =
            error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
        return taken ? std::string()
                     : fmt::format("The value '{}' is no {} from {} to {}.", text, kind, least, most);
      },
      "");
}

CLI::Validator whole_number(int least, int most) {
  return between(least, most, "whole number");
}
CLI::Validator number(double least, double most) {
  return between(least, most, "number");
}

Result<bool> parse_preference(std::string_view text) {
  if (text == "speed" || text == "memory") return text == "memory";
  return fail(StatusCode::kInvalidArgument, "The preference '{}' is neither 'speed' nor 'memory'.", text);
}

// What --shape and --dim are: facts that a model is compiled for, or, in a command that also takes programs,
// the shape at which a program is used whose dimensions are open.
enum class ShapesFor : uint8_t { kCompiling, kModelOrProgram };

void add_shapes(CLI::App& command, ShapeOptions& options, ShapesFor what) {
  const bool compiling = what == ShapesFor::kCompiling;
  add_list(
      command, "--shape", parse_shape, options.shapes,
      compiling
          ? "The shape of an input to compile for, as in images=1x3x640x640; repeatable"
          : "The shape of an input, as in images=1x3x640x640: what a model is compiled for, or the shape "
            "at which a program with open dimensions is used; repeatable")
      ->option_text("NAME=1x3x…");
  add_list(command, "--dim", parse_dim, options.dims,
           compiling
               ? "The value or range to compile for of a dimension that the model names, as in batch=4 or "
                 "seq=1..512; repeatable"
               : "A dimension by its name: the value or range that a model is compiled for, as in batch=4 or "
                 "seq=1..512, or the value at which a program is used, within its range; repeatable")
      ->option_text("NAME=V|A..B");
  add_parsed(
      command, "--state", parse_states,
      [&options](std::vector<StateArgument> states) {
        options.states.insert(options.states.end(), states.begin(), states.end());
      },
      "Inputs that the program keeps from run to run, zero at first, each fed from an output, as in "
      "h=hn,c=cn; repeatable")
      ->option_text("INPUT=OUTPUT,…");
  add_parsed(
      command, "--prefer", parse_preference, [&options](bool memory) { options.prefer_memory = memory; },
      "What to compile for: speed (the default) or memory, which keeps weights as large as in the model")
      ->option_text("speed|memory");
}

void add_operators(CLI::App& command, std::vector<std::string>& operators) {
  command
      .add_option("--operators", operators,
                  "A shared library with custom operators, which the model's nodes may name; repeatable")
      ->option_text("FILE.so")
      ->allow_extra_args(false);
}

void add_runner(CLI::App& command, RunnerOptions& runner) {
  command.add_option("--threads", runner.threads, "Threads to use; by default one a core")
      ->check(whole_number(1, 1024))
      ->option_text("N");
  command
      .add_option("--isa", runner.isa,
                  "Instruction set: sse4, avx2 or avx512; by default the processor's best")
      ->option_text("NAME");
  command
      .add_option("--toggle", runner.toggles,
                  "Turn on a behaviour of the device: validation, simulate_discrete; repeatable")
      ->option_text("NAME")
      ->allow_extra_args(false);
  add_value(command, "--memory-limit", parse_bytes, runner.memory_limit,
            "The most that the device may hold in all, as in 64M; by default WEIR_MEMORY_LIMIT, else what "
            "the process may use")
      ->option_text("BYTES");
  command.add_flag("--reference", runner.reference,
                   "Run on the reference implementations alone, for comparing");
  add_value(command, "--cache-limit", parse_bytes, runner.cache_limit,
            "Bytes of compiled programs to keep; by default WEIR_CACHE_LIMIT, or else 2GiB")
      ->option_text("BYTES");
  command.add_flag("--no-cache", runner.no_cache, "Compile even where a compiled program is known");
  add_operators(command, runner.operators);
}

Result<InputArgument> parse_constant(std::string_view text) {
  WEIR_ASSIGN(InputArgument argument, parse_input(text));
  if (argument.input.empty()) {
    return fail(StatusCode::kInvalidArgument, "'{}' gives a constant no name; write NAME=FILE.npy.", text);
  }
  return argument;
}

// For commands that open one model.
void add_constants(CLI::App& command, RunnerOptions& runner) {
  add_list(command, "--constant", parse_constant, runner.constants,
           "Another value for a constant of the model, from a file; repeatable")
      ->option_text("NAME=FILE.npy");
  command.add_flag("--verify-constants", runner.verify_constants,
                   "Recompute the hashes of the program's constants first");
}

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print the result as JSON");
}

void add_trace(CLI::App& command, std::string& path) {
  command
      .add_option("--trace", path,
                  "Write what happened when, on the host's threads and on the device, for ui.perfetto.dev")
      ->option_text("FILE");
}

Result<Task> parse_task(std::string_view text) {
  if (text == "raw") return Task::kRaw;
  if (text == "classify") return Task::kClassify;
  if (text == "embed") return Task::kEmbed;
  return fail(StatusCode::kInvalidArgument, "The task '{}' is none of 'raw', 'classify' and 'embed'.", text);
}

Result<Policy> parse_policy(std::string_view text) {
  if (text == "cpu_only") return Policy::kCpuOnly;
  return fail(StatusCode::kInvalidArgument, "The policy '{}' is not available here, and 'cpu_only' is.",
              text);
}

Result<Strictness> parse_strict(std::string_view text) {
  if (text == "costs") return Strictness::kCosts;
  if (text == "all") return Strictness::kAll;
  return fail(StatusCode::kInvalidArgument, "The strictness '{}' is neither 'costs' nor 'all'.", text);
}

Result<uint64_t> parse_seed(std::string_view text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return fail(StatusCode::kInvalidArgument, "The seed '{}' is no whole number of at least 0.", text);
}

Result<std::vector<std::string>> parse_targets(std::string_view text) {
  std::vector<std::string> targets;
  while (true) {
    const size_t end = text.find(',');
    targets.emplace_back(text.substr(0, end));
    if (targets.back().empty()) {
      return fail(StatusCode::kInvalidArgument,
                  "The list of targets has an empty name; one name is 'x86-64'.");
    }
    if (end == std::string_view::npos) return targets;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

void add_devices_options(CLI::App& command, DevicesOptions& options) {
  add_json(command, options.json);
}

void add_inspect_options(CLI::App& command, InspectOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir inspect net.onnx\n"
      "  weir inspect net.weir --json");
  command.add_option("model", options.model, "A model (.onnx) or a compiled program (.weir)")->required();
  add_operators(command, options.operators);
  add_json(command, options.json);
}

void add_plan_options(CLI::App& command, PlanOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir plan net.onnx --html plan.html\n"
      "  weir plan net.onnx --dim batch=1..8          every block as an expression, and the most that they "
      "take\n"
      "  weir plan open.weir --dim batch=4 --blocks   every block with its bytes and its place\n"
      "  weir plan net.onnx --memory-limit 64M        fails where a run would not stay within it");
  command.add_option("model", options.model, "A model (.onnx) or a compiled program (.weir)")->required();
  add_shapes(command, options.shapes, ShapesFor::kModelOrProgram);
  add_runner(command, options.runner);
  add_constants(command, options.runner);
  command.add_flag("--blocks", options.blocks, "List every block of memory, not only the largest");
  command.add_flag("--count", options.count,
                   "Prepare a request too, and show what it is counted to take beside the plan");
  command.add_option("--html", options.html, "Write a drawing of memory against steps")->option_text("FILE");
  add_json(command, options.json);
}

void add_compile_options(CLI::App& command, CompileCommandOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir compile net.onnx -o net.weir --shape x=1x3x224x224\n"
      "  weir compile net.onnx -o net.weir --dim batch=1..8 --memory-limit 64M");
  command.add_option("model", options.model, "The model (.onnx)")->required();
  command.add_option("-o,--output", options.output, "The program to write (.weir)")
      ->required()
      ->option_text("FILE");
  add_value(command, "--target", parse_targets, options.targets,
            "Processors to compile for, separated by commas")
      ->option_text("NAME,…");
  command.add_flag(
      "--portable", options.portable,
      "Keep constants plain, to be packed when the program is loaded: a smaller file, which runs "
      "on --reference and on processors that are not named, too");
  command
      .add_option("--swappable", options.swappable,
                  "Keep this constant as it is in the model, so that --constant can replace it; repeatable")
      ->option_text("NAME")
      ->allow_extra_args(false);
  add_value(
      command, "--memory-limit", parse_bytes, options.memory_limit,
      "The most that weights, activations, inputs and outputs may take together, as in 64M: met with "
      "another order of steps or smaller weights where it has to be; with open dimensions at the largest "
      "values of their ranges")
      ->option_text("BYTES");
  command.add_option("--dump-after", options.dump_after, "Print the graph after this pass; repeatable")
      ->option_text("PASS")
      ->allow_extra_args(false);
  add_operators(command, options.operators);
  add_shapes(command, options.shapes, ShapesFor::kCompiling);
  add_json(command, options.json);
}

void add_run_options(CLI::App& command, RunOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir run net.onnx --input photo.jpg --scale 1/255 --task classify --labels names.txt\n"
      "  weir run net.onnx --input ids=ids.npy --input mask=mask.npy --output results\n"
      "  weir run open.weir --random 1 --shape x=1x3x48x320\n"
      "  weir run voice.onnx --state h=hn,c=cn --dim seq_len=1 --input input=chunks.npy --frames");
  command.add_option("model", options.model, "A model (.onnx) or a compiled program (.weir)")->required();
  add_list(command, "--input", parse_input, options.inputs,
           "A file for an input: .npy, or .png and .jpg for one that takes an image; repeatable")
      ->option_text("[NAME=]FILE");
  add_value(command, "--mean", parse_channel_values, options.mean,
            "Subtracted from an image's values (0 to 255)")
      ->option_text("V|R,G,B");
  add_value(command, "--scale", parse_channel_values, options.scale, "Multiplies what is left, as in 1/255")
      ->option_text("V|R,G,B");
  add_parsed(
      command, "--random", parse_seed, [&options](uint64_t seed) { options.random = seed; },
      "Fill inputs that have no file with random numbers")
      ->option_text("SEED");
  command.add_flag(
      "--frames", options.frames,
      "Run once for each frame of .npy files that have one axis more than their input, in front, with "
      "--state going from each to the next");
  add_value(
      command, "--task", parse_task, options.task,
      "What to make of the outputs: raw (the default), classify (the best classes of each of a batch) or "
      "embed (a vector for each of a batch)")
      ->option_text("TASK");
  command
      .add_option(
          "--labels", options.labels,
          "Names of the classes for --task classify, one a line, at least as many as there are classes")
      ->option_text("FILE");
  command.add_option("--top", options.top, "How many classes to show")
      ->check(whole_number(1, 1000000))
      ->option_text("N");
  command.add_option("--output", options.output, "Folder for the outputs as .npy files")->option_text("DIR");
  add_value(command, "--policy", parse_policy, options.policy, "Which devices may be used: cpu_only")
      ->option_text("POLICY");
  // The parser stores a flag's value in a string, which must live as long as the option does.
  const auto strict = std::make_shared<std::string>();
  command
      .add_flag("--strict{costs}", *strict,
                "Make every listed cost (copy, fallback, …) an error; --strict=all: every "
                "listed difference")
      ->each([strict, &options](const std::string& text) {
        const Result<Strictness> value = parse_strict(text);
        // The parser puts the option's name before it.
        if (!value) throw CLI::ValidationError(value.error().message(), CLI::ExitCodes::ValidationError);
        options.strict = *value;
      });
  add_trace(command, options.trace);
  command.add_flag("--all-steps", options.all_steps,
                   "Make the result of every step an output, for comparing");
  add_shapes(command, options.shapes, ShapesFor::kModelOrProgram);
  add_runner(command, options.runner);
  add_constants(command, options.runner);
  add_json(command, options.json);
}

void add_bench_options(CLI::App& command, BenchOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir bench net.onnx --threads 1 --profile\n"
      "  weir bench open.weir --shape x=1x3x48x320 --runs 100");
  command.add_option("model", options.model, "A model (.onnx) or a compiled program (.weir)")->required();
  command.add_option("--seconds", options.seconds, "How long to measure")
      ->check(number(0.01, 3600.0))
      ->option_text("S");
  command.add_option("--runs", options.runs, "How many runs to measure, instead of a time")
      ->check(whole_number(1, 100000000))
      ->option_text("N");
  command.add_flag("--profile", options.profile,
                   "Show the time of every step, and whether arithmetic, bandwidth or launching bounds it");
  add_trace(command, options.trace);
  add_shapes(command, options.shapes, ShapesFor::kModelOrProgram);
  add_runner(command, options.runner);
  add_constants(command, options.runner);
  add_json(command, options.json);
}

void add_check_options(CLI::App& command, CheckOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir check net.onnx\n"
      "  weir check open.weir --dim batch=4 --memory-limit 256MiB");
  command.add_option("model", options.model, "A model (.onnx) or a compiled program (.weir)")->required();
  add_shapes(command, options.shapes, ShapesFor::kModelOrProgram);
  add_runner(command, options.runner);
  add_constants(command, options.runner);
  add_json(command, options.json);
}

void add_ocr_options(CLI::App& command, OcrOptions& options) {
  command.footer(
      "Examples:\n"
      "  weir ocr detector.onnx recogniser.onnx page.png --output drawn");
  command.add_option("detector", options.detector, "The network that finds text (.onnx or .weir)")
      ->required();
  command.add_option("recogniser", options.recogniser, "The network that reads a line (.onnx or .weir)")
      ->required();
  command.add_option("images", options.images, "Photos (.png, .jpg)")->required();
  command.add_option("--output", options.output, "Folder for the photos with the text drawn in")
      ->option_text("DIR");
  add_trace(command, options.trace);
  add_runner(command, options.runner);
  add_json(command, options.json);
}

}  // namespace weir::cli
