// SPDX-License-Identifier: Apache-2.0
//
// The table of converters: how each ONNX operator becomes operators of Weir. One function an operator, or a
// family of them; a family lies in a file of its own and lists itself here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/onnx/lowering.h"
#include "op/custom_operator.h"

namespace weir::onnx_import {

using Convert = Result<void> (*)(NodeLowering& node);

struct Converter {
  std::string_view domain;  // "" is ONNX's own
  std::string_view op;
  int64_t since;  // the first version of the operator set that it holds for
  Convert convert;
};

// The oldest and newest version of ONNX's own operator set that the converters know.
inline constexpr int64_t kOldestOpset = 7;
inline constexpr int64_t kNewestOpset = 28;

std::span<const Converter> elementwise_converters();    // Add, Relu, Cast, Where, …
std::span<const Converter> activation_converters();     // Gelu, Elu, LeakyRelu, …
std::span<const Converter> convolution_converters();    // Conv, ConvTranspose, pools
std::span<const Converter> product_converters();        // MatMul, Gemm, LSTM
std::span<const Converter> normalisation_converters();  // BatchNormalization, Softmax, reductions, …
std::span<const Converter> shape_converters();          // Reshape, Transpose, Expand, Shape, Constant, …
std::span<const Converter> selection_converters();      // Slice, Split, Gather, Concat, Pad
std::span<const Converter> composed_converters();       // LogSoftmax, Tile, …
std::span<const Converter> resize_converters();         // Resize, Upsample

// What reductions share: which axes, and whether they stay.
struct Reduction {
  std::vector<int64_t> axes;  // sorted; empty: the input as it is
  bool keep_dims = true;
};
// Axes were an attribute and became an input: for ReduceSum at version 13, for the others at 18.
Result<Reduction> read_reduction(NodeLowering& node);
// What normalisations compute in: float32, in whatever type their tensors are.
Result<void> require_stash_float32(NodeLowering& node);

// A node of a registered operator, with all attributes; what it computes is not looked into.
Result<void> convert_custom(NodeLowering& node, std::string_view domain,
                            const std::shared_ptr<const CustomOperator>& op);

// The converter of an operator at a version; null where there is none.
const Converter* find_converter(std::string_view domain, std::string_view op, int64_t version);

}  // namespace weir::onnx_import
