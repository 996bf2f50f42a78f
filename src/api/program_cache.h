// SPDX-License-Identifier: Apache-2.0
//
// ProgramCache: compiled programs on disk, so that a model is compiled once.
//
//   ProgramCache cache(folder, max_bytes);
//   WEIR_ASSIGN(const CacheKey key, cache.key(path, options_text));
//   if (auto hit = cache.find(key)) { … read_program(*hit) … }
//   … compile …
//   if (cache.is_current(key)) { write_program(program, blocks, cache.path(key)) … cache.trim(key) … }
//
// Only for models that lie in one file: a key does not see a change of external data.
//
// A key is the hash of the model's content, the options and this build. The content is hashed only when the
// file's identity (path, device, inode, size, times) is not remembered, and remembered only once the file has
// been left alone for a moment: within the grain of a file system's clock two contents could have one
// identity. The time of the last change of status is part of it, which a tool that sets a file's times back
// does not set.
//
// Entries are written aside and renamed, never changed, so whoever has one mapped keeps it when it is
// replaced or removed. A damaged one is a miss. Several processes may share a folder: each writes a file of
// its own, and the last renamed is there. The folder holds at most the given bytes: the entries that were not
// used for longest go first. What a process that ended in the middle has left there (….tmp) is removed with
// the next write, once it is a minute old and nobody writes to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "base/status.h"

namespace weir {

inline constexpr int64_t kDefaultCacheBytes = int64_t{2} << 30;

// $WEIR_CACHE, else weir/ in $XDG_CACHE_HOME or ~/.cache; nothing where none of them is set.
std::optional<std::string> default_cache_folder();
// $WEIR_CACHE_LIMIT ("500MiB", "2000000"), else kDefaultCacheBytes.
Result<int64_t> default_cache_bytes();

struct CacheKey {
  std::string text;       // 32 hexadecimal digits
  FileIdentity identity;  // of the model that was hashed
};

struct CacheTrim {
  int64_t files = 0;  // removed
  int64_t bytes = 0;
};

class ProgramCache {
 public:
  ProgramCache(std::string folder, int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Of the model at `path` compiled with `options`.
  Result<CacheKey> key(const std::string& path, std::string_view options) const;
  // Whether the model is still the one that was hashed: if not, what was compiled may be of another.
  bool is_current(const CacheKey& key) const;
  std::string path(const CacheKey& key) const;
  // The program's path where there is one; marks it as used.
  std::optional<std::string> find(const CacheKey& key) const;
  // Makes the folder where it is missing.
  Result<void> prepare() const;
  // Removes what is over the bound, and what is left of writers that ended in the middle; of `keep` only if
  // it is over the bound by itself. An error says that the folder cannot be listed.
  Result<CacheTrim> trim(const CacheKey& keep) const;
  void remove(const CacheKey& key) const;

  int64_t max_bytes() const { return max_bytes_; }

 private:
  Result<std::string> content_hash(const std::string& path, FileIdentity& identity) const;

  std::string folder_;
  int64_t max_bytes_;
};

}  // namespace weir
