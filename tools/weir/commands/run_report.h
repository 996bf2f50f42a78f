// SPDX-License-Identifier: Apache-2.0
//
// What `weir run` makes of outputs: what it checks before a run, and what it says after, as text and JSON.
//
//   RunReport report(task);                                  // --task, --top, --labels
//   WEIR_ASSIGN(note, report.check("scores", type, shape));  // of the first output, before anything runs
//   WEIR_TRY(report.add("scores", array, "out/scores.npy"));
//   print(report.text());
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/weir/commands/options.h"
#include "tools/weir/commands/tensor_output.h"
#include "tools/weir/io/npy.h"

namespace weir::cli {

struct TaskOptions {
  Task task = Task::kRaw;
  int64_t top = 5;
  std::string labels_file;          // for messages
  std::vector<std::string> labels;  // empty: none
};

// Of --task, --top and --labels, whose file is read. Labels are of no use to another task than 'classify'.
Result<TaskOptions> task_options(const RunOptions& options);

class RunReport {
 public:
  explicit RunReport(TaskOptions options) : options_(std::move(options)) {}

  // Whether the task can be done with the first output, of one run. What is not wrong but worth a notice:
  // more labels than classes; else empty.
  Result<std::string> check(const std::string& name, ElementType type, std::span<const int64_t> shape) const;

  // `frames`: the array has one axis more, in front, an output of a run each. `file`: where it was written,
  // or empty. `mask`: for embedding. The task is for what is added first.
  Result<void> add(const std::string& name, const Array& array, const std::string& file,
                   std::optional<int64_t> frames = std::nullopt, const Array* mask = nullptr);

  const std::string& text() const { return text_; }
  const nlohmann::ordered_json& json() const { return json_; }  // a list, one entry an output

 private:
  Result<void> add_classes(const Array& array, std::optional<int64_t> frames, nlohmann::ordered_json& entry);
  Result<void> add_embeddings(const Array& array, const Array* mask, nlohmann::ordered_json& entry);
  void add_frames(const Array& array, int64_t frames);

  TaskOptions options_;
  std::string text_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
};

// The array without its first axis, at one place of it.
Array frame_of(const Array& frames, int64_t frame);

}  // namespace weir::cli
