// SPDX-License-Identifier: Apache-2.0
//
// How many allocations this process has made, where an interposer counts them (tests/promises/interposer).
// Without one `counted` is false and the numbers are 0.
//
//   const AllocationCounts before = allocation_counts();
//   … run …
//   const AllocationCounts after = allocation_counts();
//   after.weir - before.weir    // allocations that Weir's own code made
//
// Thread-safe; allocates nothing.
#pragma once

#include <cstdint>

namespace weir {

struct AllocationCounts {
  bool counted = false;
  uint64_t weir = 0;    // made by the library or the command line
  uint64_t driver = 0;  // by a device's driver
  uint64_t user = 0;    // by anybody else
};

AllocationCounts allocation_counts();

}  // namespace weir
