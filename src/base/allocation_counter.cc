// SPDX-License-Identifier: Apache-2.0
#include "base/allocation_counter.h"

// Defined by the interposer when it is loaded: fills in {weir, driver, user}.
extern "C" void weir_allocation_counts(uint64_t counts[3]) __attribute__((weak));

namespace weir {

AllocationCounts allocation_counts() {
  AllocationCounts result;
  if (weir_allocation_counts != nullptr) {
    uint64_t counts[3] = {0, 0, 0};
    weir_allocation_counts(counts);
    result = {true, counts[0], counts[1], counts[2]};
  }
  return result;
}

}  // namespace weir
