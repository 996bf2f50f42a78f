// SPDX-License-Identifier: Apache-2.0
//
// Part of weir.h: traces. What happened when, on the host's threads and step by step on the device, on one
// clock.
//
// Name a trace in the options of the sessions and requests that it is to show, and write it at any time: JSON
// trace events, which ui.perfetto.dev opens. It may be used from any thread.
#ifndef WEIR_TRACE_H_
#define WEIR_TRACE_H_

#include "weir/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weir_trace weir_trace;

// Keeps at most `events` (0: 131,072, which take 9 MiB); of more the oldest go, and are counted. The memory
// is taken now: tracing a run allocates nothing.
WEIR_API WEIR_MUST_USE weir_status* weir_trace_create(int64_t events, weir_trace** trace);
WEIR_API weir_trace* weir_trace_retain(weir_trace* trace);
// Sessions do not keep it; the requests that it traces do.
WEIR_API void weir_trace_release(weir_trace* trace);

WEIR_API int64_t weir_trace_kept(const weir_trace* trace);
WEIR_API int64_t weir_trace_dropped(const weir_trace* trace);
// Replaces the file as a whole, or not at all.
WEIR_API WEIR_MUST_USE weir_status* weir_trace_write(const weir_trace* trace, const char* path);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // WEIR_TRACE_H_
