// SPDX-License-Identifier: Apache-2.0
//
// weir_session_open of libweir_runtime: program files only.
#include <algorithm>
#include <span>

#include "api_runtime/session_open.h"
#include "base/mapped_file.h"

namespace {

constexpr std::string_view kProgramMagic = "WEIRPROG";

weir::Result<weir::api::OpenedProgram> open_program(const std::string& path,
                                                    const weir::api::SessionChoice& choice) {
  WEIR_ASSIGN(const std::shared_ptr<const weir::MappedFile> file, weir::MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  const auto magic = std::as_bytes(std::span(kProgramMagic));
  if (bytes.size() < magic.size() || !std::ranges::equal(bytes.first(magic.size()), magic)) {
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
  if (!choice.states.empty()) {
    return weir::fail(
        weir::StatusCode::kInvalidArgument,
        "Program '{}' is compiled already, and its states cannot be chosen any more; compile the "
        "model again with --state {}={}.",
        path, choice.states.front().first, choice.states.front().second);
  }
  weir::api::OpenedProgram opened;
  const weir::TraceSpan span(choice.trace, "read program");
  WEIR_ASSIGN(opened.loaded, weir::read_program(path), "while loading '{}'", path);
  return opened;
}

}  // namespace

extern "C" weir_status* weir_session_open(weir_runtime* runtime, weir_device* device, const char* path,
                                          const weir_session_options* options, weir_session** session) {
  return weir::api::open_session(runtime, device, path, options, open_program, session);
}
