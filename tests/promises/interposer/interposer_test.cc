// SPDX-License-Identifier: Apache-2.0
//
// That the interposer counts: every function, once a call, for the right owner. A counter that could not
// count would pass every test that asks for 0. The program itself counts as Weir; it runs with the interposer
// loaded, and the paths of a user's and of a driver's library as arguments.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/allocation_counter.h"

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
