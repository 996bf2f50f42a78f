// SPDX-License-Identifier: Apache-2.0
//
// Opening a session in two halves: what the caller chose is read here, a library with or without the compiler
// turns the path into a program, and the session is made here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api_runtime/session_handles.h"
#include "program/program_file.h"

namespace weir::api {

struct SessionChoice {
  std::vector<std::pair<std::string, Range>> dims;
  std::vector<std::pair<std::string, std::vector<std::optional<Range>>>> shapes;
  std::vector<std::pair<std::string, std::string>> states;  // input, output
  std::vector<ConstantValue> constants;                     // their names are of interest to a compiler too
  std::string cache_folder;                                 // empty: the default
  int64_t cache_bytes = 0;                                  // 0: the default
  bool verify_constants = false;
  bool use_cache = true;
  Tracer* trace = nullptr;
  std::shared_ptr<const CustomOperators> operators;  // registered with the runtime; null: none
};

struct OpenedProgram {
  LoadedProgram loaded;
  bool compiled = false;
  std::string cache_note;  // why the program is not in the cache, where it should be
  std::vector<weir_session::Notice> notices;
  int64_t import_ns = 0;
  int64_t compile_ns = 0;
};

using ProgramOpener = Result<OpenedProgram> (*)(const std::string& path, const SessionChoice&);

// The body of weir_session_open.
weir_status* open_session(weir_runtime* runtime, weir_device* device, const char* path,
                          const weir_session_options* options, ProgramOpener open_program,
                          weir_session** session);

}  // namespace weir::api
