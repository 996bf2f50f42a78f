// SPDX-License-Identifier: Apache-2.0
//
// Content hashes (XXH3): the same on every machine, not for security.
//
//   Hash128 key = hash128(file->bytes());
//   Hasher hasher;                        // the same value from pieces
//   hasher.update(header); hasher.update(rest);
//   hasher.finish() == hash128(header + rest)
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weir {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  // 32 hexadecimal digits, high part first.
  std::string to_string() const;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed = 0);
Hash128 hash128(std::span<const std::byte> bytes, uint64_t seed = 0);

class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);
  void update(std::span<const std::byte> bytes);
  // Of all bytes so far; more may follow.
  Hash128 finish() const;

 private:
  struct Deleter {
    void operator()(void* state) const;
  };
  std::unique_ptr<void, Deleter> state_;
};

}  // namespace weir
