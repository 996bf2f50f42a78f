// SPDX-License-Identifier: Apache-2.0
//
// Runs a graph on host memory with the reference implementations: what an imported model means, node by node.
//
//   WEIR_ASSIGN(std::vector<Array> outputs, evaluate(graph, {Array::of<float>({2, 3}, {…})}));
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace weir::testing {

// A dense tensor.
struct Array {
  TensorSpec spec;
  std::vector<std::byte> bytes;

  static Array zeros(ElementType type, std::span<const int64_t> shape);
  template <typename T>
  static Array of(ElementType type, std::vector<int64_t> shape, std::vector<T> elements) {
    Array array = zeros(type, shape);
    std::ranges::copy(std::as_bytes(std::span(elements)).first(array.bytes.size()), array.bytes.begin());
    return array;
  }
  static Array floats(std::vector<int64_t> shape, std::vector<float> elements) {
    return of(ElementType::kFloat32, std::move(shape), std::move(elements));
  }
  static Array int64s(std::vector<int64_t> shape, std::vector<int64_t> elements) {
    return of(ElementType::kInt64, std::move(shape), std::move(elements));
  }
  std::vector<int64_t> shape() const { return {spec.shape.begin(), spec.shape.begin() + spec.rank}; }
  template <typename T>
  std::vector<T> elements() const {
    std::vector<T> result(bytes.size() / sizeof(T));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(result)).begin());
    return result;
  }
};

// One array an input and output of the graph. Symbols take their values from the inputs; a constraint that
// does not hold and an input of another type are errors.
Result<std::vector<Array>> evaluate(const Graph& graph, std::span<const Array> inputs);

}  // namespace weir::testing
