// SPDX-License-Identifier: Apache-2.0
//
// A 32-bit word that threads wait on: first spinning for a bounded time, then asleep. Waking costs a system
// call only when somebody sleeps.
//
//   word.store(3);                                  // wakes all who wait
//   uint32_t now = word.wait_while(3, spin);        // returns the first value seen that is not 3
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir {

inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

class WaitWord {
 public:
  explicit WaitWord(uint32_t value = 0) : value_(value) {}

  uint32_t load() const { return value_.load(std::memory_order_acquire); }

  void store(uint32_t value) {
    // Sequentially consistent, as is the sleeper's count: either the sleeper sees the new value, or we see
    // it.
    value_.store(value, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) {
      wake_all();
    }
  }

  uint32_t wait_while(uint32_t old, std::chrono::nanoseconds spin) {
    uint32_t now = load();
    if (now != old) {
      return now;
    }
    if (spin.count() > 0) {
      const auto end = std::chrono::steady_clock::now() + spin;
      do {
        for (int i = 0; i < 16; ++i) {
          cpu_relax();
          now = load();
          if (now != old) {
            return now;
          }
        }
      } while (std::chrono::steady_clock::now() < end);
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while ((now = value_.load(std::memory_order_seq_cst)) == old) {
      sleep_while(old);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return now;
  }

 private:
#if defined(__linux__)
  void sleep_while(uint32_t old) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&value_), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
  }
  void wake_all() {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&value_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr,
            0);
  }
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
#else
  void sleep_while(uint32_t old) { value_.wait(old, std::memory_order_seq_cst); }
  void wake_all() { value_.notify_all(); }
#endif

  std::atomic<uint32_t> value_;
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace weir
