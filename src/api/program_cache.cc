// SPDX-License-Identifier: Apache-2.0
#include "api/program_cache.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "base/atomic_file.h"
#include "base/build_id.h"
#include "base/checked.h"
#include "base/file_system.h"
#include "base/hash.h"

namespace weir {
namespace {

constexpr size_t kHashDigits = 32;
// Longer than the grain of any file system's clock (FAT: 2 s).
constexpr int64_t kSettledNs = 3'000'000'000;
constexpr int64_t kAbandonedNs = 60'000'000'000;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits &&
         std::ranges::all_of(text, [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// Of the file whose identity this is; the note of an identity holds its content's hash.
std::string note_name(std::string_view absolute, const FileIdentity& identity) {
  const std::string key =
      fmt::format("{}\n{} {} {} {} {}", absolute, identity.device, identity.inode, identity.size,
                  identity.modified_nanoseconds, identity.changed_nanoseconds);
  return hash128(bytes_of(key)).to_string() + ".source";
}

// A note that cannot be kept only costs another hash.
void keep_note(const std::string& note, std::string_view content) {
  if (auto file = AtomicFile::create(note)) {
    if (file->write(0, bytes_of(content))) {
      (void)file->commit(false);
    }
  }
}

}  // namespace

std::optional<std::string> default_cache_folder() {
  if (const char* own = environment("WEIR_CACHE")) {
    return std::string(own);
  }
  // The base directory specification has a relative one ignored.
  if (const char* shared = environment("XDG_CACHE_HOME"); shared != nullptr && *shared == '/') {
    return std::string(shared) + "/weir";
  }
  if (const char* home = environment("HOME")) {
    return std::string(home) + "/.cache/weir";
  }
  return std::nullopt;
}

Result<int64_t> default_cache_bytes() {
  const char* given = environment("WEIR_CACHE_LIMIT");
  if (given == nullptr) {
    return kDefaultCacheBytes;
  }
  const std::string_view text = given;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr std::array<std::pair<std::string_view, int64_t>, 5> kUnits = {
      {{"", 1}, {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}};
  const auto known = std::ranges::find(kUnits, unit, &std::pair<std::string_view, int64_t>::first);
  int64_t bytes = 0;
  if (error != std::errc() || number < 0 || known == kUnits.end() ||
      __builtin_mul_overflow(number, known->second, &bytes)) {
    return fail(StatusCode::kInvalidArgument,
                "WEIR_CACHE_LIMIT is '{}', and it takes a number of bytes (B, KiB, MiB, GiB).", text);
  }
  return bytes;
}

Result<std::string> ProgramCache::content_hash(const std::string& path, FileIdentity& identity) const {
  WEIR_ASSIGN(const std::string absolute, absolute_path(path));
  WEIR_ASSIGN(identity, identify_file(path));
  std::array<std::byte, kHashDigits> remembered;
  if (const auto size =
          read_beginning(fmt::format("{}/{}", folder_, note_name(absolute, identity)), remembered);
      size && *size == remembered.size()) {
    const std::string_view text(reinterpret_cast<const char*>(remembered.data()), remembered.size());
    if (is_hash(text)) {
      return std::string(text);
    }
  }
  WEIR_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(path));
  identity = mapped->identity();
  std::string content = hash128(mapped->bytes()).to_string();
  const int64_t changed = std::max(identity.modified_nanoseconds, identity.changed_nanoseconds);
  if (changed < system_now_ns() - kSettledNs) {
    keep_note(fmt::format("{}/{}", folder_, note_name(absolute, identity)), content);
  }
  return content;
}

Result<CacheKey> ProgramCache::key(const std::string& path, std::string_view options) const {
  CacheKey key;
  WEIR_ASSIGN(const std::string content, content_hash(path, key.identity),
              "while looking up '{}' in the program cache", path);
  const std::string text = fmt::format("{}\n{}\n{}", content, options, build_id());
  key.text = hash128(bytes_of(text)).to_string();
  return key;
}

bool ProgramCache::is_current(const CacheKey& key) const {
  const auto now = identify_file(key.identity.path);
  return now && *now == key.identity;
}

std::string ProgramCache::path(const CacheKey& key) const {
  return fmt::format("{}/{}.weir", folder_, key.text);
}

std::optional<std::string> ProgramCache::find(const CacheKey& key) const {
  std::string found = path(key);
  if (!touch_file(found) && !identify_file(found)) {  // a folder that is read-only has entries too
    return std::nullopt;
  }
  return found;
}

Result<void> ProgramCache::prepare() const {
  return make_folders(folder_);
}

void ProgramCache::remove(const CacheKey& key) const {
  remove_file(path(key));
}

Result<CacheTrim> ProgramCache::trim(const CacheKey& keep) const {
  WEIR_ASSIGN(std::vector<FolderEntry> entries, list_folder(folder_));
  CacheTrim trimmed;
  const auto remove_entry = [&](const FolderEntry& entry) {
    if (remove_file(fmt::format("{}/{}", folder_, entry.name))) {
      ++trimmed.files;
      trimmed.bytes += entry.bytes;
    }
  };
  const int64_t now = system_now_ns();
  std::erase_if(entries, [&](const FolderEntry& entry) {
    const bool aside = entry.name.ends_with(".tmp");
    // A file that is being written holds a lock, which ends with its process.
    if (aside && entry.modified_nanoseconds < now - kAbandonedNs &&
        !AtomicFile::is_being_written(fmt::format("{}/{}", folder_, entry.name))) {
      remove_entry(entry);
    }
    return aside || (!entry.name.ends_with(".weir") && !entry.name.ends_with(".source"));  // not ours
  });
  int64_t total = 0;
  for (const FolderEntry& entry : entries) {
    total += entry.bytes;
  }
  const std::string kept = keep.text + ".weir";
  std::ranges::sort(entries, {}, [&](const FolderEntry& entry) {
    return std::pair(entry.name == kept, entry.modified_nanoseconds);
  });
  for (const FolderEntry& entry : entries) {
    if (total <= max_bytes_) {
      break;
    }
    remove_entry(entry);
    total -= entry.bytes;
  }
  return trimmed;
}

}  // namespace weir
