// SPDX-License-Identifier: Apache-2.0
//
// Libraries, kernels, recording and running.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "conformance.h"

namespace weir::conformance {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class Commands : public ConformanceTest {};

TEST_P(Commands, KernelsAreFoundByName) {
  EXPECT_EQ(kernel("add")->name(), "add");
  EXPECT_EQ(kernel("add")->bindings(), 3);
  EXPECT_EQ(library_->kernel_names().size(), 6U);
  EXPECT_FAILS(library_->kernel("bumpp"), StatusCode::kNotFound,
               "Library 'conformance' has no kernel 'bumpp'; near it: 'bump'.");
}

void nothing(const CpuInvocation&) {}

TEST_P(Commands, LibraryErrors) {
  const CpuKernelEntry twice[] = {{.name = "a", .function = nothing}, {.name = "a", .function = nothing}};
  EXPECT_FAILS(device_->create_library({.label = "twice", .cpu = twice}), StatusCode::kAlreadyExists,
               "Library 'twice' has two kernels of the name 'a'");
  const CpuKernelEntry empty[] = {{.name = "a"}};
  EXPECT_ERROR(device_->create_library({.label = "empty", .cpu = empty}), StatusCode::kInvalidArgument,
               "Kernel 'a' of library 'empty' lacks a function.");
  const CpuKernelEntry nameless[] = {{.function = nothing}};
  EXPECT_ERROR(device_->create_library({.label = "nameless", .cpu = nameless}), StatusCode::kInvalidArgument,
               "Kernel '' of library 'nameless' lacks a name.");
  const DeviceLimits& limits = device_->info().limits;
  const auto too_much = [&](CpuKernelEntry entry) {
    entry.name = "a";
    entry.function = nothing;
    EXPECT_ERROR(device_->create_library({.label = "large", .cpu = {&entry, 1}}),
                 StatusCode::kInvalidArgument,
                 fmt::format("Kernel 'a' of library 'large' asks for ({}) bindings, ({}) bytes of constants "
                             "and ({}) of scratch, and the most are ({}) bindings, ({}) bytes of constants "
                             "and ({}) of scratch.",
                             entry.bindings, entry.constant_bytes, entry.scratch_bytes, limits.bindings,
                             limits.constant_bytes, limits.buffer_bytes));
  };
  too_much({.bindings = 1 << 20});
  too_much({.constant_bytes = limits.constant_bytes + 1});
  too_much({.scratch_bytes = -1});
  too_much({.scratch_bytes = INT64_MAX});
}

TEST_P(Commands, DispatchCoversEveryTileOnce) {
  for (const int64_t n : {1, 2, 3, 5, 8, 17, 1000}) {
    const Ref<Buffer> b = filled(std::vector<int32_t>(static_cast<size_t>(n) + 1, 0));
    const Ref<CommandBuffer> c = commands();
    bump(c->encoder(), at(*b), n);
    must(c->seal());
    must(run(*c));
    must(run(*c));
    if (executes()) {
      std::vector<int32_t> expected(static_cast<size_t>(n) + 1, 2);
      expected.back() = 0;
      EXPECT_EQ(read(*b), expected) << n;
    }
  }
}

TEST_P(Commands, GridIsTheProductAndNoTilesAreNoWork) {
  const Ref<Buffer> b = filled(std::vector<int32_t>(24, 0));
  const Ref<CommandBuffer> c = commands();
  Encoder& encoder = c->encoder();
  encoder.set_kernel(*kernel("bump"));
  encoder.set_buffer(0, at(*b), Access::kReadWrite);
  encoder.dispatch(2, 3, 4);
  encoder.barrier();
  encoder.dispatch(0);
  encoder.dispatch(5, 0, 7);
  must(c->seal());
  EXPECT_EQ(c->counts().commands, 1);
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*b), Each(1));
  }
}

TEST_P(Commands, ConstantsAreCopiedAndAligned) {
  const Ref<Buffer> a = filled({1, 2, 3});
  const Ref<Buffer> c = buffer(3, "c");
  const Ref<Buffer> d = buffer(3, "d");
  const Ref<CommandBuffer> recorded = commands();
  add(recorded->encoder(), at(*a), at(*a), at(*c), 3, 100);
  add(recorded->encoder(), at(*a), at(*a), at(*d), 3, -7);
  must(recorded->seal());
  EXPECT_EQ(recorded->counts().constant_bytes, 128);
  must(run(*recorded));
  if (executes()) {
    EXPECT_THAT(read(*c), ElementsAre(102, 104, 106));
    EXPECT_THAT(read(*d), ElementsAre(-5, -3, -1));
  }
}

