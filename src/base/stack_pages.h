// SPDX-License-Identifier: Apache-2.0
//
// Touches the pages of a thread's stack that kernels use, when the thread starts, so that no inference meets
// them first.
//
//   std::thread([&] { touch_stack(); started.count_down(); serve(); });
#pragma once

#include <cstddef>

namespace weir {

// More than any kernel keeps on its stack, with the calls around it.
inline constexpr size_t kTouchedStackBytes = 32 * 1024;

[[gnu::noinline]] inline void touch_stack() {
  [[maybe_unused]] volatile std::byte pages[kTouchedStackBytes];
  for (size_t i = 0; i < kTouchedStackBytes; i += 4096) {
    pages[i] = std::byte{0};
  }
  pages[kTouchedStackBytes - 1] = std::byte{0};
}

}  // namespace weir
