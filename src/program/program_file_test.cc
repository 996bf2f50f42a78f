// SPDX-License-Identifier: Apache-2.0
#include "program/program_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>

#include "base/hash.h"
#include "program/testing/sample_programs.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr size_t kHeader = 40;

std::vector<std::byte> image_of(Program program) {
  const Result<std::vector<std::byte>> image = program_image(program, samples::blocks_of(program));
  EXPECT_TRUE(image) << image.error().to_string();
  return image ? *image : std::vector<std::byte>();
}

template <typename T>
T get(const std::vector<std::byte>& image, size_t offset) {
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void put(std::vector<std::byte>& image, size_t offset, T value) {
  std::memcpy(image.data() + offset, &value, sizeof(T));
}

struct Range64 {
  size_t offset;
  size_t size;
};

Range64 metadata_of(const std::vector<std::byte>& image) {
  const auto count = get<uint32_t>(image, 24);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = kHeader + 24 * i;
    if (get<uint32_t>(image, at) == 1) {
      return {get<uint64_t>(image, at + 8), get<uint64_t>(image, at + 16)};
    }
  }
  return {};
}

// After which only what the metadata says can give a damage away.
void rehash(std::vector<std::byte>& image) {
  const Range64 metadata = metadata_of(image);
  put<uint64_t>(image, 32, hash64(std::span(image).subspan(metadata.offset, metadata.size)));
}

std::string error_of(const std::vector<std::byte>& image) {
  const Result<LoadedProgram> loaded = read_program(image, nullptr);
  return loaded ? "" : loaded.error().message();
}

class ProgramFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("program_file_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(ProgramFileTest, ReadsWhatItWrote) {
  for (Program program : {samples::static_program(), samples::dynamic_program()}) {
    const std::string path = folder_ / (program.name + ".weir");
    const Result<void> written = write_program(program, samples::blocks_of(program), path);
    ASSERT_TRUE(written) << written.error().to_string();
    const Result<LoadedProgram> loaded = read_program(path);
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_TRUE(loaded->program == program);
    EXPECT_EQ(loaded->file_bytes, static_cast<int64_t>(fs::file_size(path)));
    EXPECT_FALSE(loaded->constants_copied);
    ASSERT_EQ(std::ssize(loaded->constants), program.constant_bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(loaded->constants.data()) % 4096, 0u);
    for (const ConstantBlock& block : samples::blocks_of(program)) {
      std::vector<std::byte> expected(static_cast<size_t>(block.bytes));
      ASSERT_TRUE(block.write(expected));
      const auto stored =
          loaded->constants.subspan(static_cast<size_t>(block.offset), static_cast<size_t>(block.bytes));
      EXPECT_TRUE(std::ranges::equal(stored, expected));
      EXPECT_EQ(program.storages[static_cast<size_t>(block.storage)].hash, hash64(expected));
    }
    EXPECT_TRUE(verify_constants(*loaded));
  }
  EXPECT_EQ(files(), 2u);
}

