// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/unprivileged.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("atomic_file_{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  }
  static std::string content(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsWhenItIsCommitted) {
  const fs::path path = folder_ / "a";
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file) << file.error().to_string();
    ASSERT_TRUE(file->write(4, bytes("tail")));
    ASSERT_TRUE(file->write(0, bytes("he")));
    EXPECT_FALSE(fs::exists(path));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(content(path), std::string("he\0\0tail", 8));
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenItIsNotCommitted) {
  const fs::path path = folder_ / "a";
  std::ofstream(path) << "old";
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    AtomicFile moved = std::move(*file);
    ASSERT_TRUE(moved.write(0, bytes("new")));
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files(), 1u);
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, bytes("new")));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(content(path), "new");
}

TEST_F(AtomicFileTest, ReplacesWhatALinkPointsAt) {
  fs::create_directory(folder_ / "far");
  std::ofstream(folder_ / "far" / "a") << "old";
  fs::create_symlink("far/a", folder_ / "link");
  Result<AtomicFile> file = AtomicFile::create(folder_ / "link", Links::kFollow);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, bytes("new")));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "far" / "a"), "new");
  EXPECT_EQ(files(), 2u);
}

TEST_F(AtomicFileTest, TakesTheLinksPlaceUnlessItIsToFollow) {
  std::ofstream(folder_ / "other") << "old";
  fs::create_symlink("other", folder_ / "link");
  Result<AtomicFile> file = AtomicFile::create(folder_ / "link");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, bytes("new")));
  ASSERT_TRUE(file->commit());
  EXPECT_FALSE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(content(folder_ / "link"), "new");
  EXPECT_EQ(content(folder_ / "other"), "old");
}

TEST_F(AtomicFileTest, MakesTheFileThatLinksPointAt) {
  fs::create_directory(folder_ / "far");
  fs::create_symlink("far/a", folder_ / "second");
  fs::create_symlink(folder_ / "second", folder_ / "first");
  Result<AtomicFile> file = AtomicFile::create(folder_ / "first", Links::kFollow);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(0, bytes("new")));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "second"));
  EXPECT_EQ(content(folder_ / "far" / "a"), "new");
  EXPECT_EQ(files(), 3u);
}

TEST_F(AtomicFileTest, LeavesALinkIntoAFolderThatIsNotThere) {
  fs::create_symlink("nowhere/a", folder_ / "link");
  const Result<AtomicFile> file = AtomicFile::create(folder_ / "link", Links::kFollow);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(AtomicFileTest, ReplacesNoDeviceAndNoPipe) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Result<AtomicFile> file = AtomicFile::create(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(file.error().message(),
            fmt::format("File '{}' is a device, pipe or socket, which a regular file would replace; give "
                        "another path.",
                        path.string()));
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(AtomicFileTest, SaysWhyItCannotBeCreated) {
  const fs::path path = folder_ / "none" / "a";
  const Result<AtomicFile> file = AtomicFile::create(path);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code(), StatusCode::kNotFound);
  EXPECT_EQ(file.error().message(),
            fmt::format(
                "File '{}' cannot be created: No such file or directory; its folder has to be there before.",
                path.string()));
}

TEST_F(AtomicFileTest, SaysThatAFolderIsReadOnly) {
  weir::testing::unprivileged(folder_, [this] {
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    const Result<AtomicFile> file = AtomicFile::create(folder_ / "a");
    fs::permissions(folder_, fs::perms::owner_all);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(file.error().message(),
              fmt::format("File '{}' cannot be created: Permission denied.", (folder_ / "a").string()));
    EXPECT_TRUE(AtomicFile::create(folder_ / "a"));
  });
}

TEST_F(AtomicFileTest, SaysThatAFolderIsInItsPlace) {
  const fs::path path = folder_ / "a";
  fs::create_directory(path);
  {
    Result<AtomicFile> file = AtomicFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(0, bytes("x")));
    const Result<void> committed = file->commit();
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(committed.error().message(),
              fmt::format("File '{}' cannot be replaced: Is a directory.", path.string()));
  }
  EXPECT_EQ(files(), 1u);
}

// The limit on a file's size stands in for a full disk: both fail a write half-way.
TEST_F(AtomicFileTest, LeavesNothingWhenSpaceRunsOut) {
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = old;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  {
    Result<AtomicFile> file = AtomicFile::create(folder_ / "a");
    ASSERT_TRUE(file);
    const Result<void> written = file->write(0, bytes(std::string(1001, 'x')));
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, handler);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), StatusCode::kResourceExhausted);
    EXPECT_EQ(written.error().message(),
              fmt::format("File '{}' cannot be written: File too large.", (folder_ / "a").string()));
  }
  EXPECT_EQ(files(), 0u);
}

}  // namespace
}  // namespace weir
