// SPDX-License-Identifier: Apache-2.0
//
// Everything that happens to a program file's bytes, for any bytes: read, verified, reported, prepared and
// run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "program/program_file.h"
#include "program/report.h"
#include "run_program.h"

namespace weir::fuzz {

// Where the bytes have a header whose first metadata section lies inside: puts size and hash right, as a file
// of ill will has them. What the metadata says then decides.
inline void forge_header(std::span<std::byte> image) {
  constexpr size_t kHeader = 40;
  if (image.size() < kHeader) {
    return;
  }
  const auto get = [&](size_t offset, auto& value) {
    std::memcpy(&value, image.data() + offset, sizeof(value));
  };
  const auto size = static_cast<uint64_t>(image.size());
  std::memcpy(image.data() + 16, &size, sizeof(size));
  uint32_t count = 0;
  get(24, count);
  for (size_t i = 0; i < std::min<size_t>(count, 16) && kHeader + 24 * (i + 1) <= image.size(); ++i) {
    uint32_t kind = 0;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    get(kHeader + 24 * i, kind);
    get(kHeader + 24 * i + 8, offset);
    get(kHeader + 24 * i + 16, bytes);
    if (kind == 1 && offset <= size && bytes <= size - offset) {
      const uint64_t hash = hash64(image.subspan(offset, bytes));
      std::memcpy(image.data() + 32, &hash, sizeof(hash));
      return;
    }
  }
}

// Whether the bytes are a program. One that reads must also verify again, and be reported for the shape of
// its symbols' least values, or say why not.
inline bool read(std::span<const std::byte> image) {
  Result<LoadedProgram> loaded = read_program(image, nullptr);
  if (!loaded) {
    expect_explained(loaded.error());
    return false;
  }
  if (!verify(loaded->program)) {
    std::abort();
  }
  (void)verify_constants(*loaded);
  std::vector<int64_t> symbols;
  for (const ProgramSymbol& symbol : loaded->program.symbols) {
    symbols.push_back(symbol.range.min);
  }
  (void)report(loaded->program, symbols);
  run_program(*std::move(loaded));
  return true;
}

// The entry: the bytes as they are, then with a header that agrees with them.
inline bool entry(std::span<const std::byte> bytes) {
  const bool plain = read(bytes);
  std::vector<std::byte> forged(bytes.begin(), bytes.end());
  forge_header(forged);
  return read(forged) || plain;
}

}  // namespace weir::fuzz
