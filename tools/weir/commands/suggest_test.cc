// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/suggest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::cli {
namespace {

TEST(Nearest, IsWhatWasMeant) {
  const std::vector<std::string> commands = {"devices", "ocr", "run", "plan", "bench", "compile", "inspect"};
  EXPECT_EQ(nearest("ron", commands), "run");
  EXPECT_EQ(nearest("rnu", commands), "run");
  EXPECT_EQ(nearest("plna", commands), "plan");
  EXPECT_EQ(nearest("comiple", commands), "compile");
  EXPECT_EQ(nearest("benchh", commands), "bench");
  EXPECT_EQ(nearest("inspekt", commands), "inspect");
  EXPECT_EQ(nearest("frobnicate", commands), "");
  EXPECT_EQ(nearest("", commands), "");
  EXPECT_EQ(nearest(std::string(100000, 'r'), commands), "");
}

}  // namespace
}  // namespace weir::cli
