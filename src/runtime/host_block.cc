// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_block.h"

#include <cassert>

namespace weir {

Result<HostBlock> HostBlock::allocate(const Device& device, int64_t bytes, std::string_view label) {
  HostBlock block;
  if (bytes > 0) {
    WEIR_ASSIGN(block.charge_, device.memory().charge(MemoryCategory::kHost, bytes, label));
    WEIR_ASSIGN(block.memory_, HostMemory::allocate({.size = bytes, .prefault = true, .label = label}));
  }
  return block;
}

std::span<std::byte> HostBlock::place_bytes(int64_t size) {
  const int64_t begin = used_;
  used_ += align_up(size, kHostArrayAlignment);
  assert(used_ <= memory_.size());
  return {memory_.data() + begin, static_cast<size_t>(size)};
}

}  // namespace weir
