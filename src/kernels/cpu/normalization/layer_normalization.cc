// SPDX-License-Identifier: Apache-2.0
//
// Layer normalization of float32 over the last axes. Rows that are dense run in vectors: the mean, then the
// squares of the differences from it, then the result; others one element at a time in double precision. May
// run in place.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/normalization/layer_normalization.cc"
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "kernels/cpu/math-inl.h"
#include "kernels/cpu/strided.h"
#include "kernels/cpu/targets.h"

#ifndef WEIR_KERNELS_CPU_LAYER_NORMALIZATION_CONSTANTS_
#define WEIR_KERNELS_CPU_LAYER_NORMALIZATION_CONSTANTS_
namespace weir {

// Operands of the loops: x, scale, bias, y.
inline constexpr int kNormalizationOperands = 4;

struct LayerNormalizationConstants {
  StridedLoop<kNormalizationOperands> rows;   // the axes before the normalized ones
  StridedLoop<kNormalizationOperands> inner;  // the normalized ones
  bool dense = false;                         // `inner` is one axis of stride 1 for every operand
  bool has_bias = false;
  int32_t y_binding = 0;
  float epsilon = 0;
  int64_t length = 0;
  int64_t row_count = 0;
  int64_t rows_per_tile = 1;
};

}  // namespace weir
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace normalization_internal {

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

struct Sums {
  Vector first;
  Vector second;
};

// Σ (x − shift) and Σ (x − shift)², in every lane.
HWY_INLINE Sums sums_over(const float* x, int64_t length, Vector shift) {
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const Vector zero = hn::Zero(d);
  Vector total = zero;
  Vector total_squares = zero;
  // In blocks, so that the error of long rows does not grow with them.
  constexpr int64_t kBlock = 64 * 4 * kLanes;
  for (int64_t first = 0; first < length; first += kBlock) {
    const int64_t count = length - first < kBlock ? length - first : kBlock;
    const float* from = x + first;
    Vector s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    Vector q0 = zero, q1 = zero, q2 = zero, q3 = zero;
    const auto add = [&](Vector v, Vector& sum, Vector& squares) HWY_ATTR {
      const Vector difference = hn::Sub(v, shift);
      sum = hn::Add(sum, difference);
      squares = hn::MulAdd(difference, difference, squares);
    };
    int64_t i = 0;
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
      add(hn::LoadU(d, from + i), s0, q0);
      add(hn::LoadU(d, from + i + kLanes), s1, q1);
      add(hn::LoadU(d, from + i + 2 * kLanes), s2, q2);
      add(hn::LoadU(d, from + i + 3 * kLanes), s3, q3);
    }
    for (; i + kLanes <= count; i += kLanes) add(hn::LoadU(d, from + i), s0, q0);
    if (i < count) {
      // Lanes past the end hold the shift and add nothing.
      const size_t rest = static_cast<size_t>(count - i);
      add(hn::IfThenElse(hn::FirstN(d, rest), load_n(d, from + i, rest), shift), s1, q1);
    }
    total = hn::Add(total, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
    total_squares = hn::Add(total_squares, hn::Add(hn::Add(q0, q1), hn::Add(q2, q3)));
  }
  return {hn::SumOfLanes(d, total), hn::SumOfLanes(d, total_squares)};
}

// y may be x.
HWY_INLINE void dense_row(const LayerNormalizationConstants& constants, const float* x, const float* scale,
                          const float* bias, float* y) {
  const Tag d;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t length = constants.length;
  const Vector per_element = hn::Set(d, 1.0f / static_cast<float>(length));
  // The differences from a rounded mean, and from them what the mean still lacks.
  const Vector rough = hn::Mul(sums_over(x, length, hn::Zero(d)).first, per_element);
  const Sums sums = sums_over(x, length, rough);
  const Vector rest_of_mean = hn::Mul(sums.first, per_element);
  const Vector variance = hn::NegMulAdd(rest_of_mean, rest_of_mean, hn::Mul(sums.second, per_element));
  const Vector factor = hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(variance, hn::Set(d, constants.epsilon))));
  const Vector offset = hn::Neg(hn::Mul(rest_of_mean, factor));
  const auto normalize = [&](Vector v) HWY_ATTR { return hn::MulAdd(hn::Sub(v, rough), factor, offset); };
  int64_t i = 0;
  if (bias != nullptr) {
    for (; i + kLanes <= length; i += kLanes) {
      const Vector v = normalize(hn::LoadU(d, x + i));
      hn::StoreU(hn::MulAdd(v, hn::LoadU(d, scale + i), hn::LoadU(d, bias + i)), d, y + i);
    }
  } else {
    for (; i + kLanes <= length; i += kLanes) {
      const Vector v = normalize(hn::LoadU(d, x + i));
      hn::StoreU(hn::Mul(v, hn::LoadU(d, scale + i)), d, y + i);
    }
  }
  if (i < length) {
    const size_t rest = static_cast<size_t>(length - i);
    const Vector v = normalize(load_n(d, x + i, rest));
    const Vector s = load_n(d, scale + i, rest);
    store_n(bias != nullptr ? hn::MulAdd(v, s, load_n(d, bias + i, rest)) : hn::Mul(v, s), d, y + i, rest);
  }
}

