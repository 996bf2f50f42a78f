// SPDX-License-Identifier: Apache-2.0
//
// Element types. The numbers are stored in program files: append, never renumber.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

enum class ElementType : uint8_t {
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kFloat64 = 4,
  kInt8 = 5,
  kUint8 = 6,
  kInt16 = 7,
  kUint16 = 8,
  kInt32 = 9,
  kUint32 = 10,
  kInt64 = 11,
  kUint64 = 12,
  kBool = 13,  // one byte, 0 or 1
  kInt4 = 14,  // two an octet, low nibble first
  kUint4 = 15,
  kFloat8E4M3 = 16,
  kFloat8E5M2 = 17,
};

// Bits an element takes in memory.
int bit_width(ElementType type);
// Bytes of `count` elements, rounded up to whole bytes.
int64_t byte_size(ElementType type, int64_t count);
// "float32", "int4", …
std::string_view to_string(ElementType type);
std::optional<ElementType> element_type_from_string(std::string_view name);
bool is_floating_point(ElementType type);
bool is_valid(ElementType type);

}  // namespace weir
