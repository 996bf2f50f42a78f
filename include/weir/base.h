// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: what every other part needs. Macros, status, the runtime.
#ifndef WEIR_BASE_H_
#define WEIR_BASE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WEIR_API __declspec(dllexport)
#else
#define WEIR_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define WEIR_MUST_USE __attribute__((warn_unused_result))
#else
#define WEIR_MUST_USE
#endif

// A struct with its size set and all else zero: `weir_buffer_desc desc = WEIR_INIT(weir_buffer_desc);`
// Structs that may grow begin with `struct_size`, and grow at their end. A caller's may be of an older
// version (what it lacks is zero, and is not filled in) or of a newer one (what Weir does not know is not
// looked at); a size that is not set is WEIR_INVALID_ARGUMENT.
#ifdef __cplusplus
template <typename T>
inline T weir_init() {
  T value = T();
  value.struct_size = sizeof(T);
  return value;
}
#define WEIR_INIT(type) weir_init<type>()
#else
#define WEIR_INIT(type) {.struct_size = sizeof(type)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------------------------------
// Status

typedef int32_t weir_code;  // the canonical codes of gRPC
enum {
  WEIR_OK = 0,
  WEIR_CANCELLED = 1,
  WEIR_UNKNOWN = 2,
  WEIR_INVALID_ARGUMENT = 3,
  WEIR_DEADLINE_EXCEEDED = 4,
  WEIR_NOT_FOUND = 5,
  WEIR_ALREADY_EXISTS = 6,
  WEIR_PERMISSION_DENIED = 7,
  WEIR_RESOURCE_EXHAUSTED = 8,
  WEIR_FAILED_PRECONDITION = 9,
  WEIR_ABORTED = 10,
  WEIR_OUT_OF_RANGE = 11,
  WEIR_UNIMPLEMENTED = 12,
  WEIR_INTERNAL = 13,
  WEIR_UNAVAILABLE = 14,
  WEIR_DATA_LOSS = 15,
};

typedef struct weir_status weir_status;

// WEIR_OK for NULL.
WEIR_API weir_code weir_status_code(const weir_status* status);
// One sentence, then a line "  - while …" for each thing that was being done. "" for NULL. Valid until freed.
WEIR_API const char* weir_status_text(const weir_status* status);
WEIR_API void weir_status_free(weir_status* status);

// "0.1.0"
WEIR_API const char* weir_version(void);

// ------------------------------------------------------------------------------------------------------------------
// Runtime: what a process shares. It owns the thread pool. Nothing else in Weir is global.

typedef struct weir_runtime weir_runtime;

typedef struct weir_runtime_options {
  size_t struct_size;
  int32_t threads;  // the caller counts as one; 0: min(affinity mask, control group's quota, physical cores)
} weir_runtime_options;

// `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_runtime_create(const weir_runtime_options* options,
                                                        weir_runtime** runtime);
WEIR_API weir_runtime* weir_runtime_retain(weir_runtime* runtime);
// Devices keep the pool alive, so the runtime may be released before them.
WEIR_API void weir_runtime_release(weir_runtime* runtime);
WEIR_API int32_t weir_runtime_threads(const weir_runtime* runtime);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_BASE_H_
