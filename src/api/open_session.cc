// SPDX-License-Identifier: Apache-2.0
//
// weir_session_open with importer and compiler behind it.
#include "api/model.h"
#include "api_runtime/session_open.h"

namespace {

weir::Result<weir::api::OpenedProgram> open_program(const std::string& path,
                                                    const weir::api::SessionChoice& choice) {
  weir::ModelOptions options;
  options.import.dims = choice.dims;
  options.import.shapes = choice.shapes;
  for (const auto& [input, output] : choice.states) {
    options.compile.states.push_back({input, output});
  }
  for (const weir::ConstantValue& constant : choice.constants) {
    options.import.swappable.push_back(constant.name);
  }
  options.use_cache = choice.use_cache;
  options.operators = choice.operators;
  options.cache_folder = choice.cache_folder;
  options.trace = choice.trace;
  options.cache_bytes = choice.cache_bytes;
  options.verify_cached = choice.verify_constants;
  WEIR_ASSIGN(weir::Model model, weir::open_model(path, options));
  weir::api::OpenedProgram opened;
  opened.loaded = std::move(model.loaded);
  opened.compiled = model.compiled;
  opened.cache_note = std::move(model.cache_note);
  for (weir::ModelNotice& notice : model.notices) {
    opened.notices.push_back({notice.cost ? WEIR_COST : WEIR_INFO, std::move(notice.what),
                              std::move(notice.reason), notice.bytes});
  }
  opened.import_ns = model.import_ns;
  opened.compile_ns = model.compile_ns;
  return opened;
}

}  // namespace

extern "C" weir_status* weir_session_open(weir_runtime* runtime, weir_device* device, const char* path,
                                          const weir_session_options* options, weir_session** session) {
  return weir::api::open_session(runtime, device, path, options, open_program, session);
}
