// SPDX-License-Identifier: Apache-2.0
//
// Whether strides satisfy what an implementation asks of them.
#pragma once

#include <span>

#include "kernels/implementation.h"

namespace weir {

// Whether two lists of strides say the same of every axis that has more than one element.
bool has_strides(std::span<const Dim> shape, std::span<const Dim> strides, std::span<const Dim> wanted);

// Proved for every value of the symbols; kAny, that a stride is no less than 0, where it is not refuted.
bool satisfies(LayoutRule rule, std::span<const Dim> shape, std::span<const Dim> strides);

}  // namespace weir