TEST_F(ProgramFileTest, IsTheSameEachTimeInMemoryAndOnDisk) {
  Program a = samples::static_program();
  const std::string path = folder_ / "a.weir";
  ASSERT_TRUE(write_program(a, samples::blocks_of(a), path));
  ASSERT_TRUE(write_program(a, samples::blocks_of(a), path));  // over itself
  std::ifstream stream(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const std::vector<std::byte> image = image_of(samples::static_program());
  EXPECT_EQ(text, std::string(reinterpret_cast<const char*>(image.data()), image.size()));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ProgramFileTest, LaysTheFileOutAsItSays) {
  const std::vector<std::byte> image = image_of(samples::static_program());
  EXPECT_EQ(std::memcmp(image.data(), "WEIRPROG", 8), 0);
  EXPECT_EQ(get<uint32_t>(image, 8), kProgramVersion);
  EXPECT_EQ(get<uint32_t>(image, 12), kOldestReaderOfStates);
  EXPECT_EQ(get<uint64_t>(image, 16), image.size());
  EXPECT_EQ(get<uint32_t>(image, 24), 2u);
  EXPECT_EQ(get<uint32_t>(image, 40), 2u);  // constants
  EXPECT_EQ(get<uint64_t>(image, 48), 4096u);
  EXPECT_EQ(get<uint64_t>(image, 56), 288u);
  const Range64 metadata = metadata_of(image);
  EXPECT_EQ(metadata.offset, 4096u + 320u);
  EXPECT_EQ(metadata.offset + metadata.size, image.size());
  EXPECT_EQ(get<uint64_t>(image, 32), hash64(std::span(image).subspan(metadata.offset, metadata.size)));
}

TEST_F(ProgramFileTest, NeedsNoConstants) {
  samples::Builder b;
  const int32_t in = b.storage({StorageKind::kInput, b.number(4), 0, 0, -1, 0, "", 0});
  const int32_t out = b.storage({StorageKind::kOutput, b.number(4), 0, 0, -1, 0, "", 0});
  const int32_t x = b.dense("x", ElementType::kFloat32, {1}, in);
  const int32_t y = b.dense("y", ElementType::kFloat32, {1}, out);
  b.program.steps.push_back(b.step("copy", Op::kCopy, NoAttributes{}, {x}, {y}, "copy"));
  b.program.inputs = {{"x", x}};
  b.program.outputs = {{"y", y}};
  b.program.arena_bytes = 0;
  b.program.activation_bytes = 0;
  const std::vector<std::byte> image = image_of(b.program);
  EXPECT_EQ(get<uint32_t>(image, 24), 1u);
  const Result<LoadedProgram> loaded = read_program(image, nullptr);
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_TRUE(loaded->constants.empty());
  EXPECT_TRUE(loaded->program == b.program);
}

TEST_F(ProgramFileTest, CopiesConstantsOnlyWhereAnImageIsNotAligned) {
  const std::vector<std::byte> image = image_of(samples::static_program());
  constexpr std::align_val_t kAlignment{64};
  auto* memory = static_cast<std::byte*>(::operator new(image.size() + 64, kAlignment));
  for (const size_t shift : {0, 1, 8}) {
    std::ranges::copy(image, memory + shift);
    const auto owner = std::make_shared<int>(7);
    const Result<LoadedProgram> loaded = read_program(std::span(memory + shift, image.size()), owner);
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    EXPECT_EQ(loaded->constants_copied, shift != 0);
    EXPECT_EQ(loaded->owner == owner, shift == 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(loaded->constants.data()) % 64, 0u);
    EXPECT_TRUE(std::ranges::equal(loaded->constants, std::span(image).subspan(4096, 288)));
  }
  ::operator delete(memory, kAlignment);
}

TEST_F(ProgramFileTest, LeavesNoFileWhenABlockFails) {
  Program program = samples::static_program();
  std::vector<ConstantBlock> blocks = samples::blocks_of(program);
  blocks[1].write = [](std::span<std::byte>) -> Result<void> {
    return fail(StatusCode::kDataLoss, "The model has ended.");
  };
  const Result<void> written = write_program(program, blocks, folder_ / "a.weir");
  ASSERT_FALSE(written);
  EXPECT_EQ(
      written.error().to_string(),
      "The model has ended.\n  - while writing the constant block at offset (256)\n  - while writing program "
      "'sample'");
  EXPECT_EQ(files(), 0u);
}

// The limit on a file's size stands in for a full disk.
TEST_F(ProgramFileTest, LeavesTheOldFileWhenSpaceRunsOut) {
  Program program = samples::static_program();
  const std::string path = folder_ / "a.weir";
  ASSERT_TRUE(write_program(program, samples::blocks_of(program), path));
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 4500;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<void> written = write_program(program, samples::blocks_of(program), path);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(read_program(path));
}

TEST_F(ProgramFileTest, NamesTheFolderThatIsNotThere) {
  Program program = samples::static_program();
  const std::string path = folder_ / "none" / "a.weir";
  const Result<void> written = write_program(program, samples::blocks_of(program), path);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(written.error().message(), HasSubstr(path));
  const Result<LoadedProgram> loaded = read_program(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), StatusCode::kNotFound);
}

TEST_F(ProgramFileTest, RefusesToWriteAProgramThatDoesNotVerify) {
  Program program = samples::static_program();
  program.steps[1].inputs[0] = 99;
  const Result<void> written = write_program(program, samples::blocks_of(program), folder_ / "a.weir");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("reads tensor (99)"));
  EXPECT_EQ(files(), 0u);
}

TEST_F(ProgramFileTest, RefusesBlocksThatDoNotFitTheProgram) {
  Program program = samples::static_program();
  const auto error = [&](auto change) {
    std::vector<ConstantBlock> blocks = samples::blocks_of(program);
    change(blocks);
    const auto image = program_image(program, blocks);
    return image ? "" : image.error().message();
  };
  using Blocks = std::vector<ConstantBlock>;
  const auto second = [](int64_t bytes, int64_t offset) {
    return fmt::format(
        "Constant block (1) takes ({}) bytes at offset ({}), and it lies at a multiple of (64), at or after "
        "(256), and ends by (288).",
        bytes, offset);
  };
  EXPECT_EQ(error([](Blocks& b) { b[1].offset = 290; }), second(32, 290));
  EXPECT_EQ(error([](Blocks& b) { b[1].offset = 192; }), second(32, 192));
  EXPECT_EQ(error([](Blocks& b) { b[1].bytes = 33; }), second(33, 256));
  EXPECT_EQ(error([](Blocks& b) { b[1].bytes = -1; }), second(-1, 256));
  EXPECT_THAT(error([](Blocks& b) { b[1].bytes = 31; }), HasSubstr("and no constant block does"));
  EXPECT_THAT(error([](Blocks& b) { b.pop_back(); }), HasSubstr("and no constant block does"));
  for (const int32_t named : {0, 2, 99}) {
    EXPECT_EQ(
        error([&](Blocks& b) { b[0].storage = named; }),
        fmt::format("Constant block (0) names storage ({}), which is no constant at its offset (0).", named));
  }
}

