// SPDX-License-Identifier: Apache-2.0
#include "hal/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hal/cpu/cpu_device.h"
#include "hal/memory_account.h"

namespace weir {
namespace {

class MemoryLimit : public testing::Test {
 protected:
  ~MemoryLimit() override { ::unsetenv("WEIR_MEMORY_LIMIT"); }
  static void set(const char* text) { ::setenv("WEIR_MEMORY_LIMIT", text, 1); }
};

TEST_F(MemoryLimit, IsWhatIsAskedThenTheEnvironmentThenTheMemory) {
  ::unsetenv("WEIR_MEMORY_LIMIT");
  EXPECT_EQ(*memory_limit(0, 1000), 1000);
  EXPECT_EQ(*memory_limit(700, 1000), 700);
  set("3K");
  EXPECT_EQ(*memory_limit(0, 1000), 3072);
  EXPECT_EQ(*memory_limit(700, 1000), 700);
  for (const char* nothing : {"", "0"}) {
    set(nothing);
    EXPECT_EQ(*memory_limit(0, 1000), 1000);
  }
}

TEST_F(MemoryLimit, IsAnErrorWhereTheEnvironmentIsNoSize) {
  set("lots");
  const auto limit = memory_limit(0, 1000);
  ASSERT_FALSE(limit);
  EXPECT_THAT(limit.error().to_string(), testing::HasSubstr("'lots' is no number of bytes"));
  EXPECT_THAT(limit.error().to_string(), testing::HasSubstr("WEIR_MEMORY_LIMIT"));
  EXPECT_FALSE(create_cpu_device({}));
}

TEST_F(MemoryLimit, HoldsForDevicesThatAreNotTold) {
  set("2M");
  EXPECT_EQ((*create_cpu_device({}))->memory().limit(), 2097152);
  EXPECT_EQ((*create_cpu_device({.memory_limit = 4096}))->memory().limit(), 4096);
}

}  // namespace
}  // namespace weir
