// SPDX-License-Identifier: Apache-2.0
//
// Programs that are sound but for their size: past each limit of docs/errors.md the error names it, before
// anything grows with what is stated.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <functional>
#include <string>

#include "base/testing/results.h"
#include "program/metadata.h"
#include "program/program.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

constexpr size_t kMost = size_t{1} << 28;  // bytes of metadata

TEST(Limits, OfMetadataThatIsRead) {
  // Reserved and never touched: the size alone is looked at.
  void* memory = ::mmap(nullptr, kMost + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::span bytes(static_cast<const std::byte*>(memory), kMost + 1);
  EXPECT_ERROR(internal::decode_metadata(bytes), StatusCode::kDataLoss,
               "The metadata section has (268435457) bytes, and (268435456) is the most.");
  ::munmap(memory, kMost + 1);
}

TEST(Limits, OfMetadataThatIsWritten) {
  Program program = samples::static_program();
  const size_t others = must(internal::encode_metadata(program)).size();
  program.metadata = {{"author", std::string(kMost, 'x')}};
  const Result<std::vector<std::byte>> refused = internal::encode_metadata(program);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kOutOfRange);
  const std::string text = refused.error().to_string();
  const std::string begin = "The metadata of program 'sample' takes (";
  ASSERT_EQ(text.substr(0, begin.size()), begin);
  size_t end = 0;
  const size_t bytes = std::stoull(text.substr(begin.size()), &end);
  EXPECT_GT(bytes, kMost);
  EXPECT_LE(bytes, kMost + others);
  EXPECT_EQ(
      text,
      fmt::format("The metadata of program 'sample' takes ({}) bytes, and (268435456) is the most.", bytes));
}

TEST(Limits, OfLists) {
  Program program = samples::static_program();
  program.dims.resize((size_t{1} << 24) + 1);
  EXPECT_ERROR(verify(program), StatusCode::kInvalidArgument,
               "The program has (16777217) dimensions, and (16777216) is the most.");
}

TEST(Limits, OfStoragesInTheArena) {
  Program program = samples::dynamic_program();  // it has two
  const Storage one = program.storages[3];
  ASSERT_EQ(one.kind, StorageKind::kActivation);
  while (program.placement_order.size() < size_t{1} << 16) {
    program.placement_order.push_back(static_cast<int32_t>(program.storages.size()));
    program.storages.push_back(one);
  }
  EXPECT_TRUE(verify(program));
  program.placement_order.push_back(static_cast<int32_t>(program.storages.size()));
  program.storages.push_back(one);
  EXPECT_ERROR(verify(program), StatusCode::kInvalidArgument,
               "The arena holds (65537) storages, and (65536) is the most.");
}

TEST(Limits, OfOperands) {
  const auto error = [](const std::function<void(Step&)>& change) {
    Program program = samples::static_program();
    change(program.steps[2]);
    const Result<void> verified = verify(program);
    return verified ? "sound" : verified.error().to_string();
  };
  const std::string refused =
      "The step has (8193) operands, and (8192) is the most.\n  - while verifying step (2) 'join'";
  EXPECT_EQ(error([](Step& join) { join.inputs.resize(8193, -1); }), refused);
  EXPECT_EQ(error([](Step& join) { join.outputs.resize(8193, -1); }), refused);
  EXPECT_EQ(error([](Step& join) { join.packed.resize(8193); }), refused);
  EXPECT_NE(error([](Step& join) { join.inputs.resize(8192, -1); }).substr(0, 20), refused.substr(0, 20));
}

}  // namespace
}  // namespace weir
