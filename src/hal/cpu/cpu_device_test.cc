// SPDX-License-Identifier: Apache-2.0
//
// The options of the CPU device; what it does is tested in tests/conformance.
#include "hal/cpu/cpu_device.h"

#include "base/testing/results.h"

namespace weir {
namespace {

TEST(CpuDevice, SaysWhatItsOptionsMayBe) {
  EXPECT_ERROR(create_cpu_device({.threads = -1}), StatusCode::kInvalidArgument,
               "The CPU device is asked for (-1) threads and a memory limit of (0) bytes, and 0 is the least "
               "of both.");
  EXPECT_ERROR(
      create_cpu_device({.threads = 2, .memory_limit = -64}), StatusCode::kInvalidArgument,
      "The CPU device is asked for (2) threads and a memory limit of (-64) bytes, and 0 is the least of "
      "both.");
  const Ref<ThreadPool> pool = must(ThreadPool::create({.threads = 1}));
  const int32_t most = pool->max_participants();
  EXPECT_ERROR(
      create_cpu_device({.pool = pool, .threads = most + 1}), StatusCode::kInvalidArgument,
      fmt::format("The CPU device is asked for ({}) threads, and its pool allows ({}).", most + 1, most));
  EXPECT_EQ(must(create_cpu_device({.pool = pool, .threads = most}))->info().participants, most);
}

}  // namespace
}  // namespace weir
