// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Array floats(const std::vector<int64_t>& shape, const std::vector<float>& values) {
  Array array = make_array(ElementType::kFloat32, shape).value();
  std::ranges::copy(values, array.as<float>().begin());
  return array;
}

RunReport classifier(std::vector<std::string> labels = {}, int64_t top = 1) {
  return RunReport({Task::kClassify, top, "labels.txt", std::move(labels)});
}

std::string refusal(const RunReport& report, const std::vector<int64_t>& shape) {
  const auto checked = report.check("scores", ElementType::kFloat32, shape);
  return checked ? "" : checked.error().message();
}

TEST(RunReport, ChecksLabelsBeforeTheRun) {
  const std::vector<std::string> two = {"cat", "dog"};
  EXPECT_EQ(refusal(classifier(two), {1, 2}), "");
  EXPECT_EQ(refusal(classifier(two), {5, 2}), "");  // two classes for each of five
  EXPECT_EQ(refusal(classifier(two), {1, 3}),
            "File 'labels.txt' has (2) labels, and output 'scores' has (3) classes.");
  EXPECT_EQ(refusal(classifier(), {1, 3}), "");
  const std::vector<int64_t> one = {1};
  EXPECT_THAT(*classifier(two).check("scores", ElementType::kFloat32, one),
              HasSubstr("has (2) labels, and output 'scores' has (1) classes: names may be"));
  EXPECT_THAT(refusal(classifier(), {2, 3, 4}), HasSubstr("shape (2x3x4), and classes are a row of scores"));
  EXPECT_THAT(refusal(RunReport({Task::kEmbed, 1, "", {}}), {2, 3}), HasSubstr("is float32 of rank (2)"));
  EXPECT_EQ(refusal(RunReport({Task::kEmbed, 1, "", {}}), {2, 3, 4}), "");
}

TEST(RunReport, LabelsAreForClasses) {
  RunOptions options;
  options.labels = "labels.txt";
  EXPECT_THAT(task_options(options).error().message(), HasSubstr("Labels 'labels.txt' are for classes"));
  options.task = Task::kClassify;
  options.labels = testing::TempDir() + "/run_report_labels.txt";
  ASSERT_TRUE(write_file(options.labels, std::string_view("cat\ndog\n")).has_value());
  EXPECT_THAT(task_options(options)->labels, ElementsAre("cat", "dog"));
}

TEST(RunReport, ARowOfClassesForEachOfABatch) {
  RunReport report = classifier({"cat", "dog"});
  ASSERT_TRUE(report.add("scores", floats({2, 2}, {0.25F, 0.75F, 1, 0}), "out/scores.npy"));
  EXPECT_EQ(report.text(),
            "scores float32[2, 2]: 0 to 1, mean 0.5\n"
            "  row 0\n   75.00 %  1 dog\n"
            "  row 1\n  100.00 %  0 cat\n");
  const nlohmann::ordered_json& entry = report.json()[0];
  EXPECT_EQ(entry["file"], "out/scores.npy");
  ASSERT_EQ(entry["classes"].size(), 2u);
  EXPECT_EQ(entry["classes"][1]["row"], 1);
  EXPECT_EQ(entry["classes"][1]["label"], "cat");
  // The task is for the first output alone, and one row has no heading.
  ASSERT_TRUE(report.add("others", floats({1, 2}, {0, 1}), ""));
  EXPECT_FALSE(report.json()[1].contains("classes"));
  EXPECT_FALSE(report.json()[1].contains("file"));
  RunReport one = classifier();
  ASSERT_TRUE(one.add("scores", floats({1, 2}, {0, 1}), ""));
  EXPECT_THAT(one.text(), Not(HasSubstr("row")));
  EXPECT_FALSE(one.json()[0]["classes"][0].contains("row"));
}

TEST(RunReport, FramesHaveALineEach) {
  RunReport report({Task::kRaw, 1, "", {}});
  ASSERT_TRUE(report.add("y", floats({3, 1, 2}, {1, 2, 3, 4, 5, 6}), "", 3));
  EXPECT_THAT(report.text(), HasSubstr("  frame 0: 1 2\n  frame 1: 3 4\n  frame 2: 5 6\n"));
  std::vector<float> many(100 * 9);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<float>(i);
  }
  RunReport long_one({Task::kRaw, 1, "", {}});
  ASSERT_TRUE(long_one.add("y", floats({100, 9}, many), "", 100));
  EXPECT_THAT(long_one.text(), HasSubstr("  frame 1: 9 to 17, mean 13\n"));
  EXPECT_THAT(long_one.text(), HasSubstr("  … 36 more (--output DIR writes all)\n"));
  RunReport classes = classifier();
  ASSERT_TRUE(classes.add("scores", floats({2, 1, 2}, {0, 1, 1, 0}), "", 2));
  EXPECT_THAT(classes.text(), HasSubstr("  frame 1\n  100.00 %  0 \n"));
  EXPECT_EQ(classes.json()[0]["classes"][1]["frame"], 1);
}

TEST(RunReport, OneFrameIsWithoutTheFirstAxis) {
  const Array all = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Array last = frame_of(all, 2);
  EXPECT_THAT(last.shape, ElementsAre(2));
  EXPECT_THAT(last.as<float>(), ElementsAre(5, 6));
}

}  // namespace
}  // namespace weir::cli
