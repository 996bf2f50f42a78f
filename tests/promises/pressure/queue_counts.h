// SPDX-License-Identifier: Apache-2.0
//
// What a session's queue counts, which no caller sees. Apart from the tests, as the library's own types and
// those of weir.hpp do not go together in one source.
#pragma once

#include <cstdint>

#include "weir/session.h"

namespace weir::promises {

int32_t most_in_flight(const weir_session& session);
// How many submissions a queue takes that nobody asked for another number.
int32_t usual_queue_limit();

}  // namespace weir::promises
