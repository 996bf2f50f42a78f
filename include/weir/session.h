// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: sessions. A program on a device, its constants resident, its kernels chosen. Immutable.
#ifndef WEIR_SESSION_H_
#define WEIR_SESSION_H_

#include "weir/resources.h"
#include "weir/tensor.h"
#include "weir/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_session weir_session;

// The bytes that a session and a request of it take, line by line.
typedef struct weir_ledger {
  size_t struct_size;
  int64_t constants;    // weights, and what prepared shapes have computed from them
  int64_t activations;  // the peak of what flows between steps
  int64_t workspace;    // what the arena has beyond that
  int64_t scratch;      // of all participants
  int64_t io;           // inputs and outputs
  int64_t state;        // kept from run to run
  int64_t host;         // structures
  int64_t total;
} weir_ledger;

typedef int32_t weir_notice_kind;
enum {
  WEIR_INFO = 0,  // worth knowing: an alignment, a prepared shape, a cache write
  WEIR_COST = 1,  // a copy, conversion, change of layout, fall-back …
};

// Something that differs from the straight way.
typedef struct weir_notice {
  size_t struct_size;
  weir_notice_kind kind;
  const char* what;    // "copy"
  const char* reason;  // why, for people
  int64_t bytes;       // −1: none, or they depend on the shape
} weir_notice;

typedef int32_t weir_strictness;
enum {
  WEIR_STRICT_NONE = 0,
  WEIR_STRICT_COSTS = 1,  // every notice of cost becomes an error
  WEIR_STRICT_ALL = 2,    // every notice does
};

// A dimension by the name that the model gives it. min = max makes it a number.
typedef struct weir_dim_choice {
  const char* name;
  int64_t min;
  int64_t max;
} weir_dim_choice;

// The shape of an input by its name; −1 keeps what the model says.
typedef struct weir_shape_choice {
  const char* input;
  const int64_t* dims;
  int32_t rank;
} weir_shape_choice;

// An input that the program keeps from run to run, and the output that it is fed from: the model's names.
typedef struct weir_state_choice {
  const char* input;
  const char* output;
} weir_state_choice;

// Another value for a constant of the model, by the name that the model gives it: the same type and shape,
// any strides. Read while the session is opened. One that was folded or fused away when a program file was
// compiled is an error, which says what to compile it with (docs/constants.md).
typedef struct weir_constant {
  const char* name;
  const weir_tensor* tensor;
} weir_constant;

typedef struct weir_session_options {
  size_t struct_size;
  const char* name;  // for messages; NULL: the program's
  // For model files. Dimensions and shapes that are chosen make the program special: a smaller or a static
  // one.
  const weir_dim_choice* dims;
  int32_t dim_count;
  int32_t shape_count;
  const weir_shape_choice* shapes;
  const char* cache_folder;  // of compiled programs; NULL: $WEIR_CACHE, else weir/ in the user's cache folder
  bool no_cache;             // compile every time
  bool verify_constants;     // recompute their hashes; what the cache holds and fails is compiled anew
  int32_t participants;      // among how many a step is split; 0: the device's
  const char* isa;           // "sse4", "avx2", "avx512": none better is used; NULL: the best there is
  weir_strictness strict;    // of the session and its requests
  // For model files: what is state, and neither input nor output of the session. Zero in a new request; after
  // a run that has completed it is what the run left, after one that failed or was cancelled what it was.
  const weir_state_choice* states;
  int32_t state_count;
  weir_trace* trace;  // of opening it; NULL: none. Only used while it is opened
  const weir_constant* constants;
  int32_t constant_count;
  int64_t cache_bytes;  // the most that the folder of programs holds; 0: $WEIR_CACHE_LIMIT, else 2 GiB
} weir_session_options;

// Opens a model file (compiled now, or found in the cache) or a program file (*.weir). A library without the
// compiler (libweir_runtime) opens program files only. `options` may be NULL.
WEIR_API WEIR_MUST_USE weir_status* weir_session_open(weir_runtime* runtime, weir_device* device,
                                                      const char* path, const weir_session_options* options,
                                                      weir_session** session);
WEIR_API weir_session* weir_session_retain(weir_session* session);
// Requests keep their session alive.
WEIR_API void weir_session_release(weir_session* session);

typedef struct weir_session_info {
  size_t struct_size;
  const char* name;  // these live as long as the session
  const char* path;
  const char* isa;         // the best that kernels may use
  const char* cache_note;  // why the program is not in the cache; "" where it is, or need not be
  int32_t input_count;
  int32_t output_count;
  int32_t metadata_count;
  int32_t notice_count;
  int32_t participants;
  bool is_static;  // requests are prepared from the start
  bool compiled;   // now, rather than found in the cache or read
  int64_t file_bytes;
  int64_t load_ns;  // all of opening, compiling included
  int64_t import_ns;
  int64_t compile_ns;
  int32_t state_count;
} weir_session_info;

// Fills in as much as `info->struct_size` has room for.
WEIR_API WEIR_MUST_USE weir_status* weir_session_get_info(const weir_session* session,
                                                          weir_session_info* info);

// An input or output as the program declares it.
typedef struct weir_port {
  size_t struct_size;
  const char* name;  // lives as long as the session
  weir_element_type type;
  int32_t rank;
  int64_t shape[WEIR_MAX_RANK];  // −1: open
} weir_port;

WEIR_API WEIR_MUST_USE weir_status* weir_session_get_input(const weir_session* session, int32_t index,
                                                           weir_port* port);
WEIR_API WEIR_MUST_USE weir_status* weir_session_get_output(const weir_session* session, int32_t index,
                                                            weir_port* port);

// A state as the program declares it.
typedef struct weir_state {
  size_t struct_size;
  const char* name;    // these live as long as the session
  const char* output;  // that it is fed from
  weir_element_type type;
  int32_t rank;
  int64_t shape[WEIR_MAX_RANK];  // −1: open
} weir_state;

WEIR_API WEIR_MUST_USE weir_status* weir_session_get_state(const weir_session* session, int32_t index,
                                                           weir_state* state);

// Positions by name; −1 where there is none.
WEIR_API int32_t weir_session_find_input(const weir_session* session, const char* name);
WEIR_API int32_t weir_session_find_output(const weir_session* session, const char* name);

// The model's own notes. False past the last index. The strings live as long as the session.
WEIR_API bool weir_session_metadata(const weir_session* session, int32_t index, const char** key,
                                    const char** value);
// NULL where there is none of that key.
WEIR_API const char* weir_session_find_metadata(const weir_session* session, const char* key);

// False past the last index. The strings live as long as the session.
WEIR_API bool weir_session_notice(const weir_session* session, int32_t index, weir_notice* notice);

// What the session and one request take for inputs of these shapes, one an input in the session's order;
// nothing is allocated for it. A static program needs none (NULL, 0).
WEIR_API WEIR_MUST_USE weir_status* weir_session_plan(const weir_session* session, const weir_shape* shapes,
                                                      int32_t count, weir_ledger* ledger);

// The same and more as JSON: planned ledger, tensors with their places, steps with implementations and
// refusals, notices. Without shapes a dynamic program has neither ledger nor tensors in it. The caller frees
// the text with weir_text_free.
WEIR_API WEIR_MUST_USE weir_status* weir_session_report(const weir_session* session, const weir_shape* shapes,
                                                        int32_t count, char** json);
WEIR_API void weir_text_free(char* text);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_SESSION_H_
