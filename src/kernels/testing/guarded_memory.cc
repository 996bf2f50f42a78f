// SPDX-License-Identifier: Apache-2.0
#include "kernels/testing/guarded_memory.h"

#include <setjmp.h>  // NOLINT(modernize-deprecated-headers): POSIX's, with sigjmp_buf
#include <signal.h>  // NOLINT(modernize-deprecated-headers): POSIX's, with sigaction
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace weir::testing {
namespace {

thread_local sigjmp_buf* recovery = nullptr;

void on_fault(int signal) {
  if (recovery != nullptr) {
    siglongjmp(*recovery, 1);
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

GuardedMemory::GuardedMemory(int64_t bytes, int64_t alignment, Against against, std::byte poison)
    : bytes_(bytes) {
  const auto page = static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  const int64_t padded = (bytes + alignment - 1) / alignment * alignment;
  const int64_t body = std::max((padded + page - 1) / page * page, page);
  mapped_ = static_cast<size_t>(body + 2 * page);
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    std::abort();
  }
  mapping_ = static_cast<std::byte*>(mapping);
  std::memset(mapping_, static_cast<int>(poison), mapped_);
  mprotect(mapping_, static_cast<size_t>(page), PROT_NONE);
  mprotect(mapping_ + page + body, static_cast<size_t>(page), PROT_NONE);
  data_ = mapping_ + page + (against == Against::kEnd ? body - padded : 0);
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) {
    munmap(mapping_, mapped_);
  }
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      bytes_(other.bytes_) {}

bool survives(void (*function)(void*), void* context) {
  struct sigaction action = {};
  action.sa_handler = on_fault;
  action.sa_flags = SA_NODEFER;
  struct sigaction before_segv = {};
  struct sigaction before_bus = {};
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  sigjmp_buf place;
  volatile bool survived = false;
  if (sigsetjmp(place, 1) == 0) {
    recovery = &place;
    function(context);
    survived = true;
  }
  recovery = nullptr;
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return survived;
}

}  // namespace weir::testing
