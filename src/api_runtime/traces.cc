// SPDX-License-Identifier: Apache-2.0
//
// The C interface: traces.
#include "api_runtime/handles.h"

using namespace weir::api;
using weir::Result;
using weir::Status;
using weir::StatusCode;
using weir::Tracer;

extern "C" {

weir_status* weir_trace_create(int64_t events, weir_trace** trace) try {
  if (trace == nullptr) {
    return null_argument(__func__);
  }
  constexpr int64_t kMost = int64_t{1} << 26;
  if (events < 0 || events > kMost) {
    return failed(
        Status(StatusCode::kInvalidArgument,
               fmt::format("A trace is asked to keep ({}) events, and the allowed numbers are (0 to {}).",
                           events, kMost)));
  }
  const weir::TraceOptions standard;
  *trace = handle(Tracer::create({.events = events == 0 ? standard.events : events}));
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_trace* weir_trace_retain(weir_trace* trace) {
  return retain(trace);
}

void weir_trace_release(weir_trace* trace) {
  release(trace);
}

int64_t weir_trace_kept(const weir_trace* trace) {
  return trace == nullptr ? 0 : object(trace)->kept();
}

int64_t weir_trace_dropped(const weir_trace* trace) {
  return trace == nullptr ? 0 : object(trace)->dropped();
}

weir_status* weir_trace_write(const weir_trace* trace, const char* path) try {
  if (trace == nullptr || path == nullptr) {
    return null_argument(__func__);
  }
  const Result<void> written = object(trace)->write(path);
  return written ? nullptr : failed(written);
} catch (...) {
  return caught(__func__);
}

}  // extern "C"
