// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace weir {
namespace {

Result<FileIdentity> identity_of(const std::string& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) {
    return fail(StatusCode::kInvalidArgument, "'{}' is not a regular file, and only one can be mapped.",
                path);
  }
  FileIdentity identity;
  identity.path = path;
  identity.device = static_cast<uint64_t>(info.st_dev);
  identity.inode = static_cast<uint64_t>(info.st_ino);
  identity.size = static_cast<int64_t>(info.st_size);
  identity.modified_nanoseconds =
      static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  identity.changed_nanoseconds =
      static_cast<int64_t>(info.st_ctim.tv_sec) * 1'000'000'000 + info.st_ctim.tv_nsec;
  return identity;
}

}  // namespace

Result<FileIdentity> identify_file(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return file_error("examined", path, errno);
  }
  return identity_of(path, info);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  // Not to block on a pipe that somebody passes as a file.
  const Descriptor descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (descriptor.number < 0) {
    return file_error("opened", path, errno);
  }
  struct stat info;
  if (::fstat(descriptor.number, &info) != 0) {
    return file_error("examined", path, errno);
  }
  WEIR_ASSIGN(FileIdentity identity, identity_of(path, info));
  const auto size = static_cast<size_t>(identity.size);
  // The owner first: nothing may fail between the mapping and its owner's making.
  const std::shared_ptr<MappedFile> file(new MappedFile(std::move(identity), {}));
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor.number, 0);
    if (address == MAP_FAILED) {
      return file_error("mapped", path, errno);
    }
    file->bytes_ = {static_cast<const std::byte*>(address), size};
  }
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

void release_pages(std::span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t end = (begin + bytes.size()) / page * page;
  if (first < end) {
    (void)::madvise(const_cast<std::byte*>(bytes.data()) + (first - begin), end - first, MADV_DONTNEED);
  }
}

}  // namespace weir
