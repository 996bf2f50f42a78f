// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of the C library's functions that open, read, write, close or ask about a file, and counts
// their calls. Forwards to what glibc exports beside its own names or to the system, so that nothing is
// looked up before main; opendir and freopen alone are looked up, when they are called. What the C library
// does inside itself, as printf does to write, does not come here.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "interposer.h"

extern "C" {
int __open(const char* path, int flags, ...);
int __close(int file);
ssize_t __read(int file, void* to, size_t size);
ssize_t __write(int file, const void* from, size_t size);
ssize_t __pread64(int file, void* to, size_t size, off64_t offset);
ssize_t __pwrite64(int file, const void* from, size_t size, off64_t offset);
FILE* _IO_fopen(const char* path, const char* mode);
FILE* _IO_fdopen(int file, const char* mode);
int _IO_fclose(FILE* stream);
int _IO_fflush(FILE* stream);
size_t _IO_fread(void* to, size_t size, size_t items, FILE* stream);
size_t _IO_fwrite(const void* from, size_t size, size_t items, FILE* stream);
char* _IO_fgets(char* to, int size, FILE* stream);
int _IO_fputs(const char* text, FILE* stream);
int _IO_puts(const char* text);
}

namespace {

using weir_interposer::count_file_call;

// The mode is there only where a file may be made.
mode_t mode_of(int flags, va_list more) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

int stat_at(int folder, const char* path, struct stat* result, int flags) {
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, result, flags));
}

}  // namespace

extern "C" {

WEIR_EXPORT int open(const char* path, int flags, ...) {
  count_file_call();
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return __open(path, flags, mode);
}

WEIR_EXPORT int open64(const char* path, int flags, ...) {
  count_file_call();
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return __open(path, flags | O_LARGEFILE, mode);
}

WEIR_EXPORT int openat(int folder, const char* path, int flags, ...) {
  count_file_call();
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(folder, path, flags, mode);
}

WEIR_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  count_file_call();
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(folder, path, flags | O_LARGEFILE, mode);
}

WEIR_EXPORT int creat(const char* path, mode_t mode) {
  count_file_call();
  return __open(path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

WEIR_EXPORT int close(int file) {
  count_file_call();
  return __close(file);
}

WEIR_EXPORT ssize_t read(int file, void* to, size_t size) {
  count_file_call();
  return __read(file, to, size);
}

WEIR_EXPORT ssize_t write(int file, const void* from, size_t size) {
  count_file_call();
  return __write(file, from, size);
}

WEIR_EXPORT ssize_t pread(int file, void* to, size_t size, off_t offset) {
  count_file_call();
  return __pread64(file, to, size, offset);
}

WEIR_EXPORT ssize_t pread64(int file, void* to, size_t size, off64_t offset) {
  count_file_call();
  return __pread64(file, to, size, offset);
}

WEIR_EXPORT ssize_t pwrite(int file, const void* from, size_t size, off_t offset) {
  count_file_call();
  return __pwrite64(file, from, size, offset);
}

WEIR_EXPORT ssize_t pwrite64(int file, const void* from, size_t size, off64_t offset) {
  count_file_call();
  return __pwrite64(file, from, size, offset);
}

WEIR_EXPORT ssize_t readv(int file, const struct iovec* to, int parts) {
  count_file_call();
  return syscall(SYS_readv, file, to, parts);
}

WEIR_EXPORT ssize_t writev(int file, const struct iovec* from, int parts) {
  count_file_call();
  return syscall(SYS_writev, file, from, parts);
}

WEIR_EXPORT int stat(const char* path, struct stat* result) {
  count_file_call();
  return stat_at(AT_FDCWD, path, result, 0);
}

WEIR_EXPORT int lstat(const char* path, struct stat* result) {
  count_file_call();
  return stat_at(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

WEIR_EXPORT int fstat(int file, struct stat* result) {
  count_file_call();
  return static_cast<int>(syscall(SYS_fstat, file, result));
}

WEIR_EXPORT int fstatat(int folder, const char* path, struct stat* result, int flags) {
  count_file_call();
  return stat_at(folder, path, result, flags);
}

WEIR_EXPORT int access(const char* path, int mode) {
  count_file_call();
  return static_cast<int>(syscall(SYS_faccessat, AT_FDCWD, path, mode));
}

WEIR_EXPORT ssize_t readlink(const char* path, char* to, size_t size) {
  count_file_call();
  return syscall(SYS_readlinkat, AT_FDCWD, path, to, size);
}

WEIR_EXPORT DIR* opendir(const char* path) {
  count_file_call();
  return reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"))(path);
}

WEIR_EXPORT FILE* fopen(const char* path, const char* mode) {
  count_file_call();
  return _IO_fopen(path, mode);
}

WEIR_EXPORT FILE* fopen64(const char* path, const char* mode) {
  count_file_call();
  return _IO_fopen(path, mode);
}

WEIR_EXPORT FILE* fdopen(int file, const char* mode) {
  count_file_call();
  return _IO_fdopen(file, mode);
}

WEIR_EXPORT FILE* freopen(const char* path, const char* mode, FILE* stream) {
  count_file_call();
  return reinterpret_cast<FILE* (*)(const char*, const char*, FILE*)>(dlsym(RTLD_NEXT, "freopen"))(path, mode,
                                                                                                   stream);
}

WEIR_EXPORT int fclose(FILE* stream) {
  count_file_call();
  return _IO_fclose(stream);
}

WEIR_EXPORT int fflush(FILE* stream) {
  count_file_call();
  return _IO_fflush(stream);
}

WEIR_EXPORT size_t fread(void* to, size_t size, size_t items, FILE* stream) {
  count_file_call();
  return _IO_fread(to, size, items, stream);
}

WEIR_EXPORT size_t fwrite(const void* from, size_t size, size_t items, FILE* stream) {
  count_file_call();
  return _IO_fwrite(from, size, items, stream);
}

WEIR_EXPORT char* fgets(char* to, int size, FILE* stream) {
  count_file_call();
  return _IO_fgets(to, size, stream);
}

WEIR_EXPORT int fputs(const char* text, FILE* stream) {
  count_file_call();
  return _IO_fputs(text, stream);
}

WEIR_EXPORT int puts(const char* text) {
  count_file_call();
  return _IO_puts(text);
}

// What a build that checks the sizes of buffers calls in their place.

WEIR_EXPORT int __open_2(const char* path, int flags) {
  count_file_call();
  return __open(path, flags);
}

WEIR_EXPORT int __open64_2(const char* path, int flags) {
  count_file_call();
  return __open(path, flags | O_LARGEFILE);
}

WEIR_EXPORT ssize_t __read_chk(int file, void* to, size_t size, size_t room) {
  count_file_call();
  if (size > room) {
    __builtin_trap();
  }
  return __read(file, to, size);
}

WEIR_EXPORT ssize_t __pread64_chk(int file, void* to, size_t size, off64_t offset, size_t room) {
  count_file_call();
  if (size > room) {
    __builtin_trap();
  }
  return __pread64(file, to, size, offset);
}

}  // extern "C"
