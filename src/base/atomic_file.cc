// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace weir {
namespace {

StatusCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return StatusCode::kResourceExhausted;
    case EISDIR:
    case ENAMETOOLONG:
      return StatusCode::kInvalidArgument;
    default:
      return StatusCode::kUnknown;
  }
}

std::unexpected<Status> system_error(std::string_view action, const std::string& path, int error) {
  return fail(code_of(error), "File '{}' cannot be {}: {}.", path, action,
              std::generic_category().message(error));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  for (int attempt = 0; attempt < 16; ++attempt) {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof(number), 0) != static_cast<ssize_t>(sizeof(number))) {
      return system_error("created", path, errno);
    }
    // The owner first: nothing may fail between the file's creation and its owner's.
    AtomicFile file(path, fmt::format("{}.{:016x}.tmp", path, number));
    file.descriptor_ = ::open(file.aside_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0) {
      return file;
    }
    file.aside_.clear();  // not ours to remove
    if (errno != EEXIST && errno != EINTR) {
      return system_error("created", path, errno);
    }
  }
  return system_error("created", path, EEXIST);
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
      return system_error("written", path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) {
    return system_error("synced", path_, errno);
  }
  // A failing close can be the first word of a failed write on a network's file system.
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    return system_error("written", path_, errno);
  }
  if (::rename(aside_.c_str(), path_.c_str()) != 0) {
    return system_error("replaced", path_, errno);
  }
  aside_.clear();
  // The name itself lasts once the folder is synced. Some file systems cannot; the file is complete anyhow.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace weir
