// SPDX-License-Identifier: Apache-2.0
//
// When the host's memory runs out. Weir throws nothing, but the containers and strings that it is made of
// throw std::bad_alloc. It passes through Weir's code, which owns everything by type, up to a border: an
// entry point of the C interface, a thread's own loop, main. There it becomes a Status.
//
//   Result<void> ran = with_memory_guard([&] { return commands.run(); });
//
// Large blocks (buffers, heaps, a request's structures) are mapped rather than allocated, and tell of their
// failure by themselves, with sizes and holders.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace weir {

// Allocates nothing: the message fits into the string itself.
inline Status out_of_memory() noexcept {
  constexpr const char* kMessage = "Memory ran out.";
  static_assert(std::string_view(kMessage).size() <= 15);
  return Status(StatusCode::kResourceExhausted, kMessage);
}

// The result of `action`, which returns a Result, or out_of_memory().
template <typename Action>
std::invoke_result_t<Action> with_memory_guard(Action&& action) noexcept {
  try {
    return std::forward<Action>(action)();
  } catch (const std::bad_alloc&) {
    return std::unexpected(out_of_memory());
  }
}

// A copy, or out_of_memory().
inline Status copy_of(const Status& status) noexcept {
  return with_memory_guard([&]() -> Result<void> { return std::unexpected(status); }).error();
}

}  // namespace weir
