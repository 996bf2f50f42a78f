// SPDX-License-Identifier: Apache-2.0
//
// What the tests under pressure share: how long they go on, and what the process holds.
#pragma once

#include <malloc.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace weir::promises {

// Sanitizers slow things down many times and keep memory of their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// WEIR_PRESSURE_SECONDS, or `usual`: of each test.
inline std::chrono::duration<double> pressure_time(double usual = 2) {
  const char* text = std::getenv("WEIR_PRESSURE_SECONDS");
  const double asked = text == nullptr ? 0 : std::strtod(text, nullptr);
  return std::chrono::duration<double>(asked > 0 ? asked : usual);
}

// Until the time is over.
class Deadline {
 public:
  explicit Deadline(std::chrono::duration<double> time)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(time)) {}
  bool passed() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
};

// Bytes that are allocated and not freed; 0 where the allocator does not say (sanitizers).
inline int64_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks) + static_cast<int64_t>(info.hblkhd);
}

// Resident pages of memory that no file backs, in bytes.
inline int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "RssAnon:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

}  // namespace weir::promises
