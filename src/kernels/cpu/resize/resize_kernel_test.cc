// SPDX-License-Identifier: Apache-2.0
//
// Resize: every coordinate mode, up and down, any order of axes.
#include "kernels/cpu/kernel_testing.h"
#include "kernels/resize_coordinates.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr Tolerance kClose = {.relative = 1e-5, .absolute = 2e-6};

void check(const ResizeAttributes& attributes, const std::vector<int64_t>& from,
           const std::vector<int64_t>& to, ElementType type = kF32) {
  std::vector<int> row_major(from.size());
  std::iota(row_major.begin(), row_major.end(), 0);
  std::vector<int> last = {0};
  for (size_t i = 2; i < from.size(); ++i) last.push_back(static_cast<int>(i));
  last.push_back(1);
  for (const auto& x : {row_major, last}) {
    for (const auto& y : {row_major, last}) {
      for (int64_t gap : {0, 2}) {
        KernelCase(Op::kResize, attributes)
            .input(with_gap(make_spec(type, from, x), gap))
            .output(with_gap(make_spec(type, to, y), gap))
            .check(kClose);
      }
    }
  }
}

TEST(Resize, ModesAndCoordinates) {
  for (ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear}) {
    for (CoordinateMode coordinates :
         {CoordinateMode::kHalfPixel, CoordinateMode::kPytorchHalfPixel, CoordinateMode::kAlignCorners,
          CoordinateMode::kAsymmetric, CoordinateMode::kHalfPixelSymmetric}) {
      for (NearestMode nearest : {NearestMode::kRoundPreferFloor, NearestMode::kRoundPreferCeil,
                                  NearestMode::kFloor, NearestMode::kCeil}) {
        if (mode == ResizeMode::kLinear && nearest != NearestMode::kFloor) continue;
        ResizeAttributes attributes;
        attributes.mode = mode;
        attributes.coordinates = coordinates;
        attributes.nearest = nearest;
        check(attributes, {2, 19, 5, 7}, {2, 19, 10, 14});
        check(attributes, {1, 5, 9, 8}, {1, 5, 4, 13});
        check(attributes, {1, 33, 6, 5}, {1, 33, 1, 17});
      }
    }
  }
}

TEST(Resize, DoublesLikeADetector) {
  ResizeAttributes attributes;
  attributes.coordinates = CoordinateMode::kAsymmetric;
  attributes.nearest = NearestMode::kFloor;
  attributes.scales = {1, 1, 2, 2};
  for (int64_t channels : {1, 16, 67}) check(attributes, {1, channels, 20, 23}, {1, channels, 40, 46});
}

TEST(Resize, OneAxisAndOtherTypes) {
  ResizeAttributes attributes;
  check(attributes, {2, 9, 31}, {2, 9, 50});
  attributes.mode = ResizeMode::kLinear;
  check(attributes, {2, 9, 31}, {2, 9, 50});
  check(attributes, {2, 9, 4, 6}, {2, 9, 4, 15});
  check(attributes, {2, 9, 4, 6}, {2, 9, 7, 6});
  attributes.mode = ResizeMode::kNearest;
  for (ElementType type : {ElementType::kUint8, ElementType::kInt16, ElementType::kInt64}) {
    check(attributes, {1, 18, 5, 6}, {1, 18, 11, 9}, type);
  }
}

TEST(Resize, LargeImages) {
  ResizeAttributes attributes;
  attributes.mode = ResizeMode::kLinear;
  check(attributes, {1, 3, 97, 103}, {1, 3, 224, 160});
}

// Single precision rounds extents above 2^24, and a scale may be so small that a coordinate is infinite or no
// number: what is read lies inside all the same.
TEST(Resize, CoordinatesStayInside) {
  constexpr int64_t kExtent = (int64_t{1} << 24) + 4;
  EXPECT_EQ(resize_linear(1e9f, kExtent).low, kExtent - 1);
  EXPECT_EQ(resize_linear(1e9f, kExtent).high, kExtent - 1);
  for (const float coordinate : {INFINITY, 1e30f}) {
    EXPECT_EQ(resize_linear(coordinate, 7).low, 6);
    for (const NearestMode mode : {NearestMode::kRoundPreferFloor, NearestMode::kRoundPreferCeil,
                                   NearestMode::kFloor, NearestMode::kCeil}) {
      EXPECT_EQ(resize_nearest(mode, coordinate, 7), 6);
      EXPECT_EQ(resize_nearest(mode, -coordinate, 7), 0);
    }
  }
  const LinearTaps taps = resize_linear(NAN, 7);
  EXPECT_EQ(taps.low, 0);
  EXPECT_EQ(taps.high, 1);
  EXPECT_EQ(taps.fraction, 0);
  EXPECT_EQ(resize_nearest(NearestMode::kFloor, NAN, 7), 0);
}

}  // namespace
}  // namespace weir
