// SPDX-License-Identifier: Apache-2.0
//
// What commands print: tables, sizes, JSON, errors, progress. Results go to standard output, all else to
// standard error.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace weir::cli {

// "1.2 MiB", with the unit in which it has one to four digits before the point; below 1024 "512 B".
std::string format_bytes(int64_t bytes);
// "12.345 ms", below one "345.2 µs".
std::string format_duration(double milliseconds);
// "1,234,567".
std::string format_count(int64_t count);

// Columns of text, each as wide as its widest cell; two spaces between them.
class Table {
 public:
  enum class Align : uint8_t { kLeft, kRight };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  // Fewer cells than columns are filled up with empty ones.
  void add_row(std::vector<std::string> cells);
  // A line of dashes.
  void add_rule() { rows_.emplace_back(); }
  std::string to_string() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that `utf8` takes on a terminal, one a character. (Wide characters are counted as one.)
size_t display_width(std::string_view utf8);

void print(std::string_view text);
// Indented by two. Bytes that are not UTF-8 become U+FFFD.
void print_json(const nlohmann::ordered_json& json);

// The exit codes of every command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// On standard error: "weir: error: …", or {"error": {"code", "message", "context"}}. Gives kExitFailed.
int print_error(const Status& status, bool json = false);
// The same for a command line that is wrong, with where to look. Gives kExitUsage.
int print_usage_error(const std::string& message, bool json);
// The exit code of a command's body: prints the error, if it is one.
int exit_code(const Result<void>& result, bool json = false);

// One line on standard error that is written again and again, only where that is a terminal.
//
//   Progress progress("Packing", count);
//   for (…) progress.update(i);
class Progress {
 public:
  Progress(std::string label, int64_t total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears the line

  void update(int64_t done);

 private:
  std::string label_;
  int64_t total_;
  int64_t last_percent_ = -1;
  bool terminal_;
};

}  // namespace weir::cli
