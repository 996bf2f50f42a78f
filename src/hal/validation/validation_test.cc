// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "hal/cpu/cpu_device.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Copies int32 elements, tile by tile; constants: how many elements beyond its tiles it also writes, and
// whether in front.
struct CopyConstants {
  int32_t beyond = 0;
  int32_t front = 0;
};

void copy_elements(const CpuInvocation& invocation) {
  const auto* a = reinterpret_cast<const int32_t*>(invocation.bindings[0]);
  auto* b = reinterpret_cast<int32_t*>(invocation.bindings[1]);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    b[i] = a[i];
  }
  const auto& c = invocation.constants_as<CopyConstants>();
  for (int32_t k = 0; k < c.beyond; ++k) {
    b[c.front != 0 ? -1 - k : invocation.tile_end + k] = 77;
  }
}

// Writes what it finds in its scratch, which it has not written.
void leak_scratch(const CpuInvocation& invocation) {
  auto* b = reinterpret_cast<int32_t*>(invocation.bindings[0]);
  for (int64_t i = invocation.tile_begin; i < invocation.tile_end; ++i) {
    b[i] = *reinterpret_cast<const int32_t*>(invocation.scratch);
  }
}

void do_nothing(const CpuInvocation&) {}

class Validation : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    device_ =
        *create_cpu_device({.threads = 1, .toggles = {.simulate_discrete = GetParam(), .validation = true}});
    const CpuKernelEntry table[] = {
        {.name = "copy", .function = copy_elements, .bindings = 2},
        {.name = "leak", .function = leak_scratch, .bindings = 1, .scratch_bytes = 64},
        {.name = "nothing", .function = do_nothing, .bindings = 1},
    };
    library_ = *device_->create_library({.label = "test", .cpu = table});
    queue_ = *device_->create_queue({});
    heap_ = *device_->create_heap({.size = 4096, .label = "arena"});
  }

  Ref<Buffer> placed(int64_t offset, int64_t size, std::string_view label) {
    return *heap_->create_buffer({.offset = offset, .size = size, .label = label});
  }
  Ref<Buffer> filled(int64_t size, std::string_view label) {
    Ref<Buffer> buffer = *device_->create_buffer({.size = size, .label = label});
    std::memset(buffer->contents()->data(), 1, static_cast<size_t>(size));
    return buffer;
  }
  Ref<CommandBuffer> commands(int32_t slots = 0) {
    return *device_->create_command_buffer({.slots = slots, .label = "commands"});
  }
  void copy(Encoder& encoder, int32_t step, const BufferRange& from, const BufferRange& to, int64_t n,
            CopyConstants constants = {}) {
    encoder.set_step(step);
    encoder.set_kernel(**library_->kernel("copy"));
    encoder.set_buffer(0, from, Access::kRead);
    encoder.set_buffer(1, to, Access::kWrite);
    encoder.set_constants(std::as_bytes(std::span(&constants, 1)));
    encoder.dispatch(n);
  }
  Result<void> run(CommandBuffer& c) {
    WEIR_TRY(queue_->submit({.command_buffer = &c}));
    return c.wait();
  }

  Ref<Device> device_;
  Ref<Library> library_;
  Ref<Queue> queue_;
  Ref<Heap> heap_;
};

TEST_P(Validation, NamesTheStepsThatAMissingBarrierLeavesUnordered) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = placed(0, 64, "b");
  const Ref<Buffer> c = placed(64, 64, "c");
  const Ref<CommandBuffer> wrong = commands();
  copy(wrong->encoder(), 3, at(*a), at(*b), 16);
  copy(wrong->encoder(), 4, at(*b, 32), at(*c), 8);
  const Result<void> sealed = wrong->seal();
  ASSERT_FALSE(sealed);
  EXPECT_THAT(
      sealed.error().message(),
      HasSubstr(
          "Step (4), kernel 'copy', touches bytes (32 to 64) of buffer 'b', and step (3) touches bytes (0 "
          "to 64) there before it, with no barrier between them (read after write)"));

  const Ref<CommandBuffer> right = commands();
  copy(right->encoder(), 3, at(*a), at(*b), 16);
  right->encoder().barrier();
  copy(right->encoder(), 4, at(*b, 32), at(*c), 8);
  ASSERT_TRUE(right->seal());
  EXPECT_TRUE(right->notes().empty());
  EXPECT_TRUE(run(*right));
}