TEST_F(ProgramFileTest, FindsDamagedConstants) {
  Program program = samples::static_program();
  std::vector<std::byte> image = image_of(program);
  image[4096 + 256 + 3] ^= std::byte{1};
  const Result<LoadedProgram> loaded = read_program(image, nullptr);
  ASSERT_TRUE(loaded);  // constants are verified on request
  const Result<void> verified = verify_constants(*loaded);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code(), StatusCode::kDataLoss);
  EXPECT_THAT(verified.error().message(),
              HasSubstr("Constant storage (2), (32) bytes at offset (256) of the constants section"));
}

TEST_F(ProgramFileTest, SaysWhatIsWrongWithTheHeader) {
  const std::vector<std::byte> image = image_of(samples::static_program());
  const auto with = [&](size_t offset, auto value) {
    std::vector<std::byte> changed = image;
    put(changed, offset, value);
    return error_of(changed);
  };
  EXPECT_EQ(error_of({}), "The file has (0) bytes, and the header of a program file takes (40).");
  EXPECT_EQ(with(0, 'X'), "The file does not begin with 'WEIRPROG': it is not a program file.");
  for (const uint32_t oldest : {0U, 3U}) {
    EXPECT_EQ(with(12, oldest),
              fmt::format("The header at offset (8) has version (2) and oldest reader ({}), and the latter "
                          "is at least (1) and no more than the former.",
                          oldest));
  }
  EXPECT_THAT(with(16, int64_t{5}), HasSubstr("states (5): it is truncated or damaged"));
  for (const uint32_t sections : {0U, 17U, 0xffffffffU}) {
    EXPECT_EQ(
        with(24, sections),
        fmt::format(
            "The header at offset (24) states ({}) sections, and (1) to (16) are allowed and lie within "
            "the file.",
            sections));
  }
  EXPECT_THAT(with(24, uint32_t{1}), HasSubstr("The byte at offset (64), between two sections"));
  EXPECT_EQ(with(28, uint32_t{9}), "The header at offset (28) holds (9), and it is zero.");
  EXPECT_THAT(with(32, uint64_t{9}), HasSubstr("the header at offset (32) states (0000000000000009)"));
  const auto first = [&](const char* kind, int64_t bytes, int64_t offset, int64_t begin) {
    return fmt::format(
        "Section (0), {}, has ({}) bytes at offset ({}), and it begins at ({}) and ends within the ({}) "
        "bytes "
        "of the file.",
        kind, bytes, offset, begin, image.size());
  };
  EXPECT_EQ(with(40, uint32_t{1}), first("metadata", 288, 4096, 128));
  EXPECT_EQ(with(44, uint32_t{3}), "The section table at offset (44) holds (3), and it is zero.");
  EXPECT_EQ(with(48, int64_t{8192}), first("constants", 288, 8192, 4096));
  EXPECT_EQ(with(48, int64_t{-4096}), first("constants", 288, -4096, 4096));
  EXPECT_EQ(with(56, int64_t{1} << 62), first("constants", int64_t{1} << 62, 4096, 4096));
  EXPECT_EQ(with(56, int64_t{-1}), first("constants", -1, 4096, 4096));
  EXPECT_THAT(with(64, uint32_t{2}), HasSubstr("Section (1), constants"));
  EXPECT_EQ(with(64, uint32_t{3}), "The section table at offset (40) names no metadata section.");
  EXPECT_EQ(with(56, int64_t{300}),
            "The constants section has (300) bytes, and the metadata states (288) of constants.");
  EXPECT_EQ(with(100, 'x'),
            "The byte at offset (100), between two sections, is not zero: the file is damaged.");

  // A third section, of no bytes.
  for (const uint32_t kind : {1U, 2U}) {
    std::vector<std::byte> twice = image;
    twice.resize((image.size() + 4095) / 4096 * 4096, std::byte{0});
    const size_t end = kind == 1 ? (image.size() + 63) / 64 * 64 : twice.size();
    twice.resize(end);
    put<uint32_t>(twice, 24, 3);
    put<uint32_t>(twice, 88, kind);
    put<int64_t>(twice, 96, static_cast<int64_t>(end));
    put<int64_t>(twice, 16, std::ssize(twice));
    EXPECT_EQ(error_of(twice),
              fmt::format("Section (2) is a second one of kind {}.", kind == 1 ? "metadata" : "constants"));
  }

  std::vector<std::byte> longer = image;
  longer.push_back(std::byte{0});
  put(longer, 16, std::ssize(longer));
  EXPECT_EQ(error_of(longer),
            fmt::format("The last section ends at ({}), and the file at ({}).", image.size(), longer.size()));

  // A newer file that older readers may read, and one that they may not.
  std::vector<std::byte> newer = image;
  put<uint32_t>(newer, 8, 7);
  EXPECT_EQ(error_of(newer), "");
  put<uint32_t>(newer, 12, 3);
  const Result<LoadedProgram> refused = read_program(newer, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      refused.error().message(),
      "The file needs a reader of version (3), and this one has version (2): compile the model again, or use "
      "a newer runtime.");
}

