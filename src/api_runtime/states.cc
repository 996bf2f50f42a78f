// SPDX-License-Identifier: Apache-2.0
//
// The C interface: what a session keeps from run to run, and what a request does with it.
#include <algorithm>
#include <span>

#include "api_runtime/session_handles.h"

using namespace weir::api;
using weir::Result;
using weir::Status;
using weir::StatusCode;

extern "C" {

weir_status* weir_session_get_state(const weir_session* session, int32_t index, weir_state* state) try {
  if (session == nullptr || state == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, state)) {
    return unset;
  }
  if (index < 0 || static_cast<size_t>(index) >= session->states.size()) {
    return failed(Status(StatusCode::kOutOfRange,
                         fmt::format("Position ({}) is not one of the ({}) states of '{}'.", index,
                                     session->states.size(), session->session->name())));
  }
  const weir_session::State& from = session->states[static_cast<size_t>(index)];
  weir_state own = read_struct<weir_state>(nullptr);
  own.name = from.port.name.c_str();
  own.output = from.output.c_str();
  own.type = static_cast<weir_element_type>(from.port.type);
  own.rank = static_cast<int32_t>(from.port.shape.size());
  std::ranges::copy(from.port.shape, own.shape);
  write_struct(own, state);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_reset_state(weir_request* request) try {
  if (request == nullptr) {
    return null_argument(__func__);
  }
  const Result<void> reset = request->request->reset_state();
  return reset ? nullptr : failed(reset);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_save_state(weir_request* request, void* data, int64_t room, int64_t* bytes) try {
  if (request == nullptr || bytes == nullptr) {
    return null_argument(__func__);
  }
  const Result<int64_t> needed = request->request->saved_state_bytes();
  if (!needed) {
    return failed(needed);
  }
  *bytes = *needed;
  if (data == nullptr) {
    return nullptr;
  }
  const Result<void> saved = request->request->save_state(
      {static_cast<std::byte*>(data), static_cast<size_t>(std::max<int64_t>(room, 0))});
  return saved ? nullptr : failed(saved);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_request_restore_state(weir_request* request, const void* data, int64_t bytes) try {
  if (request == nullptr || data == nullptr) {
    return null_argument(__func__);
  }
  const Result<void> restored = request->request->restore_state(
      {static_cast<const std::byte*>(data), static_cast<size_t>(std::max<int64_t>(bytes, 0))});
  return restored ? nullptr : failed(restored);
} catch (...) {
  return caught(__func__);
}

}  // extern "C"
