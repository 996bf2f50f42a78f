// SPDX-License-Identifier: Apache-2.0
//
// Buffers, heaps, imports, and what the account says of them.
#include <unistd.h>

#include "conformance.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Memory : public ConformanceTest {};

TEST_P(Memory, SharedBytesAreReadAsTheyWereWritten) {
  const Ref<Buffer> b = filled({1, 2, 3, 4});
  EXPECT_THAT(read(*b), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(b->size(), 16);
  EXPECT_EQ(b->mode(), StorageMode::kShared);
  EXPECT_EQ(b->label(), "input");
  EXPECT_EQ(&b->device(), device_.get());
}

TEST_P(Memory, AddressesAreAligned) {
  for (const int64_t size : {int64_t{1}, int64_t{63}, int64_t{65}, int64_t{100'000}}) {
    const Ref<Buffer> b = must(device_->create_buffer({.size = size, .label = "b"}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(must(b->contents()).data()) % 64, 0U);
    EXPECT_EQ(static_cast<int64_t>(must(b->contents()).size()), size);
  }
  const Ref<Buffer> big = must(device_->create_buffer({.size = 100, .alignment = 16384, .label = "big"}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(must(big->contents()).data()) % 16384, 0U);
  const Ref<Buffer> pages = must(device_->create_buffer({.size = 100'000, .label = "pages"}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(must(pages->contents()).data()) % 4096, 0U);
}

TEST_P(Memory, HugeAndUntouchedPagesWorkAsOthersDo) {
  const Ref<Buffer> huge = must(
      device_->create_buffer({.size = (4 << 20) + 5, .prefault = true, .huge_pages = true, .label = "huge"}));
  const std::span<std::byte> bytes = must(huge->contents());
  bytes.back() = std::byte{7};
  EXPECT_EQ(bytes[bytes.size() - 1], std::byte{7});
  const Ref<Buffer> lazy =
      must(device_->create_buffer({.size = 1 << 20, .prefault = false, .label = "lazy"}));
  EXPECT_EQ(must(lazy->contents())[12345], std::byte{0});
}

TEST_P(Memory, PrivateContentsAreAnError) {
  const Ref<Buffer> b = buffer(4, "weights", StorageMode::kPrivate);
  const char* contents =
      "Buffer 'weights' has storage mode (Private), and only (Shared, Managed) have contents that the host "
      "can reach; copy it to a Shared buffer.";
  const char* copy =
      "Buffer 'weights' has storage mode (Private), and only (Managed) has a host copy to keep in step.";
  EXPECT_ERROR(b->contents(), StatusCode::kFailedPrecondition, contents);
  EXPECT_ERROR(b->read_contents(), StatusCode::kFailedPrecondition, contents);
  EXPECT_ERROR(b->did_modify(), StatusCode::kFailedPrecondition, copy);
  EXPECT_ERROR(b->synchronize(), StatusCode::kFailedPrecondition, copy);
}

// Asks the system, which answers where an access of our own would end the process.
bool is_readable(const std::byte* byte) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe(ends), 0);
  const bool readable = ::write(ends[1], byte, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

TEST_P(Memory, PrivateOfAFarDeviceIsInReachOnlyWhileCommandsRun) {
  if (!host_calls()) {
    GTEST_SKIP() << "the device calls nothing of the host's";
  }
  struct Look {
    Ref<Buffer> buffer;
    bool inside = false;
  } look{buffer(4, "far", StorageMode::kPrivate)};
  const std::byte* byte = look.buffer->device_bytes();
  ASSERT_NE(byte, nullptr);
  EXPECT_EQ(is_readable(byte), device_->info().unified_memory);
  const Ref<CommandBuffer> c = commands();
  c->encoder().host_call(
      [](void* user) {
        auto* own = static_cast<Look*>(user);
        own->inside = is_readable(own->buffer->device_bytes());
      },
      &look);
  must(c->seal());
  must(run(*c));
  EXPECT_TRUE(look.inside);
  EXPECT_EQ(is_readable(byte), device_->info().unified_memory);
}

TEST_P(Memory, PrivateIsFilledAndReadThroughCopies) {
  const Ref<Buffer> staging = filled({5, 6, 7, 8});
  const Ref<Buffer> device = buffer(4, "device", StorageMode::kPrivate);
  const Ref<Buffer> back = filled({0, 0, 0, 0});
  const Ref<CommandBuffer> c = commands();
  c->encoder().copy(at(*staging), at(*device));
  c->encoder().barrier();
  c->encoder().copy(at(*device, 4, 8), at(*back, 8, 8));
  must(c->seal());
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*back), ElementsAre(0, 0, 6, 7));
  }
}

TEST_P(Memory, ManagedCarriesRangesBothWays) {
  const Ref<Buffer> m = buffer(4, "managed", StorageMode::kManaged);
  write(*m, {1, 2, 3, 4});
  must(m->did_modify());
  const Ref<CommandBuffer> c = commands();
  bump(c->encoder(), at(*m), 4);
  must(c->seal());
  must(run(*c));
  if (executes() && !device_->info().unified_memory) {
    EXPECT_THAT(read(*m), ElementsAre(1, 2, 3, 4));  // the host's copy is its own
    must(m->synchronize(4, 8));
    EXPECT_THAT(read(*m), ElementsAre(1, 3, 4, 4));
  }
  must(m->synchronize());
  if (executes()) {
    EXPECT_THAT(read(*m), ElementsAre(2, 3, 4, 5));
  }
  EXPECT_FAILS(m->did_modify(8, 9), StatusCode::kOutOfRange,
               "has (16) bytes, and the range asked for is (9) bytes from (8)");
  EXPECT_FAILS(m->synchronize(-1, 4), StatusCode::kOutOfRange, "'managed'");
}

TEST_P(Memory, SizesAndAlignmentsOutOfRangeAreErrors) {
  const std::string device(device_->info().name);
  const int64_t limit = device_->info().limits.buffer_bytes;
  const auto sizes = [&](const char* what, const char* label, int64_t size) {
    return fmt::format("{} '{}' has a size ({}), and device '{}' takes (1 to {}) bytes.", what, label, size,
                       device, limit);
  };
  struct Case {
    BufferDescriptor descriptor;
    std::string message;
  };
  std::vector<Case> cases = {
      {{.size = 0, .label = "none"}, sizes("Buffer", "none", 0)},
      {{.size = -5, .label = "less"}, sizes("Buffer", "less", -5)},
      {{.size = 64, .alignment = 48, .label = "odd"},
       "Buffer 'odd' has an alignment (48), and the allowed ones are (powers of two up to 1073741824)."},
      {{.size = 64, .alignment = -64, .label = "odd"},
       "Buffer 'odd' has an alignment (-64), and the allowed ones are (powers of two up to 1073741824)."},
      {{.size = 64, .alignment = int64_t{1} << 31, .label = "odd"},
       "Buffer 'odd' has an alignment (2147483648), and the allowed ones are (powers of two up to "
       "1073741824)."},
  };
  cases.push_back({{.size = limit + 1, .label = "most"}, sizes("Buffer", "most", limit + 1)});
  for (const Case& c : cases) {
    EXPECT_ERROR(device_->create_buffer(c.descriptor), StatusCode::kInvalidArgument, c.message);
  }
  EXPECT_ERROR(device_->create_heap({.size = 0, .label = "no heap"}), StatusCode::kInvalidArgument,
               sizes("Heap", "no heap", 0));
  EXPECT_ERROR(device_->import_buffer({.pointer = &device, .size = 0, .label = "no import"}),
               StatusCode::kInvalidArgument, sizes("Imported buffer", "no import", 0));
}

TEST_P(Memory, AccountCountsByCategoryAndGivesBack) {
  MemoryAccount& account = device_->memory();
  const int64_t before = account.total().current;
  {
    const Ref<Buffer> a = must(
        device_->create_buffer({.size = 100, .category = MemoryCategory::kConstants, .label = "constants"}));
    EXPECT_EQ(account.use(MemoryCategory::kConstants).current,
              device_->allocation_bytes(100, StorageMode::kShared));
    EXPECT_EQ(account.use(MemoryCategory::kConstants).current, 128);
    const Ref<Buffer> m = must(device_->create_buffer(
        {.size = 100, .mode = StorageMode::kManaged, .category = MemoryCategory::kIo}));
    EXPECT_EQ(account.use(MemoryCategory::kIo).current, device_->info().unified_memory ? 128 : 256);
    const Ref<Heap> heap = must(
        device_->create_heap({.size = 4096, .category = MemoryCategory::kActivations, .label = "arena"}));
    const Ref<Buffer> child = must(heap->create_buffer({.offset = 64, .size = 1000, .label = "child"}));
    EXPECT_EQ(account.use(MemoryCategory::kActivations).current, 4096);
  }
  EXPECT_EQ(account.total().current, before);
  EXPECT_EQ(account.use(MemoryCategory::kActivations).peak, 4096);
}

TEST_P(Memory, PastTheLimitAnErrorSaysWhoHoldsWhat) {
  const Ref<Device> small = must(GetParam().create(1 << 20));
  const Ref<Buffer> a = must(small->create_buffer(
      {.size = 900'000, .category = MemoryCategory::kConstants, .label = "weights of yolo"}));
  const auto refused =
      small->create_buffer({.size = 200'000, .category = MemoryCategory::kActivations, .label = "arena"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.error().message(), HasSubstr("memory limit of (1048576) bytes"));
  EXPECT_THAT(refused.error().message(), HasSubstr("'arena' asks for ("));
  EXPECT_THAT(refused.error().message(), HasSubstr("'weights of yolo'"));
  EXPECT_TRUE(small->create_buffer({.size = 10'000, .label = "little"}));
}

TEST_P(Memory, HeapChildrenShareOneAllocationAndMayOverlap) {
  const Ref<Heap> heap = must(device_->create_heap({.size = 1024, .label = "arena"}));
  const Ref<Buffer> a = must(heap->create_buffer({.offset = 128, .size = 64, .label = "a"}));
  const Ref<Buffer> b = must(heap->create_buffer({.offset = 128, .size = 128, .label = "b"}));
  EXPECT_EQ(b->heap_offset(), 128);
  write(*a, {11, 12});
  EXPECT_EQ(read(*b)[1], 12);
  const Ref<Buffer> end = must(heap->create_buffer({.offset = 960, .size = 64, .label = "end"}));
  EXPECT_EQ(must(end->contents()).data() - must(a->contents()).data(), 960 - 128);
}

TEST_P(Memory, HeapErrorsNameBothSides) {
  const Ref<Heap> heap =
      must(device_->create_heap({.size = 1024, .mode = StorageMode::kPrivate, .label = "arena"}));
  EXPECT_FAILS(heap->create_buffer({.offset = 0, .size = 64, .mode = StorageMode::kShared, .label = "x"}),
               StatusCode::kInvalidArgument,
               "Buffer 'x' asks for storage mode (Shared), and its heap 'arena' has (Private)");
  for (const int64_t offset : {8, -64}) {
    EXPECT_ERROR(
        heap->create_buffer({.offset = offset, .size = 64, .label = "x"}), StatusCode::kInvalidArgument,
        fmt::format("Buffer 'x' has an offset ({}) in heap 'arena', and device '{}' takes multiples of ({}).",
                    offset, device_->info().name, device_->info().buffer_alignment));
  }
  struct Outside {
    int64_t offset;
    int64_t size;
  };
  for (const Outside range : {Outside{960, 65}, Outside{2048, 1}, Outside{0, 0}}) {
    EXPECT_ERROR(
        heap->create_buffer({.offset = range.offset, .size = range.size, .label = "x"}),
        StatusCode::kOutOfRange,
        fmt::format("Buffer 'x' asks for ({}) bytes from offset ({}), and its heap 'arena' has (1024) bytes.",
                    range.size, range.offset));
  }
  const Ref<Buffer> inherits = must(heap->create_buffer({.offset = 0, .size = 64, .label = "x"}));
  EXPECT_EQ(inherits->mode(), StorageMode::kPrivate);
}

TEST_P(Memory, HeapChildOutlivesItsHeapsHandle) {
  Ref<Buffer> child;
  {
    const Ref<Heap> heap = must(device_->create_heap({.size = 1024, .label = "arena"}));
    child = must(heap->create_buffer({.offset = 0, .size = 8, .label = "child"}));
  }
  write(*child, {1, 2});
  EXPECT_THAT(read(*child), ElementsAre(1, 2));
}

TEST_P(Memory, ImportUsesTheMemoryItselfOrSaysWhyNot) {
  alignas(64) int32_t values[4] = {1, 2, 3, 4};
  const ImportDescriptor descriptor{.pointer = values, .size = sizeof(values), .label = "frame"};
  if (!device_->info().capabilities.import_host_memory) {
    EXPECT_EQ(device_->import_verdict(values, sizeof(values)), ImportVerdict::kMemoryNotShared);
    EXPECT_FAILS(device_->import_buffer(descriptor), StatusCode::kFailedPrecondition,
                 "cannot use the memory of 'frame' in place: the device does not share the host's memory");
    return;
  }
  EXPECT_EQ(device_->import_verdict(values, sizeof(values)), ImportVerdict::kUsable);
  const int64_t before = device_->memory().total().current;
  const Ref<Buffer> b = must(device_->import_buffer(descriptor));
  EXPECT_EQ(device_->memory().total().current, before);  // it is the caller's
  EXPECT_EQ(must(b->contents()).data(), reinterpret_cast<std::byte*>(values));
  const Ref<CommandBuffer> c = commands();
  bump(c->encoder(), at(*b), 4);
  must(c->seal());
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(values, ElementsAre(2, 3, 4, 5));
  }
  EXPECT_ERROR(device_->import_buffer({.pointer = nullptr, .size = 4, .label = "null"}),
               StatusCode::kInvalidArgument, "Imported buffer 'null' has a null pointer.");
}

class Flag : public RefCounted {
 public:
  explicit Flag(bool& gone) : gone_(gone) {}
  ~Flag() override { gone_ = true; }

 private:
  bool& gone_;
};

TEST_P(Memory, ReadOnlyImportIsCountedOnRequestKeptAliveAndNeverWritten) {
  if (!device_->info().capabilities.import_host_memory) {
    GTEST_SKIP() << "nothing is imported here";
  }
  alignas(64) static const int32_t values[4] = {1, 2, 3, 4};
  bool gone = false;
  const Ref<Buffer> b = must(device_->import_buffer({.pointer = values,
                                                     .size = sizeof(values),
                                                     .read_only = true,
                                                     .counted = true,
                                                     .category = MemoryCategory::kConstants,
                                                     .label = "mapped weights",
                                                     .keep_alive = make_ref<Flag>(gone)}));
  EXPECT_EQ(device_->memory().use(MemoryCategory::kConstants).current, 16);
  EXPECT_ERROR(b->contents(), StatusCode::kPermissionDenied,
               "Buffer 'mapped weights' was imported read-only, and its contents are asked for in order to "
               "write.");
  EXPECT_EQ(must(b->read_contents()).data(), reinterpret_cast<const std::byte*>(values));
  const Ref<CommandBuffer> c = commands();
  c->encoder().set_step(3);
  bump(c->encoder(), at(*b), 4);
  EXPECT_ERROR(c->seal(), StatusCode::kPermissionDenied,
               "The binding (0) is written, and buffer 'mapped weights' was imported read-only.\n"
               "  - while recording step (3) of command buffer 'commands'");
  const Ref<CommandBuffer> slots = commands({.slots = 1, .label = "slots"});
  slots->encoder().fill(at_slot(0, 0, 16), 0);
  must(slots->seal());
  if (GetParam().validation) {
    EXPECT_ERROR(
        slots->bind_slot(0, *b, 0), StatusCode::kFailedPrecondition,
        "Slot (0) of command buffer 'slots' is used as (copy target), and buffer 'mapped weights' was "
        "created for (kernel read, copy source).");
  } else {
    EXPECT_ERROR(
        slots->bind_slot(0, *b, 0), StatusCode::kPermissionDenied,
        "Slot (0) of command buffer 'slots' is written, and buffer 'mapped weights' was imported read-only.");
  }
  EXPECT_FALSE(gone);
}

TEST_P(Memory, ImportIsReleasedWithItsLastUser) {
  if (!device_->info().capabilities.import_host_memory) {
    GTEST_SKIP() << "nothing is imported here";
  }
  alignas(64) static const int32_t values[4] = {1, 2, 3, 4};
  bool gone = false;
  Ref<Buffer> b = must(device_->import_buffer({.pointer = values,
                                               .size = sizeof(values),
                                               .read_only = true,
                                               .label = "mapped",
                                               .keep_alive = make_ref<Flag>(gone)}));
  const Ref<Buffer> out = buffer(4, "out");
  Ref<CommandBuffer> c = commands();
  add(c->encoder(), at(*b), at(*b), at(*out), 4);
  must(c->seal());
  b = nullptr;
  must(run(*c));
  if (executes()) {
    EXPECT_THAT(read(*out), ElementsAre(2, 4, 6, 8));
  }
  EXPECT_FALSE(gone);
  c = nullptr;
  EXPECT_TRUE(gone);
}

TEST_P(Memory, DeviceInfoIsFilledIn) {
  const DeviceInfo& info = device_->info();
  EXPECT_FALSE(info.name.empty());
  EXPECT_GE(info.buffer_alignment, 64);
  EXPECT_GE(info.binding_alignment, 1);
  EXPECT_GE(info.participants, 1);
  EXPECT_GE(info.limits.participants, info.participants);
  EXPECT_GE(info.limits.constant_bytes, 4096);
  EXPECT_GE(info.limits.bindings, 64);
  ASSERT_FALSE(info.toggles.empty());
  EXPECT_EQ(info.toggles.back().name, "validation");
  EXPECT_EQ(info.toggles.back().on, GetParam().validation);
}

INSTANTIATE_TEST_SUITE_P(All, Memory, ::testing::ValuesIn(backends()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace weir::conformance
