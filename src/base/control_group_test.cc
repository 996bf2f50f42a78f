// SPDX-License-Identifier: Apache-2.0
#include "base/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/system_files.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ControlGroupTest : public testing::SystemFilesTest {
 protected:
  std::vector<std::string> folders(std::string_view controller) const {
    std::vector<std::string> found;
    for (const ControlGroup& group : control_groups(root(), controller)) {
      found.push_back(std::to_string(group.version) + group.folder.substr(root().size()));
    }
    return found;
  }
};

TEST_F(ControlGroupTest, GoesFromTheGroupToTheRootInVersion2) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  EXPECT_THAT(folders("memory"),
              ElementsAre("2/sys/fs/cgroup/outer/inner", "2/sys/fs/cgroup/outer", "2/sys/fs/cgroup"));
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_THAT(folders("cpu"), ElementsAre("2/sys/fs/cgroup"));
}

TEST_F(ControlGroupTest, TakesTheLinesOfTheControllerInVersion1) {
  write("/proc/self/cgroup", "no group\n4:memory:/x\n3:cpu,cpuacct:/\n2:cpuset:/y\n1:name=systemd:/z\n");
  EXPECT_THAT(folders("memory"), ElementsAre("1/sys/fs/cgroup/memory/x", "1/sys/fs/cgroup/memory"));
  EXPECT_THAT(folders("cpu"), ElementsAre("1/sys/fs/cgroup/cpu", "1/sys/fs/cgroup/cpu,cpuacct"));
  EXPECT_THAT(folders("io"), IsEmpty());
}

TEST_F(ControlGroupTest, LimitsMemoryToTheTightestGroup) {
  EXPECT_EQ(memory_within_control_groups(1000, root()), 1000);  // no files
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  EXPECT_EQ(memory_within_control_groups(1000, root()), 1000);
  write("/sys/fs/cgroup/outer/memory.max", "700\n");
  EXPECT_EQ(memory_within_control_groups(1000, root()), 700);
  write("/sys/fs/cgroup/outer/inner/memory.max", "800\n");
  EXPECT_EQ(memory_within_control_groups(1000, root()), 700);
  EXPECT_EQ(memory_within_control_groups(600, root()), 600);
}

TEST_F(ControlGroupTest, LimitsMemoryInVersion1WhereMostMeansNone) {
  write("/proc/self/cgroup", "4:memory:/box\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_within_control_groups(1000, root()), 1000);
  write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "500\n");
  EXPECT_EQ(memory_within_control_groups(1000, root()), 500);
}

}  // namespace
}  // namespace weir
