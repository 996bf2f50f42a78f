// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/injector.h"

#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);
}

namespace weir::faults {
namespace {

std::atomic<bool> armed{false};
std::atomic<int> wanted_kind{0};
std::atomic<int64_t> wanted_index{-1};
std::atomic<bool> wanted_onwards{false};
std::atomic<int64_t> wanted_bytes{-1};
std::atomic<const char*> failed_function{nullptr};
std::atomic<int64_t> counts[kFaultKinds];
std::atomic<int64_t> blocks{0};
std::atomic<int64_t> mappings{0};

// Who allocated what is alive of a window; only where WEIR_FAULT_LEAKS is set.
constexpr int kTracked = 1 << 17;
constexpr int kFrames = 16;
struct Tracked {
  void* block;
  void* frames[kFrames];
  int depth;
};
bool tracking = false;
Tracked* tracked = nullptr;
std::mutex tracked_mutex;
__thread bool inside __attribute__((tls_model("initial-exec"))) = false;

Tracked& slot_of(void* block) {
  return tracked[(reinterpret_cast<uintptr_t>(block) >> 4) % kTracked];
}

void track(void* block) {
  if (tracking && block != nullptr && !inside && armed.load(std::memory_order_relaxed)) {
    inside = true;
    const std::lock_guard lock(tracked_mutex);
    Tracked& slot = slot_of(block);
    slot.block = block;
    slot.depth = backtrace(slot.frames, kFrames);
    inside = false;
  }
}

void untrack(void* block) {
  if (tracking && !inside) {
    const std::lock_guard lock(tracked_mutex);
    if (slot_of(block).block == block) {
      slot_of(block).block = nullptr;
    }
  }
}

// Whether this call of `function`, which asks for `bytes` where that is what it does, shall fail.
bool fails(FaultKind kind, const char* function, size_t bytes = 0) {
  if (!armed.load(std::memory_order_relaxed) || inside) {
    return false;
  }
  const int64_t number = counts[static_cast<int>(kind)].fetch_add(1, std::memory_order_relaxed);
  const int64_t index = wanted_index.load(std::memory_order_relaxed);
  const bool by_number =
      index >= 0 && (wanted_onwards.load(std::memory_order_relaxed) ? number >= index : number == index);
  const bool by_bytes =
      bytes > 0 && static_cast<int64_t>(bytes) == wanted_bytes.load(std::memory_order_relaxed);
  if (static_cast<int>(kind) != wanted_kind.load(std::memory_order_relaxed) || !(by_number || by_bytes)) {
    return false;
  }
  const char* none = nullptr;
  if (failed_function.compare_exchange_strong(none, function) && std::getenv("WEIR_FAULT_TRACE") != nullptr) {
    inside = true;
    void* frames[40];
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    inside = false;
  }
  return true;
}

bool fails_with(FaultKind kind, const char* function, int error, size_t bytes = 0) {
  if (!fails(kind, function, bytes)) {
    return false;
  }
  errno = error;
  return true;
}

void* kept(void* block) {
  if (block != nullptr) {
    blocks.fetch_add(1, std::memory_order_relaxed);
    track(block);
  }
  return block;
}

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Half of what is asked for, at least one byte.
size_t shortened(const char* function, size_t size) {
  return size > 1 && fails(FaultKind::kShort, function) ? (size + 1) / 2 : size;
}

}  // namespace

const char* to_string(FaultKind kind) {
  constexpr const char* kNames[] = {"allocate", "map", "open", "look", "write", "name", "thread", "short"};
  return kNames[static_cast<int>(kind)];
}

void arm(FaultKind kind, int64_t index, bool onwards) {
  tracking = std::getenv("WEIR_FAULT_LEAKS") != nullptr;
  if (tracking && tracked == nullptr) {
    tracked = static_cast<Tracked*>(__libc_calloc(kTracked, sizeof(Tracked)));
    void* warm[1];
    backtrace(warm, 1);
  }
  for (int i = 0; tracking && i < kTracked; ++i) {
    tracked[i].block = nullptr;
  }
  for (std::atomic<int64_t>& count : counts) {
    count.store(0);
  }
  failed_function.store(nullptr);
  wanted_kind.store(static_cast<int>(kind));
  wanted_index.store(index);
  wanted_onwards.store(onwards);
  wanted_bytes.store(-1);
  armed.store(true);
}

void arm_bytes(FaultKind kind, int64_t bytes) {
  arm(kind, -1);
  wanted_bytes.store(bytes);
}

FaultReport disarm() {
  armed.store(false);
  FaultReport report;
  for (int i = 0; i < kFaultKinds; ++i) {
    report.counts[static_cast<size_t>(i)] = counts[i].load();
  }
  report.failed = failed_function.load();
  return report;
}

Alive alive() {
  Alive now;
  now.blocks = blocks.load();
  now.mappings = mappings.load();
  const int folder =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0));
  alignas(8) char buffer[4096];
  for (long size = 0; (size = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0;) {
    for (long offset = 0; offset < size;) {
      uint16_t length = 0;
      std::memcpy(&length, buffer + offset + 16, sizeof(length));
      offset += length;
      ++now.descriptors;
    }
  }
  close(folder);
  now.descriptors -= 3;  // ".", ".." and the folder itself
  return now;
}

