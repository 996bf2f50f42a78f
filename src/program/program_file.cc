// SPDX-License-Identifier: Apache-2.0
#include "program/program_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/hash.h"
#include "program/metadata.h"

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "The fields of the header are copied as they are.");

constexpr std::string_view kMagic = "WEIRPROG";
constexpr int64_t kHeaderBytes = 40;
constexpr int64_t kSectionBytes = 24;
constexpr uint32_t kMaxSections = 16;
constexpr int64_t kPageBytes = 4096;
constexpr uint32_t kMetadata = 1;
constexpr uint32_t kConstants = 2;

std::string_view section_name(uint32_t kind) {
  return kind == kMetadata ? "metadata" : kind == kConstants ? "constants" : "unknown";
}

int64_t section_alignment(uint32_t kind) {
  return kind == kConstants ? kPageBytes : kStorageAlignment;
}

struct Section {
  uint32_t kind = 0;
  int64_t offset = 0;
  int64_t size = 0;
};

template <typename T>
void put(std::span<std::byte> target, int64_t offset, T value) {
  std::memcpy(target.data() + offset, &value, sizeof(T));
}

template <typename T>
T get(std::span<const std::byte> source, int64_t offset) {
  T value;
  std::memcpy(&value, source.data() + offset, sizeof(T));
  return value;
}

// 64-byte aligned memory, zeroed.
class AlignedBytes {
 public:
  // Null where there is no such memory.
  static std::shared_ptr<AlignedBytes> make(int64_t bytes) {
    // The owner first: nothing may fail between the memory and its owner's making.
    std::shared_ptr<AlignedBytes> made(new AlignedBytes);
    made->data_ = static_cast<std::byte*>(
        ::operator new(static_cast<size_t>(std::max<int64_t>(bytes, 1)), kAlignment, std::nothrow));
    if (made->data_ == nullptr) {
      return nullptr;
    }
    made->size_ = static_cast<size_t>(bytes);
    std::memset(made->data_, 0, made->size_);
    return made;
  }
  ~AlignedBytes() { ::operator delete(data_, kAlignment); }
  AlignedBytes(const AlignedBytes&) = delete;
  AlignedBytes& operator=(const AlignedBytes&) = delete;

  std::span<std::byte> bytes() { return {data_, size_}; }

 private:
  static constexpr std::align_val_t kAlignment{static_cast<size_t>(kStorageAlignment)};
  AlignedBytes() = default;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

std::unexpected<Status> no_memory(std::string_view what, int64_t bytes) {
  return fail(StatusCode::kResourceExhausted, "There is no memory for {} of ({}) bytes.", what, bytes);
}

Result<void> check_blocks(const Program& program, std::span<const ConstantBlock> blocks) {
  int64_t end = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const ConstantBlock& block = blocks[i];
    if (block.offset < end || block.offset % kStorageAlignment != 0 || block.bytes < 0 ||
        block.bytes > program.constant_bytes - block.offset) {
      return fail(
          StatusCode::kInvalidArgument,
          "Constant block ({}) takes ({}) bytes at offset ({}), and it lies at a multiple of ({}), at or "
          "after ({}), and ends by ({}).",
          i, block.bytes, block.offset, kStorageAlignment, end, program.constant_bytes);
    }
    end = block.offset + block.bytes;
  }
  return {};
}

// Each constant storage is a block, or shares one with another storage; its hash is that of the block.
Result<void> set_hashes(Program& program, std::span<const ConstantBlock> blocks,
                        std::span<const uint64_t> hashes) {
  for (size_t i = 0; i < program.storages.size(); ++i) {
    Storage& storage = program.storages[i];
    if (storage.kind != StorageKind::kConstant) {
      continue;
    }
    const int64_t bytes = program.dims[static_cast<size_t>(storage.bytes)].value;
    if (bytes == 0) {
      storage.hash = hash64({});
      continue;
    }
    // Blocks of no bytes may share the offset of the one that follows.
    auto block = std::ranges::lower_bound(blocks, storage.offset, {}, &ConstantBlock::offset);
    while (block != blocks.end() && block->offset == storage.offset && block->bytes == 0) {
      ++block;
    }
    if (block == blocks.end() || block->offset != storage.offset || block->bytes != bytes) {
      return fail(StatusCode::kInvalidArgument,
                  "Constant storage ({}) takes ({}) bytes at offset ({}), and no constant block does.", i,
                  bytes, storage.offset);
    }
    storage.hash = hashes[static_cast<size_t>(block - blocks.begin())];
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const int32_t named = blocks[i].storage;
    if (named >= 0 && (static_cast<size_t>(named) >= program.storages.size() ||
                       program.storages[static_cast<size_t>(named)].kind != StorageKind::kConstant ||
                       program.storages[static_cast<size_t>(named)].offset != blocks[i].offset)) {
      return fail(StatusCode::kInvalidArgument,
                  "Constant block ({}) names storage ({}), which is no constant at its offset ({}).", i,
                  named, blocks[i].offset);
    }
  }
  return {};
}

