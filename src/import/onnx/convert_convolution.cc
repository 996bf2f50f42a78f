// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pools.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

// The windows of a convolution or pool, one entry a spatial axis.
struct Windows {
  std::vector<int64_t> kernel;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilations;
  Dims begin;
  Dims end;
};

// Numbers that multiply sizes: bounded so that no product overflows.
constexpr int64_t kMaxWindow = INT32_MAX;

Dim reach_of(const Windows& windows, size_t axis) {
  return Dim(windows.dilations[axis]) * (windows.kernel[axis] - 1) + 1;
}

// As many windows as there are strides in the input, rounded up; padding makes up for what lacks, the odd one
// at the end for SAME_UPPER.
void pad_to_same(Windows& windows, const TensorType& x, bool upper) {
  for (size_t i = 0; i < windows.kernel.size(); ++i) {
    const Dim& size = x.shape[i + 2];
    const Dim count = ceil_div(size, windows.strides[i]);
    const Dim total = max((count - 1) * windows.strides[i] + reach_of(windows, i) - size, 0);
    const Dim less = floor_div(total, 2);
    windows.begin[i] = upper ? less : total - less;
    windows.end[i] = upper ? total - less : less;
  }
}

Result<Windows> read_windows(NodeLowering& node, std::vector<int64_t> kernel) {
  const TensorType& x = node.type(0);
  if (x.rank() < 3) {
    return node.wrong("Input (0) has type ({}), and takes rank 3 or more.", x.to_string());
  }
  const size_t axes = x.shape.size() - 2;
  if (!kernel.empty() && kernel.size() != axes) {
    return node.wrong("Inputs (0) and (1) have types ({}) and ({}), and take one rank.", x.to_string(),
                      node.type(1).to_string());
  }
  Windows windows;
  windows.kernel = std::move(kernel);
  if (windows.kernel.empty()) {
    WEIR_TRY(node.require_attribute("kernel_shape"));
    WEIR_ASSIGN(windows.kernel, node.integers("kernel_shape", axes, 0, 1, kMaxWindow));
  }
  WEIR_ASSIGN(windows.strides, node.integers("strides", axes, 1, 1, kMaxWindow));
  WEIR_ASSIGN(windows.dilations, node.integers("dilations", axes, 1, 1, kMaxWindow));
  WEIR_ASSIGN(const std::vector<int64_t> pads, node.integers("pads", 2 * axes, 0, 0, kMaxWindow));
  for (size_t i = 0; i < 2 * axes; ++i) {
    (i < axes ? windows.begin : windows.end).emplace_back(pads[i]);
  }
  return windows;
}

Result<std::string> read_auto_pad(NodeLowering& node) {
  WEIR_ASSIGN(std::string auto_pad, node.text("auto_pad", "NOTSET"));
  constexpr std::array<std::string_view, 5> kKnown = {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
  if (std::ranges::find(kKnown, auto_pad) == kKnown.end()) {
    return node.wrong("Attribute 'auto_pad' is ({}), and takes NOTSET, VALID, SAME_UPPER or SAME_LOWER.",
                      auto_pad);
  }
  return auto_pad;
}

// What auto_pad says, in place of pads.
Result<void> apply_auto_pad(NodeLowering& node, Windows& windows) {
  WEIR_ASSIGN(const std::string auto_pad, read_auto_pad(node));
  if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
    pad_to_same(windows, node.type(0), auto_pad == "SAME_UPPER");
  } else if (auto_pad == "VALID") {
    windows.begin.assign(windows.kernel.size(), 0);
    windows.end.assign(windows.kernel.size(), 0);
  }
  return {};
}

