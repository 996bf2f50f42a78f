// SPDX-License-Identifier: Apache-2.0
//
// The .weir file: a fixed binary header with a table of 64-bit sections, the program's structures as a
// FlatBuffer, and the constants, each block 64-byte aligned, the section page-aligned so that it can be
// mapped.
//
//   offset  bytes  field (little endian)
//        0      8  magic "WEIRPROG"
//        8      4  format version
//       12      4  oldest reader version that can read it
//       16      8  file size
//       24      4  section count
//       28      4  zero
//       32      8  XXH3-64 of the metadata section
//       40     24  …sections: kind (4), zero (4), offset (8), size (8)
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "program/program.h"

namespace weir {

inline constexpr uint32_t kProgramVersion = 1;
inline constexpr uint32_t kOldestProgramReader = 1;

// Fills the bytes of one constant block; called once, in order of the offsets.
struct ConstantBlock {
  int64_t offset = 0;  // in the constants section
  int64_t bytes = 0;
  std::function<Result<void>(std::span<std::byte> target)> write;
  int32_t storage = -1;  // whose hash the writer fills in
};

// Writes aside, syncs, renames: the file is either complete or not there. Sets the hashes of
// `program.storages`.
Result<void> write_program(Program& program, std::span<const ConstantBlock> blocks, const std::string& path);
// The same bytes in memory.
Result<std::vector<std::byte>> program_image(Program& program, std::span<const ConstantBlock> blocks);

// A program with its constants. `constants` points into `owner` (a mapped file or memory of its own).
struct LoadedProgram {
  Program program;
  std::span<const std::byte> constants;
  std::shared_ptr<const void> owner;
  int64_t file_bytes = 0;
};

// Verified. A file that is truncated, damaged, newer than this reader or inconsistent is an error that says
// where.
Result<LoadedProgram> read_program(const std::string& path);
Result<LoadedProgram> read_program(std::span<const std::byte> image, std::shared_ptr<const void> owner);

// Recomputes the hash of every constant block.
Result<void> verify_constants(const LoadedProgram& loaded);

}  // namespace weir
