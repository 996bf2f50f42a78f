// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace weir {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "mapped_file_test_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(std::string_view name, std::string_view content) {
    const std::string path = folder_ + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string folder_;
};

TEST_F(MappedFileTest, GivesTheBytesAndOutlivesTheFile) {
  const std::string path = write("a", "weir");
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ((*file)->path(), path);
  EXPECT_EQ((*file)->identity().size, 4);
  std::filesystem::remove(path);
  ASSERT_EQ((*file)->bytes().size(), 4u);
  EXPECT_EQ(std::memcmp((*file)->bytes().data(), "weir", 4), 0);
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  auto file = MappedFile::open(write("empty", ""));
  ASSERT_TRUE(file);
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(MappedFileTest, MissingFileAndFolderAreErrors) {
  const auto missing = MappedFile::open(folder_ + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.error().message(), HasSubstr("/none' cannot be opened: No such file"));
  const auto folder = MappedFile::open(folder_);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message(), HasSubstr("is not a regular file, and only one can be mapped"));
  EXPECT_FALSE(identify_file(folder_ + "/none"));
}

TEST_F(MappedFileTest, IdentityTellsStatesApart) {
  const std::string path = write("a", "one");
  const auto before = identify_file(path);
  ASSERT_TRUE(before);
  EXPECT_EQ(*before, *identify_file(path));
  EXPECT_EQ(*before, (*MappedFile::open(path))->identity());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  const auto touched = identify_file(path);
  ASSERT_TRUE(touched);
  EXPECT_NE(*before, *touched);
  EXPECT_EQ(touched->modified_nanoseconds - before->modified_nanoseconds, 1'000'000'000);
  EXPECT_EQ(touched->inode, before->inode);
  write("a", "longer");
  EXPECT_EQ(identify_file(path)->size, 6);
  EXPECT_NE(identify_file(write("b", "one"))->inode, before->inode);
}

}  // namespace
}  // namespace weir
