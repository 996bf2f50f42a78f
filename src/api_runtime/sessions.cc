// SPDX-License-Identifier: Apache-2.0
//
// The C interface: what a session says of itself.
#include <algorithm>

#include "api_runtime/session_handles.h"

using namespace weir::api;
using weir::Ledger;
using weir::Result;
using weir::Status;
using weir::StatusCode;

namespace {

weir_status* get_port(const weir_session* session, std::span<const weir_session::Port> ports,
                      std::string_view which, int32_t index, weir_port* port) {
  if (index < 0 || static_cast<size_t>(index) >= ports.size()) {
    return failed(
        Status(StatusCode::kOutOfRange, fmt::format("Position ({}) is not one of the ({}) {} of '{}'.", index,
                                                    ports.size(), which, session->session->name())));
  }
  const weir_session::Port& from = ports[static_cast<size_t>(index)];
  weir_port own = read_struct<weir_port>(nullptr);
  own.name = from.name.c_str();
  own.type = static_cast<weir_element_type>(from.type);
  own.rank = static_cast<int32_t>(from.shape.size());
  std::copy(from.shape.begin(), from.shape.end(), own.shape);
  write_struct(own, port);
  return nullptr;
}

Result<Ledger> plan(const weir_session& session, const weir_shape* shapes, int32_t count) {
  WEIR_ASSIGN(const auto given, read_shapes(session, shapes, count));
  WEIR_ASSIGN(const std::vector<int64_t> symbols, session.session->symbols_of(given));
  return session.session->planned(symbols);
}

}  // namespace

extern "C" {

weir_session* weir_session_retain(weir_session* session) {
  if (session != nullptr) {
    session->retain();
  }
  return session;
}

void weir_session_release(weir_session* session) {
  if (session != nullptr) {
    session->release();
  }
}

weir_status* weir_session_get_info(const weir_session* session, weir_session_info* info) try {
  if (session == nullptr || info == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, info)) {
    return unset;
  }
  const weir::Session& from = *session->session;
  weir_session_info own = read_struct<weir_session_info>(nullptr);
  own.name = from.name().c_str();
  own.path = session->path.c_str();
  own.isa = session->isa.c_str();
  own.cache_note = session->cache_note.c_str();
  own.input_count = static_cast<int32_t>(session->inputs.size());
  own.output_count = static_cast<int32_t>(session->outputs.size());
  own.metadata_count = static_cast<int32_t>(from.program().metadata.size());
  own.notice_count = static_cast<int32_t>(session->notices.size());
  own.participants = from.participants();
  own.is_static = from.program().is_static();
  own.compiled = session->compiled;
  own.file_bytes = from.file_bytes();
  own.load_ns = session->load_ns;
  own.import_ns = session->import_ns;
  own.compile_ns = session->compile_ns;
  own.state_count = static_cast<int32_t>(session->states.size());
  write_struct(own, info);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

weir_status* weir_session_get_input(const weir_session* session, int32_t index, weir_port* port) try {
  if (session == nullptr || port == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, port)) {
    return unset;
  }
  return get_port(session, session->inputs, "inputs", index, port);
} catch (...) {
  return caught(__func__);
}

weir_status* weir_session_get_output(const weir_session* session, int32_t index, weir_port* port) try {
  if (session == nullptr || port == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, port)) {
    return unset;
  }
  return get_port(session, session->outputs, "outputs", index, port);
} catch (...) {
  return caught(__func__);
}

int32_t weir_session_find_input(const weir_session* session, const char* name) {
  return session == nullptr || name == nullptr ? -1 : session->session->find_input(name);
}

int32_t weir_session_find_output(const weir_session* session, const char* name) {
  return session == nullptr || name == nullptr ? -1 : session->session->find_output(name);
}

bool weir_session_metadata(const weir_session* session, int32_t index, const char** key, const char** value) {
  if (session == nullptr || index < 0 ||
      static_cast<size_t>(index) >= session->session->program().metadata.size()) {
    return false;
  }
  const auto& entry = session->session->program().metadata[static_cast<size_t>(index)];
  if (key != nullptr) {
    *key = entry.first.c_str();
  }
  if (value != nullptr) {
    *value = entry.second.c_str();
  }
  return true;
}

const char* weir_session_find_metadata(const weir_session* session, const char* key) {
  if (session == nullptr || key == nullptr) {
    return nullptr;
  }
  for (const auto& [own, value] : session->session->program().metadata) {
    if (own == key) {
      return value.c_str();
    }
  }
  return nullptr;
}

bool weir_session_notice(const weir_session* session, int32_t index, weir_notice* notice) {
  if (session == nullptr || notice == nullptr || index < 0 ||
      static_cast<size_t>(index) >= session->notices.size()) {
    return false;
  }
  const weir_session::Notice& from = session->notices[static_cast<size_t>(index)];
  weir_notice own = read_struct<weir_notice>(nullptr);
  own.kind = from.kind;
  own.what = from.what.c_str();
  own.reason = from.reason.c_str();
  own.bytes = from.bytes;
  write_struct(own, notice);
  return true;
}

weir_status* weir_session_plan(const weir_session* session, const weir_shape* shapes, int32_t count,
                               weir_ledger* ledger) try {
  if (session == nullptr || ledger == nullptr) {
    return null_argument(__func__);
  }
  if (weir_status* unset = unset_size(__func__, ledger)) {
    return unset;
  }
  Result<Ledger> planned = plan(*session, shapes, count);
  if (!planned) {
    planned.error().add_context(fmt::format("while planning '{}'", session->session->name()));
    return failed(planned);
  }
  write_ledger(*planned, ledger);
  return nullptr;
} catch (...) {
  return caught(__func__);
}

}  // extern "C"
