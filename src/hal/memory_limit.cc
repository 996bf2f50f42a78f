// SPDX-License-Identifier: Apache-2.0
#include "hal/memory_limit.h"

#include <cstdlib>

#include "base/bytes.h"

namespace weir {

Result<int64_t> memory_limit(int64_t asked, int64_t available) {
  if (asked > 0) {
    return asked;
  }
  const char* text = std::getenv("WEIR_MEMORY_LIMIT");
  if (text == nullptr || *text == '\0') {
    return available;
  }
  WEIR_ASSIGN(const int64_t bytes, parse_bytes(text),
              "while reading the environment variable WEIR_MEMORY_LIMIT");
  return bytes > 0 ? bytes : available;
}

}  // namespace weir
