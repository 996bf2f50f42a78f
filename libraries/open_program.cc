// SPDX-License-Identifier: Apache-2.0
//
// weir_session_open of libweir_runtime: program files only.
#include <array>
#include <fstream>

#include "api_runtime/session_open.h"

namespace {

constexpr std::string_view kProgramMagic = "WEIRPROG";

weir::Result<weir::api::OpenedProgram> open_program(const std::string& path,
                                                    const weir::api::SessionChoice& choice) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return weir::fail(weir::StatusCode::kNotFound, "File '{}' cannot be opened.", path);
  }
  std::array<char, kProgramMagic.size()> magic{};
  file.read(magic.data(), magic.size());
  if (std::string_view(magic.data(), static_cast<size_t>(file.gcount())) != kProgramMagic) {
    return weir::fail(weir::StatusCode::kUnimplemented,
                      "File '{}' is no program file, and this library (libweir_runtime) has no compiler; "
                      "compile the model with `weir compile MODEL -o FILE.weir`, or link libweir.",
                      path);
  }
  if (!choice.dims.empty() || !choice.shapes.empty()) {
    return weir::fail(weir::StatusCode::kInvalidArgument,
                      "Program '{}' is compiled already, and its dimensions cannot be chosen any more; "
                      "compile the model again.",
                      path);
  }
  weir::api::OpenedProgram opened;
  WEIR_ASSIGN(opened.loaded, weir::read_program(path), "while loading '{}'", path);
  return opened;
}

}  // namespace

extern "C" weir_status* weir_session_open(weir_runtime* runtime, weir_device* device, const char* path,
                                          const weir_session_options* options, weir_session** session) {
  return weir::api::open_session(runtime, device, path, options, open_program, session);
}