HWY_INLINE void strided_row(const LayerNormalizationConstants& constants, const float* x, const float* scale,
                            const float* bias, float* y) {
  const StridedLoop<kNormalizationOperands>& inner = constants.inner;
  const auto for_each = [&](const auto& visit) HWY_ATTR {
    LoopCursor<kNormalizationOperands> cursor(inner, kNormalizationOperands, 0);
    for (int64_t i = 0; i < constants.length; ++i, cursor.next()) visit(cursor);
  };
  const double count = static_cast<double>(constants.length);
  double sum = 0;
  for_each([&](const auto& at) HWY_ATTR { sum += static_cast<double>(x[at.offset(0)]); });
  const double mean = sum / count;
  double squares = 0;
  for_each([&](const auto& at) HWY_ATTR {
    const double difference = static_cast<double>(x[at.offset(0)]) - mean;
    squares += difference * difference;
  });
  const double factor = 1 / std::sqrt(squares / count + static_cast<double>(constants.epsilon));
  for_each([&](const auto& at) HWY_ATTR {
    double value = (static_cast<double>(x[at.offset(0)]) - mean) * factor;
    value *= static_cast<double>(scale[at.offset(1)]);
    if (bias != nullptr) value += static_cast<double>(bias[at.offset(2)]);
    y[at.offset(3)] = static_cast<float>(value);
  });
}

}  // namespace normalization_internal

