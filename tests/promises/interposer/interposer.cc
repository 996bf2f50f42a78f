// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of the allocation functions of C and C++ (LD_PRELOAD) and counts their calls: between
// weir_interposer_begin and weir_interposer_end for base/allocation_window.h, and as running totals by who
// called for base/allocation_counter.h. Forwards to the functions that glibc exports beside its own names, so
// it needs no look-up before main.
//
// Who called is told by the caller's return address. The program itself, libweir and the language's libraries
// count as Weir's; libraries that were there at the start as the user's; what was loaded later as a driver's.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/allocation_window.h"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace {

constexpr int kTraces = 4;
constexpr int kFrames = 24;

std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};
std::atomic<int64_t> own{0};
std::atomic<int64_t> bytes{0};
std::atomic<int64_t> frees{0};
std::atomic<int64_t> maps{0};
std::atomic<int> traces{0};
bool tracing = false;
void* trace[kTraces][kFrames];
int trace_frames[kTraces];
thread_local bool began_window = false;
thread_local bool inside = false;  // backtrace may allocate

enum Caller { kWeir = 0, kDriver = 1, kUser = 2 };

struct Module {
  uintptr_t begin;
  uintptr_t end;
  Caller caller;
};

constexpr int kMostModules = 256;
Module modules[kMostModules];
int module_count = 0;
std::atomic<uint64_t> totals[3];

bool of_weir(const char* path) {
  // The program itself has an empty path here.
  for (const char* name : {"libweir", "libstdc++", "libc.so", "libm.so", "libgcc_s", "ld-linux", "libfmt"}) {
    if (std::strstr(path, name) != nullptr) {
      return true;
    }
  }
  return path[0] == 0;
}

int add_module(dl_phdr_info* info, size_t, void*) {
  for (int i = 0; i < info->dlpi_phnum && module_count < kMostModules; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
      modules[module_count++] = {begin, begin + header.p_memsz, of_weir(info->dlpi_name) ? kWeir : kUser};
    }
  }
  return 0;
}

__attribute__((constructor)) void list_modules() {
  dl_iterate_phdr(add_module, nullptr);
}

Caller caller_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < module_count; ++i) {
    if (at >= modules[i].begin && at < modules[i].end) {
      return modules[i].caller;
    }
  }
  return module_count == 0 ? kWeir : kDriver;
}

void count(size_t size, const void* caller) {
  totals[caller_of(caller)].fetch_add(1, std::memory_order_relaxed);
  if (!counting.load(std::memory_order_relaxed) || inside) {
    return;
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  if (began_window) {
    own.fetch_add(1, std::memory_order_relaxed);
  }
  if (tracing) {
    const int index = traces.fetch_add(1, std::memory_order_relaxed);
    if (index < kTraces) {
      inside = true;
      trace_frames[index] = backtrace(trace[index], kFrames);
      inside = false;
    }
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void weir_interposer_begin(void) {
  began_window = true;
  tracing = std::getenv("WEIR_ALLOCATION_TRACE") != nullptr;
  if (tracing) {
    void* warm[1];
    backtrace(warm, 1);  // loads what it needs now
  }
  for (std::atomic<int64_t>* counter : {&allocations, &own, &bytes, &frees, &maps}) {
    counter->store(0);
  }
  traces.store(0);
  counting.store(true);
}

__attribute__((visibility("default"))) void weir_interposer_end(weir_allocations* counts) {
  counting.store(false);
  began_window = false;
  counts->allocations = allocations.load();
  counts->own = own.load();
  counts->bytes = bytes.load();
  counts->frees = frees.load();
  counts->maps = maps.load();
  for (int i = 0; tracing && i < kTraces && i < traces.load(); ++i) {
    backtrace_symbols_fd(trace[i], trace_frames[i], STDERR_FILENO);
  }
}

__attribute__((visibility("default"))) void weir_allocation_counts(uint64_t counts[3]) {
  for (int i = 0; i < 3; ++i) {
    counts[i] = totals[i].load(std::memory_order_relaxed);
  }
}

void* malloc(size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_malloc(size);
}

void* calloc(size_t items, size_t size) {
  count(items * size, __builtin_return_address(0));
  return __libc_calloc(items, size);
}

void* realloc(void* block, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_realloc(block, size);
}

void* memalign(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) {
    return EINVAL;
  }
  count(size, __builtin_return_address(0));
  void* result = __libc_memalign(alignment, size);
  if (result == nullptr) {
    return ENOMEM;
  }
  *block = result;
  return 0;
}

void free(void* block) {
  if (block != nullptr && counting.load(std::memory_order_relaxed)) {
    frees.fetch_add(1, std::memory_order_relaxed);
  }
  __libc_free(block);
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  if (counting.load(std::memory_order_relaxed)) {
    maps.fetch_add(1, std::memory_order_relaxed);
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, file, offset));
}

}  // extern "C"

// The C++ forms come here and not to the language's library, so that the caller is who asked.

namespace {

// No exceptions: as with the library's own operator new in a program that is out of memory and catches
// nothing.
void* allocate(size_t size, size_t alignment, const void* caller) {
  count(size, caller);
  void* block =
      alignment <= alignof(std::max_align_t) ? __libc_malloc(size) : __libc_memalign(alignment, size);
  if (block == nullptr) {
    std::abort();
  }
  return block;
}

}  // namespace

void* operator new(size_t size) {
  return allocate(size, 1, __builtin_return_address(0));
}
void* operator new[](size_t size) {
  return allocate(size, 1, __builtin_return_address(0));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* block) noexcept {
  free(block);
}
void operator delete[](void* block) noexcept {
  free(block);
}
void operator delete(void* block, size_t) noexcept {
  free(block);
}
void operator delete[](void* block, size_t) noexcept {
  free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  free(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
