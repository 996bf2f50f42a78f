// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/results.h"

namespace weir::cli {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("weir_file_test_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return folder_ / name; }
  fs::path folder_;
};

TEST_F(Files, HoldWhatWasWritten) {
  must(write_file(path("a"), std::string_view("some text")));
  const std::vector<std::byte> bytes = must(read_file(path("a")));
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "some text");
  must(write_file(path("a"), std::string_view()));  // replaces
  EXPECT_TRUE(must(read_file(path("a"))).empty());
  must(make_folder(path("b/c")));
  must(make_folder(path("b/c")));
  EXPECT_TRUE(fs::is_directory(path("b/c")));
}

TEST_F(Files, ErrorsNameThePath) {
  must(write_file(path("five"), std::string_view("12345")));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_ERROR(read_file(path("none")), StatusCode::kNotFound,
               fmt::format("File '{}' cannot be opened (No such file or directory).", path("none")));
  EXPECT_ERROR(read_file(path("five/none")), StatusCode::kNotFound,
               fmt::format("File '{}' cannot be opened (Not a directory).", path("five/none")));
  EXPECT_ERROR(read_file(folder_), StatusCode::kInvalidArgument,
               fmt::format("'{}' is a folder, and a regular file is needed.", folder_.string()));
  EXPECT_ERROR(read_file(path("pipe")), StatusCode::kInvalidArgument,
               fmt::format("'{}' is a pipe or device, and a regular file is needed.", path("pipe")));
  EXPECT_ERROR(read_file(path("five"), 4), StatusCode::kResourceExhausted,
               fmt::format("File '{}' has (5) bytes, and (4) is the most that is read.", path("five")));
  EXPECT_ERROR(
      write_file(path("none/a"), std::string_view("x")), StatusCode::kNotFound,
      fmt::format(
          "File '{}' cannot be created (No such file or directory); its folder has to be there before.",
          path("none/a")));
  EXPECT_ERROR(make_folder(path("five/a")), StatusCode::kNotFound,
               fmt::format("Folder '{}' cannot be made: Not a directory.", path("five/a")));
}

// Files of the kernel's say that they have a page.
TEST_F(Files, MayEndEarly) {
  const std::string path = "/sys/devices/system/cpu/online";
  struct stat info;
  std::ifstream stream(path);
  if (!stream || ::stat(path.c_str(), &info) != 0) {
    GTEST_SKIP() << path << " is not here";
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  ASSERT_LT(std::ssize(text), info.st_size);
  EXPECT_ERROR(read_file(path), StatusCode::kDataLoss,
               fmt::format("File '{}' ended after ({}) of its ({}) bytes while it was read.", path,
                           text.size(), info.st_size));
}

}  // namespace
}  // namespace weir::cli
