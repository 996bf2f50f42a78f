// SPDX-License-Identifier: Apache-2.0
//
// Writes the seeds of every target into FOLDER/onnx, FOLDER/program, …, for the fuzzers to start from.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "seeds.h"

namespace {

bool write(const std::filesystem::path& folder, const std::vector<weir::fuzz::Seed>& seeds) {
  std::filesystem::create_directories(folder);
  for (const weir::fuzz::Seed& seed : seeds) {
    std::ofstream file(folder / seed.name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.bytes.data()),
               static_cast<std::streamsize>(seed.bytes.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "'%s' cannot be written.\n", (folder / seed.name).c_str());
      return false;
    }
  }
  return !seeds.empty();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  using namespace weir::fuzz;
  const bool written = write(folder / "onnx", onnx_seeds()) && write(folder / "program", program_seeds()) &&
                       write(folder / "dim", dim_seeds()) && write(folder / "image", image_seeds()) &&
                       write(folder / "npy", npy_seeds());
  return written ? 0 : 1;
}
