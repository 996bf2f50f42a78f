// SPDX-License-Identifier: Apache-2.0
//
// The .weir file: a fixed binary header with a table of 64-bit sections, the constants, each block 64-byte
// aligned, the section page-aligned so that it can be mapped, and the program's structures as a FlatBuffer.
//
//   WEIR_TRY(write_program(program, blocks, "model.weir"));
//   WEIR_ASSIGN(LoadedProgram loaded, read_program("model.weir"));    // verified; constants stay in the file
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
//
// Section kinds: 1 metadata, 2 constants (absent where there are none). Sections lie in ascending order, each
// at the next multiple of 4096 (constants) or 64 (others) after the one before, zeros between them, and the
// last ends with the file: a table that says anything else is damaged. The constants come first, so that they
// are written once, as a stream, before the metadata that holds their hashes. A reader skips kinds that it
// does not know: a newer writer that must not be skipped raises the oldest reader version.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "program/program.h"

namespace weir {

inline constexpr uint32_t kProgramVersion = 2;  // 2: states
inline constexpr uint32_t kOldestProgramReader = 1;
inline constexpr uint32_t kOldestReaderOfStates = 2;

// Fills the bytes of one constant block; called once, in order of the offsets.
struct ConstantBlock {
  int64_t offset = 0;  // in the constants section
  int64_t bytes = 0;
  std::function<Result<void>(std::span<std::byte> target)> write;
  int32_t storage = -1;  // whose hash the writer fills in
};

// Writes aside, syncs, renames: the file is either complete or not there. Sets the hashes of
// `program.storages`. A program that does not verify is refused. Blocks ascend and do not overlap; memory is
// needed for the largest of them. The same program and blocks give the same bytes. `links` says what becomes
// of a link at `path`.
Result<void> write_program(Program& program, std::span<const ConstantBlock> blocks, const std::string& path,
                           Links links = Links::kReplace);
// The same bytes in memory.
Result<std::vector<std::byte>> program_image(Program& program, std::span<const ConstantBlock> blocks);

// A program with its constants. `constants` points into `owner` (a mapped file or memory of its own) and lies
// on a multiple of kStorageAlignment.
struct LoadedProgram {
  Program program;
  std::span<const std::byte> constants;
  std::shared_ptr<const void> owner;
  int64_t file_bytes = 0;
  bool mapped = false;            // `constants` lies in a file: pages that nobody reads take no memory
  bool constants_copied = false;  // an image whose constants were not aligned: `owner` is the copy
};

// Verified. A file that is truncated, damaged, newer than this reader or inconsistent is an error that says
// where.
Result<LoadedProgram> read_program(const std::string& path);
Result<LoadedProgram> read_program(std::span<const std::byte> image, std::shared_ptr<const void> owner);

// Recomputes the hash of every constant block.
Result<void> verify_constants(const LoadedProgram& loaded);

}  // namespace weir
