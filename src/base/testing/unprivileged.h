// SPDX-License-Identifier: Apache-2.0
//
// A part of a test in a process that the permissions of files bind, whoever runs the test.
//
//   unprivileged(folder_, [&] {
//     fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
//     EXPECT_FALSE(AtomicFile::create(folder_ + "/a"));
//   });
#pragma once

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

namespace weir::testing {

inline constexpr uid_t kNobody = 65534;
inline constexpr int kSkipped = 77;  // the child's exit code

// Gives `folder` and all in it to kNobody, and becomes kNobody; an empty text, or what the system refused.
inline std::string become_nobody(const std::string& folder) {
  const auto refused = [](const std::string& what) { return what + ": " + std::strerror(errno); };
  if (::lchown(folder.c_str(), kNobody, kNobody) != 0) {
    return refused("chown of " + folder);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (::lchown(entry.path().c_str(), kNobody, kNobody) != 0) {
      return refused("chown of " + entry.path().string());
    }
  }
  if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
      ::setresuid(kNobody, kNobody, kNobody) != 0) {
    return refused("dropping root");
  }
  return ::access(folder.c_str(), R_OK | W_OK | X_OK) == 0 ? "" : refused("reaching " + folder);
}

// Runs `body` in a forked child, which is kNobody where the test is root's; what `body` says is the test's
// word, and it is skipped where the system lets nobody be kNobody. Its changes of memory are lost with the
// child, those of files stay.
template <typename Body>
void unprivileged(const std::string& folder, const Body& body) {
  std::fflush(nullptr);  // else both processes would print what is buffered
  const pid_t child = ::fork();
  ASSERT_GE(child, 0) << std::strerror(errno);
  if (child == 0) {
    const std::string refused = ::geteuid() == 0 ? become_nobody(folder) : "";
    if (refused.empty()) {
      body();
    } else {
      std::printf("no unprivileged process: %s\n", refused.c_str());
    }
    std::fflush(nullptr);
    ::_exit(!refused.empty() ? kSkipped : ::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) {
    GTEST_SKIP() << "why is above";
  }
  EXPECT_EQ(status, 0) << "the child's failures are above";
}

}  // namespace weir::testing
