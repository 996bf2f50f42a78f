// SPDX-License-Identifier: Apache-2.0
//
// Attributes as flat streams, for the program file: integers, reals, Dims and texts in a fixed order an
// operator.
// Reading verifies counts and enumerations, since the streams come from a file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "op/op.h"

namespace weir {

struct AttributeStream {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<int32_t> dims;  // positions in the program's DimTable
  std::vector<std::string> strings;
  friend bool operator==(const AttributeStream&, const AttributeStream&) = default;
};

AttributeStream write_attributes(const Attributes& attributes,
                                 const std::function<int32_t(const Dim&)>& add_dim);

// The attributes of `op`, with entry i of the DimTable given by dims[i]: the numbers of a prepared shape, or
// expressions. Left-over or missing elements, an unknown enumerator and a position out of range are errors.
Result<Attributes> read_attributes(Op op, const AttributeStream& stream, std::span<const Dim> dims);

}  // namespace weir
