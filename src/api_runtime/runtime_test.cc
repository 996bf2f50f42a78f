// SPDX-License-Identifier: Apache-2.0
//
// Statuses that no caller can provoke on purpose: exceptions that reach the border of the interface.
#include <stdexcept>

#include "api_runtime/handles.h"
#include "api_runtime/testing/statuses.h"

namespace weir::api {
namespace {

template <typename Exception>
weir_status* caught_of(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return caught("weir_example");
  }
}

TEST(Caught, ExceptionsBecomeStatuses) {
  EXPECT_STATUS(caught_of(std::logic_error("two and two are five")), WEIR_INTERNAL,
                "Function 'weir_example' ended with an exception (two and two are five).");
  EXPECT_STATUS(caught_of(7), WEIR_INTERNAL,
                "Function 'weir_example' ended with an exception (of no standard type).");
  EXPECT_STATUS(
      caught_of(std::bad_alloc()), WEIR_RESOURCE_EXHAUSTED,
      "The host has no memory left for the structures of this call, and the call was not carried out.");
}

}  // namespace
}  // namespace weir::api
