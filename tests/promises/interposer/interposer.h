// SPDX-License-Identifier: Apache-2.0
//
// What the sources of weir_interposer share.
#pragma once

namespace weir_interposer {

// A function of the C library that has to do with a file was called. Allocates nothing, keeps errno.
void count_file_call();

}  // namespace weir_interposer

#define WEIR_EXPORT __attribute__((visibility("default")))
