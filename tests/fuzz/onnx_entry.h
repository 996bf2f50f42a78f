// SPDX-License-Identifier: Apache-2.0
//
// Everything that happens to an ONNX file's bytes, for any bytes: imported, verified, compiled, written,
// read, and run where it is small.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compile/compile.h"
#include "import/onnx/import.h"
#include "program/program_file.h"
#include "run_program.h"

namespace weir::fuzz {

// More nodes or larger tensors are imported, not compiled for a small device.
inline constexpr int64_t kMaxProgramBytes = int64_t{1} << 20;

// Compiles, and runs what was compiled. What the compiler writes, the loader takes.
inline bool compile_and_run(Graph graph, CompileOptions options) {
  options.verify_passes = true;
  Result<Compiled> compiled = compile(std::move(graph), options);
  if (!compiled) {
    expect_explained(compiled.error());
    return false;
  }
  if (compiled->program.constant_bytes > kMaxProgramBytes) {
    return true;
  }
  Result<std::vector<std::byte>> image = program_image(compiled->program, compiled->blocks);
  if (!image) {
    std::fprintf(stderr, "A compiled program is not written: %s\n", image.error().to_string().c_str());
    std::abort();
  }
  auto owner = std::make_shared<const std::vector<std::byte>>(*std::move(image));
  Result<LoadedProgram> loaded = read_program(*owner, owner);
  if (!loaded) {
    std::fprintf(stderr, "A compiled program is not read: %s\n", loaded.error().to_string().c_str());
    std::abort();
  }
  run_program(*std::move(loaded));
  return true;
}

// The entry. Dimensions stay open; then, where the model names any, they are made small numbers.
inline bool entry(std::span<const std::byte> bytes) {
  Result<Graph> graph = import_onnx(bytes, nullptr);
  if (!graph) {
    expect_explained(graph.error());
    return false;
  }
  ImportOptions small;
  for (const auto& symbol : graph->symbols.symbols()) {
    if (!symbol->name.starts_with("dim")) {
      small.dims.emplace_back(symbol->name, Range{2, 2});
    }
  }
  const bool compiled = compile_and_run(*std::move(graph), {});
  if (small.dims.empty()) {
    return compiled;
  }
  Result<Graph> narrowed = import_onnx(bytes, nullptr, small);
  if (!narrowed) {
    expect_explained(narrowed.error());
    return compiled;
  }
  return compile_and_run(*std::move(narrowed), {.fuse = bytes.size() % 4 != 0}) || compiled;
}

}  // namespace weir::fuzz
