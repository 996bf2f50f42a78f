// SPDX-License-Identifier: Apache-2.0
//
// What --input does with the bytes of an .npy file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>

#include "run_program.h"
#include "tools/weir/io/npy.h"

namespace weir::fuzz {

// An array that reads is written and read again, and is the same then.
inline bool entry(std::span<const std::byte> bytes) {
  const Result<cli::Array> array = cli::parse_npy(bytes);
  if (!array) {
    expect_explained(array.error());
    return false;
  }
  const Result<std::vector<std::byte>> written = cli::format_npy(array->type, array->shape, array->data);
  const Result<cli::Array> again = written ? cli::parse_npy(*written) : std::unexpected(written.error());
  if (!again || again->type != array->type || again->shape != array->shape || again->data != array->data) {
    std::abort();
  }
  return true;
}

}  // namespace weir::fuzz
