// SPDX-License-Identifier: Apache-2.0
#include "api/program_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/build_id.h"
#include "base/hash.h"
#include "base/mapped_file.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

std::optional<std::string> default_cache_folder() {
  if (const char* own = std::getenv("WEIR_CACHE"); own != nullptr && *own != '\0') {
    return std::string(own);
  }
  if (const char* shared = std::getenv("XDG_CACHE_HOME"); shared != nullptr && *shared != '\0') {
    return std::string(shared) + "/weir";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return std::string(home) + "/.cache/weir";
  }
  return std::nullopt;
}

Result<std::string> ProgramCache::content_hash(const std::string& path) const {
  WEIR_ASSIGN(const FileIdentity identity, identify_file(path));
  std::error_code ignored;
  const std::string absolute = fs::absolute(path, ignored).string();
  const std::string key = fmt::format("{}\n{} {} {} {}", absolute, identity.device, identity.inode,
                                      identity.size, identity.modified_nanoseconds);
  const std::string note = fmt::format("{}/{}.source", folder_, hash128(bytes_of(key)).to_string());
  if (std::ifstream file(note); file) {
    std::string remembered;
    if (std::getline(file, remembered) && remembered.size() == 32) {
      return remembered;
    }
  }
  WEIR_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(path));
  const std::string content = hash128(mapped->bytes()).to_string();
  const std::string aside =
      fmt::format("{}.{}", note, hash64(bytes_of(key), static_cast<uint64_t>(::getpid())));
  if (std::ofstream file(aside); file) {  // a note that cannot be kept only costs another hash
    file << content << '\n';
    file.close();
    fs::rename(aside, note, ignored);
  }
  return content;
}

Result<std::string> ProgramCache::key(const std::string& path, std::string_view options) const {
  WEIR_ASSIGN(const std::string content, content_hash(path), "while looking up '{}' in the program cache",
              path);
  const std::string text = fmt::format("{}\n{}\n{}", content, options, build_id());
  return hash128(bytes_of(text)).to_string();
}

std::string ProgramCache::path(std::string_view key) const {
  return fmt::format("{}/{}.weir", folder_, key);
}

std::optional<std::string> ProgramCache::find(std::string_view key) const {
  const std::string found = path(key);
  std::error_code error;
  if (!fs::exists(found, error)) {
    return std::nullopt;
  }
  fs::last_write_time(found, fs::file_time_type::clock::now(), error);
  return found;
}

Result<void> ProgramCache::prepare() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    return fail(StatusCode::kPermissionDenied, "The cache folder '{}' cannot be made: {}.", folder_,
                error.message());
  }
  return {};
}

void ProgramCache::remove(std::string_view key) const {
  std::error_code ignored;
  fs::remove(path(key), ignored);
}

void ProgramCache::trim(std::string_view keep) const {
  struct Entry {
    fs::path path;
    fs::file_time_type used;
    int64_t bytes = 0;
  };
  std::vector<Entry> entries;
  int64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    std::error_code gone;  // another process may remove it meanwhile
    const auto bytes = static_cast<int64_t>(entry.file_size(gone));
    const fs::file_time_type used = entry.last_write_time(gone);
    if (!gone) {
      entries.push_back({entry.path(), used, bytes});
      total += bytes;
    }
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= max_bytes_) {
      break;
    }
    if (entry.path.stem().string() != keep) {
      std::error_code ignored;
      fs::remove(entry.path, ignored);
      total -= entry.bytes;
    }
  }
}

}  // namespace weir
