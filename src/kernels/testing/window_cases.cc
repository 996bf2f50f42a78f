// SPDX-License-Identifier: Apache-2.0
//
// Cases of pools, Resize and Pad.
#include "kernels/testing/case_builder.h"

namespace weir::testing {
namespace {

struct Pool {
  Shape x;
  Shape kernel;
  Shape strides;
  Shape pads_begin;
  Shape pads_end;
  bool ceil = false;
  Shape dilations = {};
  bool count_include_pad = false;
};

void add(std::vector<OpCase>& cases, Op op, const Pool& pool, std::vector<Arrangement> arrangements) {
  const Shape dilations = pool.dilations.empty() ? Shape(pool.kernel.size(), 1) : pool.dilations;
  Shape y = {pool.x[0], pool.x[1]};
  for (size_t i = 0; i < pool.kernel.size(); ++i) {
    const int64_t room =
        pool.x[2 + i] + pool.pads_begin[i] + pool.pads_end[i] - (pool.kernel[i] - 1) * dilations[i] - 1;
    int64_t extent = (pool.ceil ? room + pool.strides[i] - 1 : room) / pool.strides[i] + 1;
    // A window that would begin in the padding at the end is left out.
    if (pool.ceil && (extent - 1) * pool.strides[i] >= pool.x[2 + i] + pool.pads_begin[i]) {
      --extent;
    }
    y.push_back(extent);
  }
  OpCase test;
  test.op = op;
  PoolAttributes attributes;
  attributes.kernel = pool.kernel;
  attributes.strides = pool.strides;
  attributes.dilations = dilations;
  attributes.pads_begin = {pool.pads_begin.begin(), pool.pads_begin.end()};
  attributes.pads_end = {pool.pads_end.begin(), pool.pads_end.end()};
  attributes.count_include_pad = pool.count_include_pad;
  test.attributes = attributes;
  test.inputs = {operand(kF32, pool.x)};
  test.outputs = {operand(kF32, y)};
  test.arrangements = std::move(arrangements);
  test.name = std::string(op == Op::kMaxPool ? "max_pool_" : "average_pool_") + text_of(pool.x) + "_k" +
              text_of(pool.kernel) + "_s" + text_of(pool.strides) + "_p" + text_of(pool.pads_begin) + "_" +
              text_of(pool.pads_end) + "_d" + text_of(dilations) + (pool.ceil ? "_ceil" : "") +
              (pool.count_include_pad ? "_count" : "");
  cases.push_back(std::move(test));
}

struct Resize {
  Shape x;
  Shape y;
  ResizeMode mode;
  CoordinateMode coordinates;
  NearestMode nearest = NearestMode::kRoundPreferFloor;
  std::vector<double> scales = {};
  bool exclude_outside = false;
};

void add(std::vector<OpCase>& cases, const Resize& resize, std::vector<Arrangement> arrangements,
         ElementType type = kF32) {
  OpCase test;
  test.op = Op::kResize;
  ResizeAttributes attributes;
  attributes.mode = resize.mode;
  attributes.coordinates = resize.coordinates;
  attributes.nearest = resize.nearest;
  attributes.scales = resize.scales;
  attributes.exclude_outside = resize.exclude_outside;
  test.attributes = attributes;
  const Values values = is_floating_point(type) ? Values{} : Values{0, 255};
  test.inputs = {operand(type, resize.x, values)};
  test.outputs = {operand(type, resize.y)};
  test.arrangements = std::move(arrangements);
  test.name = "resize_" + text_of(resize.x) + "_" + text_of(resize.y) + "_m" +
              std::to_string(static_cast<int>(resize.mode)) + "_c" +
              std::to_string(static_cast<int>(resize.coordinates)) + "_n" +
              std::to_string(static_cast<int>(resize.nearest)) + (resize.scales.empty() ? "" : "_scales") +
              (resize.exclude_outside ? "_exclude" : "") + (type == kF32 ? "" : "_uint8");
  cases.push_back(std::move(test));
}

void add_pad(std::vector<OpCase>& cases, PadMode mode, const Shape& x, const Shape& begin, const Shape& end,
             ElementType type, std::vector<Arrangement> arrangements) {
  OpCase test;
  test.op = Op::kPad;
  test.attributes = PadAttributes{mode, {begin.begin(), begin.end()}, {end.begin(), end.end()}, -2};
  Shape y = x;
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] += begin[i] + end[i];
  }
  test.inputs = {operand(type, x, type == kF32 ? Values{} : Values{-50, 50})};
  test.outputs = {operand(type, y)};
  test.arrangements = std::move(arrangements);
  test.name = "pad_" + text_of(x) + "_" + text_of(y) + "_m" + std::to_string(static_cast<int>(mode)) + "_" +
              std::string(weir::to_string(type));
  cases.push_back(std::move(test));
}

}  // namespace

