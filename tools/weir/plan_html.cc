// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/plan_html.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace weir::cli {

// plan_page.cc, which the build makes of plan_page.html.
extern const std::string_view kPlanPage;

namespace {

// Inside a script element nothing may look like its end, so no '<' is left. Line separators are fine in JSON.
std::string embedded_json(const PlanReport& report) {
  const std::string json =
      to_json(report).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string escaped;
  escaped.reserve(json.size());
  for (char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace

std::string plan_html(const PlanReport& report) {
  static constexpr std::string_view kPlaceholder = "/*PLAN*/";
  const size_t at = kPlanPage.find(kPlaceholder);
  std::string page(kPlanPage.substr(0, at));
  page += embedded_json(report);
  page += kPlanPage.substr(at + kPlaceholder.size());
  return page;
}

}  // namespace weir::cli
