// SPDX-License-Identifier: Apache-2.0
//
// A thread of Weir's own: named, with the pages of its stack touched, and an error where the system starts
// none.
//
//   WEIR_ASSIGN(lane, start_thread("weir-queue", [this] { serve(); }));
#pragma once

#include <pthread.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/stack_pages.h"
#include "base/status.h"

namespace weir {

// Linux shows the first 15 characters of the name. `body` must let nothing escape.
template <typename Body>
Result<std::thread> start_thread(const std::string& name, Body body) {
  try {
    return std::thread([shown = name.substr(0, 15), own = std::move(body)]() mutable {
#if defined(__linux__)
      pthread_setname_np(pthread_self(), shown.c_str());
#endif
      touch_stack();
      own();
    });
  } catch (const std::system_error& error) {
    return fail(StatusCode::kResourceExhausted, "The system starts no thread '{}': {}.", name,
                error.code().message());
  }
}

}  // namespace weir
