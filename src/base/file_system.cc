// SPDX-License-Identifier: Apache-2.0
#include "base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <system_error>

#include "base/descriptor.h"

namespace weir {
namespace {

constexpr int64_t kBlockBytes = 512;  // of st_blocks

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

int64_t nanoseconds_of(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

std::unexpected<Status> file_error(std::string_view action, std::string_view path, int error) {
  const bool no_folder = action == "created" && error == ENOENT;
  return fail(code_of(error), "File '{}' cannot be {}: {}{}.", path, action,
              std::generic_category().message(error), no_folder ? "; its folder has to be there before" : "");
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return ".";
  }
  return slash == 0 ? "/" : std::string(path.substr(0, slash));
}

Result<std::string> absolute_path(const std::string& path) {
  if (path.starts_with('/')) {
    return path;
  }
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof(folder)) == nullptr) {
    return file_error("found from the working folder", path, errno);
  }
  return fmt::format("{}/{}", folder, path);
}

std::optional<std::string> real_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) == nullptr) {
    return std::nullopt;
  }
  return std::string(resolved);
}

bool is_inside(std::string_view path, std::string_view folder) {
  if (folder.ends_with('/')) {  // the root
    return path.starts_with(folder);
  }
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

bool is_folder(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Result<size_t> read_beginning(const std::string& path, std::span<std::byte> bytes) {
  // Not to block on a pipe that somebody passes as a file.
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.number < 0) {
    return file_error("opened", path, errno);
  }
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(descriptor.number, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno != EINTR) {
      return file_error("read", path, errno);
    }
    if (got == 0) {
      break;
    }
    done += static_cast<size_t>(std::max<ssize_t>(got, 0));
  }
  return done;
}

Result<void> make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat info;
      // Of a folder above, which may be there and not ours to make in.
      if (slash == std::string::npos || ::stat(folder.c_str(), &info) != 0) {
        return file_error("made a folder", folder, error);
      }
    }
    if (slash == std::string::npos) {
      break;
    }
  }
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return file_error("examined", path, errno);
  }
  if (!S_ISDIR(info.st_mode)) {
    return file_error("made a folder", path, ENOTDIR);
  }
  return {};
}

Result<std::vector<FolderEntry>> list_folder(const std::string& path) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (folder == nullptr) {
    return file_error("listed", path, errno);
  }
  std::vector<FolderEntry> entries;
  while (true) {
    errno = 0;
    const dirent* next = ::readdir(folder.get());
    if (next == nullptr) {
      if (errno != 0) {
        return file_error("listed", path, errno);
      }
      return entries;
    }
    struct stat info;
    if (::fstatat(::dirfd(folder.get()), next->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode)) {
      continue;
    }
    entries.push_back({.name = next->d_name,
                       .bytes = std::max<int64_t>(info.st_size, info.st_blocks * kBlockBytes),
                       .modified_nanoseconds = nanoseconds_of(info.st_mtim)});
  }
}

bool touch_file(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

bool remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0;
}

int64_t system_now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds_of(now);
}

}  // namespace weir
