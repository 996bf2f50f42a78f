// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compile/lower.h"

namespace weir {
namespace {

Dims channels_last(const Dims& shape) {
  return dense_strides(shape, std::vector<int>{0, 2, 3, 1});
}

TEST(ReshapeView, SplitsAndMergesRowMajorAxes) {
  const Dims shape = {2, 12, 5};
  const Dims target = {2, 3, 4, 5};
  EXPECT_EQ(reshape_view(shape, dense_strides(shape), target, {}), dense_strides(target));
  EXPECT_EQ(reshape_view(target, dense_strides(target), shape, {}), dense_strides(shape));
}

TEST(ReshapeView, MergesTheSidesOfAChannelsLastImage) {
  const Dims shape = {1, 144, 80, 60};
  EXPECT_EQ(reshape_view(shape, channels_last(shape), Dims{1, 144, 4800}, {}), (Dims{1, 1, 144}));
}

TEST(ReshapeView, RefusesToMergeChannelsWithPixels) {
  const Dims shape = {1, 144, 80, 60};
  EXPECT_FALSE(reshape_view(shape, channels_last(shape), Dims{1, 144 * 4800}, {}));
}

TEST(ReshapeView, FlattensPooledChannels) {
  const Dims shape = {1, 512, 1, 1};
  EXPECT_EQ(reshape_view(shape, channels_last(shape), Dims{1, 512}, {}), (Dims{1, 1}));
}

TEST(ReshapeView, DecidesOverSymbols) {
  SymbolTable symbols;
  const Dim n = symbols.add("n", {1, kDimMax}, {});
  const Dim w = symbols.add("w", {1, kDimMax}, {SymbolSource::Kind::kDimension, 0, 3});
  const Dims shape = {n, 120, 1, w};
  const std::vector<int64_t> sample = sample_symbols(symbols, {});
  const auto merged = reshape_view(shape, channels_last(shape), Dims{n, 120, w}, sample);
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, (Dims{w * 120, 1, 120}));
  const auto flat = reshape_view(Dims{n, w, 384}, dense_strides(Dims{n, w, 384}), Dims{n * w, 384}, sample);
  ASSERT_TRUE(flat);
  EXPECT_EQ(*flat, (Dims{384, 1}));
}

TEST(ReshapeView, KeepsBroadcastStrides) {
  // An expanded axis has stride 0: it may be split, not merged with a dense one.
  EXPECT_EQ(reshape_view(Dims{6, 4}, Dims{0, 1}, Dims{2, 3, 4}, {}), (Dims{0, 0, 1}));
  EXPECT_FALSE(reshape_view(Dims{6, 4}, Dims{0, 1}, Dims{24}, {}));
}

}  // namespace
}  // namespace weir
