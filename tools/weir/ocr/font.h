// SPDX-License-Identifier: Apache-2.0
//
// A bitmap font for captions: ASCII in five by nine pixels, two of them below the base line. All else is
// drawn as an empty box.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weir::cli {

inline constexpr int kGlyphWidth = 5;
inline constexpr int kGlyphHeight = 9;

// Rows from the top; bit 4 is the leftmost pixel.
using Glyph = std::array<uint8_t, kGlyphHeight>;

const Glyph& glyph_of(uint32_t code);

// One code a character: its own for ASCII, U+FFFD for any other.
std::vector<uint32_t> codes_of(std::string_view utf8);

}  // namespace weir::cli
