// SPDX-License-Identifier: Apache-2.0
//
// Names that are spelled like an unknown one: for messages.
//
//   fail(…, "Constant '{}' is not one of the model's{}.", name, near_names(name, known));
//   // "…; near it: 'fc.weight', 'fc.bias'"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

// "; near it: 'a', 'b'": up to three of `known`, the nearest first; "" where none is near.
std::string near_names(std::string_view name, std::span<const std::string_view> known);

}  // namespace weir
