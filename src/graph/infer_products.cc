// SPDX-License-Identifier: Apache-2.0
//
// Shape inference of convolutions, pools, matrix products and recurrent layers.
#include <algorithm>
#include <optional>

#include "graph/inference.h"

namespace weir {
namespace {

// ⌊(size + begin + end − (dilation·(kernel − 1) + 1)) / stride⌋ + 1
Dim window_count(const Dim& size, const Dim& kernel, int64_t stride, int64_t dilation, const Dim& begin,
                 const Dim& end) {
  const Dim reach = Dim(dilation) * (kernel - 1) + 1;
  return floor_div(size + begin + end - reach, stride) + 1;
}

// The least number of windows on an axis: an empty input may give none, any other holds the kernel.
Dim least_windows(const Dim& size) {
  return size.is_constant(0) ? 0 : 1;
}

Result<void> check_windows(const Inference& inference, size_t axes, const std::vector<int64_t>& strides,
                           const std::vector<int64_t>& dilations, const Dims& begin, const Dims& end) {
  if (strides.size() != axes || dilations.size() != axes || begin.size() != axes || end.size() != axes) {
    return inference.wrong(
        "has ({}) strides, ({}) dilations, ({}) pads before and ({}) behind, and its input has ({}) spatial "
        "axes.",
        strides.size(), dilations.size(), begin.size(), end.size(), axes);
  }
  for (size_t i = 0; i < axes; ++i) {
    if (strides[i] < 1 || dilations[i] < 1 || strides[i] > INT32_MAX || dilations[i] > INT32_MAX) {
      return inference.wrong("has stride ({}) and dilation ({}) on spatial axis ({}), and takes (1) to ({}).",
                             strides[i], dilations[i], i, INT32_MAX);
    }
  }
  return {};
}

Result<void> check_bias(const Inference& inference, const Dim& channels) {
  if (!inference.has(2)) {
    return {};
  }
  if (inference.input(2).rank() != 1) {
    return inference.wrong("has a bias of type ({}), and takes one of rank 1.",
                           inference.input(2).to_string());
  }
  return inference.require_equal(inference.input(2).shape[0], channels, "a bias as long as its channels");
}

Result<void> check_product_operands(const Inference& inference) {
  const Epilogue& epilogue = *epilogue_of(inference.attributes);
  if (epilogue.empty()) {
    return inference.operands(2, kFixedOperands, 2);
  }
  const auto count = static_cast<size_t>(kFixedOperands + std::max(epilogue.input_count() - 1, 0));
  return inference.operands(count, static_cast<int64_t>(count), 2);
}

Result<void> check_conv_operands(const Inference& inference) {
  WEIR_TRY(check_product_operands(inference));
  const TensorType& x = inference.input(0);
  const TensorType& w = inference.input(1);
  const ConvAttributes& attributes = inference.get<ConvAttributes>();
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return inference.wrong(
        "takes an input and weights of the same rank of at least 3, and has ({}) and ({}).", x.to_string(),
        w.to_string());
  }
  if (attributes.group < 1) {
    return inference.wrong("has group ({}), and (1) is the least.", attributes.group);
  }
  return check_windows(inference, x.shape.size() - 2, attributes.strides, attributes.dilations,
                       attributes.pads_begin, attributes.pads_end);
}

}  // namespace

Result<TensorType> after_epilogue(const Inference& inference, TensorType result) {
  const Epilogue& epilogue = *epilogue_of(inference.attributes);
  if (epilogue.empty()) {
    return result;
  }
  WEIR_TRY(inference.check_program(epilogue));
  if (epilogue.input_count() == 0 || epilogue.input_types()[0] != result.element_type) {
    return inference.wrong("has an epilogue that does not read its result of type ({}).", result.to_string());
  }
  for (int i = 1; i < epilogue.input_count(); ++i) {
    const size_t operand = static_cast<size_t>(kFixedOperands + i - 1);
    if (!inference.has(operand)) {
      return inference.wrong("lacks operand ({}), which its epilogue reads.", operand);
    }
    const TensorType& extra = inference.input(operand);
    if (extra.element_type != epilogue.input_types()[static_cast<size_t>(i)]) {
      return inference.wrong("has operand ({}) of type ({}), and its epilogue reads ({}).", operand,
                             extra.to_string(), to_string(epilogue.input_types()[static_cast<size_t>(i)]));
    }
    const std::array<Dims, 2> shapes = {result.shape, extra.shape};
    WEIR_ASSIGN(const Dims joined, broadcast(shapes, inference.context));
    if (joined.size() != result.shape.size()) {
      return inference.wrong("has an epilogue input of type ({}), and its result ({}) has fewer axes.",
                             extra.to_string(), result.to_string());
    }
    for (size_t axis = 0; axis < joined.size(); ++axis) {
      WEIR_TRY(inference.require_equal(joined[axis], result.shape[axis],
                                       "epilogue inputs that do not enlarge its result"));
    }
  }
  result.element_type = epilogue.result_type();
  return result;
}