// Writes the whole file to `sink`, which takes (offset, bytes) in any order and starts as zeros.
template <typename Sink>
Result<void> write(Program& program, std::span<const ConstantBlock> blocks, const Sink& sink) {
  WEIR_TRY(verify(program));
  WEIR_TRY(check_blocks(program, blocks));
  std::vector<Section> sections;
  int64_t end = kHeaderBytes + kSectionBytes * (program.constant_bytes > 0 ? 2 : 1);
  const auto add_section = [&](uint32_t kind, int64_t size) {
    const int64_t offset = align_up(end, section_alignment(kind));
    sections.push_back({kind, offset, size});
    end = offset + size;
    return offset;
  };
  std::vector<uint64_t> hashes;
  if (program.constant_bytes > 0) {
    const int64_t start = add_section(kConstants, program.constant_bytes);
    int64_t largest = 0;
    for (const ConstantBlock& block : blocks) {
      largest = std::max(largest, block.bytes);
    }
    const std::shared_ptr<AlignedBytes> buffer = AlignedBytes::make(largest);
    if (buffer == nullptr) {
      return no_memory("a constant block", largest);
    }
    for (const ConstantBlock& block : blocks) {
      const std::span<std::byte> bytes = buffer->bytes().first(static_cast<size_t>(block.bytes));
      std::memset(bytes.data(), 0, bytes.size());
      WEIR_TRY(block.write(bytes), "while writing the constant block at offset ({})", block.offset);
      hashes.push_back(hash64(bytes));
      WEIR_TRY(sink(start + block.offset, bytes));
    }
  }
  hashes.resize(blocks.size(), hash64({}));  // a section of no bytes has blocks of none
  WEIR_TRY(set_hashes(program, blocks, hashes));
  WEIR_ASSIGN(const std::vector<std::byte> metadata, internal::encode_metadata(program));
  WEIR_TRY(sink(add_section(kMetadata, static_cast<int64_t>(metadata.size())), metadata));

  std::vector<std::byte> header(static_cast<size_t>(kHeaderBytes + kSectionBytes * std::ssize(sections)));
  std::memcpy(header.data(), kMagic.data(), kMagic.size());
  put<uint32_t>(header, 8, kProgramVersion);
  put<uint32_t>(header, 12, program.states.empty() ? kOldestProgramReader : kOldestReaderOfStates);
  put<int64_t>(header, 16, end);
  put<uint32_t>(header, 24, static_cast<uint32_t>(sections.size()));
  put<uint64_t>(header, 32, hash64(metadata));
  for (size_t i = 0; i < sections.size(); ++i) {
    const int64_t at = kHeaderBytes + kSectionBytes * static_cast<int64_t>(i);
    put<uint32_t>(header, at, sections[i].kind);
    put<int64_t>(header, at + 8, sections[i].offset);
    put<int64_t>(header, at + 16, sections[i].size);
  }
  return sink(0, header);
}

struct Header {
  uint64_t metadata_hash = 0;
  Section metadata;
  Section constants;
};

