// SPDX-License-Identifier: Apache-2.0
//
// plan_report.h and plan_html.h; check_plan_html.py opens the page in a browser.
#include "tools/weir/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/results.h"
#include "tools/weir/plan_html.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlanReport small_report() {
  PlanReport report;
  report.model = "</script><b>\xff";
  report.device = "cpu";
  report.inputs = {"x float32[1, 16]", "y int64[3]"};
  report.ledger = {1000, 2048, 512, 64, 300, 0, 76, 4000};
  report.sum_bytes = 5000;
  report.peak_bytes = 2560;
  report.lower_bound_bytes = 2048;
  report.unfused_bound_bytes = 4096;
  report.file_bytes = 2000;
  report.tensors = {{"a", 0, 1024, 0, 1, PlanReport::Kind::kActivation, -1},
                    {"b", 1024, 1536, 1, 2, PlanReport::Kind::kWorkspace, -1},
                    {"c", 0, 512, 1, 1, PlanReport::Kind::kActivation, 0},
                    {"weights", -1, 1000, 0, 2, PlanReport::Kind::kConstant, -1}};
  report.steps = {
      {"first", "conv", "conv.direct.avx2", {3}, {0}, {{"conv.pointwise.avx2", "kernel (3 x 3)"}}},
      {"second", "add", "tile.avx2", {0}, {1, 2}, {}},
      {"third", "copy", "reference", {1}, {}, {}}};
  report.states = {{"hidden", "hidden_next", 512, 0, 1}};
  report.notices = {{"cost", "copy", 1536, "the strides differ"}};
  return report;
}

TEST(PlanReport, JsonHoldsEverything) {
  const nlohmann::ordered_json json = to_json(small_report());
  EXPECT_EQ(json["inputs"], (std::vector<std::string>{"x float32[1, 16]", "y int64[3]"}));
  EXPECT_EQ(json["planned"]["total"], 4000);
  EXPECT_EQ(json["planned"]["host"], 76);
  EXPECT_EQ(json["peak_bytes"], 2560);
  EXPECT_EQ(json["lower_bound_bytes"], 2048);
  EXPECT_EQ(json["unfused_bound_bytes"], 4096);
  EXPECT_EQ(json["sum_bytes"], 5000);
  EXPECT_EQ(json["file_bytes"], 2000);
  EXPECT_EQ(json["tensors"].size(), 4u);
  EXPECT_EQ(json["tensors"][1]["kind"], "workspace");
  EXPECT_EQ(json["tensors"][1]["offset"], 1024);
  EXPECT_EQ(json["tensors"][2]["alias_of"], 0);
  EXPECT_EQ(json["steps"][0]["refused"][0]["reason"], "kernel (3 x 3)");
  EXPECT_EQ(json["steps"][1]["writes"], (std::vector<int>{1, 2}));
  EXPECT_EQ(json["notices"][0]["bytes"], 1536);
  EXPECT_EQ(json["states"][0]["name"], "hidden");
  EXPECT_EQ(json["states"][0]["output"], "hidden_next");
  EXPECT_EQ(json["states"][0]["bytes"], 512);
  EXPECT_EQ(json["states"][0]["after"], 1);
}

TEST(PlanReport, TextNamesBoundsHoldersAndNotices) {
  const std::string text = plan_text(small_report(), false);
  EXPECT_THAT(text, HasSubstr(" on cpu\nfor x float32[1, 16], y int64[3]\n\n"));
  EXPECT_THAT(text, HasSubstr("total        3.9 KiB  4,000"));
  EXPECT_THAT(text, HasSubstr("resident constants are 50.0 % of it"));
  EXPECT_THAT(text, HasSubstr("51.2 % of the sum"));
  EXPECT_THAT(text, HasSubstr("missed by 25.0 %"));
  // At step 1 live: a (1024) and b (1536); c shares the bytes of a.
  EXPECT_THAT(text, HasSubstr("Most is live at step 1 of 3, 'second':\n"
                              "1.5 KiB  1,536  at 1,024  workspace   steps 1–2  b\n"
                              "1.0 KiB  1,024      at 0  activation  steps 0–1  a\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nState, kept from run to run, two tensors each:\n512 B  hidden  fed from hidden_next\n"));
  EXPECT_THAT(text, HasSubstr("1 notice\ncost  copy  1.5 KiB  the strides differ\n"));
  EXPECT_THAT(text, HasSubstr("each in memory of its own, rounded up to 64 bytes"));
  EXPECT_THAT(text, Not(HasSubstr("blocks of the arena")));
  EXPECT_THAT(text, Not(HasSubstr("counted")));
  PlanReport reached = small_report();
  reached.peak_bytes = reached.lower_bound_bytes;
  EXPECT_THAT(plan_text(reached, false), HasSubstr("reached: no placement is smaller"));
}

TEST(PlanReport, EveryBlockWithItsPlace) {
  EXPECT_THAT(plan_text(small_report(), true),
              HasSubstr("All 2 blocks of the arena, as the steps need them:\n"
                        "1.0 KiB  1,024      at 0  activation  steps 0–1  a\n"
                        "1.5 KiB  1,536  at 1,024  workspace   steps 1–2  b\n"));
}

TEST(PlanReport, WhatWasCountedStandsBesideThePlan) {
  PlanReport report = small_report();
  report.counted = report.ledger;
  report.counted->host = 80;
  report.counted->total = 4004;
  const std::string text = plan_text(report, false);
  EXPECT_THAT(text, HasSubstr("planned  counted\n"));
  EXPECT_THAT(text, HasSubstr("host            76 B       76       80  structures\n"));
  EXPECT_THAT(text, HasSubstr("total        3.9 KiB    4,000    4,004\n"));
  const nlohmann::ordered_json json = to_json(report);
  EXPECT_EQ(json["planned"]["host"], 76);
  EXPECT_EQ(json["counted"]["host"], 80);
  EXPECT_FALSE(to_json(small_report()).contains("counted"));
}

TEST(PlanReport, WhatIsCountedIsWhatIsPlanned) {
  PlanReport report;
  report.ledger.total = 640;
  must(check_counted(report));
  report.counted = report.ledger;
  must(check_counted(report));
  report.counted->total = 704;
  EXPECT_ERROR(check_counted(report), StatusCode::kInternal,
               "The plan says (640) bytes, and a request and its session count (704).");
}

TEST(PlanReport, TextOfNothing) {
  const std::string text = plan_text({}, true);
  EXPECT_THAT(text, HasSubstr("No notices"));
  EXPECT_THAT(text, Not(HasSubstr("Most is live")));
}

TEST(PlanHtml, HoldsThePlanAndNothingFromOutside) {
  const std::string page = plan_html(small_report());
  const std::string open = "<script id=\"plan\" type=\"application/json\">";
  const size_t begin = page.find(open) + open.size();
  const size_t end = page.find("</script>", begin);
  ASSERT_NE(end, std::string::npos);
  // A name that looks like the end of the script does not end it.
  const nlohmann::json json = nlohmann::json::parse(page.substr(begin, end - begin));
  EXPECT_EQ(json["model"], "</script><b>\xef\xbf\xbd");
  EXPECT_EQ(json["tensors"].size(), 4u);
  EXPECT_THAT(page, Not(HasSubstr("PLAN*/")));
  EXPECT_THAT(page, Not(HasSubstr("src=")));
  EXPECT_THAT(page, Not(HasSubstr("href=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace weir::cli
