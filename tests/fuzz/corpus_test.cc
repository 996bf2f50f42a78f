// SPDX-License-Identifier: Apache-2.0
//
// The entry of one fuzzed reader in a normal build: with the seeds, with the corpus that is kept in the tree,
// and with a few thousand seeded mutations of both. WEIR_FUZZ_ENTRY is the header of the entry,
// WEIR_FUZZ_NAME its name, WEIR_FUZZ_MUTATIONS how many, WEIR_FUZZ_MOST_BYTES the memory that no input may
// pass (0: not looked at, where a sanitizer keeps what was freed).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>

#include WEIR_FUZZ_ENTRY
#ifdef WEIR_FUZZ_MUTATOR
#include WEIR_FUZZ_MUTATOR
#endif
#include "seeds.h"

namespace weir {
namespace {

#define WEIR_SEEDS_OF(name) fuzz::name##_seeds()
#define WEIR_SEEDS(name) WEIR_SEEDS_OF(name)
#define WEIR_TEXT_OF(name) #name
#define WEIR_TEXT(name) WEIR_TEXT_OF(name)

constexpr const char* kCorpus = "tests/fuzz/corpus/" WEIR_TEXT(WEIR_FUZZ_NAME);

// A sanitizer makes everything slower by less than this, and so does a busy machine.
constexpr std::chrono::seconds kMostForOne{20};

// Of this process so far, the seeds' compilation and all earlier inputs included. Not that of getrusage(),
// which begins with what the program held that started this one.
int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::stoll(line.substr(6)) * 1024;
    }
  }
  return -1;
}

// Exactly as large as it says, so that a sanitizer sees a read behind its end.
bool enter(std::span<const std::byte> bytes) {
  if (const char* last =
          std::getenv("WEIR_FUZZ_LAST")) {  // what ended the process, or took too long, is in this file
    std::ofstream(last, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  const auto exact = std::make_unique<std::byte[]>(bytes.size());
  std::ranges::copy(bytes, exact.get());
  const auto start = std::chrono::steady_clock::now();
  const bool accepted = fuzz::entry({exact.get(), bytes.size()});
  EXPECT_LT(std::chrono::steady_clock::now() - start, kMostForOne);
  if constexpr (constexpr int64_t most = WEIR_FUZZ_MOST_BYTES; most > 0) {
    const int64_t peak = peak_resident_bytes();
    EXPECT_GT(peak, 0);
    EXPECT_LT(peak, most) << "with an input of (" << bytes.size() << ") bytes";
  }
  return accepted;
}

std::vector<fuzz::Seed> kept_corpus() {
  std::vector<fuzz::Seed> kept;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(kCorpus, error)) {
    std::ifstream stream(file.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    kept.push_back({file.path().filename().string(), {bytes.begin(), bytes.end()}});
  }
  std::ranges::sort(kept, {}, &fuzz::Seed::name);
  return kept;
}

// One change of a kind that files suffer or that an attacker tries.
void mutate(std::vector<std::byte>& bytes, std::mt19937& random) {
  if (bytes.empty()) {
    return;
  }
  // Half of the changes fall into the second half, a tenth into what may be a header.
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

TEST(Corpus, SeedsAreTaken) {
  for (const fuzz::Seed& seed : WEIR_SEEDS(WEIR_FUZZ_NAME)) {
    EXPECT_TRUE(enter(seed.bytes)) << seed.name;
  }
}

TEST(Corpus, WhatIsKeptDoesNoHarm) {
  const std::vector<fuzz::Seed> kept = kept_corpus();
  EXPECT_FALSE(kept.empty()) << kCorpus;
  for (const fuzz::Seed& input : kept) {
    enter(input.bytes);
    EXPECT_FALSE(::testing::Test::HasFailure()) << input.name;
  }
}

TEST(Corpus, MutationsDoNoHarm) {
  const std::vector<fuzz::Seed> seeds = WEIR_SEEDS(WEIR_FUZZ_NAME);
  const std::vector<fuzz::Seed> kept = kept_corpus();
  // Another number finds others: --gtest_random_seed=2.
  std::mt19937 random(20240229 + static_cast<uint32_t>(GTEST_FLAG_GET(random_seed)));
  int accepted = 0;
  for (int n = 0; n < WEIR_FUZZ_MUTATIONS; ++n) {
    // In turns, because most of what is kept is refused.
    const std::vector<fuzz::Seed>& from = n % 2 == 0 || kept.empty() ? seeds : kept;
    std::vector<std::byte> bytes = from[static_cast<size_t>(n / 2) % from.size()].bytes;
#ifdef WEIR_FUZZ_MUTATOR
    const size_t before = bytes.size();
    bytes.resize(before + 512);
    bytes.resize(fuzz::mutate(reinterpret_cast<uint8_t*>(bytes.data()), before, bytes.size(), random()));
#endif
    const uint32_t changes = 1 + random() % 4;
    for (uint32_t i = 0; i < changes; ++i) {
#ifdef WEIR_FUZZ_MUTATOR
      if (random() % 8 != 0) {
        continue;
      }
#endif
      mutate(bytes, random);
    }
    accepted += enter(bytes) ? 1 : 0;
  }
  // Both verdicts occur often enough that neither path is idle.
  EXPECT_GT(accepted, WEIR_FUZZ_MUTATIONS / 50);
  EXPECT_LT(accepted, WEIR_FUZZ_MUTATIONS);
}

}  // namespace
}  // namespace weir
