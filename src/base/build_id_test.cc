// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace weir {
namespace {

TEST(BuildId, IsTheOneInTheProgramsFile) {
  const std::string id = build_id();
  if (id.empty()) {
    GTEST_SKIP() << "the linker wrote none";
  }
  ASSERT_EQ(id.size() % 2, 0u);
  std::string bytes;
  for (size_t i = 0; i < id.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16)));
  }
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string program(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(program, testing::HasSubstr(bytes));
  EXPECT_EQ(build_id(), id);
}

}  // namespace
}  // namespace weir
