// SPDX-License-Identifier: Apache-2.0
//
// AtomicFile: a file that is there complete or not at all.
//
//   WEIR_ASSIGN(AtomicFile file, AtomicFile::create("cache/model.weir"));
//   WEIR_TRY(file.write(0, header));
//   WEIR_TRY(file.write(4096, weights));      // in any order; what is skipped reads as zeros
//   WEIR_TRY(file.commit());                  // synced, renamed; without it nothing remains
//
// The bytes go to a file of another name in the same folder (its name begins with the target's and ends in
// ".tmp"), which is locked meanwhile: what a process that was killed has left there has no lock. One thread
// at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace weir {

// What becomes of a link at the target.
enum class Links : uint8_t {
  kReplace,  // the file takes its place: nobody's link leads a write out of the folder
  kFollow,   // what the last one points at is replaced, or made, and the links stay: for paths of a user's
};

class AtomicFile {
 public:
  // Refuses a path at which there is a device, a pipe or a socket: the target is replaced, not written to.
  static Result<AtomicFile> create(const std::string& path, Links links = Links::kReplace);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Whether somebody holds the lock of the file aside at `path`, or that cannot be told.
  static bool is_being_written(const std::string& path);

  Result<void> write(int64_t offset, std::span<const std::byte> bytes);
  // Replaces the target. The last call. Without `synced` a crash of the machine may leave an empty file, or a
  // part.
  Result<void> commit(bool synced = true);

 private:
  AtomicFile(std::string path, std::string aside) : path_(std::move(path)), aside_(std::move(aside)) {}

  std::string path_;
  std::string aside_;  // empty once it is renamed
  int descriptor_ = -1;
};

}  // namespace weir