TEST_F(ProgramFileTest, SkipsSectionsOfANewerWriter) {
  const std::vector<std::byte> image = image_of(samples::dynamic_program());
  // The table has room for a third entry before the constants at 4096; its section follows the metadata.
  std::vector<std::byte> extended = image;
  extended.resize((image.size() + 63) / 64 * 64 + 10, std::byte{0});
  put<uint32_t>(extended, 24, 3);
  put<uint32_t>(extended, 88, 77);
  put<int64_t>(extended, 96, static_cast<int64_t>((image.size() + 63) / 64 * 64));
  put<int64_t>(extended, 104, 10);
  put<int64_t>(extended, 16, std::ssize(extended));
  EXPECT_EQ(error_of(extended), "");
}

TEST_F(ProgramFileTest, RefusesEveryTruncation) {
  const std::vector<std::byte> image = image_of(samples::dynamic_program());
  for (size_t length = 0; length < image.size(); ++length) {
    const std::vector<std::byte> cut(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_NE(error_of(cut), "") << length;
    // The same with a header that knows.
    if (length >= kHeader) {
      std::vector<std::byte> knows = cut;
      put<int64_t>(knows, 16, std::ssize(knows));
      EXPECT_NE(error_of(knows), "") << length;
    }
  }
}

// Outside the metadata a flipped byte is an error, or changes nothing that is read.
TEST_F(ProgramFileTest, SurvivesEveryFlippedByteAroundTheMetadata) {
  const Program program = samples::static_program();
  const std::vector<std::byte> image = image_of(program);
  const Result<LoadedProgram> sound = read_program(image, nullptr);
  ASSERT_TRUE(sound);
  const Range64 metadata = metadata_of(image);
  int accepted = 0;
  for (size_t i = 0; i < image.size(); ++i) {
    if (i >= 4096 && i < 4096 + 288) {
      continue;  // constants
    }
    std::vector<std::byte> changed = image;
    changed[i] ^= std::byte{0x41};
    const Result<LoadedProgram> loaded = read_program(changed, nullptr);
    if (loaded) {
      ++accepted;
      EXPECT_TRUE(i >= 8 && i < 12) << i;  // the version, whose oldest reader is still this one
      EXPECT_TRUE(loaded->program == sound->program);
    }
    EXPECT_FALSE(loaded && i >= metadata.offset);
  }
  EXPECT_GT(accepted, 0);
}

// With the hash put right, what the metadata says decides: each flip is refused or reads as a program that
// verifies.
TEST_F(ProgramFileTest, SurvivesEveryFlippedByteOfTheMetadata) {
  int refused = 0;
  int accepted = 0;
  for (const Program& program : {samples::static_program(), samples::dynamic_program()}) {
    const std::vector<std::byte> image = image_of(program);
    const Range64 metadata = metadata_of(image);
    for (size_t i = metadata.offset; i < metadata.offset + metadata.size; ++i) {
      for (const int flip : {0x01, 0x80, 0xff}) {
        std::vector<std::byte> changed = image;
        changed[i] ^= static_cast<std::byte>(flip);
        rehash(changed);
        const Result<LoadedProgram> loaded = read_program(changed, nullptr);
        (loaded ? accepted : refused)++;
        if (loaded) {
          EXPECT_TRUE(verify(loaded->program));
        } else {
          EXPECT_FALSE(loaded.error().message().empty());
        }
      }
    }
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(accepted, 100);  // names, hashes, the padding of the buffer
}

TEST_F(ProgramFileTest, NamesTheFileInErrors) {
  const std::string path = folder_ / "a.weir";
  std::ofstream(path) << "WEIRPROG";
  const Result<LoadedProgram> loaded = read_program(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(
      loaded.error().to_string(),
      fmt::format("The file has (8) bytes, and the header of a program file takes (40).\n  - while reading "
                  "program file '{}'",
                  path));
}

}  // namespace
}  // namespace weir
