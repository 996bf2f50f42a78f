// SPDX-License-Identifier: Apache-2.0
//
// Arranging and filling the operands of cases, and how close results must be.
#include "kernels/testing/op_cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/reference/reference.h"
#include "kernels/reference/tile_interpreter.h"

namespace weir::testing {
namespace {

// Strides of `spec`'s axes laid out in `order`, outermost first, `step` apart and with `gap` elements after
// each run of the innermost axis.
TensorSpec laid_out(const TensorSpec& spec, const std::vector<int>& order, int64_t step, int64_t gap) {
  TensorSpec result = spec;
  int64_t stride = step;
  for (size_t i = order.size(); i-- > 0;) {
    result.strides[static_cast<size_t>(order[i])] = stride;
    stride *= std::max<int64_t>(spec.shape[static_cast<size_t>(order[i])], 1);
    stride += i + 1 == order.size() ? gap : 0;
  }
  return result;
}

std::vector<int> row_major(int rank) {
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) {
    order.push_back(i);
  }
  return order;
}

std::vector<int> channels_last(int rank) {
  std::vector<int> order = row_major(rank);
  if (rank >= 3) {
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  }
  return order;
}

}  // namespace

std::string_view to_string(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::kDense:
      return "dense";
    case Arrangement::kChannelsLast:
      return "channels_last";
    case Arrangement::kSliced:
      return "sliced";
    case Arrangement::kStrided:
      return "strided";
    case Arrangement::kBroadcast:
      return "broadcast";
    case Arrangement::kTransposed:
      return "transposed";
  }
  return "invalid";
}

bool satisfies(const TensorSpec& spec, LayoutRule rule) {
  const auto has_unit_stride = [&](int axis) {
    return axis < 0 || axis >= spec.rank || spec.strides[axis] == 1 || spec.shape[axis] <= 1;
  };
  switch (rule) {
    case LayoutRule::kAny:
      return true;
    case LayoutRule::kRowMajor:
      return spec.is_dense_row_major();
    case LayoutRule::kInnerDense:
      return has_unit_stride(spec.rank - 1);
    case LayoutRule::kChannelsDense:
      return has_unit_stride(1);
  }
  return false;
}

TensorSpec arrange(const TensorSpec& spec, Arrangement arrangement, LayoutRule rule, bool is_output) {
  const int rank = spec.rank;
  if (rank <= 0 || rule == LayoutRule::kRowMajor) {
    return spec;
  }
  const bool channels = rule == LayoutRule::kChannelsDense && rank >= 2;
  const std::vector<int> plain = channels ? channels_last(rank) : row_major(rank);
  TensorSpec result = laid_out(spec, plain, 1, 0);
  switch (arrangement) {
    case Arrangement::kDense:
      break;
    case Arrangement::kChannelsLast:
      result = laid_out(spec, channels_last(rank), 1, 0);
      break;
    case Arrangement::kSliced:
      result = laid_out(spec, plain, 1, 3);
      break;
    case Arrangement::kStrided:
      result = laid_out(spec, plain, 2, 1);
      break;
    case Arrangement::kBroadcast:
      if (!is_output && rank >= 2) {
        result.strides[0] = 0;
      }
      break;
    case Arrangement::kTransposed: {
      std::vector<int> order = plain;
      if (rule == LayoutRule::kAny) {
        std::ranges::reverse(order);
      } else if (rank >= 3) {  // the innermost axis stays
        std::reverse(order.begin(), order.end() - 1);
      }
      result = laid_out(spec, order, 1, 0);
      break;
    }
  }
  // What the rule forbids falls back to the plain order.
  return satisfies(result, rule) ? result : laid_out(spec, plain, 1, 0);
}