TEST_P(Validation, TellsTheThreeKindsOfHazardApart) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = filled(64, "b");
  const Ref<CommandBuffer> war = commands();
  copy(war->encoder(), 1, at(*a), at(*b), 16);
  war->encoder().set_step(2);
  war->encoder().fill(at(*a, 8, 4), 0);
  const Result<void> first = war->seal();
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message(), HasSubstr("(write after read)"));
  const Ref<CommandBuffer> waw = commands();
  copy(waw->encoder(), 1, at(*a), at(*b), 16);
  waw->encoder().fill(at(*b), 0);
  const Result<void> second = waw->seal();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message(), HasSubstr("(write after write)"));
}

TEST_P(Validation, AliasedChildrenOfAHeapConflict) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = placed(0, 64, "b");
  const Ref<Buffer> alias = placed(0, 128, "alias");
  const Ref<CommandBuffer> c = commands();
  copy(c->encoder(), 1, at(*a), at(*b), 16);
  copy(c->encoder(), 2, at(*a), at(*alias, 60), 1);
  EXPECT_FALSE(c->seal());
}

TEST_P(Validation, ChannelRangesOfOneTensorDoNotConflict) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = filled(128, "b");
  const Ref<CommandBuffer> c = commands();
  BufferRange low = at(*b, 0, 56);
  BufferRange high = at(*b, 8, 56);
  low.block = high.block = 8;
  low.stride = high.stride = 16;
  copy(c->encoder(), 1, at(*a), low, 1);
  copy(c->encoder(), 2, at(*a), high, 1);
  EXPECT_TRUE(c->seal());
  high.offset = 4;
  const Ref<CommandBuffer> wrong = commands();
  copy(wrong->encoder(), 1, at(*a), low, 1);
  copy(wrong->encoder(), 2, at(*a), high, 1);
  EXPECT_FALSE(wrong->seal());
}

TEST_P(Validation, NotesABarrierThatOrdersNothing) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = placed(0, 64, "b");
  const Ref<Buffer> c = placed(64, 64, "c");
  const Ref<CommandBuffer> recorded = commands();
  copy(recorded->encoder(), 5, at(*a), at(*b), 16);
  recorded->encoder().barrier();
  copy(recorded->encoder(), 6, at(*a), at(*c), 16);
  ASSERT_TRUE(recorded->seal());
  EXPECT_THAT(recorded->notes(),
              ElementsAre("The barrier before step (6) of command buffer 'commands' orders nothing."));
}

TEST_P(Validation, FindsSlotsThatAreBoundToTheSameBytes) {
  const Ref<Buffer> a = filled(128, "a");
  const Ref<CommandBuffer> c = commands(2);
  copy(c->encoder(), 1, at_slot(0, 0, 64), at_slot(1, 0, 64), 16);
  copy(c->encoder(), 2, at_slot(0, 0, 32), at_slot(1, 64, 32), 8);
  const Ref<Buffer> out = filled(128, "out");
  ASSERT_TRUE(c->seal());
  ASSERT_TRUE(c->bind_slot(0, *a, 0));
  ASSERT_TRUE(c->bind_slot(1, *out, 0));
  EXPECT_TRUE(run(*c));
  ASSERT_TRUE(c->bind_slot(1, *a, 16));
  const Result<void> result = run(*c);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().to_string(), HasSubstr("while submitting command buffer 'commands'"));
}

