// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#define XXH_STATIC_LINKING_ONLY  // for the size of the state
#include <fmt/format.h>
#include <xxhash.h>

namespace weir {
namespace {

XXH3_state_t* typed(void* state) {
  return static_cast<XXH3_state_t*>(state);
}

}  // namespace

std::string Hash128::to_string() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(std::span<const std::byte> bytes, uint64_t seed) {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {hash.low64, hash.high64};
}

Hasher::Hasher(uint64_t seed) : state_(new XXH3_state_t()) {
  XXH3_128bits_reset_withSeed(typed(state_.get()), seed);
}

void Hasher::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(typed(state_.get()), bytes.data(), bytes.size());
}

Hash128 Hasher::finish() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(typed(state_.get()));
  return {hash.low64, hash.high64};
}

void Hasher::Deleter::operator()(void* state) const {
  delete typed(state);
}

}  // namespace weir