void fill(const TensorSpec& spec, const Values& values, uint32_t seed, std::byte* data) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 12> kSpecials = {std::numeric_limits<float>::quiet_NaN(),
                                               kInfinity,
                                               -kInfinity,
                                               0.0f,
                                               -0.0f,
                                               89.0f,
                                               -89.0f,
                                               -104.0f,
                                               3e38f,
                                               -3e38f,
                                               1e-37f,
                                               -1e-30f};
  std::minstd_rand random(seed);
  const double span = values.high - values.low;
  reference::Index index{};
  const int64_t count = spec.element_count();
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(random() - 1) / 2147483646.0;  // [0, 1)
    reference::Scalar scalar;
    scalar.real = values.low + span * unit;
    scalar.integer = static_cast<int64_t>(std::floor(scalar.real));
    if (values.specials && i % 3 == 0) {
      scalar.real = static_cast<double>(kSpecials[static_cast<size_t>(i / 3) % kSpecials.size()]);
    }
    if (values.minus_infinity_every != 0 && (i + 1) % values.minus_infinity_every == 0) {
      scalar.real = -std::numeric_limits<double>::infinity();
    }
    reference::store(spec.type, data, reference::offset_of(index, spec.strides, spec.rank), scalar);
    reference::next_element(index, reference::shape_of(spec));
  }
}

void copy_elements(const TensorView& source, const TensorView& target) {
  const int64_t width = bit_width(source.type) / 8;
  const int64_t count = source.element_count();
  reference::Index index{};
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(target.data + reference::offset_of(index, target.strides, target.rank) * width,
                source.data + reference::offset_of(index, source.strides, source.rank) * width,
                static_cast<size_t>(width));
    reference::next_element(index, std::span(source.shape).first(static_cast<size_t>(source.rank)));
  }
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  add_convolution_cases(cases);
  add_matrix_cases(cases);
  add_elementwise_cases(cases);
  add_window_cases(cases);
  add_row_cases(cases);
  add_movement_cases(cases);
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].seed = static_cast<uint32_t>(i) + 1;
  }
  return cases;
}

std::vector<OpCase> op_cases(Op op) {
  std::vector<OpCase> cases = op_cases();
  std::erase_if(cases, [op](const OpCase& test) { return test.op != op; });
  return cases;
}

Tolerance tolerance_of(const OpCase& test) {
  // Moving elements, and choosing among them, is exact; so are integers.
  if (!test.outputs.empty() && !is_floating_point(test.outputs[0].spec.type)) {
    return {0, 0};
  }
  constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
  switch (test.op) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kMatMul: {
      // n products of magnitude 1/√n, added in single precision in an unknown order: the rounding errors of n
      // partial sums of magnitude up to 1 add up like a random walk, and an epilogue scales them by up to 4.
      const TensorSpec& x = test.inputs[0].spec;
      const TensorSpec& w = test.inputs[1].spec;
      const int64_t terms = test.op == Op::kMatMul ? x.shape[x.rank - 1]
                            : test.op == Op::kConv ? w.element_count() / std::max<int64_t>(w.shape[0], 1)
                                                   : w.element_count() / std::max<int64_t>(w.shape[1], 1);
      return {4 * kEpsilon * (4 + std::sqrt(static_cast<double>(terms))), 16 * kEpsilon};
    }
    case Op::kLstm:
      // Errors of the gates' sums and of the approximations of sigmoid and tanh go round through the state,
      // whose gates damp them.
      return {2e-5, 1e-5};
    case Op::kElementwise:
      // A few units in the last place for each approximated function and each of a chain's operations.
      return {4 * kEpsilon, 32 * kEpsilon};
    case Op::kReduce: {
      const auto kind = std::get<ReduceAttributes>(test.attributes).kind;
      if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
        return {0, 0};
      }
      // n terms of magnitude 1 have partial sums of about √n, of which n roundings add up like a random walk.
      const int64_t outputs = std::max<int64_t>(test.outputs[0].spec.element_count(), 1);
      const int64_t terms = test.inputs[0].spec.element_count() / outputs;
      return {kEpsilon * (4 + (kind == ReduceKind::kSum ? static_cast<double>(terms) / 2 : 0)),
              64 * kEpsilon};
    }
    case Op::kAveragePool:
    case Op::kSoftmax:
      return {4 * kEpsilon, 64 * kEpsilon};
    case Op::kLayerNormalization:
      // The difference from the mean cancels.
      return {32 * kEpsilon, 64 * kEpsilon};
    case Op::kResize:
      return std::get<ResizeAttributes>(test.attributes).mode == ResizeMode::kNearest
                 ? Tolerance{0, 0}
                 : Tolerance{8 * kEpsilon, 16 * kEpsilon};
    default:
      return {0, 0};
  }
}

}  // namespace weir::testing
