// SPDX-License-Identifier: Apache-2.0
//
// Makes the N-th call of a kind fail, in this process, and counts what is alive.
//
//   arm(FaultKind::kAllocate, 17);        // the call of number 17 (from 0) finds no memory
//   run_the_slice();
//   const FaultReport report = disarm();  // report.failed: "operator new"; report.counts: calls of each kind
//   alive();                              // blocks and mappings; the same as before, or something leaked
//
// The program that links injector.cc has the allocation, mapping, file and thread functions of C and C++
// replaced for itself and for every library it loads, as an executable's symbols come first. Calls inside
// glibc (its own maps, the opening inside fopen) do not come here, their entry points do. Calls outside a
// window never fail. One window at a time; calls of every thread count in it. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::faults {

enum class FaultKind : int {
  kAllocate,  // malloc and its kin, operator new
  kMap,       // mmap, mremap, mlock, mprotect, madvise
  kOpen,      // open, fopen, opendir: no descriptor left
  kLook,      // read, stat, readdir: the medium fails
  kWrite,     // write, fsync, ftruncate: no space left on the device
  kName,      // mkdir, rename, unlink, utimensat: not permitted
  kThread,    // pthread_create: no more threads
  kShort,     // read and write do half of what they are asked for, which is no error
};
inline constexpr int kFaultKinds = 8;
const char* to_string(FaultKind kind);

struct FaultReport {
  std::array<int64_t, kFaultKinds> counts{};
  const char* failed =
      nullptr;  // the function that was made to fail; null where the number was never reached
};

// `index` −1: nothing fails, calls are counted. `onwards`: every call from it on fails.
void arm(FaultKind kind, int64_t index, bool onwards = false);
// Every allocation or mapping of exactly so many bytes fails.
void arm_bytes(FaultKind kind, int64_t bytes);
FaultReport disarm();

struct Alive {
  int64_t blocks = 0;
  int64_t mappings = 0;
  int64_t descriptors = 0;
  friend bool operator==(const Alive&, const Alive&) = default;
};
// Not in a window.
Alive alive();

// For finding a leak: remembers who allocates inside a window, and prints who has not freed.
void print_leaks_of_window();

}  // namespace weir::faults
