// SPDX-License-Identifier: Apache-2.0
//
// Softmax along every axis of several orders, odd lengths, masks and extreme values.
#include "kernels/cpu/kernel_testing.h"

namespace weir {
namespace {

constexpr ElementType kF32 = ElementType::kFloat32;
constexpr Tolerance kClose = {.relative = 2e-6, .absolute = 1e-7};

TEST(Softmax, AlongAnyAxisOfAnyOrder) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{2, 37, 5, 6}, {1, 16, 4, 70}, {3, 5, 1, 131}}) {
    for (const auto& order : std::vector<std::vector<int>>{{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 1, 0, 2}}) {
      for (int64_t axis = 0; axis < 4; ++axis) {
        for (int64_t gap : {0, 3}) {
          const TensorSpec spec = with_gap(make_spec(kF32, shape, order), gap);
          KernelCase(Op::kSoftmax, SoftmaxAttributes{axis}).input(spec).output(spec).check(kClose);
          KernelCase(Op::kSoftmax, SoftmaxAttributes{axis})
              .input(spec)
              .output(spec)
              .in_place(0)
              .check(kClose);
          KernelCase(Op::kSoftmax, SoftmaxAttributes{axis})
              .input(spec)
              .output(make_spec(kF32, shape))
              .check(kClose);
        }
      }
    }
  }
}

TEST(Softmax, Lengths) {
  for (int64_t length : {1, 2, 15, 16, 17, 31, 33, 48, 49, 128, 197, 1000, 20000}) {
    const TensorSpec spec = make_spec(kF32, {3, length});
    KernelCase(Op::kSoftmax, SoftmaxAttributes{1}).input(spec).output(spec).check(kClose);
  }
}

TEST(Softmax, OfNothing) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{4, 0}, {0, 4}, {3, 17, 0}, {3, 0, 17}}) {
    for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
      const TensorSpec spec = make_spec(kF32, shape);
      KernelCase(Op::kSoftmax, SoftmaxAttributes{axis}).input(spec).output(spec).check(kClose);
    }
  }
}

TEST(Softmax, MasksAndExtremes) {
  const auto fill = [](const TensorSpec&, std::byte* data, int64_t bytes, int) {
    const float values[] = {0, -INFINITY, 1e30f, -1e30f, 3, 88, -100};
    for (int64_t i = 0; i < bytes / 4; ++i) {
      // Rows: mixed, all masked, one NaN.
      const int64_t row = i / 53;
      const float value = row == 1 ? -INFINITY : row == 2 && i % 53 == 20 ? NAN : values[i % 7];
      std::memcpy(data + 4 * i, &value, 4);
    }
  };
  const TensorSpec spec = make_spec(kF32, {4, 53});
  KernelCase(Op::kSoftmax, SoftmaxAttributes{1}).input(spec).output(spec).fill(fill).check(kClose);
  KernelCase(Op::kSoftmax, SoftmaxAttributes{0}).input(spec).output(spec).fill(fill).check(kClose);
}

}  // namespace
}  // namespace weir
