// SPDX-License-Identifier: Apache-2.0
//
// Changes ONNX models where they are models: operators, names, numbers, shapes, whole nodes. What comes out
// parses, and often means something.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::fuzz {

// Changes the model in data[0, size) in place; it may grow to max_size bytes. Returns its new size. Bytes
// that are no model become a small one.
size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned int seed);

}  // namespace weir::fuzz