void add_window_cases(std::vector<OpCase>& cases) {
  const std::vector<Arrangement> all = {Arrangement::kDense, Arrangement::kChannelsLast, Arrangement::kSliced,
                                        Arrangement::kStrided, Arrangement::kTransposed};
  const std::vector<Arrangement> some = {Arrangement::kDense, Arrangement::kChannelsLast};

  for (const Op op : {Op::kMaxPool, Op::kAveragePool}) {
    add(cases, op, {{1, 64, 11, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}, all);  // after a stem
    add(cases, op, {{1, 17, 8, 8}, {5, 5}, {1, 1}, {2, 2}, {2, 2}}, some);  // pyramid pooling
    add(cases, op, {{1, 24, 7, 9}, {2, 2}, {1, 1}, {0, 0}, {1, 1}}, all);   // SAME_UPPER
    add(cases, op, {{2, 5, 9, 7}, {2, 2}, {2, 2}, {0, 0}, {0, 0}}, some);
    add(cases, op, {{2, 5, 9, 7}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, true}, all);
    add(cases, op, {{1, 3, 10, 11}, {3, 3}, {2, 2}, {0, 0}, {1, 1}, true}, all);
    add(cases, op, {{1, 33, 3, 12}, {3, 2}, {3, 2}, {0, 0}, {0, 0}}, some);  // text recognition
    add(cases, op, {{1, 4, 12, 11}, {3, 2}, {1, 2}, {1, 1}, {2, 0}, false, {2, 3}}, all);
    add(cases, op, {{2, 7, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, some);
    add(cases, op, {{1, 3, 13}, {3}, {2}, {1}, {1}, true}, all);
    add(cases, op, {{1, 2, 5, 6, 7}, {2, 3, 2}, {2, 1, 2}, {0, 1, 0}, {1, 1, 1}}, some);
    add(cases, op, {{1, 5, 4, 4}, {4, 4}, {4, 4}, {0, 0}, {0, 0}}, some);
  }
  add(cases, Op::kAveragePool, {{1, 6, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, false, {}, true}, all);
  add(cases, Op::kAveragePool, {{1, 6, 9, 8}, {3, 3}, {2, 2}, {1, 0}, {1, 2}, true, {}, true}, all);
  add(cases, Op::kAveragePool, {{1, 6, 7}, {3}, {3}, {1}, {0}, true, {}, true}, some);

  // Doubling, as in feature pyramids.
  add(cases,
      {{1, 24, 5, 7},
       {1, 24, 10, 14},
       ResizeMode::kNearest,
       CoordinateMode::kAsymmetric,
       NearestMode::kFloor,
       {1, 1, 2, 2}},
      all);
  add(cases,
      {{2, 3, 4, 5},
       {2, 3, 16, 20},
       ResizeMode::kNearest,
       CoordinateMode::kAsymmetric,
       NearestMode::kFloor,
       {1, 1, 4, 4}},
      some);
  for (const CoordinateMode coordinates :
       {CoordinateMode::kHalfPixel, CoordinateMode::kPytorchHalfPixel, CoordinateMode::kAlignCorners,
        CoordinateMode::kAsymmetric, CoordinateMode::kHalfPixelSymmetric}) {
    for (const NearestMode nearest : {NearestMode::kRoundPreferFloor, NearestMode::kRoundPreferCeil,
                                      NearestMode::kFloor, NearestMode::kCeil}) {
      add(cases, {{1, 2, 5, 7}, {1, 2, 8, 4}, ResizeMode::kNearest, coordinates, nearest}, some);
    }
    for (const ResizeMode mode : {ResizeMode::kLinear, ResizeMode::kCubic}) {
      add(cases, {{1, 3, 5, 7}, {1, 3, 9, 4}, mode, coordinates}, all);
      add(cases, {{2, 2, 3, 3}, {2, 2, 7, 8}, mode, coordinates, {}, {1, 1, 2.4, 2.7}}, some);
      add(cases, {{1, 2, 4, 4}, {1, 2, 1, 6}, mode, coordinates}, some);
    }
    add(cases, {{1, 3, 6, 5}, {1, 3, 10, 9}, ResizeMode::kCubic, coordinates, {}, {}, true}, some);
  }
  add(cases, {{1, 2, 6}, {1, 2, 11}, ResizeMode::kLinear, CoordinateMode::kHalfPixel}, some);
  add(cases, {{1, 2, 3, 4, 3}, {1, 2, 5, 6, 6}, ResizeMode::kLinear, CoordinateMode::kHalfPixel}, some);
  add(cases, {{1, 1, 1, 1}, {1, 1, 3, 3}, ResizeMode::kLinear, CoordinateMode::kHalfPixel}, some);
  add(cases, {{1, 5, 4, 4}, {1, 5, 4, 4}, ResizeMode::kLinear, CoordinateMode::kHalfPixel}, some);
  add(cases, {{1, 3, 6, 6}, {1, 3, 4, 9}, ResizeMode::kNearest, CoordinateMode::kHalfPixel}, some,
      ElementType::kUint8);

  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    add_pad(cases, mode, {1, 3, 4, 5}, {0, 0, 1, 2}, {0, 0, 2, 1}, kF32, all);
    add_pad(cases, mode, {2, 576 / 8}, {0, 0}, {0, 9}, kF32, some);  // frames of sound
    add_pad(cases, mode, {5, 6}, {-1, 2}, {2, -3}, kF32, some);
    add_pad(cases, mode, {3, 4}, {2, 3}, {1, 0}, kI64, some);
  }
  add_pad(cases, PadMode::kConstant, {1, 2, 3}, {1, 0, 0}, {0, 1, 0}, ElementType::kInt8, some);
  add_pad(cases, PadMode::kConstant, {0, 3}, {1, 0}, {1, 0}, kF32, some);
  add_pad(cases, PadMode::kConstant, {2, 3, 2, 2, 3}, {1, 0, 1, 0, 1}, {0, 1, 0, 1, 0}, kF32, some);
}

}  // namespace weir::testing
