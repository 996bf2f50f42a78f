// SPDX-License-Identifier: Apache-2.0
//
// Results in tests: the value that a test cannot go on without, and errors told word by word.
//
//   const Ref<Device> device = must(create_cpu_device({.threads = 2}));
//   must(request->set_input(0, x));
//   EXPECT_FAILS(request->set_input(7, x), StatusCode::kNotFound, "Input (7) is not there");  // a part of it
//   EXPECT_ERROR(check(dims), StatusCode::kInvalidArgument, "There are (1) values for (2).");  // all of it
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <source_location>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace weir {

// The value. Where there is none the test program ends, as nothing after it could be trusted.
template <typename T>
T must(Result<T> result, std::source_location where = std::source_location::current()) {
  if (!result.has_value()) {
    ADD_FAILURE_AT(where.file_name(), static_cast<int>(where.line())) << result.error().to_string();
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) {
    return *std::move(result);
  }
}

}  // namespace weir

// That `expression`, a Result, is an error of this code whose text, context included, has `part`.
#define EXPECT_FAILS(expression, expected_code, part)                          \
  do {                                                                         \
    const auto& weir_outcome = (expression);                                   \
    ASSERT_FALSE(weir_outcome.has_value());                                    \
    EXPECT_EQ(weir_outcome.error().code(), expected_code);                     \
    EXPECT_THAT(weir_outcome.error().to_string(), ::testing::HasSubstr(part)); \
  } while (false)

// That it is an error of this code with exactly this text, context included.
#define EXPECT_ERROR(expression, expected_code, text)      \
  do {                                                     \
    const auto& weir_outcome = (expression);               \
    ASSERT_FALSE(weir_outcome.has_value());                \
    EXPECT_EQ(weir_outcome.error().code(), expected_code); \
    EXPECT_EQ(weir_outcome.error().to_string(), text);     \
  } while (false)