void layer_normalization(const CpuInvocation& invocation) {
  const auto& constants = invocation.constants_as<LayerNormalizationConstants>();
  const float* x = reinterpret_cast<const float*>(invocation.bindings[0]);
  const float* scale = reinterpret_cast<const float*>(invocation.bindings[1]);
  const float* bias = constants.has_bias ? reinterpret_cast<const float*>(invocation.bindings[2]) : nullptr;
  float* y = reinterpret_cast<float*>(invocation.bindings[static_cast<size_t>(constants.y_binding)]);
  const int64_t begin = invocation.tile_begin * constants.rows_per_tile;
  int64_t end = invocation.tile_end * constants.rows_per_tile;
  if (end > constants.row_count) end = constants.row_count;
  if (begin >= end) return;
  LoopCursor<kNormalizationOperands> cursor(constants.rows, kNormalizationOperands, begin);
  for (int64_t row = begin; row < end; ++row, cursor.next()) {
    const float* row_bias = bias == nullptr ? nullptr : bias + cursor.offset(2);
    if (constants.dense) {
      normalization_internal::dense_row(constants, x + cursor.offset(0), scale + cursor.offset(1), row_bias,
                                        y + cursor.offset(3));
    } else {
      normalization_internal::strided_row(constants, x + cursor.offset(0), scale + cursor.offset(1), row_bias,
                                          y + cursor.offset(3));
    }
  }
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {
namespace {

constexpr int64_t kTileElements = 8192;

Support supported(const OpDesc& desc) {
  if (desc.inputs.size() < 2 || desc.outputs.size() != 1 || desc.inputs[0] == nullptr ||
      desc.inputs[1] == nullptr || desc.outputs[0] == nullptr) {
    return {"an operand is missing"};
  }
  const int rank = desc.inputs[0]->rank();
  for (const TensorType* type : desc.inputs) {
    if (type == nullptr) continue;
    if (type->element_type != ElementType::kFloat32) return {"an element type is not float32"};
    if (type->rank() > rank) return {"the operands differ in rank"};
  }
  if (desc.outputs[0]->element_type != ElementType::kFloat32) return {"an element type is not float32"};
  if (desc.outputs[0]->rank() != rank ||
      std::get<LayerNormalizationAttributes>(*desc.attributes).axis >= rank) {
    return {"the axis and operands differ in rank"};
  }
  return {};
}

// A row is read whole before its first element is written, then each element again before it is written.
std::vector<InPlacePair> in_place(const OpDesc&) {
  return {{0, 0}};
}

Extent extent(const ConcreteOp& op, std::span<std::byte> target) {
  const auto& attributes = op.get<LayerNormalizationAttributes>();
  const TensorSpec& x = op.inputs[0];
  const std::span<const int64_t> shape(x.shape.data(), static_cast<size_t>(x.rank));
  LayerNormalizationConstants constants;
  constants.has_bias = op.has_input(2);
  constants.y_binding = static_cast<int32_t>(op.inputs.size());
  constants.epsilon = static_cast<float>(attributes.epsilon);
  std::array<Axes, kNormalizationOperands> strides{};
  strides[0] = x.strides;
  strides[1] = broadcast_strides(op.inputs[1], shape);
  if (constants.has_bias) strides[2] = broadcast_strides(op.inputs[2], shape);
  strides[3] = op.outputs[0].strides;
  const int axis = static_cast<int>(attributes.axis);
  constants.rows =
      make_strided_loop<kNormalizationOperands>(x.shape, axis, strides, kNormalizationOperands, 3);
  Axes inner_shape{};
  std::array<Axes, kNormalizationOperands> inner_strides{};
  for (int i = axis; i < x.rank; ++i) {
    inner_shape[i - axis] = x.shape[i];
    for (int k = 0; k < kNormalizationOperands; ++k) inner_strides[k][i - axis] = strides[k][i];
  }
  // Without a bias its strides are the scale's, so that they do not keep axes apart.
  if (!constants.has_bias) inner_strides[2] = inner_strides[1];
  constants.inner = make_strided_loop<kNormalizationOperands>(inner_shape, x.rank - axis, inner_strides,
                                                              kNormalizationOperands, 3);
  constants.length = constants.inner.count();
  constants.row_count = constants.length == 0 ? 0 : constants.rows.count();
  constants.dense = constants.inner.rank == 1;
  for (const Axes& operand : constants.inner.strides) constants.dense = constants.dense && operand[0] == 1;
  constants.rows_per_tile = std::max<int64_t>(1, kTileElements / std::max<int64_t>(constants.length, 1));
  return record(constants, ceil_div(constants.row_count, constants.rows_per_tile), target);
}

constexpr Implementation kBase = {
    .op = Op::kLayerNormalization, .supported = supported, .in_place = in_place, .extent = extent};

}  // namespace

WEIR_IMPLEMENT_EACH_ISA(LayerNormalization, "layer_normalization.rows", kBase, layer_normalization)

}  // namespace weir
#endif
