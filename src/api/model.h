// SPDX-License-Identifier: Apache-2.0
//
// From a model or program file to something that runs: what the C ABI and the command line share.
//
//   WEIR_ASSIGN(Model model, open_model("net.onnx", {}));       // compiled, or found in the cache
//   WEIR_ASSIGN(Ref<Session> session, Session::create(std::move(model.loaded), device, {}));
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/compile.h"
#include "graph/graph.h"
#include "import/onnx/import.h"
#include "program/program_file.h"

namespace weir {

struct ModelOptions {
  ImportOptions import;
  CompileOptions compile;
  bool use_cache = true;
  std::string cache_folder;    // empty: default_cache_folder()
  int64_t cache_bytes = 0;     // the most that the folder holds; 0: default_cache_bytes()
  bool verify_cached = false;  // the constants too of a program that the cache holds
  // Gives leading dimensions that the model leaves open the number 1; another open one is an error that names
  // it.
  bool batch_of_one = false;
  // Of all that is done to open it; `import` and `compile` need not name it.
  Tracer* trace = nullptr;
  // Custom operators that the model's nodes may name; null: none.
  std::shared_ptr<const CustomOperators> operators;
};

// Something of opening that is worth listing.
struct ModelNotice {
  bool cost = false;
  std::string what;
  std::string reason;
  int64_t bytes = -1;
};

struct Model {
  LoadedProgram loaded;
  bool compiled = false;     // now, rather than found in the cache or read
  bool fixes_batch = false;  // compiled now, and for a batch of one, which the model leaves open
  bool cached = false;       // the program lies in the cache
  std::string cache_note;    // why it does not, where it should
  std::vector<ModelNotice> notices;
  int64_t import_ns = 0;
  int64_t compile_ns = 0;
};

// Whether the file begins as a .weir program does.
Result<bool> is_program_file(const std::string& path);

// The graph of a model file: ONNX.
Result<Graph> import_model(const std::string& path, const ModelOptions& options);

Result<Model> open_model(const std::string& path, const ModelOptions& options);

// Whether open_model() would find the model's program in the cache. Changes nothing.
struct CacheState {
  std::string program;  // where it lies or would lie; empty: nowhere, `note` says why
  bool found = false;
  std::string note;
};
Result<CacheState> cache_state(const std::string& path, const ModelOptions& options);

// Compiles and writes the program to `target`.
Result<void> compile_model(const std::string& path, const std::string& target, const ModelOptions& options);

}  // namespace weir
