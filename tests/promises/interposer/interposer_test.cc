// SPDX-License-Identifier: Apache-2.0
//
// That the interposer counts: every function, once a call, for the right owner; and calls for files. A
// counter that could not count would pass every test that asks for 0. The program itself counts as Weir; it
// runs with the interposer loaded, and the paths of a user's and of a driver's library as arguments.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/allocation_counter.h"
#include "interposer/file_calls.h"

extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
ssize_t __read_chk(int file, void* to, size_t size, size_t room);
ssize_t __pread64_chk(int file, void* to, size_t size, off64_t offset, size_t room);
}

namespace weir {
namespace {

struct Aligned {
  alignas(256) char bytes[256];
};

struct Difference {
  uint64_t weir = 0;
  uint64_t driver = 0;
  uint64_t user = 0;
};

volatile size_t g_size = 100;  // that no call is folded away

void* keep(void* memory) {
  static void* volatile kept;
  kept = memory;
  return kept;
}

template <typename Action>
Difference count(Action action) {
  const AllocationCounts before = allocation_counts();
  action();
  const AllocationCounts after = allocation_counts();
  return {after.weir - before.weir, after.driver - before.driver, after.user - before.user};
}

int g_failures = 0;

template <typename Action>
void expect(const char* what, Difference wanted, Action action) {
  const Difference got = count(action);
  if (got.weir != wanted.weir || got.driver != wanted.driver || got.user != wanted.user) {
    std::printf("FAIL %s: weir %lu, driver %lu, user %lu instead of %lu, %lu, %lu\n", what, got.weir,
                got.driver, got.user, wanted.weir, wanted.driver, wanted.user);
    ++g_failures;
  }
}

void check_functions() {
  constexpr Difference kOne = {1, 0, 0};
  expect("nothing", {}, [] {});
  expect("malloc", kOne, [] { std::free(keep(std::malloc(g_size))); });
  expect("malloc of much", kOne, [] { std::free(keep(std::malloc(g_size * 100000))); });
  expect("calloc", kOne, [] { std::free(keep(std::calloc(g_size, 3))); });
  expect("realloc", {2, 0, 0}, [] { std::free(keep(std::realloc(keep(std::malloc(g_size)), g_size * 50))); });
  expect("reallocarray", kOne, [] { std::free(keep(reallocarray(nullptr, g_size, 8))); });
  expect("aligned_alloc", kOne, [] { std::free(keep(std::aligned_alloc(64, 6400))); });
  expect("memalign", kOne, [] { std::free(keep(memalign(64, g_size))); });
  expect("posix_memalign", kOne, [] {
    void* memory = nullptr;
    if (posix_memalign(&memory, 64, g_size) != 0 || reinterpret_cast<uintptr_t>(memory) % 64 != 0) {
      std::abort();
    }
    std::free(keep(memory));
  });
  expect("new", kOne, [] { delete static_cast<char*>(keep(new char)); });
  expect("new[]", kOne, [] { delete[] static_cast<char*>(keep(new char[g_size])); });
  expect("new (nothrow)", kOne, [] { delete[] static_cast<char*>(keep(new (std::nothrow) char[g_size])); });
  expect("aligned new", kOne, [] { delete static_cast<Aligned*>(keep(new Aligned)); });
  expect("aligned new[]", kOne, [] { delete[] static_cast<Aligned*>(keep(new Aligned[g_size])); });
  expect("a string inside libstdc++", kOne, [] {
    std::string text;
    text.reserve(g_size);
    keep(text.data());
  });
  expect("a vector", kOne, [] {
    std::vector<int> values(g_size);
    keep(values.data());
  });
  expect("mmap", kOne, [] {
    void* memory = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(keep(memory), 4096);
  });
}

void require(bool well, const char* what) {
  if (!well) {
    std::printf("FAIL %s does not do what it is for\n", what);
    ++g_failures;
  }
}

template <typename Action>
void expect_files(const char* what, uint64_t wanted, Action action) {
  const uint64_t before = weir_interposer_file_calls();
  const bool well = action();
  const uint64_t got = weir_interposer_file_calls() - before;
  require(well, what);
  if (got != wanted) {
    std::printf("FAIL %s: %lu calls for files instead of %lu\n", what, got, wanted);
    ++g_failures;
  }
}

// Each still does its work, and is counted once.
void check_files() {
  static char path[] = "/tmp/weir_interposer_XXXXXX";
  const int made = mkstemp(path);
  require(made >= 0, "mkstemp");
  static int file;
  static char text[8];
  static struct stat about;
  static FILE* stream;
  file = made;
  expect_files("no file", 0, [] { return true; });
  expect_files("write", 1, [] { return write(file, "abcd", 4) == 4; });
  expect_files("pwrite", 1, [] { return pwrite(file, "e", 1, 4) == 1; });
  expect_files("pwrite64", 1, [] { return pwrite64(file, "f", 1, 5) == 1; });
  expect_files("writev", 1, [] {
    const iovec part = {const_cast<char*>("zz"), 2};
    return writev(file, &part, 1) == 2;
  });
  expect_files("fstat", 1, [] { return fstat(file, &about) == 0 && about.st_size == 6; });
  expect_files("close", 1, [] { return close(file) == 0; });
  expect_files("open", 1, [] { return (file = open(path, O_RDONLY)) >= 0; });
  expect_files("read", 1, [] { return read(file, text, 3) == 3 && std::memcmp(text, "abc", 3) == 0; });
  expect_files("pread", 1, [] { return pread(file, text, 1, 4) == 1 && text[0] == 'z'; });
  expect_files("pread64", 1, [] { return pread64(file, text, 1, 0) == 1 && text[0] == 'a'; });
  expect_files("readv", 1, [] {
    const iovec part = {text, 2};
    return readv(file, &part, 1) == 2 && text[0] == 'd';
  });
  expect_files("open64", 2, [] { return close(open64(path, O_RDONLY)) == 0; });
  expect_files("openat", 2, [] { return close(openat(AT_FDCWD, path, O_RDONLY)) == 0; });
  expect_files("openat64", 2, [] { return close(openat64(AT_FDCWD, path, O_RDONLY)) == 0; });
  expect_files("creat", 3,
               [] { return close(creat(path, 0600)) == 0 && stat(path, &about) == 0 && about.st_size == 0; });
  expect_files("open that creates", 4, [] {
    return unlink(path) == 0 && close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0640)) == 0 &&
           lstat(path, &about) == 0 && (about.st_mode & 0700) == 0600 &&
           fstatat(AT_FDCWD, path, &about, 0) == 0;
  });
  expect_files("access", 1, [] { return access(path, R_OK) == 0; });
  expect_files("a file that is not there", 1,
               [] { return open("/no/file", O_RDONLY) < 0 && errno == ENOENT; });
  expect_files("readlink", 1, [] { return readlink("/proc/self/exe", text, 4) == 4; });
  expect_files("opendir", 1, [] {
    DIR* folder = opendir("/");
    return folder != nullptr && closedir(folder) == 0;
  });
  expect_files("fopen", 1, [] { return (stream = fopen(path, "w")) != nullptr; });
  expect_files("fwrite, fputs, fflush", 3, [] {
    return fwrite("ab\n", 1, 3, stream) == 3 && fputs("cd\n", stream) >= 0 && fflush(stream) == 0;
  });
  expect_files("freopen", 1, [] { return (stream = freopen(path, "r", stream)) != nullptr; });
  expect_files("fread", 1, [] { return fread(text, 1, 3, stream) == 3 && text[1] == 'b'; });
  expect_files("fgets", 1, [] { return fgets(text, 8, stream) == text && std::strcmp(text, "cd\n") == 0; });
  expect_files("fclose", 1, [] { return fclose(stream) == 0; });
  expect_files("fopen64, fdopen, open, fclose", 5, [] {
    FILE* second = fdopen(open(path, O_RDONLY), "r");
    FILE* first = fopen64(path, "r");
    return first != nullptr && second != nullptr && fclose(first) + fclose(second) == 0;
  });
  expect_files("puts", 1, [] { return puts("calls for files") >= 0; });
  expect_files("what a build that checks sizes calls", 6, [] {
    const int first = __open_2(path, O_RDONLY);
    const int second = __open64_2(path, O_RDONLY);
    return __read_chk(first, text, 2, sizeof(text)) == 2 && text[1] == 'b' &&
           __pread64_chk(second, text, 1, 3, sizeof(text)) == 1 && text[0] == 'c' &&
           close(first) + close(second) == 0;
  });
  // The language's library: opened, read twice (the end is met) and closed, through calls of its own.
  const uint64_t before = weir_interposer_file_calls();
  std::string word;
  std::ifstream(path) >> word;
  require(word == "ab", "std::ifstream");
  require(weir_interposer_file_calls() - before >= 3, "counting a std::ifstream");
  const uint64_t asked = weir_interposer_file_calls();
  require(std::filesystem::exists(path), "std::filesystem::exists");
  require(weir_interposer_file_calls() - asked == 1, "counting std::filesystem::exists");
  unlink(path);
}