TEST_P(Commands, BarriersOrderALongChain) {
  constexpr int kSteps = 200;
  const Ref<Buffer> a = filled(std::vector<int32_t>(37, 0), "a");
  const Ref<Buffer> b = filled(std::vector<int32_t>(37, 0), "b");
  const Ref<CommandBuffer> c = commands();
  for (int i = 0; i < kSteps; ++i) {
    c->encoder().set_step(i);
    add(c->encoder(), at(*a), at(*b), i % 2 == 0 ? at(*b) : at(*a), 37, 1);
    c->encoder().barrier();
  }
  must(c->seal());
  EXPECT_EQ(c->counts().barriers, kSteps - 1);
  for (int repeat = 0; repeat < 20; ++repeat) {
    write(*a, std::vector<int32_t>(37, 0));
    write(*b, std::vector<int32_t>(37, 0));
    must(run(*c));
    if (executes()) {
      uint32_t x = 0;
      uint32_t y = 0;
      for (int i = 0; i < kSteps; ++i) {
        (i % 2 == 0 ? y : x) = x + y + 1;
      }
      ASSERT_THAT(read(*a), Each(static_cast<int32_t>(x)));
      ASSERT_THAT(read(*b), Each(static_cast<int32_t>(y)));
    }
  }
}

TEST_P(Commands, IndependentCommandsAllRun) {
  constexpr int kCount = 300;
  const Ref<Heap> heap = must(device_->create_heap({.size = kCount * 64, .label = "arena"}));
  std::vector<Ref<Buffer>> parts;
  const Ref<CommandBuffer> c = commands();
  for (int i = 0; i < kCount; ++i) {
    parts.push_back(must(heap->create_buffer({.offset = i * 64, .size = 20, .label = "part"})));
    write(*parts.back(), {i, i, i, i, i});
    bump(c->encoder(), at(*parts.back()), i % 6);
  }
  must(c->seal());
  EXPECT_EQ(c->counts().barriers, 0);
  must(run(*c));
  if (executes()) {
    for (int i = 0; i < kCount; ++i) {
      for (int j = 0; j < 5; ++j) {
        ASSERT_EQ(read(*parts[static_cast<size_t>(i)])[static_cast<size_t>(j)], j < i % 6 ? i + 1 : i);
      }
    }
  }
}

TEST_P(Commands, FenceOrdersWhatIsBeforeItsUpdate) {
  const Ref<Fence> fence = must(device_->create_fence("halves"));
  const Ref<Buffer> a = filled(std::vector<int32_t>(64, 1), "a");
  const Ref<Buffer> b = filled(std::vector<int32_t>(64, 5), "b");
  const Ref<Buffer> out = buffer(64, "out");
  const Ref<CommandBuffer> c = commands();
  bump(c->encoder(), at(*a), 64);
  c->encoder().update_fence(*fence);
  bump(c->encoder(), at(*b), 64);
  c->encoder().wait_fence(*fence);
  add(c->encoder(), at(*a), at(*a), at(*out), 64);
  must(c->seal());
  EXPECT_EQ(c->counts().barriers, 1);
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*out), Each(4));
    EXPECT_THAT(read(*b), Each(6));
  }
  const Ref<CommandBuffer> wrong = commands();
  wrong->encoder().set_step(9);
  wrong->encoder().wait_fence(*fence);
  EXPECT_FAILS(wrong->seal(), StatusCode::kFailedPrecondition,
               "Fence 'halves' is waited for before it is updated in this command buffer");
}

