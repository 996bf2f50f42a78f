// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of the allocation functions of C and C++ (LD_PRELOAD) and counts their calls: between
// weir_interposer_begin and weir_interposer_end for base/allocation_window.h, and as running totals by who
// called for base/allocation_counter.h. Forwards to the functions that glibc exports beside its own names, so
// it needs no look-up before main.
//
// Who called is the innermost caller that is no library of the language or the system: the program itself and
// libweir… are Weir, known driver libraries are the driver, all else is the user. A std::string that grows
// inside libstdc++ so counts for its owner. The totals include mmap and mremap. Callers are found by
// _dl_find_object, which takes no lock, so that nothing here can recurse or deadlock with the dynamic linker.
//
// Calls that have to do with files (interposer_files.cc) are counted apart, whoever makes them.
#include "interposer.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
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
std::atomic<int64_t> files{0};
std::atomic<int> traces{0};
bool tracing = false;
void* trace[kTraces][kFrames];
int trace_frames[kTraces];
__thread bool began_window __attribute__((tls_model("initial-exec"))) = false;
__thread bool inside __attribute__((tls_model("initial-exec"))) =
    false;  // a walk over the stack, which may allocate

enum Caller { kWeir = 0, kDriver = 1, kUser = 2, kNobody = 3 };
std::atomic<uint64_t> totals[3];
std::atomic<uint64_t> file_total{0};

template <size_t N>
bool begins_with_any(const char* name, const char* const (&beginnings)[N]) {
  for (const char* beginning : beginnings) {
    if (std::strncmp(name, beginning, std::strlen(beginning)) == 0) {
      return true;
    }
  }
  return false;
}

// The system's addresses are numbers.
void* address_of(uintptr_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr)
}

