// SPDX-License-Identifier: Apache-2.0
#include "queue_counts.h"

#include "api_runtime/session_handles.h"

namespace weir::promises {

int32_t most_in_flight(const weir_session& session) {
  return session.session->queue().stats().most_in_flight;
}

int32_t usual_queue_limit() {
  return QueueDescriptor{}.max_in_flight;
}

}  // namespace weir::promises
