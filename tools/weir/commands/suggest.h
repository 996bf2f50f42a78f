// SPDX-License-Identifier: Apache-2.0
//
// What somebody who mistyped a name may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir::cli {

// The one of `names` that takes the fewest insertions, deletions, replacements and swaps of neighbours, where
// that is no more than a third of its length (at least one); else "".
std::string nearest(std::string_view typed, std::span<const std::string> names);

}  // namespace weir::cli
