// SPDX-License-Identifier: Apache-2.0
//
// Sound inputs of each fuzzed reader, made by this project's own writers: what fuzzers and mutation tests
// begin with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir::fuzz {

struct Seed {
  std::string name;
  std::vector<std::byte> bytes;
};

std::vector<Seed> onnx_seeds();
std::vector<Seed> program_seeds();  // of the ONNX seeds, compiled, and of the samples of src/program
std::vector<Seed> dim_seeds();
std::vector<Seed> image_seeds();
std::vector<Seed> npy_seeds();

}  // namespace weir::fuzz
