// SPDX-License-Identifier: Apache-2.0
//
// The metadata section: a Program to and from a FlatBuffer. Inner to src/program; the generated accessors are
// seen by metadata.cc alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "program/program.h"

namespace weir::internal {

// FlatBuffers count in 32 bits; what a program says of itself never comes close.
inline constexpr size_t kMaxMetadataBytes = size_t{1} << 28;

// The same program gives the same bytes.
Result<std::vector<std::byte>> encode_metadata(const Program& program);

// The structures that the bytes hold, which lie on a multiple of 8. Memory stays in proportion to the bytes
// whatever they say. Enumerations and positions are as stored: verify() checks them.
Result<Program> decode_metadata(std::span<const std::byte> bytes);

}  // namespace weir::internal
