// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/file_system.h"

namespace weir {
namespace {

// What the last of the links at `path` points at, whether there is a file or not yet.
std::string end_of_links(std::string path) {
  constexpr int kMostLinks = 40;  // as many as the system follows
  char text[PATH_MAX];
  for (int i = 0; i < kMostLinks; ++i) {
    const ssize_t size = ::readlink(path.c_str(), text, sizeof(text));
    if (size <= 0 || size == sizeof(text)) {
      break;  // no link
    }
    const std::string_view next(text, static_cast<size_t>(size));
    path = next.starts_with('/') ? std::string(next) : fmt::format("{}/{}", folder_of(path), next);
  }
  return path;
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path, Links links) {
  // Root may rename a file over /dev/null; a folder is refused by the system.
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return fail(
        StatusCode::kInvalidArgument,
        "File '{}' is a device, pipe or socket, which a regular file would replace; give another path.",
        path);
  }
  const std::string target = links == Links::kFollow ? end_of_links(path) : path;
  for (int attempt = 0; attempt < 16; ++attempt) {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
      return file_error("created", path, errno);
    }
    // The owner first: nothing may fail between the file's creation and its owner's.
    AtomicFile file(target, fmt::format("{}.{:016x}.tmp", target, number));
    file.descriptor_ = ::open(file.aside_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) {
      (void)::flock(file.descriptor_, LOCK_EX | LOCK_NB);  // some file systems have no locks
      return file;
    }
    file.aside_.clear();  // not ours to remove
    if (errno != EEXIST && errno != EINTR) {
      return file_error("created", path, errno);
    }
  }
  return file_error("created", path, EEXIST);
}

bool AtomicFile::is_being_written(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) {
    return true;
  }
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
  ::close(descriptor);
  return locked;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::exchange(other.aside_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
  if (!aside_.empty()) {
    ::unlink(aside_.c_str());
  }
}

Result<void> AtomicFile::write(int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return file_error("written", path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return {};
}

Result<void> AtomicFile::commit(bool synced) {
  // Once the file is there, nothing asks for memory any more.
  const std::string folder_path = synced ? folder_of(path_) : "";
  if (synced && ::fsync(descriptor_) != 0) {
    return file_error("synced", path_, errno);
  }
  // A failing close can be the first word of a failed write on a network's file system.
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return file_error("written", path_, errno);
  }
  if (::rename(aside_.c_str(), path_.c_str()) != 0) {
    return file_error("replaced", path_, errno);
  }
  aside_.clear();
  if (!synced) {
    return {};
  }
  // The name itself lasts once the folder is synced. Some file systems cannot; the file is complete anyhow.
  const int folder = ::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace weir
