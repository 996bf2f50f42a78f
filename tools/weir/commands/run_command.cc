// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/weir/commands/engine.h"
#include "tools/weir/commands/output.h"
#include "tools/weir/commands/run.h"
#include "tools/weir/commands/tensor_input.h"
#include "tools/weir/commands/tensor_output.h"

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
    for (const Array& input : inputs_) {
      shapes.push_back(input.shape);
    }
    WEIR_TRY(request_->prepare(shapes));
    for (size_t i = 0; i < inputs_.size(); ++i) {
      WEIR_ASSIGN(const TensorView view, request_->input(static_cast<int32_t>(i)));
      copy_in(inputs_[i], view);
    }
    add_program_notices();
    WEIR_TRY(check_strict());
    WEIR_TRY(request_->run());
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
      if (position == chosen.size()) {
        return fail(StatusCode::kInvalidArgument, "Input '{}' is not one of the model's inputs ({}).",
                    argument.input.empty() ? argument.path : argument.input, input_names());
      }
      if (chosen[position] != nullptr) {
        return fail(StatusCode::kInvalidArgument, "Input '{}' is given twice ('{}' and '{}').",
                    program().inputs[position].name, chosen[position]->path, argument.path);
      }
      chosen[position] = &argument;
    }
    inputs_.resize(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != nullptr) {
        WEIR_ASSIGN(inputs_[i], read_file_of(i, chosen[i]->path, shape), "while reading input '{}'",
                    program().inputs[i].name);
        WEIR_TRY(shape.take_input(i, inputs_[i].shape, fmt::format("file '{}'", chosen[i]->path)));
      } else if (!options_.random) {
        return fail(StatusCode::kInvalidArgument,
                    "Input '{}' ({}) has no file; give --input {}=FILE, or --random SEED for random numbers.",
                    program().inputs[i].name, describe_type(type_of(i)), program().inputs[i].name);
      }
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

  // One vector of unit length for each sequence: the mean over its tokens, by the attention mask where there
  // is one.
  Result<std::vector<std::vector<float>>> embed(const Array& tokens) const {
    if (tokens.type != ElementType::kFloat32 || tokens.shape.size() != 3) {
      return fail(
          StatusCode::kInvalidArgument,
          "Task 'embed' takes an output of float32 [batch, tokens, features], and the first one is of rank "
          "({}).",
          tokens.shape.size());
    }
    const int64_t batch = tokens.shape[0];
    const int64_t length = tokens.shape[1];
    const int64_t features = tokens.shape[2];
    const Array* mask = nullptr;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (program().inputs[i].name.find("mask") != std::string::npos &&
          inputs_[i].shape == std::vector<int64_t>{batch, length} && inputs_[i].type == ElementType::kInt64) {
        mask = &inputs_[i];
      }
    }
    std::vector<std::vector<float>> result;
    const std::span<const float> values = tokens.as<float>();
    for (int64_t b = 0; b < batch; ++b) {
      std::vector<double> sum(static_cast<size_t>(features), 0.0);
      for (int64_t t = 0; t < length; ++t) {
        if (mask != nullptr && mask->as<int64_t>()[static_cast<size_t>(b * length + t)] == 0) {
          continue;
        }
        for (int64_t f = 0; f < features; ++f) {
          sum[static_cast<size_t>(f)] += values[static_cast<size_t>((b * length + t) * features + f)];
        }
      }
      double norm = 0;
      for (double value : sum) {
        norm += value * value;
      }
      norm = std::max(std::sqrt(norm), 1e-12);
      std::vector<float> unit;
      for (double value : sum) {
        unit.push_back(static_cast<float>(value / norm));
      }
      result.push_back(std::move(unit));
    }
    return result;
  }

  Result<void> report() {
    ordered_json json;
    json["model"] = options_.model;
    json["device"] = describe(*engine_.device, options_.runner);
    json["policy"] = "cpu_only";
    std::string text =
        fmt::format("{} on {} (policy cpu_only)\n", options_.model, json["device"].get<std::string>());
    std::vector<std::string> labels;
    if (!options_.labels.empty()) {
      WEIR_ASSIGN(labels, read_labels(options_.labels));
    }
    if (!options_.output.empty()) {
      std::error_code error;
      std::filesystem::create_directories(options_.output, error);
      if (error) {
        return fail(StatusCode::kPermissionDenied, "Folder '{}' cannot be made: {}.", options_.output,
                    error.message());
      }
    }
    json["outputs"] = ordered_json::array();
    for (size_t i = 0; i < program().outputs.size(); ++i) {
      const std::string& name = program().outputs[i].name;
      WEIR_ASSIGN(const TensorView view, request_->output(static_cast<int32_t>(i)));
      WEIR_ASSIGN(const Array array, copy_out(view));
      ordered_json entry = {{"name", name}, {"type", to_string(array.type)}, {"shape", array.shape}};
      if (!options_.output.empty()) {
        const std::string path = options_.output + "/" + npy_name(name);
        WEIR_TRY(write_npy(path, array), "while writing output '{}'", name);
        entry["file"] = path;
      }
      const Summary summary = summarize(array);
      entry["min"] = summary.min;
      entry["max"] = summary.max;
      entry["mean"] = summary.mean;
      entry["not_finite"] = summary.not_finite;
      entry["first"] = summary.first;
      text += fmt::format("{} {}[{}]: {:.6g} to {:.6g}, mean {:.6g}\n", name, to_string(array.type),
                          fmt::join(array.shape, ", "), summary.min, summary.max, summary.mean);
      if (i == 0 && options_.task == Task::kClassify) {
        WEIR_ASSIGN(const std::vector<Class> classes, classify(array, labels, options_.top));
        for (const Class& best : classes) {
          entry["classes"].push_back({{"index", best.index}, {"label", best.label}, {"score", best.score}});
          text += fmt::format("  {:6.2f} %  {} {}\n", best.score * 100, best.index, best.label);
        }
      }
      if (i == 0 && options_.task == Task::kEmbed) {
        WEIR_ASSIGN(const auto vectors, embed(array));
        entry["embeddings"] = vectors;
        for (size_t b = 0; b < vectors.size(); ++b) {
          const std::span<const float> head(vectors[b].data(), std::min<size_t>(vectors[b].size(), 6));
          text += fmt::format("  sequence {}: {:.4f} … ({} features)\n", b, fmt::join(head, " "),
                              vectors[b].size());
        }
      }
      json["outputs"].push_back(std::move(entry));
    }
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
  std::vector<Notice> notices_;
};

}  // namespace

int run_command(const RunOptions& options) {
  return exit_code(Runner(options).run(), options.json);
}

}  // namespace weir::cli