void print_leaks_of_window() {
  inside = true;
  for (int i = 0; tracking && i < kTracked; ++i) {
    if (tracked[i].block != nullptr) {
      dprintf(STDERR_FILENO, "leaked %p\n", tracked[i].block);
      backtrace_symbols_fd(tracked[i].frames, tracked[i].depth, STDERR_FILENO);
    }
  }
  inside = false;
}

namespace {

void* allocate(size_t size, size_t alignment, const char* function) {
  if (fails_with(FaultKind::kAllocate, function, ENOMEM, size)) {
    return nullptr;
  }
  return kept(alignment <= alignof(std::max_align_t) ? __libc_malloc(size)
                                                     : __libc_memalign(alignment, size));
}

void* reallocate(void* block, size_t size, const char* function) {
  if (size > 0 && fails_with(FaultKind::kAllocate, function, ENOMEM, size)) {
    return nullptr;
  }
  if (block != nullptr) {
    untrack(block);
    blocks.fetch_sub(1, std::memory_order_relaxed);
  }
  return kept(__libc_realloc(block, size));
}

void release(void* block) {
  if (block != nullptr) {
    untrack(block);
    blocks.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(block);
  }
}

void* or_throw(void* block) {
  if (block == nullptr) {
    throw std::bad_alloc();
  }
  return block;
}

}  // namespace
}  // namespace weir::faults

using weir::faults::FaultKind;
using namespace weir::faults;

