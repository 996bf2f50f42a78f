// SPDX-License-Identifier: Apache-2.0
#include "program/metadata.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/testing/sample_programs.h"
#include "program_generated.h"

namespace weir::internal {
namespace {

using testing::HasSubstr;

std::string error_of(const flatbuffers::FlatBufferBuilder& builder) {
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const Result<Program> program = decode_metadata({data, builder.GetSize()});
  return program ? "" : program.error().message();
}

TEST(Metadata, GoesThereAndBack) {
  for (const Program& program : {samples::static_program(), samples::dynamic_program(), Program()}) {
    const Result<std::vector<std::byte>> bytes = encode_metadata(program);
    ASSERT_TRUE(bytes);
    const Result<Program> read = decode_metadata(*bytes);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_TRUE(*read == program);
    EXPECT_EQ(*encode_metadata(*read), *bytes);
  }
}

// A thousand steps that are one table, whose list of a thousand integers is therefore stored once and would
// be read a thousand times.
TEST(Metadata, RefusesTablesThatAreUsedTwice) {
  flatbuffers::FlatBufferBuilder builder;
  const auto integers = builder.CreateVector(std::vector<int64_t>(1000, 7));
  const auto step = fbs::CreateStep(builder, 0, 0, 0, integers);
  const auto steps = builder.CreateVector(std::vector<flatbuffers::Offset<fbs::Step>>(1000, step));
  fbs::ProgramBuilder program(builder);
  program.add_steps(steps);
  builder.Finish(program.Finish());
  EXPECT_THAT(error_of(builder), HasSubstr("refers to the same tables more than once"));
}

TEST(Metadata, RefusesWhatIsNoFlatBuffer) {
  for (const size_t size : {0, 1, 3, 4, 8, 64}) {
    const std::vector<std::byte> bytes(size, std::byte{0x7f});
    const Result<Program> read = decode_metadata(bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message(),
              fmt::format("The metadata section of ({}) bytes is not a well-formed FlatBuffer of a program.",
                          size));
  }
}

TEST(Metadata, ReadsAbsentListsAsEmpty) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreateProgram(builder));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const Result<Program> read = decode_metadata({data, builder.GetSize()});
  ASSERT_TRUE(read);
  EXPECT_TRUE(*read == Program());
}

}  // namespace
}  // namespace weir::internal
