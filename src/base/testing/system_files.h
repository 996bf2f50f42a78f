// SPDX-License-Identifier: Apache-2.0
//
// A folder that stands for "/" in tests of what reads /proc and /sys.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::testing {

class SystemFilesTest : public ::testing::Test {
 protected:
  SystemFilesTest()
      : root_(::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
              std::to_string(::getpid())) {
    std::filesystem::create_directories(root_);
  }
  ~SystemFilesTest() override { std::filesystem::remove_all(root_); }

  const std::string& root() const { return root_; }
  // `path` begins with a slash.
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

 private:
  std::string root_;
};

}  // namespace weir::testing