Caller caller_at(uintptr_t address) {
  static constexpr const char* kNeutral[] = {
      "libweir_interposer", "libc.",  "libstdc++", "libgcc_s", "libm.",     "libpthread.",
      "ld-linux",           "libdl.", "librt.",    "libfmt",   "linux-vdso"};
  static constexpr const char* kDrivers[] = {"libvulkan", "libVkLayer", "libcuda",   "libnvidia",
                                             "libGL",     "libEGL",     "libOpenCL", "libdrm",
                                             "amdvlk",    "libLLVM",    "libgallium"};
  dl_find_object found{};
  if (_dl_find_object(address_of(address), &found) != 0) {
    return kUser;
  }
  const char* path = found.dlfo_link_map->l_name;
  if (path == nullptr || *path == '\0') {  // the program itself
    return kWeir;
  }
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  if (begins_with_any(name, kNeutral)) {
    return kNobody;
  }
  if (std::strncmp(name, "libweir", 7) == 0) {
    return kWeir;
  }
  return begins_with_any(name, kDrivers) ? kDriver : kUser;
}

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* result) {
  Caller& caller = *static_cast<Caller*>(result);
  // A return address may be the first byte after its function.
  caller = caller_at(_Unwind_GetIP(context) - 1);
  return caller == kNobody ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

void count_caller(const void* return_address) {
  Caller caller = caller_at(reinterpret_cast<uintptr_t>(return_address) - 1);
  if (caller == kNobody) {
    inside = true;
    _Unwind_Backtrace(visit_frame, &caller);
    inside = false;
  }
  totals[caller == kNobody ? kUser : caller].fetch_add(1, std::memory_order_relaxed);
}

void record_trace() {
  if (tracing) {
    const int index = traces.fetch_add(1, std::memory_order_relaxed);
    if (index < kTraces) {
      inside = true;
      trace_frames[index] = backtrace(trace[index], kFrames);
      inside = false;
    }
  }
}

void count(size_t size, const void* return_address) {
  if (inside) {
    return;
  }
  count_caller(return_address);
  if (!counting.load(std::memory_order_relaxed)) {
    return;
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  if (began_window) {
    own.fetch_add(1, std::memory_order_relaxed);
  }
  record_trace();
}

void count_map(const void* return_address) {
  if (inside) {
    return;
  }
  count_caller(return_address);
  if (counting.load(std::memory_order_relaxed)) {
    maps.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace

namespace weir_interposer {

void count_file_call() {
  if (inside) {
    return;
  }
  file_total.fetch_add(1, std::memory_order_relaxed);
  if (counting.load(std::memory_order_relaxed)) {
    files.fetch_add(1, std::memory_order_relaxed);
    record_trace();
  }
}

}  // namespace weir_interposer

extern "C" {

WEIR_EXPORT void weir_interposer_begin(void) {
  began_window = true;
  tracing = std::getenv("WEIR_ALLOCATION_TRACE") != nullptr;
  if (tracing) {
    void* warm[1];
    backtrace(warm, 1);  // loads what it needs now
  }
  for (std::atomic<int64_t>* counter : {&allocations, &own, &bytes, &frees, &maps, &files}) {
    counter->store(0);
  }
  traces.store(0);
  counting.store(true);
}

WEIR_EXPORT void weir_interposer_end(weir_allocations* counts) {
  counting.store(false);
  began_window = false;
  counts->allocations = allocations.load();
  counts->own = own.load();
  counts->bytes = bytes.load();
  counts->frees = frees.load();
  counts->maps = maps.load();
  counts->files = files.load();
  for (int i = 0; tracing && i < kTraces && i < traces.load(); ++i) {
    backtrace_symbols_fd(trace[i], trace_frames[i], STDERR_FILENO);
  }
}

WEIR_EXPORT void weir_allocation_counts(uint64_t counts[3]) {
  for (int i = 0; i < 3; ++i) {
    counts[i] = totals[i].load(std::memory_order_relaxed);
  }
}

WEIR_EXPORT uint64_t weir_interposer_file_calls(void) {
  return file_total.load(std::memory_order_relaxed);
}

WEIR_EXPORT void* malloc(size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_malloc(size);
}

WEIR_EXPORT void* calloc(size_t items, size_t size) {
  count(items * size, __builtin_return_address(0));
  return __libc_calloc(items, size);
}

WEIR_EXPORT void* realloc(void* block, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_realloc(block, size);
}

WEIR_EXPORT void* reallocarray(void* block, size_t items, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(items, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  count(total, __builtin_return_address(0));
  return __libc_realloc(block, total);
}

WEIR_EXPORT void* memalign(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

WEIR_EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(alignment, size);
}

WEIR_EXPORT void* valloc(size_t size) {
  count(size, __builtin_return_address(0));
  return __libc_memalign(static_cast<size_t>(sysconf(_SC_PAGESIZE)), size);
}

WEIR_EXPORT int posix_memalign(void** block, size_t alignment, size_t size) {
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

WEIR_EXPORT void free(void* block) {
  if (block != nullptr && counting.load(std::memory_order_relaxed)) {
    frees.fetch_add(1, std::memory_order_relaxed);
  }
  __libc_free(block);
}

// glibc's own uses of mmap, its allocator's included, do not come here.
WEIR_EXPORT void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  count_map(__builtin_return_address(0));
  return address_of(
      static_cast<uintptr_t>(syscall(SYS_mmap, address, length, protection, flags, file, offset)));
}

WEIR_EXPORT void* mmap64(void* address, size_t length, int protection, int flags, int file, off64_t offset) {
  count_map(__builtin_return_address(0));
  return address_of(
      static_cast<uintptr_t>(syscall(SYS_mmap, address, length, protection, flags, file, offset)));
}

WEIR_EXPORT void* mremap(void* old, size_t old_length, size_t new_length, int flags, ...) {
  count_map(__builtin_return_address(0));
  va_list more;
  va_start(more, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
  va_end(more);
  return address_of(static_cast<uintptr_t>(syscall(SYS_mremap, old, old_length, new_length, flags, target)));
}

}  // extern "C"

// The C++ forms come here and not to the language's library, so that the caller is who asked.

namespace {

void* allocate(size_t size, size_t alignment, const void* return_address) {
  count(size, return_address);
  return alignment <= alignof(std::max_align_t) ? __libc_malloc(size) : __libc_memalign(alignment, size);
}

void* or_throw(void* block) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}

}  // namespace

WEIR_EXPORT void* operator new(size_t size) {
  return or_throw(allocate(size, 1, __builtin_return_address(0)));
}
WEIR_EXPORT void* operator new[](size_t size) {
  return or_throw(allocate(size, 1, __builtin_return_address(0)));
}
WEIR_EXPORT void* operator new(size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0)));
}
WEIR_EXPORT void* operator new[](size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0)));
}
WEIR_EXPORT void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, __builtin_return_address(0));
}
WEIR_EXPORT void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, __builtin_return_address(0));
}
WEIR_EXPORT void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
WEIR_EXPORT void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
WEIR_EXPORT void operator delete(void* block) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete[](void* block) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete(void* block, size_t) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete[](void* block, size_t) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete(void* block, std::align_val_t) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete[](void* block, std::align_val_t) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete(void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
WEIR_EXPORT void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  free(block);
}
