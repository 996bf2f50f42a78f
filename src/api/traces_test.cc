// SPDX-License-Identifier: Apache-2.0
//
// Traces through the C interface: a model is compiled, run and shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "api_runtime/testing/statuses.h"
#include "import/testing/model_builder.h"
#include "weir/weir.h"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Traces, ShowSessionsAndRequestsThatNameThem) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "weir_traces_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  weir::testing::ModelBuilder model(13);
  model.input("x", onnx::TensorProto::FLOAT, {"1", "2"});
  model.floats("w", {2, 2}, {1, 2, 3, 4});
  model.node("MatMul", {"x", "w"}, {"y"}, "product");
  model.output("y");
  const std::string path = (folder / "product.onnx").string();
  std::ofstream(path, std::ios::binary) << model.bytes();

  weir_trace* trace = nullptr;
  ASSERT_OK(weir_trace_create(0, &trace));
  const auto written = [&] {
    const std::string file = (folder / "trace.json").string();
    EXPECT_OK(weir_trace_write(trace, file.c_str()));
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  weir_runtime* runtime = nullptr;
  weir_device* device = nullptr;
  weir_session* session = nullptr;
  weir_request* plain = nullptr;
  weir_request* traced = nullptr;
  ASSERT_OK(weir_runtime_create(nullptr, &runtime));
  ASSERT_OK(weir_device_create_cpu(runtime, nullptr, &device));
  weir_session_options options = WEIR_INIT(weir_session_options);
  const std::string cache = (folder / "cache").string();
  options.cache_folder = cache.c_str();
  options.trace = trace;
  ASSERT_OK(weir_session_open(runtime, device, path.c_str(), &options, &session));
  EXPECT_THAT(written(), HasSubstr("\"fold-constants\""));
  EXPECT_THAT(written(), HasSubstr("\"load session\""));

  ASSERT_OK(weir_request_create(session, nullptr, &plain));
  ASSERT_OK(weir_request_run(plain));
  EXPECT_THAT(written(), Not(HasSubstr("\"run\"")));
  weir_request_options request_options = WEIR_INIT(weir_request_options);
  request_options.trace = trace;
  ASSERT_OK(weir_request_create(session, &request_options, &traced));
  ASSERT_OK(weir_request_run(traced));
  EXPECT_THAT(written(), HasSubstr("\"name\":\"product\""));
  EXPECT_THAT(written(), HasSubstr("\"flops\":8,\"bytes_read\":"));
  EXPECT_GT(weir_trace_kept(trace), 10);
  EXPECT_EQ(weir_trace_dropped(trace), 0);

  weir_trace_release(trace);  // the request keeps it
  ASSERT_OK(weir_request_run(traced));
  weir_request_release(traced);
  weir_request_release(plain);
  weir_session_release(session);
  weir_device_release(device);
  weir_runtime_release(runtime);
}

TEST(Traces, AreBounded) {
  weir_trace* trace = nullptr;
  EXPECT_STATUS(weir_trace_create(-1, &trace), WEIR_INVALID_ARGUMENT,
                "A trace is asked to keep (-1) events, and the allowed numbers are (0 to 67108864).");
  EXPECT_EQ(trace, nullptr);
  EXPECT_STATUS(weir_trace_create(0, nullptr), WEIR_INVALID_ARGUMENT,
                "Function 'weir_trace_create' was given a null argument where it needs an object.");
  ASSERT_OK(weir_trace_create(2, &trace));
  EXPECT_REFUSED(weir_trace_write(trace, "/no/such/folder/trace.json"), WEIR_NOT_FOUND,
                 "while writing a trace");
  EXPECT_STATUS(weir_trace_write(trace, nullptr), WEIR_INVALID_ARGUMENT,
                "Function 'weir_trace_write' was given a null argument where it needs an object.");
  EXPECT_EQ(weir_trace_kept(trace), 0);
  weir_trace_release(weir_trace_retain(trace));
  weir_trace_release(trace);
  weir_trace_release(nullptr);
  EXPECT_EQ(weir_trace_kept(nullptr), 0);
  EXPECT_EQ(weir_trace_dropped(nullptr), 0);
}

}  // namespace