// The spatial sizes of the weights, which kernel_shape only repeats.
Result<std::vector<int64_t>> kernel_of_weights(NodeLowering& node) {
  const TensorType& w = node.type(1);
  if (w.rank() < 3) {
    return node.wrong("The weights have type ({}), and take rank 3 or more.", w.to_string());
  }
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < w.shape.size(); ++i) {
    if (!w.shape[i].is_constant()) {
      return node.unsupported("The weights have type ({}), and their kernel takes numbers.", w.to_string());
    }
    kernel.push_back(w.shape[i].constant());
    if (kernel.back() < 1 || kernel.back() > kMaxWindow) {
      return node.wrong("The weights have type ({}), and their kernel takes (1) to ({}) on an axis.",
                        w.to_string(), kMaxWindow);
    }
  }
  WEIR_ASSIGN(const std::optional<std::vector<int64_t>> declared, node.integers("kernel_shape"));
  if (declared && !declared->empty() && *declared != kernel) {
    return node.wrong("Attribute 'kernel_shape' is ({}), and the weights have type ({}).",
                      fmt::join(*declared, ", "), w.to_string());
  }
  return kernel;
}

Result<ConvAttributes> conv_attributes(NodeLowering& node, const Windows& windows) {
  ConvAttributes attributes;
  attributes.strides = windows.strides;
  attributes.dilations = windows.dilations;
  attributes.pads_begin = windows.begin;
  attributes.pads_end = windows.end;
  WEIR_ASSIGN(attributes.group, node.integer("group", 1, 1, kMaxWindow));
  return attributes;
}

Result<std::vector<ValueId>> conv_operands(NodeLowering& node) {
  std::vector<ValueId> operands;
  for (size_t i = 0; i < (node.has(2) ? 3U : 2U); ++i) {
    WEIR_ASSIGN(operands.emplace_back(), node.value(i));
  }
  return operands;
}

Result<void> require_conv_operands(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(2, 3));
  constexpr std::array<size_t, 3> kAll = {0, 1, 2};
  WEIR_TRY(node.require_same_type(kAll));
  return node.require_floating_point(0);
}

Result<void> convert_conv(NodeLowering& node) {
  WEIR_TRY(require_conv_operands(node));
  WEIR_ASSIGN(std::vector<int64_t> kernel, kernel_of_weights(node));
  WEIR_ASSIGN(Windows windows, read_windows(node, std::move(kernel)));
  WEIR_TRY(apply_auto_pad(node, windows));
  WEIR_ASSIGN(ConvAttributes attributes, conv_attributes(node, windows));
  WEIR_ASSIGN(std::vector<ValueId> operands, conv_operands(node));
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kConv, std::move(attributes), std::move(operands)));
  node.set_output(0, y);
  return {};
}

// Output padding lengthens the result at its end: as a pad of that side it counts negative.
Result<void> convert_conv_transpose(NodeLowering& node) {
  WEIR_TRY(require_conv_operands(node));
  WEIR_ASSIGN(std::vector<int64_t> kernel, kernel_of_weights(node));
  WEIR_ASSIGN(Windows windows, read_windows(node, std::move(kernel)));
  const size_t axes = windows.kernel.size();
  WEIR_ASSIGN(const std::vector<int64_t> output_padding,
              node.integers("output_padding", axes, 0, 0, kMaxWindow));
  WEIR_ASSIGN(const std::string auto_pad, read_auto_pad(node));
  WEIR_ASSIGN(std::optional<std::vector<int64_t>> output_shape, node.integers("output_shape"));
  if (output_shape && output_shape->size() == axes + 2) {
    output_shape->erase(output_shape->begin(), output_shape->begin() + 2);
  }
  if (output_shape && !output_shape->empty() && output_shape->size() != axes) {
    return node.wrong("Attribute 'output_shape' has ({}) elements, and takes ({}).", output_shape->size(),
                      axes);
  }
  const bool sized = output_shape && !output_shape->empty();
  if (sized) {
    WEIR_TRY(node.require_elements("output_shape", *output_shape, 0, kMaxWindow));
  }
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (auto_pad == "VALID") {
    windows.begin.assign(axes, 0);
    windows.end.assign(axes, 0);
  }
  for (size_t i = 0; i < axes; ++i) {
    if (sized || same) {
      const Dim& size = node.shape(0)[i + 2];
      const Dim wanted = sized ? Dim((*output_shape)[i]) : size * windows.strides[i];
      const Dim total = (size - 1) * windows.strides[i] + output_padding[i] + reach_of(windows, i) - wanted;
      // A result that is wanted larger than there are products for goes on at its end.
      const Dim cut = max(total, 0);
      const Dim less = floor_div(cut, 2);
      windows.begin[i] = auto_pad == "SAME_UPPER" ? less : cut - less;
      windows.end[i] = total - windows.begin[i];
    }
    windows.end[i] = windows.end[i] - output_padding[i];
  }
  WEIR_ASSIGN(ConvAttributes attributes, conv_attributes(node, windows));
  WEIR_ASSIGN(std::vector<ValueId> operands, conv_operands(node));
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kConvTranspose, std::move(attributes), std::move(operands)));
  node.set_output(0, y);
  return {};
}

