// SPDX-License-Identifier: Apache-2.0
#include "tensor/strided_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorSpec spec(ElementType type, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  TensorSpec s = TensorSpec::dense(type, shape);
  std::copy(strides.begin(), strides.end(), s.strides.begin());
  return s;
}

// Where element `number` (in row-major order of the shape) of a view lies, in elements.
int64_t place(const TensorSpec& s, int64_t number) {
  int64_t at = 0;
  for (int i = s.rank - 1; i >= 0; --i) {
    at += number % s.shape[i] * s.strides[i];
    number /= s.shape[i];
  }
  return at;
}

TEST(StridedCopy, TurnsChannelsLastIntoChannelsFirst) {
  const std::vector<uint8_t> hwc = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};  // 2×2×3
  std::vector<uint8_t> chw(12);
  const TensorSpec from = spec(ElementType::kUint8, {3, 2, 2}, {1, 6, 3});
  const TensorSpec to = TensorSpec::dense(ElementType::kUint8, std::vector<int64_t>{3, 2, 2});
  copy_elements(from.at(reinterpret_cast<std::byte*>(const_cast<uint8_t*>(hwc.data()))),
                to.at(reinterpret_cast<std::byte*>(chw.data())));
  EXPECT_THAT(chw, ElementsAre(1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12));
}

TEST(StridedCopy, TakesBroadcastsAndReversedAxes) {
  std::vector<float> from = {1, 2, 3};
  std::vector<float> to(6);
  const TensorSpec source = spec(ElementType::kFloat32, {2, 3}, {0, -1});
  const TensorSpec target = TensorSpec::dense(ElementType::kFloat32, std::vector<int64_t>{2, 3});
  copy_elements(source.at(reinterpret_cast<std::byte*>(from.data() + 2)),
                target.at(reinterpret_cast<std::byte*>(to.data())));
  EXPECT_THAT(to, ElementsAre(3, 2, 1, 3, 2, 1));
}

TEST(StridedCopy, CopiesScalarsNothingAndNibbles) {
  double from = 2.5;
  double to = 0;
  const TensorSpec scalar = TensorSpec::dense(ElementType::kFloat64, {});
  copy_elements(scalar.at(reinterpret_cast<std::byte*>(&from)), scalar.at(reinterpret_cast<std::byte*>(&to)));
  EXPECT_EQ(to, 2.5);
  copy_elements(TensorSpec::dense(ElementType::kFloat64, std::vector<int64_t>{0, 3}).at(nullptr),
                TensorSpec::dense(ElementType::kFloat64, std::vector<int64_t>{0, 3}).at(nullptr));
  const uint8_t nibbles[2] = {0x21, 0x03};
  uint8_t copied[3] = {0, 0, 0xFF};
  const TensorSpec three = TensorSpec::dense(ElementType::kInt4, std::vector<int64_t>{3});
  copy_elements(three.at(reinterpret_cast<std::byte*>(const_cast<uint8_t*>(nibbles))),
                three.at(reinterpret_cast<std::byte*>(copied)));
  EXPECT_THAT(copied, ElementsAre(0x21, 0x03, 0xFF));
}

TEST(StridedCopy, AgreesWithTheDefinitionOnRandomViews) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  const ElementType types[] = {ElementType::kInt8, ElementType::kFloat16, ElementType::kInt32,
                               ElementType::kInt64};
  for (int round = 0; round < 2000; ++round) {
    const ElementType type = types[pick(0, 3)];
    const int64_t element = bit_width(type) / 8;
    const auto rank = static_cast<size_t>(pick(0, 5));
    std::vector<int64_t> shape(rank);
    for (int64_t& extent : shape) extent = pick(1, 5);
    // A dense order of axes with gaps, some axes reversed; the source also broadcasts some.
    const auto view = [&](bool broadcast) {
      std::vector<size_t> order(rank);
      std::iota(order.begin(), order.end(), size_t{0});
      std::shuffle(order.begin(), order.end(), random);
      std::vector<int64_t> strides(rank);
      int64_t stride = pick(0, 3) == 0 ? pick(2, 4) : 1;
      for (size_t axis : order) {
        strides[axis] = broadcast && pick(0, 5) == 0 ? 0 : pick(0, 3) == 0 ? -stride : stride;
        stride = stride * shape[axis] + (pick(0, 3) == 0 ? 1 : 0);
      }
      return spec(type, shape, strides);
    };
    const TensorSpec from = view(true);
    const TensorSpec to = view(false);
    ASSERT_TRUE(has_distinct_elements(to)) << to.to_string();
    const ByteRange from_range = *byte_range(from);
    const ByteRange to_range = *byte_range(to);
    std::vector<std::byte> source(static_cast<size_t>(from_range.size()));
    for (std::byte& b : source) b = static_cast<std::byte>(pick(0, 255));
    std::vector<std::byte> target(static_cast<size_t>(to_range.size()), std::byte{0xEE});
    std::vector<std::byte> expected = target;
    std::byte* source_origin = source.data() - from_range.begin;
    for (int64_t i = 0; i < to.element_count(); ++i) {
      std::memcpy(expected.data() - to_range.begin + place(to, i) * element,
                  source_origin + place(from, i) * element, static_cast<size_t>(element));
    }
    copy_elements(from.at(source_origin), to.at(target.data() - to_range.begin));
    ASSERT_EQ(target, expected) << from.to_string() << " to " << to.to_string();
  }
}

TEST(StridedCopy, MeasuresTheBytesOfAView) {
  const ByteRange range = *byte_range(spec(ElementType::kFloat32, {2, 3}, {-5, 2}));
  EXPECT_EQ(range.begin, -20);
  EXPECT_EQ(range.end, 20);
  EXPECT_EQ(byte_range(spec(ElementType::kFloat32, {4, 0}, {1, 1}))->size(), 0);
  EXPECT_EQ(byte_range(TensorSpec::dense(ElementType::kInt4, std::vector<int64_t>{3}))->size(), 2);
  const auto huge = byte_range(spec(ElementType::kFloat32, {3}, {std::numeric_limits<int64_t>::max() / 2}));
  ASSERT_FALSE(huge.has_value());
  EXPECT_THAT(huge.error().message(), HasSubstr("does not fit in 64 bits"));
}

TEST(StridedCopy, KnowsWhenElementsAreShared) {
  EXPECT_TRUE(has_distinct_elements(spec(ElementType::kInt8, {2, 3}, {3, 1})));
  EXPECT_TRUE(has_distinct_elements(spec(ElementType::kInt8, {2, 3}, {-1, 2})));
  EXPECT_TRUE(has_distinct_elements(spec(ElementType::kInt8, {1, 3}, {0, 1})));
  EXPECT_FALSE(has_distinct_elements(spec(ElementType::kInt8, {2, 3}, {0, 1})));
  EXPECT_FALSE(has_distinct_elements(spec(ElementType::kInt8, {2, 3}, {2, 1})));
}

}  // namespace
}  // namespace weir