TEST_P(Commands, FillAndCopyReachExactlyTheirRange) {
  constexpr int64_t kSize = 200'003;  // several tiles of a fill, and an odd end
  const Ref<Buffer> a = must(device_->create_buffer({.size = kSize, .label = "a"}));
  const Ref<Buffer> b = must(device_->create_buffer({.size = kSize, .label = "b"}));
  std::memset(must(a->contents()).data(), 1, kSize);
  std::memset(must(b->contents()).data(), 2, kSize);
  // Odd beginnings where the device takes any.
  const int64_t alignment = device_->info().binding_alignment;
  const int64_t filled_from = alignment > 1 ? alignment : 3;
  const int64_t copied_from = alignment > 1 ? alignment : 1;
  const Ref<CommandBuffer> c = commands();
  c->encoder().fill(at(*a, filled_from, kSize - filled_from - 1), 9);
  c->encoder().barrier();
  c->encoder().copy(at(*a, copied_from, kSize - copied_from - 1),
                    at(*b, copied_from, kSize - copied_from - 1));
  must(c->seal());
  must(run(*c));
  if (executes()) {
    const std::span<const std::byte> x = must(a->read_contents());
    const std::span<const std::byte> y = must(b->read_contents());
    for (int64_t i = 0; i < kSize; ++i) {
      const auto index = static_cast<size_t>(i);
      ASSERT_EQ(x[index], i < filled_from || i == kSize - 1 ? std::byte{1} : std::byte{9}) << i;
      ASSERT_EQ(y[index], i < copied_from || i == kSize - 1 ? std::byte{2} : x[index]) << i;
    }
  }
}

TEST_P(Commands, ReleasedBindingsHoldNoMemory) {
  const int64_t before = device_->memory().use(MemoryCategory::kOther).current;
  const Ref<CommandBuffer> c = commands({.slots = 2, .label = "released"});
  add(c->encoder(), at_slot(0, 4, 8), at_slot(0, 0, 8), at_slot(1, 0, 8), 2);
  must(c->seal());
  for (int round = 0; round < 2; ++round) {
    Ref<Buffer> a = filled({1, 2, 3}, "a");
    Ref<Buffer> out = filled({0, 0}, "out");
    must(c->bind_slot(0, *a, 0));
    must(c->bind_slot(1, *out, 0));
    must(run(*c));
    if (executes()) {
      EXPECT_THAT(read(*out), ElementsAre(3, 5));
    }
    a = {};
    out = {};
    EXPECT_GT(device_->memory().use(MemoryCategory::kOther).current, before);
    must(c->release_bindings());
    EXPECT_EQ(device_->memory().use(MemoryCategory::kOther).current, before);
    EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition,
                 "(2) of its bindings missing");
  }
}

TEST_P(Commands, SlotsAreBoundAndBoundAgain) {
  const Ref<Buffer> a = filled({1, 2, 3, 4, 5, 6}, "a");
  const Ref<Buffer> b = filled({10, 20, 30, 40, 50, 60}, "b");
  const Ref<Buffer> out = filled({0, 0, 0, 0, 0, 0}, "out");
  const Ref<CommandBuffer> c = commands({.slots = 2, .label = "slots"});
  add(c->encoder(), at_slot(0, 4, 8), at_slot(0, 0, 8), at_slot(1, 0, 8), 2);
  must(c->seal());
  EXPECT_EQ(c->counts().slot_uses, 3);
  EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition,
               "(2) of its bindings missing");
  must(c->bind_slot(0, *a, 0));
  EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition, "slot 1");
  must(c->bind_slot(1, *out, 0));
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*out), ElementsAre(3, 5, 0, 0, 0, 0));
  }
  must(c->bind_slot(0, *b, 12));
  must(c->bind_slot(1, *out, 16));
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*out), ElementsAre(3, 5, 0, 0, 90, 110));
  }
  const std::string label(a->label());
  EXPECT_ERROR(
      c->bind_slot(0, *a, 16), StatusCode::kOutOfRange,
      fmt::format("Buffer '{}' has ({}) bytes, and as a slot of command buffer 'slots' it needs (12) from "
                  "offset (16).\n  - while binding slot (0) of 'slots'",
                  label, a->size()));
  EXPECT_ERROR(c->bind_slot(2, *a, 0), StatusCode::kOutOfRange,
               "Command buffer 'slots' has (2) slots, and none of number (2).");
  const Ref<Device> other = must(GetParam().create(0));
  const Ref<Buffer> foreign = must(other->create_buffer({.size = 64, .label = "foreign"}));
  EXPECT_ERROR(c->bind_slot(0, *foreign, 0), StatusCode::kInvalidArgument,
               "Buffer 'foreign', bound as a slot of command buffer 'slots', is of another device.\n"
               "  - while binding slot (0) of 'slots'");
  const int64_t alignment = device_->info().binding_alignment;
  for (const int64_t offset : {int64_t{-4}, alignment + 1}) {
    if (offset < 0 || alignment > 1) {
      EXPECT_ERROR(c->bind_slot(0, *a, offset), StatusCode::kInvalidArgument,
                   fmt::format("Buffer '{}' is bound as a slot at offset ({}), and device '{}' takes (0) and "
                               "multiples of ({}).\n  - while binding slot (0) of 'slots'",
                               label, offset, device_->info().name, alignment));
    }
  }
}

