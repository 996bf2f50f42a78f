// SPDX-License-Identifier: Apache-2.0
//
// Compiling within CompileOptions::memory_limit: first as asked, then in orders of steps that hold less, then
// with weights as the model has them. What had to give way is a notice of the program. A program with open
// dimensions is counted at the largest values of their ranges, which all of them need then.
#pragma once

#include <functional>

#include "compile/compile.h"

namespace weir {

// `compile_once` compiles `graph` as it is ordered then. An error says by how much the smallest program is
// too large, and what holds the memory.
Result<Compiled> compile_within_limit(
    Graph& graph, const CompileOptions& options,
    const std::function<Result<Compiled>(const CompileOptions&)>& compile_once);

}  // namespace weir
