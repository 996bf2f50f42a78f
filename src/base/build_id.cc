// SPDX-License-Identifier: Apache-2.0
#include "base/build_id.h"

#include <elf.h>
#include <fmt/ranges.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace weir {
namespace {

struct Search {
  uintptr_t address = 0;                 // lies in the wanted object
  std::span<const unsigned char> found;  // in that object's own memory
};

bool contains(const dl_phdr_info& object, uintptr_t address) noexcept {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& segment = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && address >= begin && address < begin + segment.p_memsz) {
      return true;
    }
  }
  return false;
}

// Nothing may be thrown through the C library's loop: where memory is short, that ends the process.
int visit(dl_phdr_info* object, size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  if (!contains(*object, search.address)) {
    return 0;
  }
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) {
      continue;
    }
    // The loader tells addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* notes = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);
    for (size_t offset = 0; offset + sizeof(ElfW(Nhdr)) <= segment.p_memsz;) {
      ElfW(Nhdr) header;
      std::memcpy(&header, notes + offset, sizeof(header));
      const size_t name = offset + sizeof(header);
      const size_t description = name + (header.n_namesz + 3) / 4 * 4;
      if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
          std::memcmp(notes + name, "GNU", 4) == 0) {
        search.found = {notes + description, header.n_descsz};
        return 1;
      }
      offset = description + (header.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  Search search;
  search.address = reinterpret_cast<uintptr_t>(&visit);
  dl_iterate_phdr(visit, &search);
  return fmt::format("{:02x}", fmt::join(search.found, ""));
}

}  // namespace weir
