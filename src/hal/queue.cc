// SPDX-License-Identifier: Apache-2.0
#include "hal/queue.h"

namespace weir {
namespace {

thread_local int handlers_here = 0;

}  // namespace

void CompletionHandler::call(const Status* status) const {
  ++handlers_here;
  adapter != nullptr ? adapter(*this, status) : function(user, status);
  --handlers_here;
}

bool in_completion_handler() {
  return handlers_here > 0;
}

}  // namespace weir
