// SPDX-License-Identifier: Apache-2.0
//
// How a kernel's constants are recorded: a trivially copyable struct, which the kernel function finds as
// CpuInvocation::constants_as<T>().
#pragma once

#include <cstring>
#include <type_traits>

#include "kernels/implementation.h"

namespace weir {

// What an `extent` ends with.
template <typename T>
Extent record(const T& constants, int64_t tiles, std::span<std::byte> target) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxKernelConstants);
  std::memcpy(target.data(), &constants, sizeof(T));
  return {.tiles = tiles, .constant_bytes = static_cast<int64_t>(sizeof(T))};
}

// `plan` and `extent` of a kernel whose constants kMake(op) makes, and know their `scratch_bytes` and grid().
template <auto kMake>
Plan plan_problem(const ConcreteOp& op) {
  return {.workspace_bytes = 0, .scratch_bytes = kMake(op).scratch_bytes};
}
template <auto kMake>
Extent extent_problem(const ConcreteOp& op, std::span<std::byte> target) {
  const auto problem = kMake(op);
  return record(problem, problem.grid(), target);
}

}  // namespace weir
