// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. A function that can fail returns Result<T>; nothing in Weir throws.
//
//   Result<int64_t> checked_rows(const Table& table) {
//     if (table.rows < 0) {
//       return fail(StatusCode::kInvalidArgument, "Table '{}' has a row count ({}), and 0 is the least.",
//       name, rows);
//     }
//     WEIR_ASSIGN(int64_t bytes, checked_mul(table.rows, table.row_bytes));
//     WEIR_TRY(check(bytes), "while measuring table '{}'", name);
//     return bytes;
//   }
//
// A message is one full sentence in the present tense: the object by its label, the value in parentheses
// after its name, both the given and the allowed. Context is added on the way up, innermost first.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// The canonical codes of gRPC and abseil, with the same numbers.
enum class StatusCode : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};

// The code's name as gRPC spells it, for example "INVALID_ARGUMENT".
std::string_view to_string(StatusCode code);

// What went wrong. Only made for failures: success is a Result that holds a value.
class Status {
 public:
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "while …" lines, innermost first.
  const std::vector<std::string>& context() const { return context_; }

  Status& add_context(std::string line) {
    context_.push_back(std::move(line));
    return *this;
  }

  // The message, then one indented line "  - while …" a context.
  std::string to_string() const;

 private:
  StatusCode code_;
  std::string message_;
  std::vector<std::string> context_;
};

template <typename T>
using Result = std::expected<T, Status>;

template <typename... Args>
[[nodiscard]] std::unexpected<Status> fail(StatusCode code, fmt::format_string<Args...> format,
                                           Args&&... args) {
  return std::unexpected(Status(code, fmt::format(format, std::forward<Args>(args)...)));
}

namespace internal {
inline Status with_context(Status status) {
  return status;
}
template <typename... Args>
Status with_context(Status status, fmt::format_string<Args...> format, Args&&... args) {
  status.add_context(fmt::format(format, std::forward<Args>(args)...));
  return status;
}
}  // namespace internal

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// Returns the error of `expression`, with an optional formatted context line; goes on when it holds a value.
#define WEIR_TRY(expression, ...)                                                                     \
  do {                                                                                                \
    if (auto weir_result = (expression); !weir_result) [[unlikely]] {                                 \
      return std::unexpected(                                                                         \
          ::weir::internal::with_context(std::move(weir_result).error() __VA_OPT__(, ) __VA_ARGS__)); \
    }                                                                                                 \
  } while (false)

// `WEIR_ASSIGN(auto x, expression, "while …")` declares or assigns the value, or returns the error.
#define WEIR_ASSIGN(target, expression, ...) \
  WEIR_ASSIGN_INNER(WEIR_CONCAT(weir_value_, __LINE__), target, expression __VA_OPT__(, ) __VA_ARGS__)
#define WEIR_ASSIGN_INNER(name, target, expression, ...)                                     \
  auto name = (expression);                                                                  \
  if (!name) [[unlikely]] {                                                                  \
    return std::unexpected(                                                                  \
        ::weir::internal::with_context(std::move(name).error() __VA_OPT__(, ) __VA_ARGS__)); \
  }                                                                                          \
  target = *std::move(name)

}  // namespace weir
