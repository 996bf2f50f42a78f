// SPDX-License-Identifier: Apache-2.0
//
// What the command line says where the system refuses memory or a file, word by word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/testing/results.h"
#include "tests/faults/injector.h"
#include "tools/weir/io/codecs.h"
#include "tools/weir/io/file.h"

namespace weir::faults {
namespace {

template <typename Action>
std::string refused(FaultKind kind, int64_t index, StatusCode code, const Action& action) {
  arm(kind, index);
  const auto result = action();
  const FaultReport report = disarm();
  if (result) {
    return std::string("no error; refused: ") + (report.failed == nullptr ? "nothing" : report.failed);
  }
  EXPECT_EQ(result.error().code(), code);
  return result.error().to_string();
}

TEST(CliRefusals, OfFiles) {
  const std::string path = ::testing::TempDir() + "weir_cli_refusals";
  must(cli::write_file(path, std::string_view("some text")));
  const auto reading = [&] { return cli::read_file(path); };
  EXPECT_EQ(refused(FaultKind::kOpen, 0, StatusCode::kUnavailable, reading),
            fmt::format("File '{}' cannot be opened (Too many open files).", path));
  EXPECT_EQ(refused(FaultKind::kLook, 0, StatusCode::kUnavailable, reading),
            fmt::format("File '{}' cannot be examined (Input/output error).", path));
  EXPECT_EQ(refused(FaultKind::kLook, 1, StatusCode::kUnavailable, reading),
            fmt::format("File '{}' cannot be read (Input/output error).", path));
  const auto writing = [&] { return cli::write_file(path, std::string_view("other")); };
  EXPECT_EQ(refused(FaultKind::kWrite, 0, StatusCode::kResourceExhausted, writing),
            fmt::format("File '{}' cannot be written (No space left on device).", path));
  std::remove(path.c_str());
}

TEST(CliRefusals, OfMemoryForPictures) {
  using namespace cli;
  const Image image{5, 3, 3, std::vector<uint8_t>(45)};
  const std::vector<std::byte> png = must(encode_png(image));
  for (const int64_t index : {0, 1, 2}) {  // the library's structures, then what it needs later
    EXPECT_EQ(refused(FaultKind::kAllocate, index, StatusCode::kResourceExhausted,
                      [&] { return encode_png(image); }),
              "There is no memory to encode a PNG image of (5 x 3) pixels.");
    EXPECT_EQ(
        refused(FaultKind::kAllocate, index, StatusCode::kResourceExhausted, [&] { return decode_png(png); }),
        fmt::format("There is no memory to decode a PNG image of ({}) bytes.", png.size()));
  }
  const std::vector<std::byte> jpeg = {std::byte{0xff}, std::byte{0xd8}, std::byte{0xff}};
  EXPECT_EQ(
      refused(FaultKind::kAllocate, 0, StatusCode::kResourceExhausted, [&] { return decode_jpeg(jpeg); }),
      "There is no memory to decode a JPEG image of (3) bytes.");
}

}  // namespace
}  // namespace weir::faults
