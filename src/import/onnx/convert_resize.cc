// SPDX-License-Identifier: Apache-2.0
//
// Resize and Upsample. A scale that is close to a fraction of small numbers counts as that fraction when the
// size of the result is computed: float32 holds 0.7 as 0.69999999, and ten times that is meant to be 7.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "import/onnx/converters.h"

namespace weir::onnx_import {
namespace {

struct Fraction {
  int64_t numerator = 0;
  int64_t denominator = 1;
};

// The fraction with a denominator up to 4096 that float32 does not tell from `value`; nothing where there is
// none.
std::optional<Fraction> fraction_of(double value) {
  constexpr int64_t kMaxDenominator = 4096;
  if (!(value > 0 && value < 65536)) {
    return std::nullopt;
  }
  // Continued fraction: a0 + 1 / (a1 + 1 / (…)).
  int64_t before_numerator = 1;
  int64_t before_denominator = 0;
  int64_t numerator = static_cast<int64_t>(std::floor(value));
  int64_t denominator = 1;
  double rest = value - std::floor(value);
  while (static_cast<float>(static_cast<double>(numerator) / static_cast<double>(denominator)) !=
         static_cast<float>(value)) {
    if (rest <= 0) {
      return std::nullopt;
    }
    rest = 1 / rest;
    const double term = std::floor(rest);
    rest -= term;
    if (term > static_cast<double>(kMaxDenominator)) {
      return std::nullopt;
    }
    const int64_t next_numerator = static_cast<int64_t>(term) * numerator + before_numerator;
    const int64_t next_denominator = static_cast<int64_t>(term) * denominator + before_denominator;
    before_numerator = numerator;
    before_denominator = denominator;
    numerator = next_numerator;
    denominator = next_denominator;
    if (denominator > kMaxDenominator) {
      return std::nullopt;
    }
  }
  return Fraction{numerator, denominator};
}

Dim scaled_size(const Dim& size, double scale) {
  if (const std::optional<Fraction> fraction = fraction_of(scale)) {
    return floor_div(size * fraction->numerator, fraction->denominator);
  }
  return floor_scale(size, scale);
}

// What a Resize gives: sizes, and scales where the model says them as numbers.
struct Target {
  Dims shape;
  std::vector<double> scales;
};

std::unexpected<Status> depends_on_data(const NodeLowering& node, size_t scales) {
  return node.unsupported(
      "The scales (input {}) depend on data, and have to follow from shapes and constants.", scales);
}

Result<Target> target_of_scales(NodeLowering& node, const Known& scales, std::span<const int64_t> axes) {
  Target target{node.shape(0), std::vector<double>(node.shape(0).size(), 1.0)};
  if (scales.elements.size() != axes.size()) {
    return node.wrong("The node has ({}) scales, and takes one for each of ({}) axes.",
                      scales.elements.size(), axes.size());
  }
  bool numbers = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    const Scalar& scale = scales.elements[i];
    const Dim& size = node.shape(0)[axis];
    if (!scale.real) {
      numbers = false;
      target.shape[axis] = floor_div(size * scale.numerator, scale.denominator);
      continue;
    }
    if (!(*scale.real > 0) || !std::isfinite(*scale.real)) {
      return node.wrong("The scale of axis ({}) is ({}), and takes a number above 0.", axis, *scale.real);
    }
    target.scales[axis] = *scale.real;
    target.shape[axis] = scaled_size(size, *scale.real);
  }
  if (!numbers) {
    target.scales.clear();
  }
  return target;
}

Result<Target> target_of_sizes(NodeLowering& node, const Dims& sizes, std::span<const int64_t> axes) {
  Target target{node.shape(0), {}};
  if (sizes.size() != axes.size()) {
    return node.wrong("The node has ({}) sizes, and takes one for each of ({}) axes.", sizes.size(),
                      axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (sizes[i].is_constant() && sizes[i].constant() < 1) {
      return node.wrong("The size of axis ({}) is ({}), and (1) is the least.", axes[i], sizes[i].constant());
    }
    target.shape[static_cast<size_t>(axes[i])] = sizes[i];
  }
  return target;
}

Result<void> emit_resize(NodeLowering& node, ResizeAttributes attributes, Target target) {
  if (target.shape == node.shape(0) && std::ranges::all_of(target.scales, [](double s) { return s == 1; })) {
    node.alias_input(0, 0);
    return {};
  }
  attributes.scales = std::move(target.scales);
  WEIR_ASSIGN(const ValueId x, node.value(0));
  WEIR_ASSIGN(const ValueId y, node.emit_as(Op::kResize, std::move(attributes), {x},
                                            {node.element_type(0), std::move(target.shape), {}}));
  node.set_output(0, y);
  return {};
}

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

template <typename T, size_t N>
const T* find_named(const std::array<Named<T>, N>& names, std::string_view name) {
  for (const Named<T>& entry : names) {
    if (entry.name == name) {
      return &entry.value;
    }
  }
  return nullptr;
}

constexpr std::array<Named<ResizeMode>, 4> kModes = {{{"nearest", ResizeMode::kNearest},
                                                      {"linear", ResizeMode::kLinear},
                                                      {"bilinear", ResizeMode::kLinear},
                                                      {"cubic", ResizeMode::kCubic}}};
constexpr std::array<Named<CoordinateMode>, 5> kCoordinates = {
    {{"half_pixel", CoordinateMode::kHalfPixel},
     {"pytorch_half_pixel", CoordinateMode::kPytorchHalfPixel},
     {"align_corners", CoordinateMode::kAlignCorners},
     {"asymmetric", CoordinateMode::kAsymmetric},
     {"half_pixel_symmetric", CoordinateMode::kHalfPixelSymmetric}}};
constexpr std::array<Named<NearestMode>, 4> kNearest = {
    {{"round_prefer_floor", NearestMode::kRoundPreferFloor},
     {"round_prefer_ceil", NearestMode::kRoundPreferCeil},
     {"floor", NearestMode::kFloor},
     {"ceil", NearestMode::kCeil}}};

// Upsample, and Resize of version 10: asymmetric coordinates. Nearest rounds down where it enlarges and up
// where it shrinks, as runtimes do that predate the attribute.
Result<void> convert_upsample(NodeLowering& node) {
  WEIR_ASSIGN(const std::string mode, node.text("mode", "nearest"));
  const ResizeMode* resize_mode = find_named(kModes, mode);
  if (resize_mode == nullptr || *resize_mode == ResizeMode::kCubic) {
    return node.wrong("Attribute 'mode' is ({}), and takes nearest or linear.", mode);
  }
  Known scales;
  if (node.version() < 9) {
    WEIR_TRY(node.require_inputs(1, 1));
    WEIR_TRY(node.require_attribute("scales"));
    WEIR_ASSIGN(const std::optional<std::vector<float>> declared, node.reals("scales"));
    for (float scale : declared.value_or(std::vector<float>())) {
      scales.elements.push_back(Scalar::number(static_cast<double>(scale)));
    }
  } else {
    WEIR_TRY(node.require_inputs(2, 2));
    const Known* known = node.known(1);
    if (known == nullptr) {
      return depends_on_data(node, 1);
    }
    scales = *known;
  }
  std::vector<int64_t> axes(static_cast<size_t>(node.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  WEIR_ASSIGN(Target target, target_of_scales(node, scales, axes));
  ResizeAttributes attributes;
  attributes.mode = *resize_mode;
  attributes.coordinates = CoordinateMode::kAsymmetric;
  const bool enlarges = std::ranges::any_of(target.scales, [](double scale) { return scale > 1; });
  const bool shrinks = std::ranges::any_of(target.scales, [](double scale) { return scale < 1; });
  if (attributes.mode == ResizeMode::kNearest && target.scales.empty()) {
    return node.unsupported(
        "The scales follow from dimensions, and nearest ones that are numbers are supported.");
  }
  if (attributes.mode == ResizeMode::kNearest && enlarges && shrinks) {
    return node.unsupported(
        "The scales ({}) both enlarge and shrink, and nearest ones that do one of both are supported.",
        fmt::join(target.scales, ", "));
  }
  attributes.nearest = shrinks ? NearestMode::kCeil : NearestMode::kFloor;
  return emit_resize(node, std::move(attributes), std::move(target));
}

Result<ResizeAttributes> read_resize_attributes(NodeLowering& node) {
  ResizeAttributes attributes;
  WEIR_ASSIGN(const std::string mode, node.text("mode", "nearest"));
  WEIR_ASSIGN(const std::string coordinates, node.text("coordinate_transformation_mode", "half_pixel"));
  WEIR_ASSIGN(const std::string nearest, node.text("nearest_mode", "round_prefer_floor"));
  WEIR_ASSIGN(const std::string policy, node.text("keep_aspect_ratio_policy", "stretch"));
  WEIR_ASSIGN(const int64_t antialias, node.integer("antialias", 0));
  WEIR_ASSIGN(const int64_t exclude_outside, node.integer("exclude_outside", 0));
  WEIR_ASSIGN(attributes.cubic_coefficient, node.finite("cubic_coeff_a", -0.75));
  const ResizeMode* resize_mode = find_named(kModes, mode);
  const CoordinateMode* coordinate_mode = find_named(kCoordinates, coordinates);
  const NearestMode* nearest_mode = find_named(kNearest, nearest);
  if (resize_mode == nullptr) {
    return node.unsupported("Resize has mode ({}), and nearest, linear and cubic are supported.", mode);
  }
  if (coordinate_mode == nullptr) {
    return node.unsupported(
        "Resize has coordinate_transformation_mode ({}), and half_pixel, pytorch_half_pixel, "
        "half_pixel_symmetric, align_corners and asymmetric are supported.",
        coordinates);
  }
  if (nearest_mode == nullptr) {
    return node.unsupported(
        "Resize has nearest_mode ({}), and round_prefer_floor, round_prefer_ceil, floor and ceil are "
        "supported.",
        nearest);
  }
  if (antialias != 0 || policy != "stretch") {
    return node.unsupported(
        "Resize has antialias ({}) and keep_aspect_ratio_policy ({}), and (0) and (stretch) are supported.",
        antialias, policy);
  }
  attributes.mode = *resize_mode;
  attributes.coordinates = *coordinate_mode;
  attributes.nearest = *nearest_mode;
  attributes.exclude_outside = exclude_outside != 0;
  return attributes;
}

Result<void> convert_resize(NodeLowering& node) {
  WEIR_TRY(node.require_inputs(1, 4));
  WEIR_ASSIGN(ResizeAttributes attributes, read_resize_attributes(node));
  WEIR_ASSIGN(const std::optional<std::vector<int64_t>> declared, node.integers("axes"));
  std::vector<int64_t> axes;
  if (declared) {
    WEIR_TRY(node.normal_axes(*declared, node.rank(0)));
    for (int64_t axis : *declared) {
      WEIR_ASSIGN(axes.emplace_back(), node.normal_axis(axis, node.rank(0)));
    }
  } else {
    axes.resize(static_cast<size_t>(node.rank(0)));
    std::iota(axes.begin(), axes.end(), 0);
  }
  // An empty tensor stands for an absent one.
  const auto given = [&node](size_t i) {
    return node.has(i) && !node.type(i).element_count().is_constant(0);
  };
  if (given(3)) {
    WEIR_ASSIGN(const Dims sizes, node.dims(3, "sizes"));
    WEIR_ASSIGN(Target target, target_of_sizes(node, sizes, axes));
    return emit_resize(node, std::move(attributes), std::move(target));
  }
  if (!given(2)) {
    return node.wrong("The node has neither scales (input 2) nor sizes (input 3), and takes one of them.");
  }
  const Known* scales = node.known(2);
  if (scales == nullptr) {
    return depends_on_data(node, 2);
  }
  WEIR_ASSIGN(Target target, target_of_scales(node, *scales, axes));
  return emit_resize(node, std::move(attributes), std::move(target));
}

constexpr auto kConverters = std::to_array<Converter>({
    {"", "Resize", 10, convert_upsample},
    {"", "Resize", 11, convert_resize},
    {"", "Upsample", 7, convert_upsample},
});

}  // namespace

std::span<const Converter> resize_converters() {
  return kConverters;
}

}  // namespace weir::onnx_import