extern "C" {

void* malloc(size_t size) {
  return allocate(size, 1, "malloc");
}
void free(void* block) {
  release(block);
}
void* calloc(size_t items, size_t size) {
  return fails_with(FaultKind::kAllocate, "calloc", ENOMEM) ? nullptr : kept(__libc_calloc(items, size));
}
void* realloc(void* block, size_t size) {
  return reallocate(block, size, "realloc");
}
void* reallocarray(void* block, size_t items, size_t size) {
  size_t total = 0;
  if (__builtin_mul_overflow(items, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate(block, total, "reallocarray");
}
void* memalign(size_t alignment, size_t size) {
  return allocate(size, alignment, "memalign");
}
void* aligned_alloc(size_t alignment, size_t size) {
  return allocate(size, alignment, "aligned_alloc");
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  const int before = errno;
  void* result = allocate(size, alignment, "posix_memalign");
  errno = before;
  if (result == nullptr) {
    return ENOMEM;
  }
  *block = result;
  return 0;
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  if (fails_with(FaultKind::kMap, "mmap", ENOMEM, length)) {
    return MAP_FAILED;
  }
  const long result = syscall(SYS_mmap, address, length, protection, flags, file, offset);
  mappings.fetch_add(result == -1 ? 0 : 1, std::memory_order_relaxed);
  return reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr): the system's answer
}
void* mmap64(void* address, size_t length, int protection, int flags, int file, off64_t offset) {
  return mmap(address, length, protection, flags, file, offset);
}
int munmap(void* address, size_t length) {
  const int result = static_cast<int>(syscall(SYS_munmap, address, length));
  mappings.fetch_sub(result == 0 ? 1 : 0, std::memory_order_relaxed);
  return result;
}
int mlock(const void* address, size_t length) {
  return fails_with(FaultKind::kMap, "mlock", ENOMEM) ? -1
                                                      : static_cast<int>(syscall(SYS_mlock, address, length));
}
int mprotect(void* address, size_t length, int protection) {
  return fails_with(FaultKind::kMap, "mprotect", ENOMEM)
             ? -1
             : static_cast<int>(syscall(SYS_mprotect, address, length, protection));
}
int madvise(void* address, size_t length, int advice) {
  return fails_with(FaultKind::kMap, "madvise", EAGAIN)
             ? -1
             : static_cast<int>(syscall(SYS_madvise, address, length, advice));
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails_with(FaultKind::kOpen, "open", EMFILE)
             ? -1
             : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return fails_with(FaultKind::kOpen, "openat", EMFILE)
             ? -1
             : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
FILE* fopen(const char* path, const char* mode) {
  static const auto real = next<FILE*(const char*, const char*)>("fopen");
  return fails_with(FaultKind::kOpen, "fopen", EMFILE) ? nullptr : real(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return fopen(path, mode);
}
DIR* opendir(const char* path) {
  static const auto real = next<DIR*(const char*)>("opendir");
  return fails_with(FaultKind::kOpen, "opendir", EMFILE) ? nullptr : real(path);
}

ssize_t read(int file, void* buffer, size_t size) {
  return fails_with(FaultKind::kLook, "read", EIO) ? -1
                                                   : syscall(SYS_read, file, buffer, shortened("read", size));
}
ssize_t pread(int file, void* buffer, size_t size, off_t offset) {
  return fails_with(FaultKind::kLook, "pread", EIO)
             ? -1
             : syscall(SYS_pread64, file, buffer, shortened("pread", size), offset);
}
int stat(const char* path, struct stat* info) {
  static const auto real = next<int(const char*, struct stat*)>("stat");
  return fails_with(FaultKind::kLook, "stat", EIO) ? -1 : real(path, info);
}
int lstat(const char* path, struct stat* info) {
  static const auto real = next<int(const char*, struct stat*)>("lstat");
  return fails_with(FaultKind::kLook, "lstat", EIO) ? -1 : real(path, info);
}
int fstat(int file, struct stat* info) {
  static const auto real = next<int(int, struct stat*)>("fstat");
  return fails_with(FaultKind::kLook, "fstat", EIO) ? -1 : real(file, info);
}
int fstatat(int folder, const char* path, struct stat* info, int flags) {
  static const auto real = next<int(int, const char*, struct stat*, int)>("fstatat");
  return fails_with(FaultKind::kLook, "fstatat", EIO) ? -1 : real(folder, path, info, flags);
}
struct dirent* readdir(DIR* folder) {
  static const auto real = next<struct dirent*(DIR*)>("readdir");
  return fails_with(FaultKind::kLook, "readdir", EIO) ? nullptr : real(folder);
}
int stat64(const char* path, struct stat64* info) {
  return stat(path, reinterpret_cast<struct stat*>(info));
}
int lstat64(const char* path, struct stat64* info) {
  return lstat(path, reinterpret_cast<struct stat*>(info));
}
int fstat64(int file, struct stat64* info) {
  return fstat(file, reinterpret_cast<struct stat*>(info));
}
int fstatat64(int folder, const char* path, struct stat64* info, int flags) {
  return fstatat(folder, path, reinterpret_cast<struct stat*>(info), flags);
}
struct dirent64* readdir64(DIR* folder) {
  return reinterpret_cast<struct dirent64*>(readdir(folder));
}
ssize_t pread64(int file, void* buffer, size_t size, off64_t offset) {
  return pread(file, buffer, size, offset);
}
ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  return fails_with(FaultKind::kLook, "getrandom", ENOSYS) ? -1 : syscall(SYS_getrandom, buffer, size, flags);
}

ssize_t write(int file, const void* bytes, size_t size) {
  return fails_with(FaultKind::kWrite, "write", ENOSPC)
             ? -1
             : syscall(SYS_write, file, bytes, shortened("write", size));
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  return fails_with(FaultKind::kWrite, "writev", ENOSPC) ? -1 : syscall(SYS_writev, file, parts, count);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  return fails_with(FaultKind::kWrite, "pwrite", ENOSPC)
             ? -1
             : syscall(SYS_pwrite64, file, bytes, shortened("pwrite", size), offset);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) {
  return pwrite(file, bytes, size, offset);
}
int fsync(int file) {
  return fails_with(FaultKind::kWrite, "fsync", ENOSPC) ? -1 : static_cast<int>(syscall(SYS_fsync, file));
}
int ftruncate(int file, off_t size) {
  return fails_with(FaultKind::kWrite, "ftruncate", ENOSPC)
             ? -1
             : static_cast<int>(syscall(SYS_ftruncate, file, size));
}
int ftruncate64(int file, off64_t size) {
  return ftruncate(file, size);
}

int mkdir(const char* path, mode_t mode) {
  return fails_with(FaultKind::kName, "mkdir", EACCES)
             ? -1
             : static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
int rename(const char* from, const char* to) {
  return fails_with(FaultKind::kName, "rename", EACCES)
             ? -1
             : static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) {
  return fails_with(FaultKind::kName, "unlink", EACCES)
             ? -1
             : static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int unlinkat(int folder, const char* path, int flags) {
  return fails_with(FaultKind::kName, "unlinkat", EACCES)
             ? -1
             : static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}
int remove(const char* path) {
  static const auto real = next<int(const char*)>("remove");
  return fails_with(FaultKind::kName, "remove", EACCES) ? -1 : real(path);
}
int utimensat(int folder, const char* path, const struct timespec* times, int flags) {
  return fails_with(FaultKind::kName, "utimensat", EACCES)
             ? -1
             : static_cast<int>(syscall(SYS_utimensat, folder, path, times, flags));
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  static const auto real =
      next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  return fails(FaultKind::kThread, "pthread_create") ? EAGAIN : real(thread, attributes, body, argument);
}

}  // extern "C"

void* operator new(size_t size) {
  return or_throw(allocate(size, 1, "operator new"));
}
void* operator new[](size_t size) {
  return or_throw(allocate(size, 1, "operator new[]"));
}
void* operator new(size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<size_t>(alignment), "aligned operator new"));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return or_throw(allocate(size, static_cast<size_t>(alignment), "aligned operator new[]"));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, "operator new (nothrow)");
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, "operator new[] (nothrow)");
}
void operator delete(void* block) noexcept {
  release(block);
}
void operator delete[](void* block) noexcept {
  release(block);
}
void operator delete(void* block, size_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t) noexcept {
  release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
