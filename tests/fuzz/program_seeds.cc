// SPDX-License-Identifier: Apache-2.0
//
// Writes sound program files into a folder, for program_fuzzer to start from.
#include <cstdio>
#include <filesystem>

#include "program/testing/sample_programs.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "program_seeds FOLDER\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (weir::Program program : {weir::samples::static_program(), weir::samples::dynamic_program(),
                                weir::samples::portable_program()}) {
    const std::string path = std::filesystem::path(argv[1]) / (program.name + ".weir");
    if (const auto written = weir::write_program(program, weir::samples::blocks_of(program), path);
        !written) {
      std::fprintf(stderr, "%s\n", written.error().to_string().c_str());
      return 1;
    }
  }
  return 0;
}
