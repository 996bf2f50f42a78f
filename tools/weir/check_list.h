// SPDX-License-Identifier: Apache-2.0
//
// CheckList: what `weir check` finds, a line a question, as text and as JSON.
//
//   CheckList list("model.weir");
//   list.ok("file", "a program of 3 steps");
//   list.warn("cache", "the model is not compiled yet", "run it once");
//   print(list.text());      return list.failed() ? kExitFailed : kExitOk;
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

class CheckList {
 public:
  enum class Status : uint8_t { kOk, kWarn, kFail };

  struct Line {
    Status status = Status::kOk;
    std::string question;            // "memory"
    std::string finding;             // a sentence without its full stop
    std::string fix;                 // what would change it; empty where nothing need
    std::vector<std::string> parts;  // of the finding, a line each
  };

  explicit CheckList(std::string model) : model_(std::move(model)) {}

  void ok(std::string_view question, std::string finding) {
    add(Status::kOk, question, std::move(finding), "");
  }
  void warn(std::string_view question, std::string finding, std::string fix) {
    add(Status::kWarn, question, std::move(finding), std::move(fix));
  }
  void fail(std::string_view question, std::string finding, std::string fix,
            std::vector<std::string> parts = {}) {
    add(Status::kFail, question, std::move(finding), std::move(fix), std::move(parts));
  }
  // For machines: beside the lines in the JSON, in the order of the calls.
  void detail(std::string_view key, nlohmann::ordered_json value) {
    details_.emplace_back(key, std::move(value));
  }

  const std::vector<Line>& lines() const { return lines_; }
  bool failed() const { return count(Status::kFail) > 0; }
  int64_t count(Status status) const;

  // A line a question with its fix below it, then the sum of them.
  std::string text() const;
  nlohmann::ordered_json json() const;

 private:
  void add(Status status, std::string_view question, std::string finding, std::string fix,
           std::vector<std::string> parts = {});

  std::string model_;
  std::vector<Line> lines_;
  std::vector<std::pair<std::string, nlohmann::ordered_json>> details_;
};

std::string_view to_string(CheckList::Status status);  // "ok", "warn", "fail"
// A sentence as a part of another.
std::string without_full_stop(std::string sentence);

}  // namespace weir::cli
