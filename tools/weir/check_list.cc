// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/check_list.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::cli {

std::string_view to_string(CheckList::Status status) {
  switch (status) {
    case CheckList::Status::kOk:
      return "ok";
    case CheckList::Status::kWarn:
      return "warn";
    case CheckList::Status::kFail:
      return "fail";
  }
  return "unknown";
}

std::string without_full_stop(std::string sentence) {
  while (sentence.ends_with('.')) {
    sentence.pop_back();
  }
  return sentence;
}

int64_t CheckList::count(Status status) const {
  return std::ranges::count(lines_, status, &Line::status);
}

void CheckList::add(Status status, std::string_view question, std::string finding, std::string fix,
                    std::vector<std::string> parts) {
  std::ranges::transform(parts, parts.begin(), without_full_stop);
  lines_.push_back({status, std::string(question), without_full_stop(std::move(finding)),
                    without_full_stop(std::move(fix)), std::move(parts)});
}

std::string CheckList::text() const {
  std::string text = model_ + "\n";
  for (const Line& line : lines_) {
    text += fmt::format("{:<4}  {:<9}  {}\n", to_string(line.status), line.question, line.finding);
    for (const std::string& part : line.parts) {
      text += fmt::format("{:17}{}\n", "", part);
    }
    if (!line.fix.empty()) {
      text += fmt::format("{:17}→ {}\n", "", line.fix);
    }
  }
  const auto counted = [&](Status status) { return count(status); };
  text += fmt::format("{}: {} ok, {} warn, {} fail\n", failed() ? "not ready" : "ready", counted(Status::kOk),
                      counted(Status::kWarn), counted(Status::kFail));
  return text;
}

nlohmann::ordered_json CheckList::json() const {
  nlohmann::ordered_json json = {{"model", model_}, {"ready", !failed()}};
  json["checks"] = nlohmann::ordered_json::array();
  for (const Line& line : lines_) {
    json["checks"].push_back({{"check", line.question},
                              {"status", to_string(line.status)},
                              {"finding", line.finding},
                              {"fix", line.fix}});
    if (!line.parts.empty()) {
      json["checks"].back()["parts"] = line.parts;
    }
  }
  for (const auto& [key, value] : details_) {
    json[key] = value;
  }
  return json;
}

}  // namespace weir::cli
