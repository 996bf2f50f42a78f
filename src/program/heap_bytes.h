// SPDX-License-Identifier: Apache-2.0
//
// What a program's structures hold on the heap: a session charges it as `host`.
#pragma once

#include <cstdint>

#include "program/program.h"

namespace weir {

// Bytes of all arrays and texts inside `program`, as allocated; sizeof(Program) is not among them. A function
// of the file for a program that read_program() made.
int64_t heap_bytes(const Program& program);

}  // namespace weir
