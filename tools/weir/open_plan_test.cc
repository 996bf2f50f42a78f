// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/open_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

OpenPlan small_plan() {
  OpenPlan plan;
  plan.model = "net.weir";
  plan.device = "cpu";
  plan.inputs = {"x float32[batch, width]"};
  plan.dimensions = {{"batch", "x", 0, 1, 8}, {"width", "x", 1, 4, std::nullopt}};
  plan.constant_bytes = 2048;
  plan.steps = 2;
  plan.blocks = {{"x", PlanReport::Kind::kInput, "4·batch·width", 0, 0, 100},
                 {"h", PlanReport::Kind::kActivation, "8·batch·width", 0, 1, 200},
                 {"workspace of b", PlanReport::Kind::kWorkspace, "", 1, 1, 0}};
  plan.values = "--dim batch=N --dim width=N";
  plan.notices = {{"cost", "copy", -1, "the strides differ"}};
  return plan;
}

TEST(OpenPlan, TextSaysWhatIsOpenAndHowToGiveIt) {
  const std::string text = open_plan_text(small_plan(), false);
  EXPECT_THAT(text, HasSubstr("Memory of 'net.weir' on cpu\nfor x float32[batch, width]\n"));
  EXPECT_THAT(text,
              HasSubstr("batch  1 to 8     axis 0 of input 'x'\nwidth  4 or more  axis 1 of input 'x'\n"));
  EXPECT_THAT(text, HasSubstr("weir plan net.weir --dim batch=N --dim width=N\n"));
  EXPECT_THAT(text, HasSubstr("Constants take 2.0 KiB."));
  // The largest first, and what the kernel tells last.
  EXPECT_THAT(text, HasSubstr("activation  steps 0–1  h               8·batch·width\n"
                              "input       steps 0–0  x               4·batch·width\n"
                              "workspace   steps 1–1  workspace of b  as the kernel of its step needs\n"));
  EXPECT_THAT(text, HasSubstr("1 notice\ncost  copy    the strides differ\n"));
  EXPECT_THAT(text, Not(HasSubstr("At the largest values")));
}

TEST(OpenPlan, TheLargestBlocksOrAll) {
  OpenPlan plan = small_plan();
  for (int i = 0; i < 30; ++i) {
    plan.blocks.push_back(
        {"block" + std::to_string(i), PlanReport::Kind::kActivation, "4·batch", 0, 0, 300 + i});
  }
  const std::string some = open_plan_text(plan, false);
  EXPECT_THAT(some, HasSubstr("the largest 20 of 33 (all: --blocks)"));
  EXPECT_THAT(some, HasSubstr("block29"));
  EXPECT_THAT(some, HasSubstr("block10"));
  EXPECT_THAT(some, Not(HasSubstr("block9 ")));
  const std::string all = open_plan_text(plan, true);
  EXPECT_THAT(all, HasSubstr("block0"));
  EXPECT_THAT(all, Not(HasSubstr("--blocks")));
}

TEST(OpenPlan, AtTheLargestValues) {
  OpenPlan plan = small_plan();
  plan.largest = OpenPlan::Largest{{"x float32[8, 64]"}, {2048, 0, 0, 0, 4096, 0, 0, 6144}};
  EXPECT_THAT(open_plan_text(plan, false), HasSubstr("At the largest values, x float32[8, 64]:\n"));
  EXPECT_THAT(open_plan_text(plan, false), HasSubstr("total        6.0 KiB  6,144\n"));
  EXPECT_EQ(to_json(plan)["largest"]["planned"]["total"], 6144);
  EXPECT_EQ(to_json(plan)["largest"]["inputs"][0], "x float32[8, 64]");
}

TEST(OpenPlan, JsonHoldsEverything) {
  const nlohmann::ordered_json json = to_json(small_plan());
  EXPECT_EQ(json["open_dimensions"][0]["max"], 8);
  EXPECT_TRUE(json["open_dimensions"][1]["max"].is_null());
  EXPECT_EQ(json["open_dimensions"][1]["axis"], 1);
  EXPECT_EQ(json["constants"], 2048);
  EXPECT_EQ(json["blocks"][1]["bytes"], "8·batch·width");
  EXPECT_TRUE(json["blocks"][2]["bytes"].is_null());
  EXPECT_EQ(json["blocks"][2]["kind"], "workspace");
  EXPECT_TRUE(json["largest"].is_null());
  EXPECT_EQ(json["notices"][0]["reason"], "the strides differ");
}

}  // namespace
}  // namespace weir::cli
