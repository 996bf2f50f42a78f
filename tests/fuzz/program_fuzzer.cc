// SPDX-License-Identifier: Apache-2.0
#include "program_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::read_program_bytes(std::as_bytes(std::span(data, size)));
  return 0;
}
