// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

TEST(ParseBytes, WithUnits) {
  EXPECT_EQ(*parse_bytes("1048577"), 1048577);
  EXPECT_EQ(*parse_bytes("9007199254740993"), 9007199254740993);
  EXPECT_EQ(*parse_bytes("64MiB"), 67108864);
  EXPECT_EQ(*parse_bytes("64M"), 67108864);
  EXPECT_EQ(*parse_bytes("3K"), 3072);
  EXPECT_EQ(*parse_bytes("0.5G"), 536870912);
  EXPECT_EQ(*parse_bytes("1.5kB"), 1500);
  EXPECT_EQ(*parse_bytes("2GB"), 2000000000);
}

TEST(ParseBytes, SaysWhatIsWrong) {
  EXPECT_THAT(parse_bytes("1.5").error().message(), HasSubstr("'1.5' is no whole number of bytes"));
  for (const char* wrong : {"", "MiB", "-1", "5 MB", "5mb", "1e30", "99999999999GiB", "1..2kB", "7T"}) {
    EXPECT_THAT(parse_bytes(wrong).error().message(), HasSubstr("is no number of bytes")) << wrong;
  }
}

}  // namespace
}  // namespace weir
