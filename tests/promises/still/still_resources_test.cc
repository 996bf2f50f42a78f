// SPDX-License-Identifier: Apache-2.0
//
// Promise "still", for the resource model: from binding to completion nothing is allocated and no file
// touched, on no thread. Counted from outside, so it needs weir_interposer in LD_PRELOAD, as ctest starts it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/allocation_counter.h"
#include "base/allocation_window.h"
#include "hal/cpu/cpu_device.h"

namespace weir {
namespace {

void bump(const CpuInvocation& invocation) {
  auto* a = reinterpret_cast<int32_t*>(invocation.bindings[0]);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    a[i] += 1;
  }
}

class Still : public ::testing::Test {
 protected:
  void SetUp() override {
    weir_allocations_begin();
    if (!weir_allocations_end().counted) {
      GTEST_SKIP() << "weir_interposer is not in LD_PRELOAD";
    }
    device_ = *create_cpu_device({.threads = 2});
    const CpuKernelEntry table[] = {{.name = "bump", .function = bump, .bindings = 1, .scratch_bytes = 64}};
    Ref<Library> library = *device_->create_library({.cpu = table});
    commands_ = *device_->create_command_buffer({.slots = 1, .profile = true, .label = "still"});
    for (int i = 0; i < 20; ++i) {
      commands_->encoder().set_kernel(**library->kernel("bump"));
      commands_->encoder().set_buffer(0, at_slot(0, 0, 4000), Access::kReadWrite);
      commands_->encoder().dispatch(1000);
      commands_->encoder().barrier();
    }
    ASSERT_TRUE(commands_->seal());
    scratch_ = *device_->create_buffer({.size = commands_->scratch_bytes()});
    ASSERT_TRUE(commands_->bind_scratch(*scratch_, 0));
    for (Ref<Buffer>& buffer : buffers_) {
      buffer = *device_->create_buffer({.size = 4000});
    }
    queue_ = *device_->create_queue({});
    event_ = *device_->create_event("done");
  }

  // Rounds of bind, submit and wait; the number that went wrong.
  int rounds(int count, bool may_run_inline) {
    int wrong = 0;
    for (int i = 0; i < count; ++i) {
      const uint64_t value = event_->value();
      wrong += commands_->bind_slot(0, *buffers_[i % 2], 0) ? 0 : 1;
      const EventPoint waits[] = {{event_.get(), value}};
      const EventPoint signals[] = {{event_.get(), value + 1}};
      wrong +=
          queue_->submit(
              {.command_buffer = commands_.get(),
               .waits = waits,
               .signals = signals,
               .may_run_inline = may_run_inline,
               .on_complete = {.function = [](void* user,
                                              const Status*) { ++*static_cast<std::atomic<int>*>(user); },
                               .user = &completed_}})
              ? 0
              : 1;
      wrong += event_->wait(value + 1) ? 0 : 1;
      wrong += commands_->wait(std::chrono::seconds(10)) ? 0 : 1;
    }
    queue_->wait_idle();
    return wrong;
  }

  Ref<Device> device_;
  Ref<CommandBuffer> commands_;
  Ref<Buffer> scratch_;
  Ref<Buffer> buffers_[2];
  Ref<Queue> queue_;
  Ref<Event> event_;
  std::atomic<int> completed_{0};
};

TEST_F(Still, TheCounterCounts) {
  const AllocationCounts before = allocation_counts();
  weir_allocations_begin();
  void* volatile first = std::malloc(10);
  int* volatile second = new int(3);
  void* volatile third = std::aligned_alloc(64, 128);
  std::free(first);
  delete second;
  std::free(third);
  const weir_allocations counts = weir_allocations_end();
  const AllocationCounts after = allocation_counts();
  EXPECT_TRUE(after.counted);
  EXPECT_EQ(after.weir - before.weir, 3U);
  EXPECT_EQ(after.driver, before.driver);
  EXPECT_EQ(counts.allocations, 3);
  EXPECT_EQ(counts.own, 3);
  EXPECT_EQ(counts.frees, 3);
  EXPECT_EQ(counts.bytes, 10 + static_cast<int64_t>(sizeof(int)) + 128);
}

TEST_F(Still, InlineSubmissionsAllocateNothing) {
  weir_allocations_begin();
  const int wrong = rounds(200, true);
  const weir_allocations counts = weir_allocations_end();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(completed_.load(), 200);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.frees, 0);
  EXPECT_EQ(counts.maps, 0);
  EXPECT_EQ(counts.files, 0);
}

TEST_F(Still, QueuedSubmissionsAllocateNothingOnAnyThread) {
  weir_allocations_begin();
  const int wrong = rounds(200, false);
  const weir_allocations counts = weir_allocations_end();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(completed_.load(), 200);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.maps, 0);
  EXPECT_EQ(counts.files, 0);
}

TEST_F(Still, WaitingForAnEventThatOthersSignalAllocatesNothing) {
  std::atomic<bool> go{false};
  std::thread other([&] {
    while (!go.load()) {
      std::this_thread::yield();
    }
    (void)event_->signal(1);
  });
  weir_allocations_begin();
  const EventPoint waits[] = {{event_.get(), 1}};
  ASSERT_TRUE(commands_->bind_slot(0, *buffers_[0], 0));
  const Result<SubmitAnswer> answer = queue_->submit({.command_buffer = commands_.get(), .waits = waits});
  go = true;
  const bool ok = commands_->wait().has_value();
  const weir_allocations counts = weir_allocations_end();
  other.join();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(ok);
  EXPECT_EQ(counts.allocations, 0);
  EXPECT_EQ(counts.files, 0);
}

}  // namespace
}  // namespace weir
