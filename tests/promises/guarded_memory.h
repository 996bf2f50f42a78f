// SPDX-License-Identifier: Apache-2.0
//
// GuardedMemory: bytes with inaccessible pages beside them, so that one byte too far is a fault.
//
//   GuardedMemory memory(bytes, GuardedMemory::Side::kEnd);     // the last byte lies before a guard page
//   memory.fill(0xFF);
//   Ref<Buffer> buffer = memory.import(*device, "arena");       // the device uses it in place; must outlive
//   it
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "hal/device.h"

namespace weir::promises {

class GuardedMemory {
 public:
  // Which end touches its guard page; at the other there may be up to a page in between.
  enum class Side { kStart, kEnd };

  GuardedMemory(int64_t bytes, Side side) : size_(static_cast<size_t>(bytes)) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (size_ + page - 1) / page * page;
    mapped_ = inside + 2 * page;
    void* memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      std::abort();
    }
    mapping_ = static_cast<std::byte*>(memory);
    if (mprotect(mapping_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
      std::abort();
    }
    data_ = side == Side::kStart ? mapping_ + page : mapping_ + page + inside - size_;
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  ~GuardedMemory() { munmap(mapping_, mapped_); }

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  void fill(uint8_t pattern) { std::memset(data_, pattern, size_); }

  Result<Ref<Buffer>> import(Device& device, std::string_view label) const {
    ImportDescriptor descriptor;
    descriptor.pointer = data_;
    descriptor.size = static_cast<int64_t>(size_);
    descriptor.label = label;
    return device.import_buffer(descriptor);
  }

 private:
  size_t size_ = 0;
  size_t mapped_ = 0;
  std::byte* mapping_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace weir::promises
