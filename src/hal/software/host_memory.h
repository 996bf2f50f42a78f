// SPDX-License-Identifier: Apache-2.0
//
// One allocation of host memory, in pages or from the allocator.
//
//   WEIR_ASSIGN(HostMemory memory, HostMemory::allocate({.size = 4096, .label = "input"}));
//
// Owned by one, movable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace weir {

class HostMemory {
 public:
  // From this size on an allocation has pages of its own.
  static constexpr int64_t kPagesFrom = 64 << 10;

  struct Options {
    int64_t size = 0;
    int64_t alignment = 64;  // a power of two
    bool pages = false;      // of its own, whatever the size: needed for `accessible`
    bool prefault = false;
    bool lock = false;
    bool huge_pages = false;
    std::string_view label;
  };

  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory() { free(); }

  // kResourceExhausted where the system gives no more, or does not let the pages be locked.
  static Result<HostMemory> allocate(const Options& options);

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  // Only for memory in pages: whether reading and writing it is allowed, or ends the process.
  // False where the system refuses, with errno.
  bool set_accessible(bool accessible);

 private:
  void free();

  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  std::byte* mapping_ = nullptr;  // null: from the allocator
  int64_t mapping_size_ = 0;
};

int64_t host_page_bytes();

}  // namespace weir