TEST_P(Validation, NamesTheStepThatReadsWhatNothingHasWritten) {
  const Ref<Buffer> fresh =
      *device_->create_buffer({.size = 64, .mode = StorageMode::kPrivate, .label = "fresh"});
  const Ref<Buffer> out = filled(64, "out");
  const Ref<CommandBuffer> half = commands();
  half->encoder().set_step(7);
  half->encoder().fill(at(*fresh, 0, 32), 5);
  half->encoder().barrier();
  copy(half->encoder(), 8, at(*fresh), at(*out), 16);
  ASSERT_TRUE(half->seal());
  const Ref<Event> done = *device_->create_event("done");
  const EventPoint signals[] = {{done.get(), 1}};
  ASSERT_TRUE(queue_->submit({.command_buffer = half.get(), .signals = signals}));
  const Result<EventWait> result = done->wait(1);
  ASSERT_FALSE(result);
  EXPECT_THAT(
      result.error().message(),
      HasSubstr(
          "Step (8), kernel 'copy', reads bytes (0 to 64) of buffer 'fresh' at binding (0), and nothing has "
          "written byte (32)."));
  EXPECT_FALSE(half->wait());
  EXPECT_EQ(queue_->stats().failed, 1U);

  const Ref<CommandBuffer> rest = commands();
  rest->encoder().fill(at(*fresh, 32, 32), 5);
  ASSERT_TRUE(rest->seal());
  ASSERT_TRUE(run(*rest));
  EXPECT_TRUE(run(*half));
  EXPECT_EQ(out->read_contents().value()[63], std::byte{5});
}

// What is written counts to the byte on both sides.
TEST_P(Validation, WritingTheEndOfABufferLeavesItsBeginningUnwritten) {
  const Ref<Buffer> fresh =
      *device_->create_buffer({.size = 64, .mode = StorageMode::kPrivate, .label = "fresh"});
  const Ref<Buffer> out = filled(64, "out");
  const Ref<CommandBuffer> end = commands();
  end->encoder().fill(at(*fresh, 48, 16), 5);
  end->encoder().barrier();
  copy(end->encoder(), 8, at(*fresh, 32, 32), at(*out), 8);
  ASSERT_TRUE(end->seal());
  const Result<void> ran = run(*end);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("nothing has written byte (32)."));
}

TEST_P(Validation, UsageIsCheckedForBuffersAndSlots) {
  const Ref<Buffer> source = *device_->create_buffer(
      {.size = 64, .usage = BufferUsage::kCopySource | BufferUsage::kKernelRead, .label = "source"});
  const Ref<Buffer> a = filled(64, "a");
  const Ref<CommandBuffer> wrong = commands();
  copy(wrong->encoder(), 2, at(*a), at(*source), 16);
  const Result<void> sealed = wrong->seal();
  ASSERT_FALSE(sealed);
  EXPECT_THAT(
      sealed.error().message(),
      HasSubstr(
          "Step (2), kernel 'copy', uses buffer 'source' as (kernel write), and the buffer was created for "
          "(kernel read, copy source)."));
  const Ref<CommandBuffer> slots = commands(1);
  slots->encoder().fill(at_slot(0, 0, 8), 0);
  ASSERT_TRUE(slots->seal());
  const Result<void> bound = slots->bind_slot(0, *source, 0);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().message(),
            "Slot (0) of command buffer 'commands' is used as (copy target), and buffer 'source' was created "
            "for (kernel read, copy source).");
  EXPECT_TRUE(slots->bind_slot(0, *a, 0));
}

TEST_P(Validation, NamesTheStepThatWritesBesideItsBuffer) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = *device_->create_buffer({.size = 64, .mode = StorageMode::kPrivate, .label = "b"});
  for (const int32_t front : {0, 1}) {
    const Ref<CommandBuffer> c = commands();
    copy(c->encoder(), 21, at(*a), at(*b), 16);
    c->encoder().barrier();
    copy(c->encoder(), 22, at(*a), at(*b), 16, {.beyond = 1, .front = front});
    ASSERT_TRUE(c->seal());
    const Result<void> result = run(*c);
    ASSERT_FALSE(result);
    EXPECT_THAT(
        result.error().message(),
        HasSubstr(front != 0
                      ? "Step (22), kernel 'copy', has changed byte (-4) of buffer 'b', beside the ranges"
                      : "Step (22), kernel 'copy', has changed byte (64) of buffer 'b', beside the ranges"));
  }
}

