// SPDX-License-Identifier: Apache-2.0
//
// Runs single functions of the command line's library for compare_with_opencv.py, from and to .npy files:
//
//   cli_probe decode IMAGE OUT.npy
//   cli_probe resize IMAGE WIDTH HEIGHT OUT.npy
//
// Images in .npy are uint8 [height, width, channels], RGB.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "tools/weir/io/image.h"
#include "tools/weir/io/npy.h"
#include "tools/weir/io/resize.h"

namespace weir::cli {
namespace {

Array array_of(const Image& image) {
  Array array =
      make_array(ElementType::kUint8, std::vector<int64_t>{image.height, image.width, image.channels})
          .value();
  std::memcpy(array.data.data(), image.pixels.data(), image.pixels.size());
  return array;
}

Result<void> decode(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  return write_npy(arguments[1], array_of(image));
}

Result<void> resize(char** arguments) {
  WEIR_ASSIGN(const Image image, read_image(arguments[0]));
  WEIR_ASSIGN(const Image result, resize_bilinear(image, std::atoi(arguments[1]), std::atoi(arguments[2])));
  return write_npy(arguments[3], array_of(result));
}

struct Command {
  std::string_view name;
  int arguments;
  Result<void> (*run)(char** arguments);
};
constexpr Command kCommands[] = {{"decode", 2, decode}, {"resize", 4, resize}};

int run(int argc, char** argv) {
  for (const Command& command : kCommands) {
    if (argc < 2 || command.name != argv[1] || command.arguments != argc - 2) continue;
    if (const auto result = command.run(argv + 2); !result) {
      std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
      return 1;
    }
    return 0;
  }
  std::fprintf(stderr, "Unknown command or wrong number of arguments.\n");
  return 2;
}

}  // namespace
}  // namespace weir::cli

int main(int argc, char** argv) {
  return weir::cli::run(argc, argv);
}
