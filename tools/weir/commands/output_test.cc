// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weir::cli {
namespace {

TEST(Output, BytesAndCounts) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1048575), "1.0 MiB");
  EXPECT_EQ(format_bytes(21234383), "20.3 MiB");
  EXPECT_EQ(format_bytes(-2048), "-2.0 KiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8.0 EiB");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
}

TEST(Output, DurationsShowThatSomethingWasMeasured) {
  EXPECT_EQ(format_duration(12.3456), "12.346 ms");
  EXPECT_EQ(format_duration(1), "1.000 ms");
  EXPECT_EQ(format_duration(0.25), "250.0 µs");
  EXPECT_EQ(format_duration(0.0004), "0.4 µs");
}

TEST(Output, ErrorsAreJsonWhereThatIsAskedFor) {
  Status status(StatusCode::kNotFound, "There is no 'x'.");
  status.add_context("while looking");
  testing::internal::CaptureStderr();
  EXPECT_EQ(print_error(status, true), kExitFailed);
  EXPECT_EQ(
      nlohmann::json::parse(testing::internal::GetCapturedStderr()),
      nlohmann::json::parse(
          R"({"error": {"code": "NOT_FOUND", "message": "There is no 'x'.", "context": ["while looking"]}})"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(print_usage_error("What?", false), kExitUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weir: error: What?\nTry 'weir --help', or --help after a command.\n");
}

TEST(Output, TablesAlign) {
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  table.add_row({"Zähler", "7", "x"});
  table.add_rule();
  table.add_row({"a", "1,234"});
  EXPECT_EQ(table.to_string(),
            "Zähler      7  x\n"
            "----------------\n"
            "a       1,234\n");
}

TEST(Output, JsonTakesAnyBytes) {
  testing::internal::CaptureStdout();
  print_json({{"name", "a\xff"}, {"bytes", 5}});
  const std::string text = testing::internal::GetCapturedStdout();
  const nlohmann::json back = nlohmann::json::parse(text);
  EXPECT_EQ(back["bytes"], 5);
  EXPECT_EQ(back["name"], "a\xef\xbf\xbd");
}

TEST(Output, ErrorsGoToStandardError) {
  testing::internal::CaptureStderr();
  Status status(StatusCode::kNotFound, "File 'a' does not exist.");
  status.add_context("while reading 'b'");
  EXPECT_EQ(exit_code(std::unexpected(status)), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weir: error: File 'a' does not exist.\n  - while reading 'b'\n");
  EXPECT_EQ(exit_code({}), 0);
}

}  // namespace
}  // namespace weir::cli