TEST_P(Validation, NamesTheStepThatWritesIntoItsNeighbourInAHeap) {
  const Ref<Buffer> a = filled(64, "a");
  const Ref<Buffer> b = placed(0, 64, "b");
  const Ref<Buffer> next = placed(64, 64, "next");
  const Ref<CommandBuffer> c = commands();
  copy(c->encoder(), 1, at(*a), at(*next), 16);
  copy(c->encoder(), 2, at(*a), at(*b), 16, {.beyond = 3});
  ASSERT_TRUE(c->seal());
  const Result<void> result = run(*c);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message(),
              HasSubstr("Step (2), kernel 'copy', has changed byte (64) of buffer 'b'"));
}

TEST_P(Validation, ScratchAndOutputsHoldRubbishBeforeEachStep) {
  const Ref<Buffer> out = filled(16, "out");
  const Ref<Buffer> scratch = filled(64, "scratch");
  const Ref<CommandBuffer> c = commands();
  c->encoder().set_kernel(**library_->kernel("leak"));
  c->encoder().set_buffer(0, at(*out, 0, 8), Access::kWrite);
  c->encoder().dispatch(2);
  c->encoder().set_kernel(**library_->kernel("nothing"));
  c->encoder().set_buffer(0, at(*out, 8, 4), Access::kWrite);
  c->encoder().dispatch(1);
  c->encoder().set_kernel(**library_->kernel("nothing"));
  c->encoder().set_buffer(0, at(*out, 12, 4), Access::kReadWrite);
  c->encoder().dispatch(1);
  ASSERT_TRUE(c->seal());
  ASSERT_TRUE(c->bind_scratch(*scratch, 0));
  ASSERT_TRUE(run(*c));
  int32_t values[4];
  std::memcpy(values, out->read_contents()->data(), sizeof(values));
  EXPECT_THAT(values, ElementsAre(-1, -1, -1, 0x01010101));
}

// Nothing of these sizes is allocated, whether the device has a limit or none.
TEST_P(Validation, RefusesWhatIsTooLargeForAGuardBandWithoutAllocatingIt) {
  const int64_t most = device_->info().limits.buffer_bytes;
  const Ref<Device> small =
      *create_cpu_device({.threads = 1,
                          .memory_limit = 1 << 20,
                          .toggles = {.simulate_discrete = GetParam(), .validation = true}});
  for (const int64_t size : {most / 2, most}) {
    EXPECT_THAT(small->create_buffer({.size = size, .label = "b"}).error().message(),
                HasSubstr("has a memory limit of (1048576) bytes"));
    EXPECT_THAT(small->create_heap({.size = size, .label = "h"}).error().message(),
                HasSubstr("has a memory limit of (1048576) bytes"));
    device_->memory().set_limit(MemoryAccount::kNoLimit);
    EXPECT_EQ(device_->create_buffer({.size = size, .label = "b"}).error().message(),
              fmt::format("Buffer 'b' of ({}) bytes is too large to be checked.", size));
    EXPECT_EQ(device_->create_heap({.size = size, .label = "h"}).error().message(),
              fmt::format("Heap 'h' of ({}) bytes is too large to be checked.", size));
  }
  EXPECT_THAT(device_->create_buffer({.size = most + 1, .label = "b"}).error().message(),
              HasSubstr("has a size"));
  EXPECT_THAT(device_->create_heap({.size = 0, .label = "h"}).error().message(), HasSubstr("has a size (0)"));
}

INSTANTIATE_TEST_SUITE_P(Cpu, Validation, ::testing::Bool(),
                         [](const auto& far) { return far.param ? "discrete" : "plain"; });

}  // namespace
}  // namespace weir