TEST_P(Commands, SlotKeepsItsBufferAlive) {
  Ref<Buffer> a = filled({1, 2}, "a");
  const Ref<Buffer> out = filled({0, 0}, "out");
  const Ref<CommandBuffer> c = commands({.slots = 1, .label = "slots"});
  add(c->encoder(), at_slot(0, 0, 8), at_slot(0, 0, 8), at(*out), 2);
  must(c->seal());
  must(c->bind_slot(0, *a, 0));
  a = nullptr;
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*out), ElementsAre(2, 4));
  }
}

TEST_P(Commands, ScratchIsOneBlockForAllParticipants) {
  const Ref<Buffer> a = filled(std::vector<int32_t>(500, -1), "a");
  const int32_t participants = std::min(3, device_->info().limits.participants);
  const int64_t bytes = int64_t{128} * participants;
  const Ref<CommandBuffer> c = commands({.participants = participants, .label = "scratch"});
  c->encoder().set_kernel(*kernel("scratch"));
  c->encoder().set_buffer(0, at(*a), Access::kWrite);
  c->encoder().dispatch(500);
  must(c->seal());
  EXPECT_EQ(c->scratch_bytes(), bytes);
  EXPECT_EQ(c->participants(), participants);
  EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition, "scratch");
  const Ref<Buffer> small = must(device_->create_buffer({.size = bytes - 1, .label = "small"}));
  EXPECT_FAILS(c->bind_scratch(*small, 0), StatusCode::kOutOfRange,
               fmt::format("needs ({}) from offset (0)", bytes));
  const Ref<Buffer> block = must(
      device_->create_buffer({.size = bytes + 64, .mode = StorageMode::kPrivate, .label = "scratch block"}));
  EXPECT_ERROR(
      c->bind_scratch(*block, 60), StatusCode::kInvalidArgument,
      fmt::format("Buffer 'scratch block' is bound as scratch at offset (60), whose address ({:#x}) is no "
                  "multiple of (64).",
                  reinterpret_cast<uintptr_t>(block->device_bytes()) + 60));
  must(c->bind_scratch(*block, 64));
  must(run(*c));
  if (executes()) {
    std::vector<int32_t> expected(500);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(read(*a), expected);
  }
}

TEST_P(Commands, ParametersAreReadWhenItRuns) {
  const Ref<Buffer> a = filled({0, 0}, "a");
  const Ref<Buffer> b = filled({0, 0}, "b");
  const Ref<Buffer> block = filled({0, 5, 7}, "parameters");
  const Ref<CommandBuffer> c = commands({.parameter_bytes = 8, .label = "parameters"});
  for (int i = 0; i < 2; ++i) {
    c->encoder().set_kernel(*kernel("parameter"));
    c->encoder().set_buffer(0, i == 0 ? at(*a) : at(*b), Access::kWrite);
    c->encoder().set_parameters(4 * i);
    c->encoder().dispatch(2);
  }
  must(c->seal());
  EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition, "parameters");
  must(c->bind_parameters(*block, 4));
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(5, 5));
    EXPECT_THAT(read(*b), ElementsAre(7, 7));
  }
  write(*block, {0, 50, 70});
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*a), ElementsAre(50, 50));
  }
}

TEST_P(Commands, NullBindingsAreNull) {
  const Ref<Buffer> b = filled({3, 4}, "b");
  const Ref<Buffer> x = filled({0, 0}, "x");
  const Ref<Buffer> y = filled({0, 0}, "y");
  const Ref<CommandBuffer> c = commands();
  Encoder& encoder = c->encoder();
  encoder.set_kernel(*kernel("optional"));
  encoder.set_null(0);
  encoder.set_buffer(1, at(*x), Access::kWrite);
  encoder.dispatch(2);
  encoder.set_kernel(*kernel("optional"));
  encoder.set_buffer(0, at(*b), Access::kRead);
  encoder.set_buffer(1, at(*y), Access::kWrite);
  encoder.dispatch(2);
  must(c->seal());
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*x), ElementsAre(-1, -1));
    EXPECT_THAT(read(*y), ElementsAre(3, 4));
  }
}