Result<TensorType> infer_conv(const Inference& inference) {
  WEIR_TRY(check_conv_operands(inference));
  const TensorType& x = inference.input(0);
  const TensorType& w = inference.input(1);
  const ConvAttributes& attributes = inference.get<ConvAttributes>();
  WEIR_TRY(inference.require_equal(x.shape[1], w.shape[1] * attributes.group,
                                   "as many input channels as weights times group"));
  if (const auto m = w.shape[0].as_constant(); m && *m % attributes.group != 0) {
    return inference.wrong("has ({}) output channels, which its group ({}) does not divide.", *m,
                           attributes.group);
  }
  WEIR_TRY(check_bias(inference, w.shape[0]));
  TensorType y{x.element_type, {x.shape[0], w.shape[0]}, {}};
  for (size_t i = 0; i < attributes.strides.size(); ++i) {
    y.shape.push_back(window_count(x.shape[i + 2], w.shape[i + 2], attributes.strides[i],
                                   attributes.dilations[i], attributes.pads_begin[i],
                                   attributes.pads_end[i]));
    WEIR_TRY(inference.require_at_least(y.shape.back(), least_windows(x.shape[i + 2]),
                                        "an input at least as large as its kernel"));
  }
  return after_epilogue(inference, std::move(y));
}

Result<TensorType> infer_conv_transpose(const Inference& inference) {
  WEIR_TRY(check_conv_operands(inference));
  const TensorType& x = inference.input(0);
  const TensorType& w = inference.input(1);
  const ConvAttributes& attributes = inference.get<ConvAttributes>();
  WEIR_TRY(inference.require_equal(x.shape[1], w.shape[0], "as many input channels as weights"));
  if (const auto c = w.shape[0].as_constant(); c && *c % attributes.group != 0) {
    return inference.wrong("has ({}) input channels, which its group ({}) does not divide.", *c,
                           attributes.group);
  }
  const Dim channels = w.shape[1] * attributes.group;
  WEIR_TRY(check_bias(inference, channels));
  TensorType y{x.element_type, {x.shape[0], channels}, {}};
  for (size_t i = 0; i < attributes.strides.size(); ++i) {
    const Dim reach = Dim(attributes.dilations[i]) * (w.shape[i + 2] - 1) + 1;
    y.shape.push_back((x.shape[i + 2] - 1) * attributes.strides[i] + reach - attributes.pads_begin[i] -
                      attributes.pads_end[i]);
    WEIR_TRY(inference.require_at_least(y.shape.back(), 0, "an output of at least 0 elements an axis"));
  }
  return after_epilogue(inference, std::move(y));
}

Result<TensorType> infer_pool(const Inference& inference) {
  WEIR_TRY(inference.operands(1, 1, 1));
  const TensorType& x = inference.input(0);
  const PoolAttributes& attributes = inference.get<PoolAttributes>();
  if (x.rank() < 3) {
    return inference.wrong("takes an input of rank 3 or more, and has ({}).", x.to_string());
  }
  const size_t axes = x.shape.size() - 2;
  WEIR_TRY(check_windows(inference, axes, attributes.strides, attributes.dilations, attributes.pads_begin,
                         attributes.pads_end));
  if (attributes.kernel.size() != axes) {
    return inference.wrong("has a kernel of ({}) axes, and its input has ({}) spatial axes.",
                           attributes.kernel.size(), axes);
  }
  if (!inference.wanted.empty() && inference.wanted[0].rank() != x.rank()) {
    return inference.wrong("gives a result of rank ({}), and ({}) is asked for.", x.rank(),
                           inference.wanted[0].to_string());
  }
  TensorType y{x.element_type, {x.shape[0], x.shape[1]}, {}};
  for (size_t i = 0; i < axes; ++i) {
    if (attributes.kernel[i] < 1 || attributes.kernel[i] > INT32_MAX) {
      return inference.wrong("has a kernel of ({}) on spatial axis ({}), and takes (1) to ({}).",
                             attributes.kernel[i], i, INT32_MAX);
    }
    const Dim floor = window_count(x.shape[i + 2], attributes.kernel[i], attributes.strides[i],
                                   attributes.dilations[i], attributes.pads_begin[i], attributes.pads_end[i]);
    Dim count = floor;
    if (!inference.wanted.empty()) {
      // The ceil mode of formats gives up to one window more.
      count = inference.wanted[0].shape[i + 2];
      if (proves_equal(count, floor) != true) {
        WEIR_TRY(inference.require_at_least(count, floor, "no fewer windows than its input holds"));
        WEIR_TRY(inference.require_at_least(floor + 1, count, "no more windows than its input holds"));
      }
    }
    WEIR_TRY(inference.require_at_least(count, least_windows(x.shape[i + 2]),
                                        "an input at least as large as its kernel"));
    y.shape.push_back(std::move(count));
  }
  return y;
}

