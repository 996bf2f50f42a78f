// SPDX-License-Identifier: Apache-2.0
//
// ProgramCache: compiled programs on disk, so that a model is compiled once.
//
//   ProgramCache cache(default_cache_folder(), kDefaultCacheBytes);
//   WEIR_ASSIGN(std::string key, cache.key(path, options_text));
//   if (auto hit = cache.find(key)) { … read_program(*hit) … }
//   WEIR_TRY(write_program(program, blocks, cache.path(key)));
//   cache.trim();
//
// Only for models that lie in one file: a key does not see a change of external data.
//
// A key is the hash of the model's content, the options and this build. The content is hashed only
// when the file's identity (path, device, inode, size, time) is not remembered. Files are written aside and
// renamed, never changed; a damaged one is a miss. Several processes may share a folder. The folder holds at
// most the given bytes: the entries that were not used for longest go first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace weir {

inline constexpr int64_t kDefaultCacheBytes = int64_t{2} << 30;

// $WEIR_CACHE, else weir/ in $XDG_CACHE_HOME or ~/.cache; nothing where none of them is set.
std::optional<std::string> default_cache_folder();

class ProgramCache {
 public:
  ProgramCache(std::string folder, int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Of the model at `path` compiled with `options`.
  Result<std::string> key(const std::string& path, std::string_view options) const;
  std::string path(std::string_view key) const;
  // The program's path where there is one; marks it as used.
  std::optional<std::string> find(std::string_view key) const;
  // Makes the folder where it is missing.
  Result<void> prepare() const;
  // Removes what is over the bound, but not `keep`.
  void trim(std::string_view keep) const;
  void remove(std::string_view key) const;

 private:
  Result<std::string> content_hash(const std::string& path) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace weir
