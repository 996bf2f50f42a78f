// SPDX-License-Identifier: Apache-2.0
//
// A shape of a dynamic program to measure it at: its symbols are guessed, and the guess must be one that the
// program's constraints admit.
#pragma once

#include <span>
#include <vector>

#include "program/program.h"

namespace weir {

// Changes symbols until the constraints hold and every dimension can be evaluated, as far as that is found:
// each symbol in turn to the least number that leaves the fewest of both broken. Says of each symbol whether
// it was changed.
std::vector<bool> meet_constraints(const Program& program, std::span<int64_t> symbols);

}  // namespace weir
