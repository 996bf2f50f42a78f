// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/system_files.h"
#include "base/thread_pool.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

TEST(ThreadCount, TakesTheLeastOfMaskCoresAndQuota) {
  EXPECT_EQ(thread_count({.allowed = {0, 1, 2, 3}}), 4);
  EXPECT_EQ(thread_count({.allowed = {0, 1, 2, 3}, .core = {7, 7, 8, 8}}), 2);
  EXPECT_EQ(thread_count({.allowed = {0, 1, 2, 3}, .core = {1, 2, 3, 4}, .quota = 2.5}), 3);
  EXPECT_EQ(thread_count({.allowed = {5}, .core = {1}, .quota = 0.2}), 1);
  EXPECT_EQ(thread_count({.allowed = {5, 6}, .core = {1, 2}, .quota = 1e30}), 2);
  EXPECT_EQ(thread_count({}), 1);
}

class SnapshotTest : public testing::SystemFilesTest {};

TEST_F(SnapshotTest, CountsHardwareThreadsOfOneCoreOnce) {
  for (int i = 0; i < 4; ++i) {
    const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/";
    write(cpu + "core_id", std::to_string(i % 2) + "\n");
    write(cpu + "physical_package_id", "0\n");
  }
  const CpuSnapshot snapshot = read_cpu_snapshot(root(), {0, 1, 2, 3});
  EXPECT_THAT(snapshot.core, ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(thread_count(snapshot), 2);
}

TEST_F(SnapshotTest, TakesTheTightestQuotaOfTheGroupAndItsParentsInVersion2) {
  write("/proc/self/cgroup", "0::/outer/inner\n");
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/outer/inner/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(read_cpu_snapshot(root(), {0, 1, 2, 3}).quota, 1.5);
}

TEST_F(SnapshotTest, ReadsQuotaAndPeriodInVersion1) {
  write("/proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/box\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(read_cpu_snapshot(root(), {0, 1, 2, 3}).quota, 3.0);
}

TEST_F(SnapshotTest, KnowsNeitherCoresNorQuotaWithoutFiles) {
  const CpuSnapshot snapshot = read_cpu_snapshot(root(), {0, 1});
  EXPECT_TRUE(snapshot.core.empty());
  EXPECT_EQ(snapshot.quota, 0);
  EXPECT_EQ(thread_count(snapshot), 2);
}

TEST(DefaultThreadCount, IsAtLeastOneAndWithinTheMask) {
  EXPECT_GE(default_thread_count(), 1);
  EXPECT_LE(default_thread_count(), static_cast<int32_t>(read_cpu_snapshot().allowed.size()));
}

}  // namespace
}  // namespace weir