Result<TensorType> infer_matmul(const Inference& inference) {
  WEIR_TRY(check_product_operands(inference));
  const TensorType& a = inference.input(0);
  const TensorType& b = inference.input(1);
  if (a.rank() < 2 || b.rank() < 2) {
    return inference.wrong("takes operands of rank 2 or more, and has ({}) and ({}).", a.to_string(),
                           b.to_string());
  }
  const auto a_matrix = a.shape.end() - 2;
  const auto b_matrix = b.shape.end() - 2;
  WEIR_TRY(inference.require_equal(a_matrix[1], b_matrix[0], "as many columns of a as rows of b"));
  WEIR_TRY(check_bias(inference, b_matrix[1]));
  const std::array<Dims, 2> leading = {Dims(a.shape.begin(), a_matrix), Dims(b.shape.begin(), b_matrix)};
  WEIR_ASSIGN(Dims shape, broadcast(leading, inference.context));
  shape.push_back(a_matrix[0]);
  shape.push_back(b_matrix[1]);
  return after_epilogue(inference, {a.element_type, std::move(shape), {}});
}

Result<std::vector<TensorType>> infer_lstm(const Inference& inference) {
  WEIR_TRY(inference.operands(3, 7, 3));
  const LstmAttributes& attributes = inference.get<LstmAttributes>();
  const int64_t hidden = attributes.hidden_size;
  if (hidden < 1 || hidden > INT32_MAX) {
    return inference.wrong("has a hidden size ({}), and takes (1) to ({}).", hidden, INT32_MAX);
  }
  const int64_t directions = attributes.direction == LstmDirection::kBidirectional ? 2 : 1;
  const TensorType& x = inference.input(0);
  if (x.rank() != 3) {
    return inference.wrong("takes an input of rank 3, and has ({}).", x.to_string());
  }
  const Dim steps = x.shape[0];
  const Dim batch = x.shape[1];
  struct Expected {
    size_t operand;
    std::string_view name;
    Dims shape;
  };
  const std::array<Expected, 6> operands = {{{1, "weights", {directions, 4 * hidden, x.shape[2]}},
                                             {2, "recurrent weights", {directions, 4 * hidden, hidden}},
                                             {3, "a bias", {directions, 8 * hidden}},
                                             {4, "lengths", {batch}},
                                             {5, "an initial hidden state", {directions, batch, hidden}},
                                             {6, "an initial cell state", {directions, batch, hidden}}}};
  for (const Expected& expected : operands) {
    if (!inference.has(expected.operand)) {
      continue;
    }
    const TensorType& type = inference.input(expected.operand);
    if (type.shape.size() != expected.shape.size()) {
      return inference.wrong("takes {} of rank ({}), and has ({}).", expected.name, expected.shape.size(),
                             type.to_string());
    }
    const std::string what = fmt::format("{} of shape {}", expected.name, shape_text(expected.shape));
    for (size_t i = 0; i < expected.shape.size(); ++i) {
      WEIR_TRY(inference.require_equal(type.shape[i], expected.shape[i], what));
    }
  }
  const Dims state = {directions, batch, hidden};
  return std::vector<TensorType>{{x.element_type, {steps, directions, batch, hidden}, {}},
                                 {x.element_type, state, {}},
                                 {x.element_type, state, {}}};
}

}  // namespace weir
