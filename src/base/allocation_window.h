// SPDX-License-Identifier: Apache-2.0
//
// Allocations of the whole process between two points, counted from outside: by the library weir_interposer,
// when the process was started with it in LD_PRELOAD. Without it `counted` is false. C and C++.
// (allocation_counter.h has running totals by who allocated.)
//
//   weir_allocations_begin();
//   run_an_inference();
//   const weir_allocations counts = weir_allocations_end();
//   if (counts.counted) { printf("%lld\n", (long long)counts.allocations); }
//
// One window at a time in a process; it counts all threads. With WEIR_ALLOCATION_TRACE=1 in the environment
// the end of a window prints who allocated, or called for a file, first.
#ifndef WEIR_BASE_ALLOCATION_WINDOW_H_
#define WEIR_BASE_ALLOCATION_WINDOW_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // RTLD_DEFAULT
#endif
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_allocations {
  bool counted;
  int64_t allocations;  // malloc, calloc, realloc, aligned and C++ forms, on any thread
  int64_t own;          // of them, on the thread that began the window
  int64_t bytes;        // asked for by them
  int64_t frees;
  int64_t maps;   // calls of mmap outside the allocator
  int64_t files;  // calls that open, read, write, close or ask about a file, on any thread
} weir_allocations;

// NOLINTBEGIN(modernize-*): C as well
typedef void (*weir_interposer_begin_function)(void);
typedef void (*weir_interposer_end_function)(weir_allocations* counts);

static inline void weir_allocations_begin(void) {
  void* found = dlsym(RTLD_DEFAULT, "weir_interposer_begin");
  if (found != NULL) {
    weir_interposer_begin_function begin;
    // A cast from an object to a function pointer is no standard C; a copy is.
    __builtin_memcpy(&begin, &found, sizeof(begin));
    begin();
  }
}

static inline weir_allocations weir_allocations_end(void) {
  weir_allocations counts;
  __builtin_memset(&counts, 0, sizeof(counts));
  void* found = dlsym(RTLD_DEFAULT, "weir_interposer_end");
  if (found != NULL) {
    weir_interposer_end_function end;
    __builtin_memcpy(&end, &found, sizeof(end));
    end(&counts);
    counts.counted = true;
  }
  return counts;
}
// NOLINTEND(modernize-*)

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_BASE_ALLOCATION_WINDOW_H_