TEST_P(Commands, FirstMistakeIsToldBySealWithItsStep) {
  const Ref<Buffer> a = buffer(4, "a");
  const Ref<Device> other = must(GetParam().create(0));
  const Ref<Buffer> foreign = must(other->create_buffer({.size = 16, .label = "foreign"}));
  const Ref<Fence> fence = must(device_->create_fence("done"));
  const DeviceInfo& info = device_->info();
  const auto with_a = [&](Encoder& e, const char* name, int bindings) {
    e.set_kernel(*kernel(name));
    for (int i = 0; i < bindings; ++i) {
      e.set_buffer(i, at(*a), Access::kReadWrite);
    }
  };
  struct Case {
    std::function<void(Encoder&)> record;
    StatusCode code;
    std::string message;
  };
  const auto invalid = StatusCode::kInvalidArgument;
  const auto range = StatusCode::kOutOfRange;
  std::vector<Case> cases = {
      {[&](Encoder& e) { e.dispatch(1); }, StatusCode::kFailedPrecondition,
       "A dispatch is recorded before any kernel is set."},
      {[&](Encoder& e) {
         e.set_kernel(*kernel("bump"));
         e.set_buffer(0, at(*a, 8, 12), Access::kReadWrite);
         e.set_buffer(-3, at(*a), Access::kRead);  // not the first
         e.dispatch(1);
       },
       range, "The binding (0) is (12) bytes from offset (8), and buffer 'a' has (16) bytes."},
      {[&](Encoder& e) { e.set_buffer(-3, at(*a), Access::kRead); }, range,
       fmt::format("A binding has the index (-3), and device '{}' has (0 to {}).", info.name,
                   info.limits.bindings - 1)},
      {[&](Encoder& e) { e.set_null(info.limits.bindings); }, range,
       fmt::format("A binding has the index ({}), and device '{}' has (0 to {}).", info.limits.bindings,
                   info.name, info.limits.bindings - 1)},
      {[&](Encoder& e) { e.set_buffer(0, at(*a), static_cast<Access>(9)); }, invalid,
       "The binding (0) has an access (9), and the known ones are (1 to 3)."},
      {[&](Encoder& e) { e.set_buffer(0, at(*a, -4, 4), Access::kRead); }, range,
       "The binding (0) has an offset (-4) and a size (4), and the least are (0) and (-1)."},
      {[&](Encoder& e) {
         e.set_kernel(*kernel("add"));
         e.set_buffer(0, at(*a), Access::kRead);
         e.set_buffer(2, at(*a), Access::kRead);
         e.dispatch(1);
       },
       StatusCode::kFailedPrecondition, "Kernel 'add' has no binding (1); an absent one is set to null."},
      {[&](Encoder& e) {
         with_a(e, "bump", 2);
         e.dispatch(1);
       },
       invalid, "Kernel 'bump' takes (1) bindings, and (2) are set."},
      {[&](Encoder& e) {
         with_a(e, "add", 3);
         e.dispatch(1);
       },
       invalid, "Kernel 'add' reads (4) bytes of constants, and (0) are set."},
      {[&](Encoder& e) { e.set_buffer(0, at_slot(1), Access::kReadWrite); }, range,
       "The binding (0) refers to slot (1), and there are (1)."},
      {[&](Encoder& e) {
         const int64_t far = std::numeric_limits<int64_t>::max() / 64 * 64;
         e.set_buffer(0, at_slot(0, far, 64), Access::kRead);
       },
       range, "The binding (0) has an offset (9223372036854775744) and a size (64), whose sum does not fit."},
      {[&](Encoder& e) {
         with_a(e, "bump", 1);
         e.dispatch(int64_t{1} << 40, int64_t{1} << 40);
       },
       range,
       fmt::format(
           "A dispatch of kernel 'bump' has a grid (1099511627776 × 1099511627776 × 1), and the most is "
           "({}) tiles.",
           info.limits.tiles)},
      {[&](Encoder& e) {
         with_a(e, "bump", 1);
         e.dispatch(-1);
       },
       range,
       fmt::format("A dispatch of kernel 'bump' has a grid (-1 × 1 × 1), and the most is ({}) tiles.",
                   info.limits.tiles)},
      {[&](Encoder& e) {
         const std::vector<std::byte> huge(static_cast<size_t>(info.limits.constant_bytes) + 1);
         e.set_constants(huge);
       },
       range,
       fmt::format("The constants have ({}) bytes, and device '{}' takes at most ({}).",
                   info.limits.constant_bytes + 1, info.name, info.limits.constant_bytes)},
      {[&](Encoder& e) { e.set_scratch(-1); }, range,
       fmt::format("The scratch has (-1) bytes, and the allowed sizes are (0 to {}).",
                   info.limits.buffer_bytes)},
      {[&](Encoder& e) { e.set_parameters(8); }, range,
       "The parameters have an offset (8), and their block has (8) bytes."},
      {[&](Encoder& e) { e.copy(at(*a, 0, 8), at(*a, 4, 8)); }, invalid,
       "A copy has a source at (0) and a target at (4) of one buffer, and their (8) bytes overlap."},
      {[&](Encoder& e) { e.copy(at(*a, 0, 8), at_slot(0, 0, 4)); }, invalid,
       "A copy has a source of (8) bytes and a target of (4), and they must match."},
      {[&](Encoder& e) { e.fill(at_slot(0), 1); }, invalid,
       "The target of a fill, slot (0), has no size, and one in a slot has to state it."},
      {[&](Encoder& e) { e.fill(at(*a, 0, 17), 1); }, range,
       "The target of a fill is (17) bytes from offset (0), and buffer 'a' has (16) bytes."},
      {[&](Encoder& e) { e.fill(at(*foreign), 1); }, invalid,
       fmt::format("The target of a fill, buffer 'foreign', belongs to another device than '{}'.",
                   info.name)},
      {[&](Encoder& e) { e.wait_fence(*fence); }, StatusCode::kFailedPrecondition,
       "Fence 'done' is waited for before it is updated in this command buffer."},
      {[&](Encoder& e) { e.host_call(nullptr, nullptr); }, invalid, "A host call has no function."},
  };
  if (info.binding_alignment > 1) {
    cases.push_back(
        {[&](Encoder& e) { e.set_buffer(1, at(*a, 1, 1), Access::kRead); }, invalid,
         fmt::format("The binding (1) has an offset (1), and device '{}' takes multiples of ({}).", info.name,
                     info.binding_alignment)});
  }
  if (!info.capabilities.host_calls) {
    cases.push_back({[&](Encoder& e) { e.host_call([](void*) {}, nullptr); }, StatusCode::kUnimplemented,
                     fmt::format("Device '{}' takes no host calls.", info.name)});
  }
  for (const Case& c : cases) {
    const Ref<CommandBuffer> wrong = commands({.slots = 1, .parameter_bytes = 8, .label = "wrong"});
    wrong->encoder().set_step(7);
    c.record(wrong->encoder());
    EXPECT_ERROR(wrong->seal(), c.code,
                 c.message + "\n  - while recording step (7) of command buffer 'wrong'");
  }
}

