// SPDX-License-Identifier: Apache-2.0
//
// Memory that faults when a kernel strays: it lies against an inaccessible page, at its end or at its begin.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::testing {

class GuardedMemory {
 public:
  enum class Against : uint8_t { kEnd, kBegin };

  // All bytes are `poison`. With kEnd the last byte lies before the guard page where `alignment` allows, and
  // never further than alignment − 1 from it. Aborts where the system refuses.
  GuardedMemory(int64_t bytes, int64_t alignment, Against against, std::byte poison);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  std::byte* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

// Runs `function(context)`. False where it touched memory that it may not touch; then it was left midway, so
// it must own nothing.
bool survives(void (*function)(void*), void* context);

template <typename F>
bool survives(F function) {
  return survives([](void* f) { (*static_cast<F*>(f))(); }, &function);
}

}  // namespace weir::testing
