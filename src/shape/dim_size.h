// SPDX-License-Identifier: Apache-2.0
//
// How large an expression is: for limits on what files may ask for.
#pragma once

#include <cstdint>

#include "shape/dim.h"

namespace weir {

// Operations and operands, as the expression would be written out, parts that it shares counted each time; at
// most INT64_MAX, 1 for a number. Arithmetic on Dims takes time in it.
int64_t size_of(const Dim& dim);

// What to_dims (dim_table.h) builds at most: the size of one expression, and of all of them.
inline constexpr int64_t kMaxTableExpression = int64_t{1} << 14;
inline constexpr int64_t kMaxTableExpressions = int64_t{1} << 26;

}  // namespace weir
