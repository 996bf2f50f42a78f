// SPDX-License-Identifier: Apache-2.0
//
// How many calls this process has made, on any thread, of functions that open, read, write, close or ask
// about a file; where weir_interposer is in LD_PRELOAD, else the function is null. Which functions:
// interposer_files.cc.
#pragma once

#include <cstdint>

extern "C" uint64_t weir_interposer_file_calls(void) __attribute__((weak));
