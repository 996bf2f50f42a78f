// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace weir::cli {

std::string format_bytes(int64_t bytes) {
  static constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  // What would be printed as 1024.0 is printed as 1.0 of the next unit.
  while ((value >= 1023.95 || value <= -1023.95) && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_duration(double milliseconds) {
  return milliseconds < 1 ? fmt::format("{:.1f} µs", milliseconds * 1e3)
                          : fmt::format("{:.3f} ms", milliseconds);
}

std::string format_count(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  const size_t first = count < 0 ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::to_string() const {
  std::vector<size_t> widths(columns_.size());
  size_t total = columns_.empty() ? 0 : 2 * (columns_.size() - 1);
  for (size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) {
      if (!row.empty()) widths[c] = std::max(widths[c], display_width(row[c]));
    }
    total += widths[c];
  }
  std::string text;
  for (const auto& row : rows_) {
    if (row.empty()) {
      text += std::string(total, '-') + "\n";
      continue;
    }
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string padding(widths[c] - display_width(row[c]), ' ');
      if (c > 0) line += "  ";
      line += columns_[c] == Align::kLeft ? row[c] + padding : padding + row[c];
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

size_t display_width(std::string_view utf8) {
  return static_cast<size_t>(std::ranges::count_if(utf8, [](char c) { return (c & 0xc0) != 0x80; }));
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const nlohmann::ordered_json& json) {
  print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

int print_error(const Status& status, bool json) {
  std::fflush(stdout);
  if (json) {
    const nlohmann::ordered_json error = {
        {"error",
         {{"code", to_string(status.code())}, {"message", status.message()}, {"context", status.context()}}}};
    std::fprintf(stderr, "%s\n",
                 error.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else {
    std::fprintf(stderr, "weir: error: %s\n", status.to_string().c_str());
  }
  return kExitFailed;
}

int print_usage_error(const std::string& message, bool json) {
  print_error(Status(StatusCode::kInvalidArgument, message), json);
  if (!json) {
    std::fputs("Try 'weir --help', or --help after a command.\n", stderr);
  }
  return kExitUsage;
}

int exit_code(const Result<void>& result, bool json) {
  return result ? kExitOk : print_error(result.error(), json);
}

Progress::Progress(std::string label, int64_t total)
    : label_(std::move(label)), total_(std::max<int64_t>(total, 1)), terminal_(::isatty(STDERR_FILENO) == 1) {
  update(0);
}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(int64_t done) {
  const int64_t percent = static_cast<int64_t>(static_cast<double>(done) / static_cast<double>(total_) * 100);
  if (!terminal_ || percent == last_percent_) return;
  last_percent_ = percent;
  std::fprintf(stderr, "\r\x1b[K%s %lld%%", label_.c_str(), static_cast<long long>(percent));
  std::fflush(stderr);
}

}  // namespace weir::cli
