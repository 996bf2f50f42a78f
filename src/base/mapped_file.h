// SPDX-License-Identifier: Apache-2.0
//
// MappedFile: the bytes of a file, mapped into memory for reading.
//
//   WEIR_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
//   Constant weights = Constant::view(file->bytes().subspan(offset, size), file);   // keeps the mapping
//   alive
//
// The mapping lasts as long as the last owner. Any number of threads may read it. The pages come from the
// file when they are first touched: another process that truncates the file meanwhile kills this one with
// SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

namespace weir {

// What tells one state of a file from another without reading it.
struct FileIdentity {
  std::string path;  // as the caller gave it
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t size = 0;                  // bytes
  int64_t modified_nanoseconds = 0;  // since the epoch; whoever writes the file can set it
  int64_t changed_nanoseconds = 0;   // of the file or what is known of it; nobody can set it
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

// Of a regular file; symbolic links are followed.
Result<FileIdentity> identify_file(const std::string& path);

class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::string& path() const { return identity_.path; }
  // At the time it was opened.
  const FileIdentity& identity() const { return identity_; }

 private:
  MappedFile(FileIdentity identity, std::span<const std::byte> bytes)
      : identity_(std::move(identity)), bytes_(bytes) {}

  FileIdentity identity_;
  std::span<const std::byte> bytes_;  // empty, and not mapped, for an empty file
};

// Lets the system take back the memory of those pages of a mapped file that lie wholly in `bytes`. They can
// be read again: then they come from the file.
void release_pages(std::span<const std::byte> bytes);

}  // namespace weir
