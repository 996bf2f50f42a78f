// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/run_report.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace weir::cli {

using nlohmann::ordered_json;

Array frame_of(const Array& frames, int64_t frame) {
  Array one{frames.type, {frames.shape.begin() + 1, frames.shape.end()}, {}};
  const size_t bytes = frames.shape[0] == 0 ? 0 : frames.data.size() / static_cast<size_t>(frames.shape[0]);
  const auto begin = frames.data.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(frame) * bytes);
  one.data.assign(begin, begin + static_cast<ptrdiff_t>(bytes));
  return one;
}

Result<TaskOptions> task_options(const RunOptions& options) {
  TaskOptions task{options.task, options.top, options.labels, {}};
  if (options.labels.empty()) {
    return task;
  }
  if (options.task != Task::kClassify) {
    return fail(StatusCode::kInvalidArgument,
                "Labels '{}' are for classes, and no classes are asked for: give --task classify.",
                options.labels);
  }
  WEIR_ASSIGN(task.labels, read_labels(options.labels));
  return task;
}

Result<std::string> RunReport::check(const std::string& name, ElementType type,
                                     std::span<const int64_t> shape) const {
  if (options_.task == Task::kEmbed) {
    WEIR_TRY(check_tokens(type, shape));
  }
  if (options_.task != Task::kClassify) {
    return "";
  }
  WEIR_ASSIGN(const ClassRows found, class_rows(shape), "while looking for classes in output '{}'", name);
  const int64_t labels = std::ssize(options_.labels);
  if (options_.labels.empty() || labels == found.classes) {
    return "";
  }
  if (labels < found.classes) {
    return fail(StatusCode::kInvalidArgument, "File '{}' has ({}) labels, and output '{}' has ({}) classes.",
                options_.labels_file, labels, name, found.classes);
  }
  return fmt::format(
      "file '{}' has ({}) labels, and output '{}' has ({}) classes: names may be those of others",
      options_.labels_file, labels, name, found.classes);
}

Result<void> RunReport::add(const std::string& name, const Array& array, const std::string& file,
                            std::optional<int64_t> frames, const Array* mask) {
  const bool first = json_.empty();
  ordered_json entry = {{"name", name}, {"type", to_string(array.type)}, {"shape", array.shape}};
  if (!file.empty()) {
    entry["file"] = file;
  }
  const Summary summary = summarize(array);
  entry["min"] = summary.min;
  entry["max"] = summary.max;
  entry["mean"] = summary.mean;
  entry["not_finite"] = summary.not_finite;
  entry["first"] = summary.first;
  text_ += fmt::format("{} {}[{}]: {:.6g} to {:.6g}, mean {:.6g}\n", name, to_string(array.type),
                       fmt::join(array.shape, ", "), summary.min, summary.max, summary.mean);
  if (first && options_.task == Task::kClassify) {
    WEIR_TRY(add_classes(array, frames, entry), "while looking for classes in output '{}'", name);
  } else if (first && options_.task == Task::kEmbed) {
    WEIR_TRY(add_embeddings(array, mask, entry));
  } else if (frames) {
    add_frames(array, *frames);
  }
  json_.push_back(std::move(entry));
  return {};
}

Result<void> RunReport::add_classes(const Array& array, std::optional<int64_t> frames, ordered_json& entry) {
  for (int64_t frame = 0; frame < frames.value_or(1); ++frame) {
    WEIR_ASSIGN(const auto rows,
                classify(frames ? frame_of(array, frame) : array, options_.labels, options_.top));
    for (size_t row = 0; row < rows.size(); ++row) {
      std::string where = frames ? fmt::format("frame {}", frame) : "";
      if (rows.size() > 1) {
        where += fmt::format("{}row {}", where.empty() ? "" : ", ", row);
      }
      text_ += where.empty() ? "" : "  " + where + "\n";
      for (const Class& best : rows[row]) {
        ordered_json line = {{"index", best.index}, {"label", best.label}, {"score", best.score}};
        if (rows.size() > 1) {
          line["row"] = row;
        }
        if (frames) {
          line["frame"] = frame;
        }
        entry["classes"].push_back(std::move(line));
        text_ += fmt::format("  {:6.2f} %  {} {}\n", best.score * 100, best.index, best.label);
      }
    }
  }
  return {};
}

Result<void> RunReport::add_embeddings(const Array& array, const Array* mask, ordered_json& entry) {
  WEIR_ASSIGN(const auto vectors, embed(array, mask));
  entry["embeddings"] = vectors;
  for (size_t b = 0; b < vectors.size(); ++b) {
    const std::span<const float> head(vectors[b].data(), std::min<size_t>(vectors[b].size(), 6));
    text_ +=
        fmt::format("  sequence {}: {:.4f} … ({} features)\n", b, fmt::join(head, " "), vectors[b].size());
  }
  return {};
}

// A line a frame, of small outputs all values and of others what they range over.
void RunReport::add_frames(const Array& array, int64_t frames) {
  constexpr int64_t kShownFrames = 64;
  for (int64_t frame = 0; frame < std::min(frames, kShownFrames); ++frame) {
    const Array one = frame_of(array, frame);
    const Summary summary = summarize(one);
    text_ += one.element_count() <= std::ssize(summary.first)
                 ? fmt::format("  frame {}: {:.6g}\n", frame, fmt::join(summary.first, " "))
                 : fmt::format("  frame {}: {:.6g} to {:.6g}, mean {:.6g}\n", frame, summary.min, summary.max,
                               summary.mean);
  }
  if (frames > kShownFrames) {
    text_ += fmt::format("  … {} more (--output DIR writes all)\n", frames - kShownFrames);
  }
}

}  // namespace weir::cli
