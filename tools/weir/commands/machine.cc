// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/machine.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace weir::cli {
namespace {

// What follows the colon of the first line that starts with `key`.
std::string_view value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view name = line.substr(0, colon);
      if (name.substr(0, name.find_last_not_of(" \t") + 1) == key) {
        line.remove_prefix(colon + 1);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        return line;
      }
    }
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return "";
}

}  // namespace

int64_t meminfo_bytes(std::string_view meminfo, std::string_view key) {
  const std::string_view value = value_of(meminfo, key);
  int64_t kibibytes = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), kibibytes);
  if (error != std::errc() || kibibytes < 0 || kibibytes > INT64_MAX / 1024) return 0;
  return kibibytes * 1024;
}

std::string read_proc(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace weir::cli
