// SPDX-License-Identifier: Apache-2.0
//
// What tells one build of Weir from another: the linker's identifier of the library or program that this code
// is in.
#pragma once

#include <string>

namespace weir {

// Hexadecimal; empty where the linker wrote none.
std::string build_id();

}  // namespace weir
