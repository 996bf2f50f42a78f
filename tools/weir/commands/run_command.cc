// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/run.h"
#include "tools/weir/commands/run_report.h"
#include "tools/weir/commands/tensor_input.h"
#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

using nlohmann::ordered_json;

struct Notice {
  std::string kind;
  std::string what;
  std::string reason;
};

class Runner {
 public:
  explicit Runner(const RunOptions& options) : options_(options) {}

  Result<void> run() {
    trace_ = make_trace(options_.trace);
    return write_trace(trace_, options_.trace, run_model());
  }

 private:
  Result<void> run_model() {
    const TraceSpan span(trace_.get(), "weir run");
    WEIR_ASSIGN(TaskOptions task, task_options(options_));
    report_ = RunReport(std::move(task));
    if (options_.frames && options_.task == Task::kEmbed) {
      return fail(StatusCode::kInvalidArgument, "Task 'embed' is for one run, and --frames makes several.");
    }
    EngineOptions engine;
    engine.trace = trace_;
    engine.model = options_.model;
    engine.shapes = options_.shapes;
    engine.runner = options_.runner;
    engine.materialize_steps = options_.all_steps;
    engine.batch_of_one = options_.random && options_.inputs.empty();  // no file says how many
    WEIR_ASSIGN(engine_, open_engine(engine));
    WEIR_ASSIGN(request_, engine_.session->create_request({.trace = trace_}));
    {
      const TraceSpan reading(trace_.get(), "read inputs");
      WEIR_TRY(read_inputs());
    }
    std::vector<std::vector<int64_t>> shapes;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      shapes.push_back(shape_of_run(i));
    }
    WEIR_TRY(request_->prepare(shapes));
    WEIR_TRY(check_task());
    add_program_notices();
    WEIR_TRY(check_strict());
    if (!options_.output.empty()) {
      WEIR_TRY(make_folder(options_.output));
    }
    WEIR_TRY(run_all());
    const TraceSpan reporting(trace_.get(), "report");
    return report();
  }

  const Program& program() const { return engine_.session->program(); }

  // The file or random numbers for each input, in the program's order. Files say how large their inputs are,
  // and so those without one that share their dimensions.
  Result<void> read_inputs() {
    WEIR_ASSIGN(RequestShape shape, request_shape(program(), engine_.is_program, options_.shapes));
    std::vector<const InputArgument*> chosen(program().inputs.size(), nullptr);
    for (const InputArgument& argument : options_.inputs) {
      size_t position = 0;
      if (argument.input.empty()) {
        position = static_cast<size_t>(std::ranges::find(chosen, nullptr) - chosen.begin());
      } else {
        position =
            static_cast<size_t>(std::ranges::find(program().inputs, argument.input, &ProgramPort::name) -
                                program().inputs.begin());
      }
      if (position == chosen.size() && argument.input.empty()) {
        return fail(StatusCode::kInvalidArgument,
                    "File '{}' is one more than the model has inputs: each of {} has a file already.",
                    argument.path, input_names());
      }
      if (position == chosen.size()) {
        return fail(StatusCode::kInvalidArgument, "Input '{}' is not one of the model's inputs ({}).",
                    argument.input, input_names());
      }
      if (chosen[position] != nullptr) {
        return fail(StatusCode::kInvalidArgument, "Input '{}' is given twice ('{}' and '{}').",
                    program().inputs[position].name, chosen[position]->path, argument.path);
      }
      chosen[position] = &argument;
    }
    inputs_.resize(chosen.size());
    framed_.assign(chosen.size(), false);
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != nullptr) {
        WEIR_ASSIGN(inputs_[i], read_file_of(i, chosen[i]->path, shape), "while reading input '{}'",
                    program().inputs[i].name);
        WEIR_TRY(shape.take_input(i, shape_of_run(i), fmt::format("file '{}'", chosen[i]->path)));
      } else if (!options_.random) {
        return fail(StatusCode::kInvalidArgument,
                    "Input '{}' ({}) has no file; give --input {}=FILE, or --random SEED for random numbers.",
                    program().inputs[i].name, describe_type(type_of(i)), program().inputs[i].name);
      }
    }
    if (options_.frames && !frames_) {
      return fail(StatusCode::kInvalidArgument,
                  "There are no frames to run: with --frames an .npy file has one axis more than its input, "
                  "in front.");
    }
    if (std::ranges::find(chosen, nullptr) == chosen.end()) {
      return {};
    }
    shape.assume_batch_of_one();
    WEIR_TRY(shape.symbols());  // all are known
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] == nullptr) {
        WEIR_ASSIGN(inputs_[i], random_array(type_of(i).type, shape.shape(i), *options_.random + i));
      }
    }
    return {};
  }

  std::vector<int64_t> shape_of_run(size_t input) const {
    const std::vector<int64_t>& shape = inputs_[input].shape;
    return framed_[input] ? std::vector<int64_t>(shape.begin() + 1, shape.end()) : shape;
  }

  InputType type_of(size_t input) const {
    const ProgramPort& port = program().inputs[input];
    return {program().tensors[static_cast<size_t>(port.tensor)].element_type,
            declared_shape(program(), port)};
  }

  // An image is resized to what `shape` says; an array has the program's shape, and is compared with `shape`
  // by the caller.
  Result<Array> read_file_of(size_t input, const std::string& path, const RequestShape& shape) {
    InputType type = type_of(input);
    if (std::filesystem::path(path).extension() != ".npy") {
      notices_.push_back({"cost", "conversion",
                          fmt::format("image '{}' is decoded, resized and converted for input '{}'", path,
                                      program().inputs[input].name)});
      type.shape = shape.shape(input);
    } else if (options_.frames) {
      WEIR_ASSIGN(Array array, read_npy(path), "while reading '{}'", path);
      if (array.shape.size() == type.shape.size()) {
        WEIR_TRY(check_array(path, array, type));  // the same in every run
        return array;
      }
      WEIR_TRY(check_frames(path, array, type));
      if (frames_ && *frames_ != array.shape[0]) {
        return fail(StatusCode::kInvalidArgument, "File '{}' has ({}) frames, and another input has ({}).",
                    path, array.shape[0], *frames_);
      }
      frames_ = array.shape[0];
      framed_[input] = true;
      return array;
    }
    return read_input(path, type, {options_.mean, options_.scale});
  }

  std::string input_names() const {
    std::vector<std::string> names;
    for (const ProgramPort& input : program().inputs) {
      names.push_back(input.name);
    }
    return quoted_list(names);
  }

  static std::string describe_type(const InputType& type) {
    std::string text(to_string(type.type));
    text += "[";
    for (size_t i = 0; i < type.shape.size(); ++i) {
      text += (i == 0 ? "" : ", ") + (type.shape[i] < 0 ? std::string("?") : std::to_string(type.shape[i]));
    }
    return text + "]";
  }

  void add_program_notices() {
    for (const ProgramNotice& notice : program().notices) {
      notices_.push_back({notice.kind == NoticeKind::kCost ? "cost" : "info", notice.what, notice.reason});
    }
    for (const NoticeReport& notice : engine_.session->load_notices()) {
      notices_.push_back({notice.kind == NoticeKind::kCost ? "cost" : "info", notice.what, notice.reason});
    }
    if (engine_.compiled) {
      notices_.push_back({"info", "compiled", "the program was compiled now"});
    }
    if (!engine_.cache_note.empty() && !options_.runner.no_cache) {
      notices_.push_back({"info", "not cached", engine_.cache_note});
    }
    for (const ModelNotice& notice : engine_.notices) {
      notices_.push_back({notice.cost ? "cost" : "info", notice.what, notice.reason});
    }
  }

  Result<void> check_strict() const {
    if (options_.strict == Strictness::kNone) {
      return {};
    }
    std::string listed;
    int count = 0;
    for (const Notice& notice : notices_) {
      if (notice.kind == "cost" || options_.strict == Strictness::kAll) {
        listed += fmt::format("\n  {}: {}", notice.what, notice.reason);
        ++count;
      }
    }
    if (count == 0) {
      return {};
    }
    return fail(StatusCode::kFailedPrecondition, "Strict mode refuses ({}) listed differences:{}", count,
                listed);
  }

  // Whether the task fits what will come out: before anything runs.
  Result<void> check_task() {
    if (program().outputs.empty()) {
      return {};
    }
    const TensorSpec spec = request_->output_spec(0);
    WEIR_ASSIGN(const std::string note,
                report_.check(program().outputs[0].name, spec.type,
                              std::span(spec.shape).first(static_cast<size_t>(spec.rank))));
    if (!note.empty()) {
      notices_.push_back({"info", "labels", note});
    }
    return {};
  }

  // Runs once, or once for each frame, and keeps the outputs; those of frames with one axis more, in front.
  Result<void> run_all() {
    for (int64_t frame = 0; frame < frames_.value_or(1); ++frame) {
      for (size_t i = 0; i < inputs_.size(); ++i) {
        WEIR_ASSIGN(const TensorView view, request_->input(static_cast<int32_t>(i)));
        copy_in(framed_[i] ? frame_of(inputs_[i], frame) : inputs_[i], view);
      }
      WEIR_TRY(request_->run());
      for (size_t i = 0; i < program().outputs.size(); ++i) {
        WEIR_ASSIGN(const TensorView view, request_->output(static_cast<int32_t>(i)));
        WEIR_ASSIGN(Array one, copy_out(view));
        if (!frames_) {
          outputs_.push_back(std::move(one));
          continue;
        }
        if (frame == 0) {
          std::vector<int64_t> shape = one.shape;
          shape.insert(shape.begin(), *frames_);
          WEIR_ASSIGN(outputs_.emplace_back(), make_array(one.type, shape),
                      "while keeping the frames of output '{}'", program().outputs[i].name);
        }
        std::ranges::copy(one.data, outputs_[i].data.begin() +
                                        static_cast<ptrdiff_t>(one.data.size() * static_cast<size_t>(frame)));
      }
    }
    return {};
  }

  // The input that says which tokens there are, where there is one for tokens of this shape.
  const Array* mask_of(const Array& tokens) const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (program().inputs[i].name.find("mask") != std::string::npos && tokens.shape.size() == 3 &&
          inputs_[i].shape == std::vector<int64_t>{tokens.shape[0], tokens.shape[1]} &&
          inputs_[i].type == ElementType::kInt64) {
        return &inputs_[i];
      }
    }
    return nullptr;
  }

  Result<void> report() {
    ordered_json json;
    json["model"] = options_.model;
    json["device"] = describe(*engine_.device, options_.runner);
    json["policy"] = "cpu_only";
    if (frames_) {
      json["frames"] = *frames_;
    }
    for (size_t i = 0; i < program().outputs.size(); ++i) {
      const std::string& name = program().outputs[i].name;
      const Array& array = outputs_[i];
      std::string path;
      if (!options_.output.empty()) {
        path = options_.output + "/" + npy_name(name);
        WEIR_TRY(write_npy(path, array), "while writing output '{}'", name);
      }
      WEIR_TRY(report_.add(name, array, path, frames_, frames_ ? nullptr : mask_of(array)));
    }
    std::string text =
        fmt::format("{} on {} (policy cpu_only){}\n", options_.model, json["device"].get<std::string>(),
                    frames_ ? fmt::format(", {} frames", *frames_) : "") +
        report_.text();
    json["outputs"] = report_.json();
    json["notices"] = ordered_json::array();
    for (const Notice& notice : notices_) {
      json["notices"].push_back({{"kind", notice.kind}, {"what", notice.what}, {"reason", notice.reason}});
      text += fmt::format("{}: {}: {}\n", notice.kind, notice.what, notice.reason);
    }
    if (options_.json) {
      print_json(json);
    } else {
      print(text);
    }
    return {};
  }

  // The name with '_' for all but letters and digits of ASCII.
  static std::string npy_name(std::string name) {
    for (char& c : name) {
      const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      c = kept ? c : '_';
    }
    return name + ".npy";
  }

  const RunOptions& options_;
  Ref<Tracer> trace_;
  Engine engine_;
  Ref<Request> request_;
  std::vector<Array> inputs_;
  std::vector<bool> framed_;       // one an input: its first axis is that of the frames
  std::optional<int64_t> frames_;  // how many runs
  std::vector<Array> outputs_;
  std::vector<Notice> notices_;
  RunReport report_{TaskOptions()};
};

}  // namespace

int run_command(const RunOptions& options) {
  return exit_code(Runner(options).run(), options.json);
}

}  // namespace weir::cli
