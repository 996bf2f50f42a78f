// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "compile/compile.h"
#include "import/onnx/import.h"
#include "program/program_file.h"
#include "program/testing/sample_programs.h"
#include "seeds.h"

namespace weir::fuzz {
namespace {

template <typename T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::abort();
  }
  return *std::move(result);
}

}  // namespace

std::vector<Seed> program_seeds() {
  std::vector<Seed> seeds;
  for (Program program :
       {samples::static_program(), samples::dynamic_program(), samples::portable_program()}) {
    const std::vector<ConstantBlock> blocks = samples::blocks_of(program);
    seeds.push_back({program.name + ".program", must(program_image(program, blocks))});
  }
  for (const Seed& model : onnx_seeds()) {
    for (const bool fixed : {false, true}) {
      Graph open = must(import_onnx(model.bytes, nullptr));
      ImportOptions options;
      for (const auto& symbol : open.symbols.symbols()) {
        options.dims.emplace_back(symbol->name, Range{2, fixed ? 2 : 64});
      }
      CompileOptions portable;
      portable.reference_only = fixed;  // runs on any machine
      Compiled compiled = must(compile(must(import_onnx(model.bytes, nullptr, options)), portable));
      const std::string name = model.name.substr(0, model.name.find('.')) + (fixed ? ".fixed" : ".open");
      seeds.push_back({name + ".program", must(program_image(compiled.program, compiled.blocks))});
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
