// SPDX-License-Identifier: Apache-2.0
#include "hal/software/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"

namespace weir {
namespace {

using namespace std::string_view_literals;

constexpr int64_t kHugePageBytes = 2 << 20;

std::unexpected<Status> refused(const HostMemory::Options& options, const char* what) {
  return fail(StatusCode::kResourceExhausted, "The system refuses to {} ({}) bytes for '{}': {}.{}", what,
              options.size, options.label, std::strerror(errno),
              what == "lock"sv ? " The most that a process may lock is shown by `ulimit -l`." : "");
}

}  // namespace

int64_t host_page_bytes() {
  return sysconf(_SC_PAGESIZE);
}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  if (this != &other) {
    free();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapping_ = std::exchange(other.mapping_, nullptr);
    mapping_size_ = std::exchange(other.mapping_size_, 0);
  }
  return *this;
}

Result<HostMemory> HostMemory::allocate(const Options& options) {
  const int64_t page = host_page_bytes();
  HostMemory memory;
  memory.size_ = options.size;
  const bool pages = options.pages || options.size >= kPagesFrom || options.alignment >= page || options.lock;
  if (!pages) {
    const int64_t alignment = std::max<int64_t>(options.alignment, 64);
    // Not std::aligned_alloc: its size would have to be a multiple of the alignment.
    void* data = nullptr;
    if (posix_memalign(&data, static_cast<size_t>(alignment), static_cast<size_t>(options.size)) != 0) {
      errno = ENOMEM;
      return refused(options, "allocate");
    }
    memory.data_ = static_cast<std::byte*>(data);
    if (options.prefault) {
      std::memset(data, 0, static_cast<size_t>(options.size));
    }
    return memory;
  }

  const bool huge = options.huge_pages && options.size >= kHugePageBytes;
  const int64_t alignment = std::max({options.alignment, page, huge ? kHugePageBytes : page});
  const int64_t slack = alignment > page ? alignment : 0;
  WEIR_TRY(checked_add(options.size, slack + page), "while allocating '{}'", options.label);
  memory.mapping_size_ = align_up(options.size, page) + slack;
  void* mapping = mmap(nullptr, static_cast<size_t>(memory.mapping_size_), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    memory.mapping_size_ = 0;
    return refused(options, "map");
  }
  memory.mapping_ = static_cast<std::byte*>(mapping);
  const int64_t address = static_cast<int64_t>(reinterpret_cast<uintptr_t>(mapping));
  memory.data_ = memory.mapping_ + (align_up(address, alignment) - address);
#if defined(MADV_HUGEPAGE)
  if (huge) {
    madvise(memory.data_, static_cast<size_t>(options.size), MADV_HUGEPAGE);
  }
#endif
  if (options.lock && mlock(memory.data_, static_cast<size_t>(options.size)) != 0) {
    return refused(options, "lock");
  }
  if (options.prefault) {
    for (int64_t offset = 0; offset < options.size; offset += page) {
      *reinterpret_cast<volatile std::byte*>(memory.data_ + offset) = std::byte{0};
    }
  }
  return memory;
}

bool HostMemory::set_accessible(bool accessible) {
  return mapping_ == nullptr || mprotect(mapping_, static_cast<size_t>(mapping_size_),
                                         accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

void HostMemory::free() {
  if (mapping_ != nullptr) {
    munmap(mapping_, static_cast<size_t>(mapping_size_));
  } else {
    std::free(data_);
  }
  mapping_ = nullptr;
  data_ = nullptr;
}

}  // namespace weir