TEST_P(Commands, DescriptorErrors) {
  const DeviceInfo& info = device_->info();
  EXPECT_ERROR(
      device_->create_command_buffer({.participants = 100'000, .label = "many"}),
      StatusCode::kInvalidArgument,
      fmt::format("Command buffer 'many' has (100000) participants, and device '{}' takes (1 to {}).",
                  info.name, info.limits.participants));
  struct Case {
    int32_t slots;
    int64_t parameter_bytes;
  };
  for (const Case c : {Case{-1, 0}, Case{0, -1}, Case{info.limits.slots + 1, 8}}) {
    EXPECT_ERROR(device_->create_command_buffer(
                     {.slots = c.slots, .parameter_bytes = c.parameter_bytes, .label = "wrong"}),
                 StatusCode::kInvalidArgument,
                 fmt::format("Command buffer 'wrong' has ({}) slots and ({}) bytes of parameters, and device "
                             "'{}' takes (0 to {}) and (0 or more).",
                             c.slots, c.parameter_bytes, info.name, info.limits.slots));
  }
}

TEST_P(Commands, StatesAreChecked) {
  const Ref<CommandBuffer> c = commands({.slots = 1, .label = "states"});
  EXPECT_EQ(c->state(), CommandBufferState::kRecording);
  EXPECT_FAILS(queue_->submit({.command_buffer = c.get()}), StatusCode::kFailedPrecondition,
               "'states' is submitted before it is sealed");
  const Ref<Buffer> a = buffer(4, "a");
  const std::string busy =
      "Command buffer 'states' is busy (recording), and bindings change only while it is (idle).";
  EXPECT_ERROR(c->bind_slot(0, *a, 0), StatusCode::kFailedPrecondition,
               busy + "\n  - while binding slot (0) of 'states'");
  EXPECT_ERROR(c->release_bindings(), StatusCode::kFailedPrecondition, busy);
  must(c->seal());
  EXPECT_EQ(c->state(), CommandBufferState::kIdle);
  EXPECT_FAILS(c->seal(), StatusCode::kFailedPrecondition,
               "'states' is (idle), and only a (recording) one is sealed");
  must(run(*c));  // empty
  EXPECT_EQ(c->state(), CommandBufferState::kIdle);
}

TEST_P(Commands, SealedFormIsAsLargeAsTheCountsSayAndCounted) {
  const Ref<Buffer> a = filled({1, 2, 3}, "a");
  const Ref<Buffer> out = buffer(3, "out");
  const auto record = [&](CommandBuffer& c) {
    add(c.encoder(), at(*a), at_slot(0, 0, 12), at(*out), 3, 1);
    c.encoder().barrier();
    c.encoder().fill(at(*a), 0);
  };
  const Ref<CommandBuffer> c = commands({.slots = 1, .label = "own storage"});
  record(*c);
  const CommandBufferCounts expected{.commands = 2,
                                     .blits = 1,
                                     .barriers = 1,
                                     .bindings = 4,
                                     .slot_uses = 1,
                                     .constant_bytes = 64,
                                     .buffers = 2,
                                     .kernels = 1,
                                     .slots = 1,
                                     .participants = c->participants()};
  const int64_t before = device_->memory().use(MemoryCategory::kHost).current;
  must(c->seal());
  EXPECT_EQ(c->host_bytes(), device_->command_buffer_bytes(expected));
  EXPECT_EQ(device_->memory().use(MemoryCategory::kHost).current - before, c->host_bytes());

  const Ref<CommandBuffer> placed = commands({.slots = 1, .label = "given storage"});
  record(*placed);
  alignas(64) static std::byte storage[1 << 16];
  EXPECT_EQ(placed->counts().commands, 2);
  EXPECT_EQ(device_->command_buffer_bytes(placed->counts()), c->host_bytes());
  std::vector<std::span<std::byte>> refused = {std::span(storage).subspan(8)};
  if (c->host_bytes() > 64) {
    refused.push_back(std::span(storage).first(64));
  }
  for (const std::span<std::byte> wrong : refused) {
    EXPECT_ERROR(placed->seal(wrong), StatusCode::kInvalidArgument,
                 fmt::format("Command buffer 'given storage' takes ({}) bytes aligned to (64), and the "
                             "storage has ({}) bytes at ({}).",
                             c->host_bytes(), wrong.size(), static_cast<const void*>(wrong.data())));
  }
  must(placed->seal(storage));
  EXPECT_EQ(device_->memory().use(MemoryCategory::kHost).current - before, c->host_bytes());
  must(placed->bind_slot(0, *a, 0));
  must(run(*placed));
  if (executes()) {
    EXPECT_THAT(read(*out), ElementsAre(3, 5, 7));
    EXPECT_THAT(read(*a), ElementsAre(0, 0, 0));
  }
}

TEST_P(Commands, FaultInDataBecomesAnErrorAndTheNextRunIsClean) {
  const Ref<Buffer> a = filled({10, 20, 30}, "a");
  const Ref<Buffer> index = filled({0, 7, 2}, "index");
  const Ref<Buffer> out = filled({0, 0, 0}, "out");
  const Ref<CommandBuffer> c = commands({.label = "gathering"});
  c->encoder().set_step(41);
  c->encoder().set_kernel(*kernel("gather"));
  c->encoder().set_buffer(0, at(*a), Access::kRead);
  c->encoder().set_buffer(1, at(*index), Access::kRead);
  c->encoder().set_buffer(2, at(*out), Access::kWrite);
  const AddConstants constants{.k = 3};
  c->encoder().set_constants(std::as_bytes(std::span(&constants, 1)));
  c->encoder().dispatch(3);
  must(c->seal());
  if (!executes()) {
    must(run(*c));
    return;
  }
  EXPECT_FAILS(run(*c), StatusCode::kOutOfRange,
               "Step (41) met an index (7) in its data, and the axis has an extent of (3)");
  EXPECT_EQ(c->status_record().step, 41);
  EXPECT_EQ(c->status_record().operands[0], 7);
  EXPECT_EQ(c->status_record().operands[1], 3);
  EXPECT_THAT(read(*out), ElementsAre(10, 30, 30));  // clamped, and it went on
  write(*index, {2, 1, 0});
  must(run(*c));
  EXPECT_EQ(c->status_record().state.load(), 0);
  EXPECT_THAT(read(*out), ElementsAre(30, 20, 10));
}

TEST_P(Commands, HostCallsRunInTheirPlace) {
  if (!host_calls()) {
    GTEST_SKIP() << "no host calls here";
  }
  const Ref<Buffer> a = buffer(2, "a", StorageMode::kPrivate);
  struct Seen {
    Buffer* buffer;
    int32_t value = 0;
  } seen{.buffer = a.get()};
  const Ref<CommandBuffer> c = commands();
  c->encoder().fill(at(*a), 3);
  c->encoder().barrier();
  c->encoder().host_call(
      [](void* user) {
        auto* s = static_cast<Seen*>(user);
        std::memcpy(&s->value, s->buffer->device_bytes(), sizeof(s->value));
      },
      &seen);
  c->encoder().barrier();
  c->encoder().fill(at(*a), 4);
  must(c->seal());
  must(run(*c));
  EXPECT_EQ(seen.value, 0x03030303);
}

TEST_P(Commands, ProfileTellsWhenEachCommandRan) {
  if (!device_->info().capabilities.timestamps) {
    GTEST_SKIP() << "no timestamps here";
  }
  const Ref<Buffer> a = filled(std::vector<int32_t>(1000, 0), "a");
  const Ref<CommandBuffer> c = commands({.profile = true, .label = "profiled"});
  for (int i = 0; i < 3; ++i) {
    c->encoder().set_step(100 + i);
    bump(c->encoder(), at(*a), 1000);
    c->encoder().barrier();
  }
  must(c->seal());
  must(run(*c));
  ASSERT_EQ(c->profile().size(), 3U);
  int64_t previous = 0;
  for (size_t i = 0; i < 3; ++i) {
    const CommandProfile& line = c->profile()[i];
    EXPECT_EQ(line.step, 100 + static_cast<int32_t>(i));
    EXPECT_GE(line.begin_ns, previous);
    EXPECT_GE(line.end_ns, line.begin_ns);
    EXPECT_GE(line.busy_ns, 0);
    previous = line.end_ns;
  }
  const Ref<CommandBuffer> plain = commands();
  bump(plain->encoder(), at(*a), 10);
  must(plain->seal());
  must(run(*plain));
  EXPECT_TRUE(plain->profile().empty());
}

TEST_P(Commands, CancelStopsBetweenGroupsAndIsForgottenAfterwards) {
  if (!host_calls()) {
    GTEST_SKIP() << "no host calls here";
  }
  const Ref<Buffer> a = filled({0}, "a");
  const Ref<CommandBuffer> c = commands({.label = "cancelled"});
  CommandBuffer* raw = c.get();
  struct Control {
    CommandBuffer* commands;
    bool cancel = true;
  } control{.commands = raw};
  bump(c->encoder(), at(*a), 1);
  c->encoder().barrier();
  c->encoder().host_call(
      [](void* user) {
        auto* self = static_cast<Control*>(user);
        if (self->cancel) {
          self->commands->cancel();
          self->commands->cancel();
        }
      },
      &control);
  c->encoder().barrier();
  bump(c->encoder(), at(*a), 1);
  must(c->seal());
  c->cancel();  // nothing in flight: no effect
  EXPECT_FAILS(run(*c), StatusCode::kCancelled, "'cancelled'");
  EXPECT_THAT(read(*a), ElementsAre(1));
  control.cancel = false;
  must(run(*c));
  EXPECT_THAT(read(*a), ElementsAre(3));
}

INSTANTIATE_TEST_SUITE_P(All, Commands, ::testing::ValuesIn(backends()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace weir::conformance
