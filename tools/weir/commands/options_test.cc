// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace weir::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The usage error, or "" when the arguments are taken.
template <typename Options>
std::string parse(void (*add)(CLI::App&, Options&), Options& options, std::vector<std::string> arguments) {
  CLI::App app;
  add(app, options);
  std::ranges::reverse(arguments);  // as the parser takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(Options, OfRun) {
  RunOptions options;
  EXPECT_EQ(
      parse(add_run_options, options,
            {"--input",   "a=x.npy",  "model.onnx", "--input",     "y.png",     "--mean",      "1,2,3",
             "--scale",   "1/128",    "--random",   "7",           "--task",    "classify",    "--labels",
             "l.txt",     "--output", "out",        "--policy",    "cpu_only",  "--trace",     "t.json",
             "--threads", "2",        "--strict",   "--state",     "h=hn,c=cn", "--state=s=t", "--shape",
             "a=1x3",     "--dim",    "n=1..4",     "--shape=b=2", "--top",     "3",           "--json"}),
      "");
  EXPECT_EQ(options.model, "model.onnx");
  ASSERT_EQ(options.inputs.size(), 2u);
  EXPECT_EQ(options.inputs[0].input, "a");
  EXPECT_EQ(options.inputs[1].path, "y.png");
  EXPECT_THAT(options.mean, ElementsAre(1, 2, 3));
  EXPECT_THAT(options.scale, ElementsAre(1.0f / 128));
  EXPECT_EQ(options.random, 7u);
  EXPECT_EQ(options.task, Task::kClassify);
  EXPECT_EQ(options.labels, "l.txt");
  EXPECT_EQ(options.top, 3);
  EXPECT_EQ(options.output, "out");
  EXPECT_EQ(options.trace, "t.json");
  EXPECT_EQ(options.runner.threads, 2);
  EXPECT_EQ(options.strict, Strictness::kCosts);
  ASSERT_EQ(options.shapes.shapes.size(), 2u);
  EXPECT_EQ(options.shapes.shapes[1].input, "b");
  ASSERT_EQ(options.shapes.dims.size(), 1u);
  EXPECT_EQ(options.shapes.dims[0].range, (Range{1, 4}));
  ASSERT_EQ(options.shapes.states.size(), 3u);
  EXPECT_EQ(options.shapes.states[1].input, "c");
  EXPECT_EQ(options.shapes.states[2].output, "t");
  EXPECT_TRUE(options.json);
}

TEST(Options, OfRunByDefault) {
  RunOptions options;
  EXPECT_EQ(parse(add_run_options, options, {"model.onnx"}), "");
  EXPECT_THAT(options.mean, ElementsAre(0));
  EXPECT_THAT(options.scale, ElementsAre(1));
  EXPECT_FALSE(options.random.has_value());
  EXPECT_EQ(options.task, Task::kRaw);
  EXPECT_EQ(options.strict, Strictness::kNone);
  EXPECT_EQ(options.runner.threads, 0);
}

TEST(Options, StrictTakesAValueOnlyAfterAnEqualsSign) {
  RunOptions options;
  EXPECT_EQ(parse(add_run_options, options, {"--strict", "model.onnx"}), "");
  EXPECT_EQ(options.model, "model.onnx");
  EXPECT_EQ(options.strict, Strictness::kCosts);
  EXPECT_EQ(parse(add_run_options, options, {"--strict=all", "model.onnx"}), "");
  EXPECT_EQ(options.strict, Strictness::kAll);
  EXPECT_THAT(parse(add_run_options, options, {"--strict=much", "model.onnx"}),
              HasSubstr("'much' is neither 'costs'"));
}

TEST(Options, ErrorsNameTheOptionAndTheCure) {
  RunOptions run;
  EXPECT_THAT(parse(add_run_options, run, {}), HasSubstr("model is required"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--shape", "x=1xq"}),
              HasSubstr("--shape: The shape 'x=1xq' has 'q'"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--policy", "all"}),
              HasSubstr("'all' is not available here"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--task", "draw"}),
              HasSubstr("none of 'raw', 'classify' and 'embed'"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--random", "-1"}), HasSubstr("--random"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--threads", "0"}), HasSubstr("--threads"));
  EXPECT_THAT(parse(add_run_options, run, {"m", "--fast"}), HasSubstr("--fast"));
}

TEST(Options, OfOcr) {
  OcrOptions options;
  EXPECT_EQ(parse(add_ocr_options, options,
                  {"d.onnx", "r.onnx", "a.png", "b.jpg", "--output", "o", "--threads", "4"}),
            "");
  EXPECT_EQ(options.detector, "d.onnx");
  EXPECT_EQ(options.recogniser, "r.onnx");
  EXPECT_THAT(options.images, ElementsAre("a.png", "b.jpg"));
  EXPECT_EQ(options.output, "o");
  EXPECT_EQ(options.runner.threads, 4);
  EXPECT_THAT(parse(add_ocr_options, options, {"d.onnx", "r.onnx"}), HasSubstr("images is required"));
}

TEST(Options, OfPlanAndBenchAndInspectAndDevices) {
  PlanOptions plan;
  EXPECT_EQ(parse(add_plan_options, plan, {"m.onnx", "--shape", "1x2", "--html", "p.html", "--json"}), "");
  EXPECT_EQ(plan.html, "p.html");
  EXPECT_THAT(plan.shapes.shapes[0].shape, ElementsAre(1, 2));
  BenchOptions bench;
  EXPECT_EQ(parse(add_bench_options, bench, {"m.onnx", "--seconds", "0.5", "--runs", "100"}), "");
  EXPECT_EQ(bench.seconds, 0.5);
  EXPECT_EQ(bench.runs, 100);
  EXPECT_THAT(parse(add_bench_options, bench, {"m.onnx", "--seconds", "-1"}), HasSubstr("--seconds"));
  InspectOptions inspect;
  EXPECT_EQ(parse(add_inspect_options, inspect, {"m.weir", "--json"}), "");
  EXPECT_EQ(inspect.model, "m.weir");
  DevicesOptions devices;
  EXPECT_EQ(parse(add_devices_options, devices, {"--json"}), "");
  EXPECT_TRUE(devices.json);
}

TEST(Options, OfCompile) {
  CompileCommandOptions options;
  EXPECT_EQ(parse(add_compile_options, options,
                  {"m.onnx", "-o", "m.weir", "--target", "avx2,avx512", "--portable", "--memory-limit",
                   "1MiB", "--dump-after", "fuse", "--dump-after", "place", "--dim", "n=2"}),
            "");
  EXPECT_EQ(options.output, "m.weir");
  EXPECT_THAT(options.targets, ElementsAre("avx2", "avx512"));
  EXPECT_TRUE(options.portable);
  EXPECT_EQ(options.memory_limit, 1048576);
  EXPECT_THAT(options.dump_after, ElementsAre("fuse", "place"));
  EXPECT_THAT(parse(add_compile_options, options, {"m.onnx"}), HasSubstr("--output is required"));
  EXPECT_THAT(parse(add_compile_options, options, {"m.onnx", "-o", "x", "--target", "a,,b"}),
              HasSubstr("empty name"));
}

}  // namespace
}  // namespace weir::cli
