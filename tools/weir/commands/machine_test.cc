// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/machine.h"

#include <gtest/gtest.h>

namespace weir::cli {
namespace {

TEST(Machine, Memory) {
  const std::string_view text =
      "MemTotal:       24649512 kB\nMemFree:  12 kB\nBad: x kB\nHuge: 99999999999999999 kB\n";
  EXPECT_EQ(meminfo_bytes(text, "MemTotal"), int64_t{24649512} * 1024);
  EXPECT_EQ(meminfo_bytes(text, "MemFree"), 12 * 1024);
  EXPECT_EQ(meminfo_bytes(text, "Mem"), 0);
  EXPECT_EQ(meminfo_bytes(text, "Bad"), 0);
  EXPECT_EQ(meminfo_bytes(text, "Huge"), 0);
}

TEST(Machine, Proc) {
  EXPECT_GT(meminfo_bytes(read_proc("/proc/meminfo"), "MemTotal"), 0);
  EXPECT_EQ(read_proc("/proc/no-such-file"), "");
}

}  // namespace
}  // namespace weir::cli
