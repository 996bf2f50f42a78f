// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace weir {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The values of XXH3 that its specification gives for the empty input.
TEST(HashTest, KnownValues) {
  EXPECT_EQ(hash64({}), 0x2d06800538d394c2u);
  EXPECT_EQ(hash128({}).to_string(), "99aa06d3014798d86001c324468d497f");
}

TEST(HashTest, DependsOnBytesAndSeed) {
  EXPECT_EQ(hash64(bytes_of("weir")), hash64(bytes_of("weir")));
  EXPECT_NE(hash64(bytes_of("weir")), hash64(bytes_of("weis")));
  EXPECT_NE(hash64(bytes_of("weir")), hash64(bytes_of("weir"), 1));
  EXPECT_NE(hash128(bytes_of("weir")), hash128(bytes_of("weir"), 1));
}

TEST(HashTest, PiecesGiveTheHashOfTheWhole) {
  std::vector<std::byte> data(5000);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i * 31 % 251);
  }
  for (uint64_t seed : {uint64_t{0}, uint64_t{7}}) {
    Hasher hasher(seed);
    for (size_t at = 0; at < data.size(); at += 37) {
      hasher.update(std::span(data).subspan(at, std::min<size_t>(37, data.size() - at)));
    }
    EXPECT_EQ(hasher.finish(), hash128(data, seed));
  }
}

}  // namespace
}  // namespace weir
