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
// ".tmp"). One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace weir {

class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Result<void> write(int64_t offset, std::span<const std::byte> bytes);
  // Replaces the target. The last call.
  Result<void> commit();

 private:
  AtomicFile(std::string path, std::string aside) : path_(std::move(path)), aside_(std::move(aside)) {}

  std::string path_;
  std::string aside_;  // empty once it is renamed
  int descriptor_ = -1;
};

}  // namespace weir
