// SPDX-License-Identifier: Apache-2.0
//
// Statuses of the C interface in tests: taken and freed, compared by code and text.
//
//   ASSERT_OK(weir_runtime_create(&options, &runtime));
//   EXPECT_REFUSED(weir_request_run(request), WEIR_FAILED_PRECONDITION, "before a shape");  // a part of it
//   EXPECT_STATUS(weir_device_memory(device, 99, &bytes, nullptr), WEIR_INVALID_ARGUMENT, "Memory is …");
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "weir/base.h"

namespace weir::testing {

// The code; the text goes to `text`.
inline weir_code taken(weir_status* status, std::string* text = nullptr) {
  const weir_code code = weir_status_code(status);
  if (text != nullptr) {
    *text = weir_status_text(status);
  }
  weir_status_free(status);
  return code;
}

// The text; empty where it is a success.
inline std::string text_of(weir_status* status) {
  std::string text;
  (void)taken(status, &text);
  return text;
}

}  // namespace weir::testing

#define EXPECT_OK(expression)                                                      \
  do {                                                                             \
    std::string weir_said;                                                         \
    EXPECT_EQ(weir::testing::taken(expression, &weir_said), WEIR_OK) << weir_said; \
  } while (false)
#define ASSERT_OK(expression)                                                      \
  do {                                                                             \
    std::string weir_said;                                                         \
    ASSERT_EQ(weir::testing::taken(expression, &weir_said), WEIR_OK) << weir_said; \
  } while (false)

// That the status has this code, and `part` in its text.
#define EXPECT_REFUSED(expression, code, part)                     \
  do {                                                             \
    std::string weir_said;                                         \
    EXPECT_EQ(weir::testing::taken(expression, &weir_said), code); \
    EXPECT_THAT(weir_said, ::testing::HasSubstr(part));            \
  } while (false)

// That it has this code and exactly this text, context included.
#define EXPECT_STATUS(expression, code, whole)                     \
  do {                                                             \
    std::string weir_said;                                         \
    EXPECT_EQ(weir::testing::taken(expression, &weir_said), code); \
    EXPECT_EQ(weir_said, whole);                                   \
  } while (false)