// The number of windows in ceil mode: one may reach past the padded input, but none begins behind the input
// and the padding before it.
Dim ceil_window_count(const Dim& size, const Windows& windows, size_t i) {
  const int64_t stride = windows.strides[i];
  const Dim reach = reach_of(windows, i);
  Dim count = ceil_div(size + windows.begin[i] + windows.end[i] - reach, stride) + 1;
  if (proves_less(reach, windows.end[i] + stride) == false) {
    return count;  // the last window begins at most at size + begin + end + stride − 1 − reach
  }
  const Dim inside = less((count - 1) * stride, size + windows.begin[i]);
  return select(inside, count, count - 1);
}

Result<void> convert_pool(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  WEIR_ASSIGN(Windows windows, read_windows(node, {}));
  WEIR_TRY(apply_auto_pad(node, windows));
  const bool max_pool = node.proto().op_type() == "MaxPool";
  if (!max_pool) {
    WEIR_TRY(node.require_floating_point(0));
  }
  WEIR_ASSIGN(const int64_t ceil_mode, node.integer("ceil_mode", 0));
  WEIR_ASSIGN(const int64_t count_include_pad, node.integer("count_include_pad", 0));
  PoolAttributes attributes;
  attributes.kernel = windows.kernel;
  attributes.strides = windows.strides;
  attributes.dilations = windows.dilations;
  attributes.pads_begin = windows.begin;
  attributes.pads_end = windows.end;
  attributes.count_include_pad = !max_pool && count_include_pad != 0;
  WEIR_ASSIGN(const ValueId x, node.value(0));
  const Op op = max_pool ? Op::kMaxPool : Op::kAveragePool;
  if (ceil_mode == 0) {
    WEIR_ASSIGN(const ValueId y, node.emit(op, std::move(attributes), {x}));
    node.set_output(0, y);
    return {};
  }
  TensorType wanted{node.element_type(0), {node.shape(0)[0], node.shape(0)[1]}, {}};
  for (size_t i = 0; i < windows.kernel.size(); ++i) {
    wanted.shape.push_back(ceil_window_count(node.shape(0)[i + 2], windows, i));
  }
  WEIR_ASSIGN(const ValueId y, node.emit_as(op, std::move(attributes), {x}, std::move(wanted)));
  node.set_output(0, y);
  return {};
}

Result<void> convert_global_pool(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 1));
  if (node.rank(0) < 3) {
    return node.wrong("Input (0) has type ({}), and takes rank 3 or more.", node.type(0).to_string());
  }
  ReduceAttributes attributes;
  attributes.kind = node.proto().op_type() == "GlobalMaxPool" ? ReduceKind::kMax : ReduceKind::kMean;
  if (attributes.kind == ReduceKind::kMean) {
    WEIR_TRY(node.require_floating_point(0));
  }
  for (int64_t axis = 2; axis < node.rank(0); ++axis) {
    attributes.axes.push_back(axis);
  }
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit(Op::kReduce, std::move(attributes), {x}));
  node.set_output(0, y);
  return {};
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "AveragePool", 7, convert_pool},
    {"", "Conv", 1, convert_conv},
    {"", "ConvTranspose", 1, convert_conv_transpose},
    {"", "GlobalAveragePool", 1, convert_global_pool},
    {"", "GlobalMaxPool", 1, convert_global_pool},
    {"", "MaxPool", 1, convert_pool},
});

}  // namespace

std::span<const Converter> convolution_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