Result<Header> read_header(std::span<const std::byte> image) {
  const auto file_bytes = static_cast<int64_t>(image.size());
  if (file_bytes < kHeaderBytes) {
    return fail(StatusCode::kDataLoss,
                "The file has ({}) bytes, and the header of a program file takes ({}).", file_bytes,
                kHeaderBytes);
  }
  if (std::memcmp(image.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(StatusCode::kDataLoss, "The file does not begin with '{}': it is not a program file.",
                kMagic);
  }
  const auto version = get<uint32_t>(image, 8);
  const auto oldest = get<uint32_t>(image, 12);
  if (oldest < 1 || oldest > version) {
    return fail(
        StatusCode::kDataLoss,
        "The header at offset (8) has version ({}) and oldest reader ({}), and the latter is at least (1) "
        "and no more than the former.",
        version, oldest);
  }
  if (oldest > kProgramVersion) {
    return fail(
        StatusCode::kFailedPrecondition,
        "The file needs a reader of version ({}), and this one has version ({}): compile the model again, "
        "or use a newer runtime.",
        oldest, kProgramVersion);
  }
  if (const auto stated = get<int64_t>(image, 16); stated != file_bytes) {
    return fail(
        StatusCode::kDataLoss,
        "The file has ({}) bytes, and its header at offset (16) states ({}): it is truncated or damaged.",
        file_bytes, stated);
  }
  const auto count = get<uint32_t>(image, 24);
  int64_t end = kHeaderBytes + kSectionBytes * int64_t{std::min(count, kMaxSections)};
  if (count < 1 || count > kMaxSections || end > file_bytes) {
    return fail(
        StatusCode::kDataLoss,
        "The header at offset (24) states ({}) sections, and (1) to ({}) are allowed and lie within the "
        "file.",
        count, kMaxSections);
  }
  if (get<uint32_t>(image, 28) != 0) {
    return fail(StatusCode::kDataLoss, "The header at offset (28) holds ({}), and it is zero.",
                get<uint32_t>(image, 28));
  }
  Header header;
  header.metadata_hash = get<uint64_t>(image, 32);
  for (uint32_t i = 0; i < count; ++i) {
    const int64_t at = kHeaderBytes + kSectionBytes * int64_t{i};
    const Section section = {get<uint32_t>(image, at), get<int64_t>(image, at + 8),
                             get<int64_t>(image, at + 16)};
    if (get<uint32_t>(image, at + 4) != 0) {
      return fail(StatusCode::kDataLoss, "The section table at offset ({}) holds ({}), and it is zero.",
                  at + 4, get<uint32_t>(image, at + 4));
    }
    const int64_t expected = align_up(end, section_alignment(section.kind));
    if (section.offset != expected || expected > file_bytes || section.size < 0 ||
        section.size > file_bytes - expected) {
      return fail(
          StatusCode::kDataLoss,
          "Section ({}), {}, has ({}) bytes at offset ({}), and it begins at ({}) and ends within the "
          "({}) bytes of the file.",
          i, section_name(section.kind), section.size, section.offset, expected, file_bytes);
    }
    for (int64_t padding = end; padding < expected; ++padding) {
      if (image[static_cast<size_t>(padding)] != std::byte{0}) {
        return fail(StatusCode::kDataLoss,
                    "The byte at offset ({}), between two sections, is not zero: the file is damaged.",
                    padding);
      }
    }
    end = section.offset + section.size;
    if (section.kind == kMetadata || section.kind == kConstants) {
      Section& known = section.kind == kMetadata ? header.metadata : header.constants;
      if (known.kind != 0) {
        return fail(StatusCode::kDataLoss, "Section ({}) is a second one of kind {}.", i,
                    section_name(section.kind));
      }
      known = section;
    }
  }
  if (end != file_bytes) {
    return fail(StatusCode::kDataLoss, "The last section ends at ({}), and the file at ({}).", end,
                file_bytes);
  }
  if (header.metadata.kind == 0) {
    return fail(StatusCode::kDataLoss, "The section table at offset ({}) names no metadata section.",
                kHeaderBytes);
  }
  return header;
}

std::span<const std::byte> bytes_of(std::span<const std::byte> image, const Section& section) {
  return image.subspan(static_cast<size_t>(section.offset), static_cast<size_t>(section.size));
}

bool is_aligned(const std::byte* data, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

Result<Program> read_metadata(std::span<const std::byte> image, const Header& header) {
  std::span<const std::byte> bytes = bytes_of(image, header.metadata);
  if (const uint64_t hash = hash64(bytes); hash != header.metadata_hash) {
    return fail(
        StatusCode::kDataLoss,
        "The metadata section has the hash ({:016x}), and the header at offset (32) states ({:016x}): the "
        "file is damaged.",
        hash, header.metadata_hash);
  }
  std::shared_ptr<AlignedBytes> aligned;
  if (!is_aligned(bytes.data(), alignof(int64_t))) {
    aligned = AlignedBytes::make(header.metadata.size);
    if (aligned == nullptr) {
      return no_memory("the metadata", header.metadata.size);
    }
    std::ranges::copy(bytes, aligned->bytes().begin());
    bytes = aligned->bytes();
  }
  WEIR_ASSIGN(Program program, internal::decode_metadata(bytes));
  if (program.constant_bytes != header.constants.size) {
    return fail(StatusCode::kDataLoss,
                "The constants section has ({}) bytes, and the metadata states ({}) of constants.",
                header.constants.size, program.constant_bytes);
  }
  WEIR_TRY(verify(program));
  return program;
}

}  // namespace

Result<void> write_program(Program& program, std::span<const ConstantBlock> blocks, const std::string& path,
                           Links links) {
  WEIR_ASSIGN(AtomicFile file, AtomicFile::create(path, links), "while writing program '{}'", program.name);
  WEIR_TRY(write(program, blocks,
                 [&](int64_t offset, std::span<const std::byte> bytes) { return file.write(offset, bytes); }),
           "while writing program '{}'", program.name);
  WEIR_TRY(file.commit(), "while writing program '{}'", program.name);
  return {};
}

Result<std::vector<std::byte>> program_image(Program& program, std::span<const ConstantBlock> blocks) {
  std::vector<std::byte> image;
  WEIR_TRY(write(program, blocks,
                 [&](int64_t offset, std::span<const std::byte> bytes) -> Result<void> {
                   const auto at = static_cast<size_t>(offset);
                   image.resize(std::max(image.size(), at + bytes.size()));
                   std::ranges::copy(bytes, image.begin() + offset);
                   return {};
                 }),
           "while writing program '{}'", program.name);
  return image;
}

Result<LoadedProgram> read_program(std::span<const std::byte> image, std::shared_ptr<const void> owner) {
  WEIR_ASSIGN(const Header header, read_header(image));
  LoadedProgram loaded;
  WEIR_ASSIGN(loaded.program, read_metadata(image, header));
  loaded.owner = std::move(owner);
  loaded.file_bytes = static_cast<int64_t>(image.size());
  loaded.constants = bytes_of(image, header.constants);
  if (!is_aligned(loaded.constants.data(), static_cast<uintptr_t>(kStorageAlignment)) &&
      !loaded.constants.empty()) {
    const std::shared_ptr<AlignedBytes> copy = AlignedBytes::make(header.constants.size);
    if (copy == nullptr) {
      return no_memory("the constants", header.constants.size);
    }
    std::ranges::copy(loaded.constants, copy->bytes().begin());
    loaded.constants = copy->bytes();
    loaded.owner = copy;
    loaded.constants_copied = true;
  }
  return loaded;
}

Result<LoadedProgram> read_program(const std::string& path) {
  WEIR_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  WEIR_ASSIGN(LoadedProgram loaded, read_program(file->bytes(), file), "while reading program file '{}'",
              path);
  loaded.mapped = !loaded.constants_copied;
  return loaded;
}

Result<void> verify_constants(const LoadedProgram& loaded) {
  const Program& program = loaded.program;
  for (size_t i = 0; i < program.storages.size(); ++i) {
    const Storage& storage = program.storages[i];
    if (storage.kind != StorageKind::kConstant) {
      continue;
    }
    const int64_t bytes = program.dims[static_cast<size_t>(storage.bytes)].value;
    const uint64_t hash =
        hash64(loaded.constants.subspan(static_cast<size_t>(storage.offset), static_cast<size_t>(bytes)));
    if (hash != storage.hash) {
      return fail(StatusCode::kDataLoss,
                  "Constant storage ({}), ({}) bytes at offset ({}) of the constants section, has the hash "
                  "({:016x}), and the program states ({:016x}): the file is damaged.",
                  i, bytes, storage.offset, hash, storage.hash);
    }
  }
  return {};
}

}  // namespace weir
