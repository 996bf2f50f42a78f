// SPDX-License-Identifier: Apache-2.0
//
// Against what is asked of operator new while a program is copied: a member that heap_bytes() forgets shows.
#include "program/heap_bytes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "program/testing/sample_programs.h"

namespace {

int64_t asked_for = 0;

}  // namespace

// The two are a pair, which the compiler does not see where it inlines one of them.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(size_t size) {
  asked_for += static_cast<int64_t>(size);
  void* memory = std::malloc(size);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace weir {
namespace {

// With every member filled in, in lengths that do not fit into the objects themselves.
Program rich() {
  const std::string text(40, 'x');
  Program program;
  program.name = program.target = text;
  program.metadata = {{text, text}};
  program.symbols = {{.name = text}};
  program.dims = {{}, {}};
  program.constraints = {{.what = text}};
  program.storages = {{.pack_id = text}};
  program.tensors = {{.name = text, .shape = {0, 1}, .strides = {1, 0}}};
  Step step;
  step.name = step.origin = text;
  step.attributes = {.integers = {1, 2}, .reals = {1.5}, .dims = {0}, .strings = {text}};
  step.inputs = {0, 0};
  step.outputs = {0};
  step.packed = {{.input = 1, .storage = 0}};
  step.implementations = {text, "short"};
  step.refused = {{text, text}};
  program.prepare_steps = {step};
  program.steps = {step, step};
  program.inputs = {{.name = text}};
  program.outputs = {{.name = text}};
  program.notices = {{.what = text, .reason = text}};
  program.placement_order = {0};
  program.constants = {{.name = text}};
  return program;
}

int64_t asked_by_copy(const Program& program) {
  const int64_t before = asked_for;
  // What the copy asks for is measured. NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const Program copy = program;
  const int64_t asked = asked_for - before;
  EXPECT_EQ(heap_bytes(copy), asked);
  return asked;
}

TEST(HeapBytesTest, AnEmptyProgramHoldsNothing) {
  EXPECT_EQ(asked_by_copy({}), 0);
}

TEST(HeapBytesTest, EveryMemberIsCounted) {
  EXPECT_GT(asked_by_copy(rich()), 1000);
}

TEST(HeapBytesTest, TextsWithinTheObjectTakeNothing) {
  Program program;
  program.name = "short";
  EXPECT_EQ(asked_by_copy(program), 0);
}

}  // namespace
}  // namespace weir
