// SPDX-License-Identifier: Apache-2.0
//
// Small ONNX models for tests of the interfaces, as the bytes of a file. Names no type of Weir's, so that
// tests that see weir.hpp alone can include it.
//
//   write_file(path, doubler_model());
#pragma once

#include <cstdint>
#include <string>

namespace weir::testing {

// Inputs x[n, 4] and rows[2] (int64); outputs picked = x[rows], whose indices may be out of range, and y = x
// + x. With `softmaxes` y goes through that many of them first, one step each: a run as long as one likes.
std::string doubler_model(int32_t softmaxes = 0);

// Input x[n, 8, 24, 24]; convolutions with biases and activations, a sum of two branches, pooling, a matrix
// product: output y[n, 10]. The weights are made of a fixed sequence.
std::string small_network();

void write_file(const std::string& path, const std::string& bytes);

}  // namespace weir::testing
