// SPDX-License-Identifier: Apache-2.0
//
// Which commands of a recording touch the same bytes with nothing between them to say who comes first. A pure
// function of the recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weir {

// Bytes that one command touches.
struct Touch {
  const void* storage = nullptr;  // the same for all ranges that may overlap
  int64_t begin = 0;
  int64_t end = 0;
  int64_t block = 0;  // as in BufferRange
  int64_t stride = 0;
  bool writes = false;
  int32_t command = 0;
  int32_t group = 0;  // commands of one group are not ordered among each other
  int32_t binding = 0;
  bool everything = false;  // a host call: may touch anything
};

// Whether two ranges of one storage share a byte. Blocks of one stride are told apart; anything else counts
// as whole.
bool overlap(const Touch& a, const Touch& b);

struct Hazard {
  Touch first;  // in the order recorded
  Touch second;
};

// A pair within one group, of which one writes.
std::optional<Hazard> find_missing_barrier(std::vector<Touch> touches);
// Groups whose barrier before them orders nothing: no command in it conflicts with one of the group before.
std::vector<int32_t> find_superfluous_barriers(const std::vector<Touch>& touches, int32_t groups);

}  // namespace weir
