// SPDX-License-Identifier: Apache-2.0
//
// The values of options, as plain structures. Each parser takes the text after the option and gives an error
// that says what is wrong with it and what is right.
//
//   --shape images=1x3x640x640    parse_shape
//   --dim batch=4, --dim seq=1..512    parse_dim
//   --state h=hn,c=cn             parse_states
//   --input images=photo.png      parse_input
//   --mean 123.7,116.3,103.5 --scale 1/58.4,1/57.1,1/57.4    parse_channel_values
//   --memory-limit 64MiB          parse_bytes (base/bytes.h)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "tensor/tensor.h"

namespace weir::cli {

// The shape of one input. An empty name: the model's only input.
struct ShapeArgument {
  std::string input;
  std::vector<int64_t> shape;
};
Result<ShapeArgument> parse_shape(std::string_view text);

// A value of a named dimension (min == max), or a range that it stays in.
struct DimArgument {
  std::string symbol;
  Range range;
};
Result<DimArgument> parse_dim(std::string_view text);

// An input that a program keeps from run to run, and the output that it is fed from.
struct StateArgument {
  std::string input;
  std::string output;
};
// One pair or more, separated by commas.
Result<std::vector<StateArgument>> parse_states(std::string_view text);

// A file for one input. An empty name: the next input that has none yet.
struct InputArgument {
  std::string input;
  std::string path;
};
Result<InputArgument> parse_input(std::string_view text);

// One number, or three for red, green and blue; each a decimal number or a fraction of two.
Result<std::vector<float>> parse_channel_values(std::string_view text);

// "'a', 'b' and 'c'"; "none" for an empty list.
std::string quoted_list(std::span<const std::string> names);

}  // namespace weir::cli
