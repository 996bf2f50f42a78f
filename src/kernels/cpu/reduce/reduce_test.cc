// SPDX-License-Identifier: Apache-2.0
//
// Reductions: every set of axes of several orders in memory, long sums, NaN, nothing to add up.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr ReduceKind kKinds[] = {ReduceKind::kMean, ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin};

std::vector<int64_t> reduced_shape(std::vector<int64_t> shape, const std::vector<int64_t>& axes, bool keep) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) {
      result.push_back(shape[i]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  return result;
}

TEST(Reduce, AnyAxesOfAnyOrder) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{2, 37, 5, 6}, {1, 130, 7, 7}, {3, 5, 1, 70}}) {
    for (const auto& order : std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 1, 0, 2}}) {
      for (int set = 0; set < 16; ++set) {
        std::vector<int64_t> axes;
        for (int i = 0; i < 4; ++i) {
          if ((set >> i & 1) != 0) axes.push_back(i);
        }
        const ReduceKind kind = kKinds[set % 4];
        for (bool keep : {true, false}) {
          KernelCase(Op::kReduce, ReduceAttributes{kind, axes, keep})
              .input(with_gap(make_spec(kF32, shape, order), keep ? 0 : 3))
              .output(make_spec(kF32, reduced_shape(shape, axes, keep)))
              .check({.relative = 1e-5, .absolute = 1e-5});
        }
      }
    }
  }
}

TEST(Reduce, SpatialMeanOfChannelsLast) {
  for (ReduceKind kind : kKinds) {
    for (int64_t channels : {1, 15, 16, 48, 72, 960}) {
      KernelCase(Op::kReduce, ReduceAttributes{kind, {2, 3}, true})
          .input(make_spec(kF32, {2, channels, 14, 15}, {0, 2, 3, 1}))
          .output(make_spec(kF32, {2, channels, 1, 1}))
          .check({.relative = 1e-5, .absolute = 5e-5});
    }
  }
}

TEST(Reduce, LongSumsStayAccurate) {
  const auto ones = [](const TensorSpec&, std::byte* data, int64_t bytes, int) {
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = 1.0f + static_cast<float>(i % 7) * 0.001f;
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
    KernelCase(Op::kReduce, ReduceAttributes{ReduceKind::kMean, {1}, true})
        .input(make_spec(kF32, {3, 100003}, order))
        .output(make_spec(kF32, {3, 1}))
        .fill(ones)
        .check({.relative = 2e-6});
  }
}

TEST(Reduce, NanStays) {
  const auto fill = [](const TensorSpec&, std::byte* data, int64_t bytes, int) {
    for (int64_t i = 0; i < bytes / 4; ++i) {
      const float value = i % 97 == 5 ? NAN : static_cast<float>(i % 13) - 5;
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  for (ReduceKind kind : kKinds) {
    for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
      KernelCase(Op::kReduce, ReduceAttributes{kind, {1}, false})
          .input(make_spec(kF32, {41, 50}, order))
          .output(make_spec(kF32, {41}))
          .fill(fill)
          .check({.relative = 1e-6});
    }
  }
}

TEST(Reduce, NothingToAddUp) {
  for (ReduceKind kind : kKinds) {
    KernelCase(Op::kReduce, ReduceAttributes{kind, {0}, true})
        .input(make_spec(kF32, {0, 5}))
        .output(make_spec(kF32, {1, 5}))
        .check();
    KernelCase(Op::kReduce, ReduceAttributes{kind, {1}, true})
        .input(make_spec(kF32, {0, 5}))
        .output(make_spec(kF32, {0, 1}))
        .check();
  }
}

}  // namespace
}  // namespace weir
