// SPDX-License-Identifier: Apache-2.0
//
// Runs a program that came from a file of ill will on the validation device, with little memory. Anything but
// a result or an error that explains itself ends the process, so that a fuzzer sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "program/program_file.h"

namespace weir::fuzz {

// What all that a program of the fuzzers may hold on its device.
inline constexpr int64_t kDeviceBytes = int64_t{8} << 20;

// An error is a sentence, and never of Weir's own making: INTERNAL ends the process.
void expect_explained(const Status& error);

// Small enough to be run here: few steps, and few elements in each tensor.
bool is_small(const Program& program, std::span<const int64_t> dims);

// Session, request, prepare and run for the least values of the symbols, then for slightly larger ones.
// Whether a run completed.
bool run_program(LoadedProgram loaded);

}  // namespace weir::fuzz
