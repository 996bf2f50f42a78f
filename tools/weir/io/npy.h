// SPDX-License-Identifier: Apache-2.0
//
// Arrays in NumPy's .npy format, versions 1 and 2: a magic string, a header that is a Python dictionary, then
// the elements. Little-endian, C order. float16/32/64, integers of 8 to 64 bits, bool.
//
//   WEIR_ASSIGN(Array array, read_npy("input.npy"));
//   std::span<const float> values = array.as<float>();      // array.type == ElementType::kFloat32
//   WEIR_TRY(write_npy("output.npy", array));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tensor/element_type.h"

namespace weir::cli {

// A dense row-major array that owns its elements.
struct Array {
  ElementType type = ElementType::kFloat32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  int64_t element_count() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

inline constexpr int64_t kMaxArrayBytes = int64_t{4} << 30;

// Zero elements of `type`. The byte size is checked against kMaxArrayBytes.
Result<Array> make_array(ElementType type, std::span<const int64_t> shape);

// `bytes` is a whole file. Every number in it is checked before it is used.
Result<Array> parse_npy(std::span<const std::byte> bytes);
Result<Array> read_npy(const std::string& path);

// An array of a type that the format has no name for (bfloat16, 4 bits) is an error.
Result<std::vector<std::byte>> format_npy(ElementType type, std::span<const int64_t> shape,
                                          std::span<const std::byte> data);
Result<void> write_npy(const std::string& path, const Array& array);

}  // namespace weir::cli