// An allocation on another thread counts too, and making the thread does: its control block lies in the
// loader.
void check_threads() {
  const Difference got = count([] { std::thread([] { std::free(keep(std::malloc(g_size))); }).join(); });
  if (got.weir < 2 || got.driver != 0) {
    std::printf("FAIL a thread: weir %lu, driver %lu, user %lu\n", got.weir, got.driver, got.user);
    ++g_failures;
  }
}

void check_library(const char* path, Difference wanted) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("FAIL %s\n", dlerror());
    ++g_failures;
    return;
  }
  const auto allocate = reinterpret_cast<void* (*)(size_t)>(dlsym(library, "foreign_malloc"));
  const auto grow = reinterpret_cast<std::string* (*)(std::string*, size_t)>(dlsym(library, "foreign_grow"));
  expect(path, wanted, [&] { std::free(keep(allocate(g_size))); });
  expect(path, wanted, [&] {
    std::string text;
    grow(&text, g_size);
  });
}

int run(int argc, char** argv) {
  if (argc != 3) {
    std::printf("usage: %s USER_LIBRARY DRIVER_LIBRARY\n", argv[0]);
    return 2;
  }
  if (!allocation_counts().counted) {
    std::printf("SKIP: weir_interposer is not in LD_PRELOAD\n");
    return 77;
  }
  check_functions();
  check_files();
  check_threads();
  check_library(argv[1], {0, 0, 1});
  check_library(argv[2], {0, 1, 0});
  std::printf("%d failures\n", g_failures);
  return g_failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  return weir::run(argc, argv);
}
