// SPDX-License-Identifier: Apache-2.0
//
// The options of the null device; what it does is tested in tests/conformance.
#include "hal/null/null_device.h"

#include "base/testing/results.h"

namespace weir {
namespace {

TEST(NullDevice, SaysWhatItsOptionsMayBe) {
  struct Case {
    NullDeviceOptions options;
    const char* given;
  };
  for (const Case& c : {Case{{.participants = 0}, "(0) participants and a memory limit of (0) bytes"},
                        Case{{.participants = 1025}, "(1025) participants and a memory limit of (0) bytes"},
                        Case{{.memory_limit = -1}, "(1) participants and a memory limit of (-1) bytes"}}) {
    EXPECT_ERROR(
        create_null_device(c.options), StatusCode::kInvalidArgument,
        fmt::format("The null device is asked for {}, and the allowed ones are (1 to 1024) and (0 or more).",
                    c.given));
  }
  EXPECT_EQ(must(create_null_device({.participants = 1024}))->info().participants, 1024);
}

}  // namespace
}  // namespace weir
