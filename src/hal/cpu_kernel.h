// SPDX-License-Identifier: Apache-2.0
//
// What a CPU kernel function is given. The CPU device's kernels are plain functions over ranges of tiles; a
// dispatch splits its tiles among participants, each of which calls the function on one range.
//
// A kernel function allocates nothing, takes no lock and gives the same bits for a tile whatever the range it
// is part of. It finds the strides and extents that it needs in `constants`, where recording put them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

// Set once by the first fault in a command buffer; read by the host when it has completed.
struct StatusRecord {
  // kReported: operands[0] is a StatusCode, `text` says what happened.
  enum class Code : int32_t { kOk = 0, kIndexOutOfRange = 1, kReported = 2 };
  static constexpr size_t kTextBytes = 200;
  std::atomic<int32_t> state{0};  // 0 clear, 1 being written, 2 written
  int32_t step = 0;
  int32_t code = 0;
  int64_t operands[2] = {0, 0};  // kIndexOutOfRange: the index, and the extent of the axis
  char text[kTextBytes] = {};    // ends with a zero; cut where it is longer

  // Clamp the access and go on afterwards. Safe from any thread.
  void set(int32_t step_index, Code new_code, int64_t a, int64_t b) {
    int32_t expected = 0;
    if (state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
      step = step_index;
      code = static_cast<int32_t>(new_code);
      operands[0] = a;
      operands[1] = b;
      state.store(2, std::memory_order_release);
    }
  }

  // The same in words, which are copied.
  void report(int32_t step_index, int64_t status_code, std::string_view words) {
    int32_t expected = 0;
    if (state.compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
      step = step_index;
      code = static_cast<int32_t>(Code::kReported);
      operands[0] = status_code;
      operands[1] = 0;
      const size_t size = std::min(words.size(), kTextBytes - 1);
      words.copy(text, size);
      text[size] = '\0';
      state.store(2, std::memory_order_release);
    }
  }
};

struct CpuInvocation {
  std::span<std::byte* const> bindings;
  const std::byte* constants = nullptr;   // 64-byte aligned
  const std::byte* parameters = nullptr;  // null unless the command buffer has parameters
  std::byte* scratch = nullptr;           // this participant's, 64-byte aligned; contents undefined
  int64_t tile_begin = 0;
  int64_t tile_end = 0;
  int32_t step = 0;
  StatusRecord* status = nullptr;
  void* user = nullptr;     // of the kernel's entry in its library
  int32_t participant = 0;  // whose scratch it is: below the command buffer's participants

  template <typename T>
  const T& constants_as() const {
    return *reinterpret_cast<const T*>(constants);
  }
};

using CpuKernelFunction = void (*)(const CpuInvocation& invocation);

}  // namespace weir
