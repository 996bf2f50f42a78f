// SPDX-License-Identifier: Apache-2.0
//
// HostBlock: the one block of host memory in which a session, a request or a prepared shape keeps its tables.
// Its size is known before it is made: the same function that places the arrays measures them.
//
//   struct Tables {
//     HostArray<Ref<Buffer>> inputs;
//     HostArray<int64_t> offsets;
//     template <typename Memory>
//     void place(Memory& memory, const Program& program) {
//       memory.place(inputs, program.inputs.size());
//       memory.place(offsets, program.inputs.size());
//     }
//   };
//   const int64_t bytes = host_bytes<Tables>(program);                              // the plan
//   WEIR_ASSIGN(HostBlock block, HostBlock::allocate(device, bytes, "request"));    // charged as `host`
//   tables.place(block, program);
//
// An array must not outlive its block: declare the block first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "base/status.h"
#include "hal/device.h"
#include "hal/memory_account.h"
#include "hal/software/host_memory.h"

namespace weir {

// Elements in a HostBlock: as many as were placed, each as its default constructor made it.
template <typename T>
class HostArray {
 public:
  HostArray() = default;
  explicit HostArray(std::span<T> elements) : elements_(elements) {}
  HostArray(HostArray&& other) noexcept : elements_(std::exchange(other.elements_, {})) {}
  HostArray& operator=(HostArray&& other) noexcept {
    std::swap(elements_, other.elements_);
    return *this;
  }
  ~HostArray() { std::destroy(elements_.begin(), elements_.end()); }

  operator std::span<T>() { return elements_; }
  operator std::span<const T>() const { return elements_; }
  T* data() { return elements_.data(); }
  const T* data() const { return elements_.data(); }
  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  T& operator[](size_t i) { return elements_[i]; }
  const T& operator[](size_t i) const { return elements_[i]; }
  T* begin() { return elements_.data(); }
  T* end() { return elements_.data() + elements_.size(); }
  const T* begin() const { return elements_.data(); }
  const T* end() const { return elements_.data() + elements_.size(); }

 private:
  std::span<T> elements_;
};

inline constexpr int64_t kHostArrayAlignment = 64;

// Adds up what a HostBlock must have.
class HostMeter {
 public:
  template <typename T>
  void place(HostArray<T>&, size_t count) {
    place_bytes(static_cast<int64_t>(count * sizeof(T)));
  }
  void place_bytes(int64_t size) { bytes_ += align_up(size, kHostArrayAlignment); }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

class HostBlock {
 public:
  HostBlock() = default;

  // Touched, and charged to the device's account.
  static Result<HostBlock> allocate(const Device& device, int64_t bytes, std::string_view label);

  // Bytes charged.
  int64_t bytes() const { return charge_.bytes(); }

  // The next array. The block was measured for it.
  template <typename T>
  void place(HostArray<T>& array, size_t count) {
    static_assert(alignof(T) <= kHostArrayAlignment);
    const std::span<std::byte> place = place_bytes(static_cast<int64_t>(count * sizeof(T)));
    T* first = reinterpret_cast<T*>(place.data());
    std::uninitialized_value_construct_n(first, count);
    array = HostArray<T>(std::span<T>(first, count));
  }
  // 64-byte aligned.
  std::span<std::byte> place_bytes(int64_t size);

 private:
  HostMemory memory_;
  MemoryCharge charge_;
  int64_t used_ = 0;
};

// What `Tables::place` takes for these arguments.
template <typename Tables, typename... Arguments>
int64_t host_bytes(const Arguments&... arguments) {
  HostMeter meter;
  Tables tables;
  tables.place(meter, arguments...);
  return meter.bytes();
}

}  // namespace weir
