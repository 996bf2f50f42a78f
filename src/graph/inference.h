// SPDX-License-Identifier: Apache-2.0
//
// What the files of shape inference share; infer.h is the interface.
#pragma once

#include <string>
#include <utility>

#include "graph/infer.h"

namespace weir {

// One call of infer_types. Errors begin with the operator and the name of the node.
struct Inference {
  Op op;
  const Attributes& attributes;
  std::span<const TensorType* const> inputs;
  std::span<const TensorType> wanted;
  InferContext& context;

  template <typename T>
  const T& get() const {
    return std::get<T>(attributes);
  }
  bool has(size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  const TensorType& input(size_t i) const { return *inputs[i]; }

  template <typename... Args>
  [[nodiscard]] std::unexpected<Status> wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return std::unexpected(
        Status(StatusCode::kInvalidArgument, fmt::format("{} '{}' ", to_string(op), context.node) +
                                                 fmt::format(format, std::forward<Args>(args)...)));
  }

  // a = b: proved, or a constraint; an error where it cannot be. `what` ends the sentence "Conv 'c' needs …".
  Result<void> require_equal(const Dim& a, const Dim& b, std::string_view what) const;
  Result<void> require_at_least(const Dim& a, const Dim& b, std::string_view what) const;
  // Between `least` and `most` operands (most < 0: any number), operand i < `required` present.
  Result<void> operands(size_t least, int64_t most, size_t required) const;
  Result<void> check_program(const TileProgram& program) const;
  Result<void> axis_in_range(int64_t axis, int rank) const;
  Result<const TensorType*> only_wanted() const;
};

// "[2, 16, n]", for messages.
std::string shape_text(const Dims& shape);

Result<TensorType> infer_conv(const Inference& inference);
Result<TensorType> infer_conv_transpose(const Inference& inference);
Result<TensorType> infer_pool(const Inference& inference);
Result<TensorType> infer_matmul(const Inference& inference);
Result<std::vector<TensorType>> infer_lstm(const Inference& inference);
// Checks the epilogue's extra inputs (operands 3 …) against `result` and gives the type after it.
Result<TensorType> after_epilogue(const Inference& inference, TensorType result);

}  // namespace weir
