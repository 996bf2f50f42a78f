// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace weir::cli {
namespace {

class FileHandle {
 public:
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string reason(int error) {
  return std::generic_category().message(error);
}

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
    case ENOMEM:
      return StatusCode::kResourceExhausted;
    default:
      return StatusCode::kUnavailable;
  }
}

}  // namespace

Result<std::vector<std::byte>> read_file(const std::string& path, int64_t max_bytes) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return fail(code_of(errno), "File '{}' cannot be opened ({}).", path, reason(errno));
  }
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) {
    return fail(code_of(errno), "File '{}' cannot be examined ({}).", path, reason(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(StatusCode::kInvalidArgument, "'{}' is a {}, and a regular file is needed.", path,
                S_ISDIR(info.st_mode) ? "folder" : "pipe or device");
  }
  if (info.st_size > max_bytes) {
    return fail(StatusCode::kResourceExhausted,
                "File '{}' has ({}) bytes, and ({}) is the most that is read.", path, info.st_size,
                max_bytes);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(code_of(errno), "File '{}' cannot be read ({}).", path, reason(errno));
    if (count == 0) {
      return fail(StatusCode::kDataLoss, "File '{}' ended after ({}) of its ({}) bytes while it was read.",
                  path, done, bytes.size());
    }
    done += static_cast<size_t>(count);
  }
  return bytes;
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) {
    const int error = errno;
    return fail(code_of(error), "File '{}' cannot be created ({}){}.", path, reason(error),
                error == ENOENT ? "; its folder has to be there before" : "");
  }
  size_t done = 0;
  int error = 0;
  while (done < bytes.size() && error == 0) {
    const ssize_t count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (!file.close() && error == 0) error = errno;
  if (error != 0) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
    return fail(code_of(error), "File '{}' cannot be written ({}).", path, reason(error));
  }
  return {};
}

Result<void> write_file(const std::string& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

Result<void> make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) {
    return fail(code_of(error.value()), "Folder '{}' cannot be made: {}.", path, error.message());
  }
  return {};
}

}  // namespace weir::cli
