// SPDX-License-Identifier: Apache-2.0
//
// One listing of the fields of every attribute struct, shared by writing, reading, verifying and printing.
// The order of a listing is the order in program files: append, never reorder.
//
//   struct Printer { template <typename T> void operator()(std::string_view name, T& field); … };
//   fields(printer, attributes);       // Attributes may be const or not
//
// A field is an int64_t, bool, double, Dim, std::string, one of the enumerations below, a vector of int64_t,
// double, Dim or CustomAttribute, or a TileProgram.
#pragma once

#include <concepts>
#include <span>
#include <string_view>
#include <type_traits>

#include "op/op.h"

namespace weir::internal {

// Names of the enumerators, in order from 0: their number bounds what a stream may hold.
inline constexpr std::string_view kLstmDirections[] = {"forward", "reverse", "bidirectional"};
inline constexpr std::string_view kReduceKinds[] = {"mean", "sum", "max", "min"};
inline constexpr std::string_view kResizeModes[] = {"nearest", "linear", "cubic"};
inline constexpr std::string_view kCoordinateModes[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                                        "asymmetric", "half_pixel_symmetric"};
inline constexpr std::string_view kNearestModes[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                                     "ceil"};
inline constexpr std::string_view kPadModes[] = {"constant", "reflect", "edge", "wrap"};
inline constexpr std::string_view kCustomKinds[] = {"integer", "real", "text", "integers", "reals", "tensor"};

inline std::span<const std::string_view> enumerators(LstmDirection) {
  return kLstmDirections;
}
inline std::span<const std::string_view> enumerators(ReduceKind) {
  return kReduceKinds;
}
inline std::span<const std::string_view> enumerators(ResizeMode) {
  return kResizeModes;
}
inline std::span<const std::string_view> enumerators(CoordinateMode) {
  return kCoordinateModes;
}
inline std::span<const std::string_view> enumerators(NearestMode) {
  return kNearestModes;
}
inline std::span<const std::string_view> enumerators(PadMode) {
  return kPadModes;
}
inline std::span<const std::string_view> enumerators(CustomAttribute::Kind) {
  return kCustomKinds;
}

template <typename A, typename Struct>
concept MaybeConst = std::same_as<std::remove_const_t<A>, Struct>;

template <typename V>
void fields(V&, MaybeConst<NoAttributes> auto&) {}

template <typename V>
void fields(V& visit, MaybeConst<ElementwiseAttributes> auto& a) {
  visit("program", a.program);
}

template <typename V>
void fields(V& visit, MaybeConst<ConvAttributes> auto& a) {
  visit("strides", a.strides);
  visit("dilations", a.dilations);
  visit("pads_begin", a.pads_begin);
  visit("pads_end", a.pads_end);
  visit("group", a.group);
  visit("epilogue", a.epilogue);
}

template <typename V>
void fields(V& visit, MaybeConst<MatMulAttributes> auto& a) {
  visit("epilogue", a.epilogue);
}

template <typename V>
void fields(V& visit, MaybeConst<LstmAttributes> auto& a) {
  visit("direction", a.direction);
  visit("hidden_size", a.hidden_size);
}

template <typename V>
void fields(V& visit, MaybeConst<PoolAttributes> auto& a) {
  visit("kernel", a.kernel);
  visit("strides", a.strides);
  visit("dilations", a.dilations);
  visit("pads_begin", a.pads_begin);
  visit("pads_end", a.pads_end);
  visit("count_include_pad", a.count_include_pad);
}

template <typename V>
void fields(V& visit, MaybeConst<ReduceAttributes> auto& a) {
  visit("kind", a.kind);
  visit("axes", a.axes);
  visit("keep_dims", a.keep_dims);
}

template <typename V>
void fields(V& visit, MaybeConst<SoftmaxAttributes> auto& a) {
  visit("axis", a.axis);
}

template <typename V>
void fields(V& visit, MaybeConst<LayerNormalizationAttributes> auto& a) {
  visit("axis", a.axis);
  visit("epsilon", a.epsilon);
}

template <typename V>
void fields(V& visit, MaybeConst<ResizeAttributes> auto& a) {
  visit("mode", a.mode);
  visit("coordinates", a.coordinates);
  visit("nearest", a.nearest);
  visit("cubic_coefficient", a.cubic_coefficient);
  visit("exclude_outside", a.exclude_outside);
  visit("scales", a.scales);
}

template <typename V>
void fields(V& visit, MaybeConst<PadAttributes> auto& a) {
  visit("mode", a.mode);
  visit("begin", a.begin);
  visit("end", a.end);
  visit("value", a.value);
}

template <typename V>
void fields(V& visit, MaybeConst<GatherAttributes> auto& a) {
  visit("axis", a.axis);
}

template <typename V>
void fields(V& visit, MaybeConst<TransposeAttributes> auto& a) {
  visit("permutation", a.permutation);
}

template <typename V>
void fields(V& visit, MaybeConst<SliceAttributes> auto& a) {
  visit("starts", a.starts);
  visit("steps", a.steps);
}

template <typename V>
void fields(V& visit, MaybeConst<ConcatAttributes> auto& a) {
  visit("axis", a.axis);
}

template <typename V>
void fields(V& visit, MaybeConst<FillAttributes> auto& a) {
  visit("value", a.value);
}

template <typename V>
void fields(V& visit, MaybeConst<RangeAttributes> auto& a) {
  visit("start", a.start);
  visit("delta", a.delta);
}

template <typename V>
void fields(V& visit, MaybeConst<DimTensorAttributes> auto& a) {
  visit("elements", a.elements);
}

template <typename V>
void fields(V& visit, MaybeConst<CustomAttributes> auto& a) {
  visit("domain", a.domain);
  visit("name", a.name);
  visit("opset", a.opset);
  visit("version", a.version);
  visit("outputs", a.outputs);
  visit("attributes", a.attributes);
}

}  // namespace weir::internal
