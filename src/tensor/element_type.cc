// SPDX-License-Identifier: Apache-2.0
#include "tensor/element_type.h"

#include <array>

namespace weir {
namespace {

struct Info {
  std::string_view name;
  int bits;
  bool floating;
};

constexpr std::array<Info, 18> kInfo = {{{"invalid", 0, false},
                                         {"float32", 32, true},
                                         {"float16", 16, true},
                                         {"bfloat16", 16, true},
                                         {"float64", 64, true},
                                         {"int8", 8, false},
                                         {"uint8", 8, false},
                                         {"int16", 16, false},
                                         {"uint16", 16, false},
                                         {"int32", 32, false},
                                         {"uint32", 32, false},
                                         {"int64", 64, false},
                                         {"uint64", 64, false},
                                         {"bool", 8, false},
                                         {"int4", 4, false},
                                         {"uint4", 4, false},
                                         {"float8_e4m3", 8, true},
                                         {"float8_e5m2", 8, true}}};

const Info& info(ElementType type) {
  const auto index = static_cast<size_t>(type);
  return kInfo[index < kInfo.size() ? index : 0];
}

}  // namespace

int bit_width(ElementType type) {
  return info(type).bits;
}

int64_t byte_size(ElementType type, int64_t count) {
  return (count * bit_width(type) + 7) / 8;
}

std::string_view to_string(ElementType type) {
  return info(type).name;
}

std::optional<ElementType> element_type_from_string(std::string_view name) {
  for (size_t i = 1; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) {
      return static_cast<ElementType>(i);
    }
  }
  return std::nullopt;
}

bool is_floating_point(ElementType type) {
  return info(type).floating;
}

bool is_valid(ElementType type) {
  return info(type).bits != 0;
}

}  // namespace weir
