// SPDX-License-Identifier: Apache-2.0
//
// The fuzzer's entry with a few thousand seeded mutations: any build with sanitizers runs it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>

#include "program/testing/sample_programs.h"
#include "program_entry.h"

namespace weir {
namespace {

std::vector<std::byte> image_of(Program program) {
  const Result<std::vector<std::byte>> image = program_image(program, samples::blocks_of(program));
  EXPECT_TRUE(image) << image.error().to_string();
  return image ? *image : std::vector<std::byte>();
}

// One change of a kind that files suffer or that an attacker tries.
void mutate(std::vector<std::byte>& bytes, std::mt19937& random) {
  if (bytes.empty()) {
    return;
  }
  // Half of the changes fall into the metadata, which is last, a tenth into the header.
  const size_t from = random() % 10 == 0 ? 0 : random() % 2 == 0 ? bytes.size() / 2 : bytes.size() * 7 / 10;
  const size_t at =
      from == 0 ? random() % std::min<size_t>(bytes.size(), 104) : from + random() % (bytes.size() - from);
  const auto put = [&](auto value) {
    std::memcpy(bytes.data() + at, &value, std::min(sizeof(value), bytes.size() - at));
  };
  switch (random() % 7) {
    case 0:
      bytes[at] ^= static_cast<std::byte>(1 << random() % 8);
      break;
    case 1:
      bytes[at] = static_cast<std::byte>(random());
      break;
    case 2:
      put(static_cast<uint32_t>(random() % 64));
      break;
    case 3:
      put(std::array<int64_t, 6>{-1, INT64_MAX, INT64_MIN, 0, INT32_MAX, int64_t{1} << 32}[random() % 6]);
      break;
    case 4: {  // a piece of the file copied elsewhere: offsets and tables that are sound but in a wrong place
      const size_t source = random() % bytes.size();
      const size_t size = std::min({size_t{1} << random() % 6, bytes.size() - source, bytes.size() - at});
      std::memmove(bytes.data() + at, bytes.data() + source, size);
      break;
    }
    case 5:
      bytes.resize(at);
      break;
    default:
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), 1 + random() % 8, std::byte{0});
      break;
  }
}

TEST(ProgramMutation, NeverDoesHarm) {
  const std::vector<std::byte> seeds[] = {image_of(samples::static_program()),
                                          image_of(samples::dynamic_program()),
                                          image_of(samples::portable_program())};
  for (const std::vector<std::byte>& seed : seeds) {
    EXPECT_TRUE(fuzz::read_program_bytes(seed));
  }
  std::mt19937 random(20240229);
  int read = 0;
  constexpr int kMutations = 9000;
  for (int n = 0; n < kMutations; ++n) {
    std::vector<std::byte> bytes = seeds[n % std::size(seeds)];
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      mutate(bytes, random);
    }
    // Exactly as large as it says, so that a sanitizer sees a read behind its end.
    const auto exact = std::make_unique<std::byte[]>(bytes.size());
    std::ranges::copy(bytes, exact.get());
    read += fuzz::read_program_bytes({exact.get(), bytes.size()}) ? 1 : 0;
  }
  // Both verdicts occur often enough that neither path is idle.
  EXPECT_GT(read, kMutations / 50);
  EXPECT_LT(read, kMutations * 9 / 10);
}

}  // namespace
}  // namespace weir
